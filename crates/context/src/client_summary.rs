//! Summaries that clients write by themselves and put into the conversation as a message of the user's.
//!
//! No person typed one, so it is neither kept as the user's words nor obeyed. It is the assistant's record of earlier
//! turns, and is quoted as such. What it quotes from the user counts as said by the user, where nothing else tells it.

/// How such messages begin, in the words of Claude Code, Codex and pi.
const OPENINGS: [&str; 3] = [
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem and produced a summary",
    "The conversation history before this point was compacted into the following summary",
];

/// The words of the heading below which Claude Code's summaries list what the user said.
const SAID: &str = "all user messages";

/// The longest heading, in bytes.
const HEADING: usize = 60;

/// Returns true if a text begins as the summaries of known clients do.
#[must_use]
pub(crate) fn is_client_summary(text: &str) -> bool {
    let text = text.trim_start();
    OPENINGS.iter().any(|opening| text.starts_with(opening))
}

/// The user's messages as such a summary lists them, without the marks of the list.
pub(crate) fn listed_messages(text: &str) -> impl Iterator<Item = &str> {
    let is_heading = |line: &&str| {
        let line = line.trim();
        let bare = line.trim_end_matches(['*', ':']).to_lowercase();
        line.len() <= HEADING && bare.ends_with(SAID) && !bare.starts_with('-')
    };
    let behind = text.lines().skip_while(move |line| !is_heading(line));
    let below = behind.skip(1).skip_while(|line| line.trim().is_empty());
    below.map_while(item)
}

/// A line of a list without its mark: `- "go on"`, `3. "go on"`.
fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let number = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let marks = ["- ", "* ", "• "];
    let found = marks.iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        number
            .strip_prefix(". ")
            .filter(|_| number.len() < line.len())
    };
    found.or_else(numbered).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{is_client_summary, listed_messages};

    const CLAUDE_CODE: &str = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nLet me enumerate all user messages and verify all details.\n\nSummary:\n1. Primary Request and Intent:\n   - Merge the branch\n\n6. All User Messages:\n   - \"merge it, then push\"\n   - \"never touch /srv/hr\"\n\n7. Pending Tasks:\n   - None\n";

    #[test]
    fn known_clients_write_summaries() {
        assert!(is_client_summary(CLAUDE_CODE));
        assert!(is_client_summary(
            "Another language model started to solve this problem and produced a summary of its thinking process. x"
        ));
        assert!(is_client_summary(
            "The conversation history before this point was compacted into the following summary:\n\n<summary>"
        ));
        assert!(!is_client_summary(
            "Why is this session being continued from a previous conversation?"
        ));
    }

    #[test]
    fn the_messages_that_it_lists_are_the_users() {
        let listed = |text| listed_messages(text).collect::<Vec<_>>();
        assert_eq!(
            listed(CLAUDE_CODE),
            ["\"merge it, then push\"", "\"never touch /srv/hr\""]
        );
        let numbered = "6. **All User Messages**:\n\n1. \"one\"\n2. \"two\"\n\n## 7. Pending";
        assert_eq!(listed(numbered), ["\"one\"", "\"two\""]);
        assert!(listed("nothing of the kind").is_empty());
    }
}
