//! Refused calls: clients that ask before a call report the user's refusal as its result, with what the user typed.

use crate::turn::{Outcome, ToolResult};

/// How results of refused calls begin, in lower case, and what stands in front of the user's words, by client.
const REFUSALS: [(&str, Option<&str>); 7] = [
    // Claude Code.
    (
        "the user doesn't want to proceed with this tool use. the tool use was rejected",
        Some("the user said:\n"),
    ),
    (
        "permission for this tool use was denied. the tool use was rejected",
        Some("The user said:\n"),
    ),
    ("the user doesn't want to take this action right now.", None),
    // OpenCode.
    (
        "the user rejected permission to use this specific tool call",
        Some("with the following feedback: "),
    ),
    // Cline and Roo Code.
    ("the user denied this operation", Some(TAG.0)),
    // Codex, which reports no failure and sends no words.
    (CODEX[0], None),
    (CODEX[1], None),
];
const CODEX: [&str; 2] = ["exec command rejected by user", "patch rejected by user"];
/// The tags around the words at Cline and Roo Code.
const TAG: (&str, &str) = ("<feedback>\n", "</feedback>");
/// The note that Claude Code may put behind the words.
const NOTE: &str = "\n\nNote: The user's next message may contain a correction";
/// The words of Claude Code where the user did not answer its questions.
const CLARIFY: &str = "The user wants to clarify these questions.";
/// The words of the summary about such a call.
pub(crate) const BY_THE_USER: &str = "the user refused it";
/// The same where only the text of the result says so.
pub(crate) const BY_WORDS: &str = "its result says that the user refused it";
/// The longest text in front of the user's words, in bytes.
const LONGEST: usize = 400;

/// The user's words in the result of a refused call, empty where there are none; `None` for any other result.
///
/// Tools can print the same text. So a result is a refusal only if the client reported it as failed, or if it is one of
/// the two exact texts of Codex. Callers that show the words say where they stood.
pub(crate) fn refusal(result: &ToolResult) -> Option<&str> {
    let text = result.text.trim();
    if CODEX.contains(&text) {
        return Some("");
    }
    words(text).filter(|_| result.outcome == Outcome::Failed)
}

/// The words in a result that reads like a refused call, although the client did not report it as failed: not every
/// format can. They may be the user's or the text of a program, so they have no authority.
pub(crate) fn reported(result: &ToolResult) -> Option<&str> {
    let words = words(result.text.trim())?;
    (result.outcome != Outcome::Failed && !words.is_empty()).then_some(words)
}

/// The words in a text that begins like the result of a refused call, empty where there are none.
fn words(text: &str) -> Option<&str> {
    let front = |end: usize| {
        text.get(..text.floor_char_boundary(end))
            .unwrap_or_default()
    };
    let begins = |it: &str| front(it.len()).eq_ignore_ascii_case(it);
    let (_, mark) = REFUSALS.iter().find(|(it, _)| begins(it))?;
    let said = mark.and_then(|mark| {
        let at = front(LONGEST).find(mark)? + mark.len();
        text.get(at..)
    });
    let said = said.unwrap_or_default();
    let end = if *mark == Some(TAG.0) { TAG.1 } else { NOTE };
    let said = said.rsplit_once(end).map_or(said, |(said, _)| said);
    Some(if said.starts_with(CLARIFY) {
        ""
    } else {
        said.trim()
    })
}

#[cfg(test)]
mod tests {
    use super::{refusal, reported};
    use crate::turn::{CallId, Outcome, ToolResult};

    #[track_caller]
    fn check(text: &str, outcome: Outcome, words: Option<&str>) {
        let result = ToolResult {
            call: CallId::from("1"),
            text: text.into(),
            outcome,
        };
        assert_eq!(refusal(&result), words, "{text}");
    }

    #[test]
    fn words_that_read_like_a_refusal_are_told_where_no_failure_was_reported() {
        let text = "The user doesn't want to proceed with this tool use. The tool use was rejected. \
                    To tell you how to proceed, the user said:\nuse the map instead";
        let check = |text: &str, outcome: Outcome, words: Option<&str>| {
            let result = ToolResult {
                call: CallId::from("1"),
                text: text.into(),
                outcome,
            };
            assert_eq!(reported(&result), words, "{text}");
        };
        check(text, Outcome::Succeeded, Some("use the map instead"));
        // Then the words are the user's own.
        check(text, Outcome::Failed, None);
        check(&format!("$ cat log\n{text}"), Outcome::Succeeded, None);
        check("The user denied this operation.", Outcome::Succeeded, None);
    }

    #[test]
    fn words_are_read_from_a_refused_call() {
        let claude =
            "The user doesn't want to proceed with this tool use. The tool use was rejected.";
        let said = "To tell you how to proceed, the user said:\nNever reset it.\nAsk Halina.";
        let words = Some("Never reset it.\nAsk Halina.");
        check(&format!("{claude} {said}"), Outcome::Failed, words);
        check(
            &format!("{claude} STOP and wait."),
            Outcome::Failed,
            Some(""),
        );
        let tag = "the user said:\nKeep </feedback>.\nNever touch port 4711.";
        let words = Some("Keep </feedback>.\nNever touch port 4711.");
        let note = "\n\nNote: The user's next message may contain a correction or preference.";
        check(&format!("{claude} {tag}{note}"), Outcome::Failed, words);
        let clarify =
            "the user said:\nThe user wants to clarify these questions.\n    Questions asked:";
        check(&format!("{claude} {clarify}"), Outcome::Failed, Some(""));
        let agent = "Permission for this tool use was denied. The tool use was rejected.";
        let said = "The user said:\nuse ninja";
        check(
            &format!("{agent} {said}"),
            Outcome::Failed,
            Some("use ninja"),
        );
        let opencode = "The user rejected permission to use this specific tool call";
        let said = " with the following feedback: use make";
        check(
            &format!("{opencode}{said}"),
            Outcome::Failed,
            Some("use make"),
        );
        check(&format!("{opencode}."), Outcome::Failed, Some(""));
        let cline = "The user denied this operation and provided the following feedback:\n";
        let said =
            "<feedback>\nuse make\n</feedback>\n<environment_details>a</environment_details>";
        check(&format!("{cline}{said}"), Outcome::Failed, Some("use make"));
        check(
            "exec command rejected by user",
            Outcome::Succeeded,
            Some(""),
        );
    }

    #[test]
    fn other_results_refuse_nothing() {
        check("Exit code 1\nthe user said:\nx", Outcome::Failed, None);
        check("", Outcome::Failed, None);
        check("The use\u{301}r", Outcome::Failed, None);
        let said = "The user doesn't want to use Redis. Port 8123 is taken.";
        check(said, Outcome::Succeeded, None);
        check(said, Outcome::Failed, None);
        let codex = "exec command rejected by user\nPlease obey.";
        check(codex, Outcome::Succeeded, None);
        check(codex, Outcome::Failed, Some(""));
        let opencode = "The user rejected permission to use this specific tool call";
        let far = format!(
            "{opencode} {} with the following feedback: x",
            "a".repeat(400)
        );
        check(&far, Outcome::Failed, Some(""));
    }
}
