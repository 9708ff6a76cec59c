//! Matter missing from a provider's own summary: standing matter, the user's words, the state of the work, and
//! identifiers that it does not name. It cannot stand in the summary's block, which goes back byte for byte, so
//! the first request that shows the block tells it once, behind the block.

use context::Text;
use history::MarkId;

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
        assert_eq!(&*text("", &[]), "");
        assert_eq!(&*text("[Rules]\n", &[]), "[Rules]");
        let two = ["src/a.rs: the parser", "src/b.rs"].map(str::to_owned);
        assert_eq!(
            *text("[Rules]\n", &two),
            format!("[Rules]\n\n{HEADING}\n- src/a.rs: the parser\n- src/b.rs")
        );
    }
}
