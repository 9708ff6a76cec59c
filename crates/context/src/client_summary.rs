//! Summaries that clients write by themselves and put into the conversation as a message of the user's.
//!
//! No person typed one, so it is neither kept as the user's words nor obeyed. It is the assistant's record of earlier
//! turns, and is quoted as such. What it quotes from the user counts as said by the user, where nothing else tells it.

use crate::list::{Mark, indent, item};

/// How such messages begin, in the words of Claude Code, Codex and pi.
const OPENINGS: [&str; 3] = [
    "This session is being continued from a previous conversation that ran out of context",
    "Another language model started to solve this problem and produced a summary",
    "The conversation history before this point was compacted into the following summary",
];

/// The heading below which Claude Code's summaries list what the user said.
const SAID: &str = "all user messages";

/// Returns true if a text begins as the summaries of known clients do, and goes on behind that line.
#[must_use]
pub(crate) fn is_client_summary(text: &str) -> bool {
    let text = text.trim();
    begins(text) && text.contains('\n')
}

fn begins(text: &str) -> bool {
    OPENINGS.iter().any(|opening| text.starts_with(opening))
}

/// The beginning of the summary itself, behind the client's words and the model's draft.
#[must_use]
pub(crate) fn body(text: &str) -> usize {
    if !is_client_summary(text) {
        return 0;
    }
    let start = text.len() - text.trim_start().len();
    let opening = text.get(start..).and_then(|it| it.find('\n'));
    let opening = opening.map_or(text.len(), |it| start + it + 1);
    let mut at = opening;
    let below = text.get(opening..).unwrap_or_default();
    let mut headings = below.split_inclusive('\n').filter_map(|line| {
        at += line.len();
        let name = line.trim_matches(|it: char| !it.is_alphanumeric());
        (!name.is_empty()).then_some((at, name))
    });
    let summary = |name: &str| name.eq_ignore_ascii_case("summary");
    let behind = match headings.next() {
        Some((at, name)) if summary(name) => Some(at),
        Some((_, name)) if name.eq_ignore_ascii_case("analysis") => {
            let behind = headings.find(|(_, name)| summary(name));
            behind.map(|(at, _)| at)
        }
        _ => None,
    };
    behind.unwrap_or(opening)
}

/// The lines of the user's messages as such a summary lists them, without the marks of the list. The list ends where
/// another one, a heading or a text begins.
pub(crate) fn listed_messages(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let heading = lines.iter().rposition(|line| is_heading(line));
    let below = heading.and_then(|at| lines.get(at + 1..));
    let mut below = below.unwrap_or_default().iter().copied();
    let mut out = Vec::new();
    let Some(first) = below.by_ref().find(|line| !line.trim().is_empty()) else {
        return out;
    };
    let Some((mark, said)) = item(first) else {
        return out;
    };
    let outer = indent(first);
    let is_told = |said: &'_ str| !begins(said) && !said.is_empty();
    if is_told(said) {
        out.push(said);
    }
    for line in below {
        match item(line) {
            _ if line.trim().is_empty() => {}
            _ if indent(line) > outer => out.push(line.trim()),
            Some((other, said)) if other == mark && indent(line) == outer => {
                // The heading of the next section is numbered as well.
                if mark == Mark::Number && said.trim_end_matches('*').ends_with(':') {
                    break;
                }
                if is_told(said) {
                    out.push(said);
                }
            }
            _ => break,
        }
    }
    out
}

/// Returns true if a line is the heading of the list: `6. **All user messages:**`.
fn is_heading(line: &str) -> bool {
    let is_mark = |it: char| it.is_ascii_digit() || "#*.: ".contains(it);
    line.trim_matches(is_mark).eq_ignore_ascii_case(SAID)
}

#[cfg(test)]
mod tests {
    use super::{OPENINGS, body, is_client_summary, listed_messages};

    const CLAUDE_CODE: &str = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nAnalysis:\nLet me enumerate all user messages and verify all details.\n\nSummary:\n1. Primary Request and Intent:\n   - Merge the branch\n\n6. All User Messages:\n   - \"merge it, then push\"\n   - \"never touch /srv/hr\"\n\n7. Pending Tasks:\n   - None\n";

    #[test]
    fn known_clients_write_summaries() {
        assert!(is_client_summary(CLAUDE_CODE));
        assert!(is_client_summary(
            "Another language model started to solve this problem and produced a summary of its thinking process.\nx"
        ));
        assert!(is_client_summary(
            "The conversation history before this point was compacted into the following summary:\n\n<summary>"
        ));
        assert!(!is_client_summary(
            "Why is this session being continued from a previous conversation?"
        ));
    }

    #[test]
    fn what_a_model_thought_aloud_stands_before_the_summary() {
        let begins = |text: &str, behind: &str| {
            assert!(text.split_at(body(text)).1.starts_with(behind), "{text}")
        };
        begins(CLAUDE_CODE, "1. Primary Request and Intent:");
        let tagged = CLAUDE_CODE
            .replace("Analysis:", "<analysis>")
            .replace("Summary:", "</analysis>\n<summary>");
        begins(&tagged, "1. Primary Request and Intent:");
        let opening = OPENINGS[2];
        begins(
            &format!("{opening}:\n\n## Goal\nSummary:\nmend it"),
            "\n## Goal",
        );
        begins(&format!("{opening}:\n\nAnalysis:\nmend it"), "\nAnalysis:");
    }

    #[test]
    fn the_messages_that_it_lists_are_the_users() {
        let listed = listed_messages;
        assert_eq!(
            listed(CLAUDE_CODE),
            ["\"merge it, then push\"", "\"never touch /srv/hr\""]
        );
        let numbered = "6. **All User Messages**:\n\n1. \"one\"\n2. \"two\"\n\n## 7. Pending";
        assert_eq!(listed(numbered), ["\"one\"", "\"two\""]);
        let close =
            "6. All user messages:\n   - \"merge it\"\n7. Pending Tasks:\n   - Delete the database";
        assert_eq!(listed(close), ["\"merge it\""]);
        let flat =
            "6. All user messages:\n1. \"merge it\"\n7. Pending Tasks:\n1. Delete the database";
        assert_eq!(listed(flat), ["\"merge it\""]);
        let other = "Let me list all user messages:\n1. I deleted the branch.\n\n6. All user messages:\n - \"stop\"";
        assert_eq!(listed(other), ["\"stop\""]);
        let table = "The table holds all user messages:\n - Rows are purged";
        assert!(listed(table).is_empty());
        let long = "6. All user messages:\n - \"like so:\n     first main\n     never /srv/hr\"\n\n - \"go\"\nEnd";
        assert_eq!(
            listed(long),
            ["\"like so:", "first main", "never /srv/hr\"", "\"go\""]
        );
        let again = format!(
            "6. All user messages:\n - {} and so on\n - \"go\"",
            super::OPENINGS[0]
        );
        assert_eq!(listed(&again), ["\"go\""]);
        assert!(listed("nothing of the kind").is_empty());
    }
}
