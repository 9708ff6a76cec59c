//! The sentence that tells a visitor what will come of an action.
//!
//! A form leads to the page that it is on. The address names the action in a word of a closed list, so the
//! page can say what will happen without a script, and no text of an address is ever shown.

use super::site::HOME;

/// The visitor's last action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Prepare,
    Swap,
    Undo,
    Redo,
    Pinned,
    Unpinned,
    Edited,
    Deleted,
}

impl Told {
    const ALL: [Self; 8] = [
        Self::Prepare,
        Self::Swap,
        Self::Undo,
        Self::Redo,
        Self::Pinned,
        Self::Unpinned,
        Self::Edited,
        Self::Deleted,
    ];

    /// The word in the address.
    const fn word(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Swap => "swap",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Pinned => "pinned",
            Self::Unpinned => "unpinned",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
        }
    }

    /// The action that a word of an address names.
    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|told| told.word() == word)
    }

    /// A sentence about what the action will do.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Prepare => {
                "Ordered: the next request of this conversation starts the preparation of a summary."
            }
            Self::Swap => {
                "Ordered: the summary goes in with the next request of this conversation."
            }
            Self::Undo => {
                "Ordered: the next request of this conversation takes the last swap back, so the model sees the \
                 replaced turns again, or as many of them as fit."
            }
            Self::Redo => {
                "Ordered: the summary that was taken back goes in again with the next request of this \
                 conversation."
            }
            Self::Pinned => {
                "Pinned. Ebbtide repeats it in full with the next request that no longer contains it."
            }
            Self::Unpinned => "Removed. Ebbtide no longer repeats this pin.",
            Self::Edited => {
                "Saved. The model will see the summary in your words once it is swapped in."
            }
            Self::Deleted => "The conversation is deleted.",
        }
    }

    /// True if the sentence belongs to the pins.
    pub(super) const fn is_about_pins(self) -> bool {
        matches!(self, Self::Pinned | Self::Unpinned)
    }

    /// The address at which the page of a conversation says it; of one that is deleted, the list.
    pub(super) fn address(self, page: &str) -> String {
        let page = if self == Self::Deleted { HOME } else { page };
        let part = if self.is_about_pins() { "#pins" } else { "" };
        format!("{page}?told={}{part}", self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::Told;

    #[test]
    fn each_word_leads_back_and_no_other_says_anything() {
        for told in Told::ALL {
            assert_eq!(Told::of(told.word()), Some(told));
            assert!(told.sentence().ends_with('.'));
        }
        for word in ["", "Swap", "<b>", "swapped"] {
            assert_eq!(Told::of(word), None, "{word}");
        }
        assert_eq!(Told::Pinned.address("/p"), "/p?told=pinned#pins");
        assert_eq!(Told::Swap.address("/p"), "/p?told=swap");
        assert_eq!(Told::Deleted.address("/p"), "/ebbtide/?told=deleted");
    }
}
