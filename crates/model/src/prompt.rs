//! Prompts for summarisers. The texts are the files under `prompts/`; the README there says who reads which.

use std::fmt::Write as _;

use context::Tokens;
use context::summary::{Defect, Field};

const ALONGSIDE: &str = include_str!("../prompts/alongside.md");
const APART: &str = include_str!("../prompts/apart.md");
const COMBINE: &str = include_str!("../prompts/combine.md");
const FORM: &str = include_str!("../prompts/form.md");
const AGAIN: &str = include_str!("../prompts/again.md");

/// The share of the budget that the model's own words may take; the rest is for the ledger.
pub(crate) const PROSE: f64 = 0.6;

/// Words of English per token, roughly.
const WORDS: f64 = 0.7;

/// The facts that go into every prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// The largest summary, its ledger included.
    pub budget: Tokens,
    /// The operator's own instructions.
    pub instructions: Option<&'a str>,
    /// Texts that stay verbatim beside the summary.
    pub pins: &'a [context::Text],
}

/// The form of the source that a summariser reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Turns.
    Transcript,
    /// Records of consecutive parts.
    Records,
}

/// The instructions for a summariser that is given `source` between lines of `fence`.
pub(crate) fn apart(source: Source, fence: &str, wish: &Wish<'_>) -> String {
    let text = match source {
        Source::Transcript => APART,
        Source::Records => COMBINE,
    };
    format!("{}\n{}", text.replace("{{fence}}", fence), asked(wish))
}

/// The message for the agent's own model. The last `kept` messages before it stay readable.
pub(crate) fn alongside(kept: usize, wish: &Wish<'_>) -> String {
    let mut out = String::from(ALONGSIDE);
    if kept > 0 {
        let _ = write!(
            out,
            "\nThe last {kept} messages before this one stay readable as they are. Use them to see where the work stands; do not repeat what they say.\n"
        );
    }
    out.push('\n');
    out.push_str(&asked(wish));
    out
}

/// The message that asks again after an answer with these defects.
pub(crate) fn again(defects: &[String], wish: &Wish<'_>) -> String {
    let list: String = defects.iter().map(|each| format!("- {each}\n")).collect();
    format!("{}\n{}", AGAIN.replace("{{defects}}", &list), form(wish))
}

/// A defect as the model is told of it.
pub(crate) fn defect(defect: &Defect) -> String {
    match defect {
        Defect::Grows { .. } => "it is longer than what it replaces".to_owned(),
        other => other.to_string(),
    }
}

/// The form, the pins that stay beside the summary, and the operator's instructions.
fn asked(wish: &Wish<'_>) -> String {
    let mut out = form(wish);
    if !wish.pins.is_empty() {
        out.push_str(
            "\nThese texts are pinned: they stay in view verbatim, so do not repeat them.\n",
        );
        for pin in wish.pins {
            let _ = writeln!(out, "- {}", one_line(pin));
        }
    }
    if let Some(more) = wish.instructions.map(str::trim).filter(|it| !it.is_empty()) {
        let _ = writeln!(out, "\nThe operator adds:\n{more}");
    }
    out
}

fn form(wish: &Wish<'_>) -> String {
    let mut headings = String::new();
    for field in Field::ALL {
        if let Some(what) = meaning(field) {
            let _ = writeln!(headings, "## {}\n- {what}\n", field.heading());
        }
    }
    let words = wish.budget.scaled(PROSE * WORDS).get().max(60);
    FORM.replace("{{form}}", headings.trim_end())
        .replace("{{task}}", Field::Task.heading())
        .replace("{{words}}", &words.to_string())
}

/// The description of a field; `None` for the ledger, which no model writes.
const fn meaning(field: Field) -> Option<&'static str> {
    Some(match field {
        Field::Goal => "what the user wants in the end, why where it was said, and how it changed",
        Field::Decisions => {
            "what was decided, by whom and why, and what was rejected; what is demanded, preferred or forbidden"
        }
        Field::Tasks => {
            "every task, each as \"open: ...\", \"in progress: ...\" or \"closed: ...\", so that closed ones are not done again"
        }
        Field::Done => {
            "files created, changed or deleted, with their state; commands with their last outcome; commits and branches"
        }
        Field::Errors => "errors that occurred, each with what ended it, or that it is still open",
        Field::Task => "what is being done right now, in which files or systems, and how far it is",
        Field::Facts => "what was found out, with names, paths, numbers and results",
        Field::DeadEnds => "what was tried and failed, and why, so that it is not tried again",
        Field::NextSteps => "what comes next, in order",
        Field::Ledger => return None,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use context::summary::{Defect, Field};
    use context::{Text, Tokens};

    use super::{Source, Wish, again, alongside, apart, defect};

    fn wish(pins: &[Text]) -> Wish<'_> {
        Wish {
            budget: Tokens::new(2_000),
            instructions: Some("Keep all ticket numbers."),
            pins,
        }
    }

    #[test]
    fn what_a_summariser_is_told() {
        let pins = [Text::from("never touch\nmain")];
        insta::assert_snapshot!(apart(Source::Transcript, "=== 1a2b ===", &wish(&pins)));
    }

    #[test]
    fn what_a_summariser_of_records_is_told() {
        insta::assert_snapshot!(apart(Source::Records, "=== 1a2b ===", &wish(&[])));
    }

    #[test]
    fn what_the_agents_own_model_is_told() {
        insta::assert_snapshot!(alongside(3, &wish(&[])));
    }

    #[test]
    fn what_is_said_about_defects() {
        let defects = [Defect::MissingHeading(Field::DeadEnds), Defect::NoTask];
        let defects: Vec<String> = defects.iter().map(defect).collect();
        insta::assert_snapshot!(again(&defects, &wish(&[])));
    }

    #[test]
    fn no_placeholder_is_left() {
        let all = [
            apart(Source::Transcript, "f", &wish(&[])),
            apart(Source::Records, "f", &wish(&[])),
            alongside(0, &wish(&[])),
            again(&[], &wish(&[])),
        ];
        assert!(all.iter().all(|text| !text.contains("{{")));
    }
}
