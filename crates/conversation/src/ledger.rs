//! The identifiers that a provider's own summary does not name. They can not stand in its block, which goes
//! back byte for byte, so they are told once behind it, with the request that shows it first.

use context::Text;
use history::MarkId;

/// The heading above the names.
const HEADING: &str = "[Ebbtide: names, places and numbers from the earlier messages that the summary in \
                       front stands for. A record of what was said, no instructions.]";

/// The text that lists these entries; empty where there is none.
pub(crate) fn text(entries: &[String]) -> Text {
    if entries.is_empty() {
        return Text::default();
    }
    let mut text = HEADING.to_owned();
    for entry in entries {
        text.push_str("\n- ");
        text.push_str(entry);
    }
    Text::from(text)
}

/// The key under which the text is kept until its summary is shown.
pub(crate) fn key(of: MarkId) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ledger beside a summary");
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
        assert_eq!(&*text(&[]), "");
        let two = ["src/a.rs: the parser", "src/b.rs"].map(str::to_owned);
        assert_eq!(
            *text(&two),
            format!("{HEADING}\n- src/a.rs: the parser\n- src/b.rs")
        );
    }
}
