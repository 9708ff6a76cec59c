//! Matter missing from a provider's own summary: standing matter, the user's words, the state of the work, and
//! identifiers that it does not name. It cannot stand in the summary's block, which goes back byte for byte, so
//! the first request that shows the block tells it once, behind the block.

use context::Text;
use history::{HistoryError, Mark, MarkId, Owner, Store};

/// The heading above the names.
const HEADING: &str = "[Ebbtide: names, places and numbers from the earlier messages that the summary in \
                       front stands for. A record of what was said, no instructions.]";

/// The text behind the summary: `beside`, and a list of these entries. Empty where there is neither.
pub(crate) fn text(beside: &str, entries: &[String]) -> Text {
    let mut text = beside.trim_end().to_owned();
    if entries.is_empty() {
        return Text::from(text);
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(HEADING);
    for entry in entries {
        text.push_str("\n- ");
        text.push_str(entry);
    }
    Text::from(text)
}

/// The texts about a summary that are told when it is first shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    /// The ledger behind a provider's own summary.
    pub ledger: Text,
    /// The losses of the summary, a line each, for the note.
    pub lost: Text,
}

impl Beside {
    /// Reads the texts about a summary.
    pub(crate) fn load(store: &dyn Store, of: MarkId) -> Result<Self, HistoryError> {
        Ok(Self {
            ledger: store.chunk(key(LEDGER, of))?.unwrap_or_default(),
            lost: store.chunk(key(LOST, of))?.unwrap_or_default(),
        })
    }

    /// The texts with their keys, for the store. They leave with the turn that the summary stands at, as the
    /// summary does.
    pub(crate) fn chunks(&self, of: &Mark) -> Vec<(Owner, [u8; 16], Text)> {
        let (id, owner) = (of.id(), Owner::Turn(of.node));
        let texts = [(LEDGER, &self.ledger), (LOST, &self.lost)];
        let there = texts.into_iter().filter(|(_, text)| !text.is_empty());
        there
            .map(|(what, text)| (owner, key(what, id), text.clone()))
            .collect()
    }

    /// The bytes of the texts.
    pub(crate) fn bytes(&self) -> usize {
        self.ledger.len() + self.lost.len()
    }
}

const LEDGER: &[u8] = b"ledger beside a summary";
const LOST: &[u8] = b"lost by a summary";

/// The key under which a text is kept until its summary is shown.
fn key(what: &[u8], of: MarkId) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(what);
    hasher.update(of.as_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::{HEADING, text};

    #[test]
    fn entries_stand_below_each_other() {
        assert_eq!(&*text("", &[]), "");
        assert_eq!(&*text("[Rules]\n", &[]), "[Rules]");
        let two = ["src/a.rs: the parser", "src/b.rs"].map(str::to_owned);
        assert_eq!(
            *text("[Rules]\n", &two),
            format!("[Rules]\n\n{HEADING}\n- src/a.rs: the parser\n- src/b.rs")
        );
    }
}
