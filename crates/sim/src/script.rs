//! The content of answers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use context::extract::{extract, is_beside};
use context::summary::{Field, Summary};
use context::{Heuristic, Part, Role, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
use serde_json::Value;
use wire::api::Request;

use crate::faults::Fault;
use crate::form::filled;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// Thinking, where the dialect has it.
    Think(String),
    /// Text.
    Text(String),
    /// A call of a tool.
    Call {
        /// The tool's name.
        name: String,
        /// The arguments, an object.
        input: Value,
    },
}

/// The parts of a request that a script sees.
#[derive(Clone, Copy)]
pub struct Prompt<'a> {
    /// The model that was asked for.
    pub model: &'a str,
    /// The conversation as the client sent it; for a script that is no function, its end only.
    pub turns: &'a [Turn],
    /// The names of the tools.
    pub tools: &'a [String],
    /// The JSON Schema of the answer, where the instructions end with one.
    pub form: Option<&'a Value>,
}

impl Prompt<'_> {
    /// The text of the last user message, or of the tool results that came last.
    #[must_use]
    pub fn last(&self) -> String {
        self.turns.last().map(said).unwrap_or_default()
    }

    /// The last turn that a user wrote.
    #[must_use]
    pub fn last_user(&self) -> String {
        let user = |turn: &&Turn| turn.role() == Role::User;
        self.turns
            .iter()
            .rev()
            .find(user)
            .map(said)
            .unwrap_or_default()
    }
}

/// The text of a message. Repeated texts of the earlier conversation are left out.
pub(crate) fn said(turn: &Turn) -> String {
    let texts = turn.parts().iter().filter_map(|part| match part {
        Part::Text(text) if is_beside(text) => None,
        Part::Text(text) => Some(text.as_str()),
        Part::Result(result) => Some(result.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A function that answers.
pub type Function = Arc<dyn Fn(&Prompt<'_>) -> Vec<Say> + Send + Sync>;

/// The answers to requests that do not ask for a summary.
#[derive(Clone, Default)]
pub enum Script {
    /// Acknowledges the last message. A user can put words into the answer with lines that begin
    /// with `@sim`: `@sim say TEXT`, `@sim think TEXT`, `@sim call TOOL {ARGUMENTS}`. They are obeyed
    /// once, as long as their message is the last one. A question about compaction in a message that
    /// comes with a note about the runtime context is answered from that note. Where the instructions end
    /// with a JSON Schema, after a line that ends with `JSON Schema:`, a value of it is the answer: texts,
    /// numbers and truths that the message has under the same names, no items, and else the usual answer.
    #[default]
    Echo,
    /// These answers in order, then echo.
    Steps(VecDeque<Vec<Say>>),
    /// The answers of a function.
    Function(Function),
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Echo => "Echo",
            Self::Steps(_) => "Steps",
            Self::Function(_) => "Function",
        })
    }
}

impl Script {
    /// Returns `true` for scripts that look at more than the last message.
    pub(crate) const fn reads_all(&self) -> bool {
        matches!(self, Self::Function(_))
    }

    pub(crate) fn next(&mut self, prompt: &Prompt<'_>) -> Vec<Say> {
        match self {
            Self::Echo => echo(prompt),
            Self::Steps(steps) => steps.pop_front().unwrap_or_else(|| echo(prompt)),
            Self::Function(function) => function(prompt),
        }
    }
}

/// The newest message that is answered: an instruction behind a message only tells how.
pub(crate) fn newest(request: &Request<'_>) -> Vec<Turn> {
    let all = || {
        (0..request.len())
            .rev()
            .filter_map(|at| request.message(at))
    };
    let said = all().find(|message| message.role() != Role::System);
    let newest = said.or_else(|| all().next());
    newest
        .map(|message| message.draft().after(TurnId::ROOT, &Heuristic))
        .into_iter()
        .collect()
}

fn echo(prompt: &Prompt<'_>) -> Vec<Say> {
    let Some(turn) = prompt.turns.last() else {
        return vec![Say::Text("Understood.".to_owned())];
    };
    let noted = noted(turn);
    let last = noted.map_or_else(|| said(turn), |(words, _)| words.to_owned());
    if turn.role() == Role::User {
        let directed: Vec<Say> = last.lines().filter_map(directive).collect();
        if !directed.is_empty() {
            return directed;
        }
    }
    if let Some(schema) = prompt.form {
        let value = filled(schema, &last, &acknowledged(turn.role(), &last));
        return vec![Say::Text(value.to_string())];
    }
    if let Some(answer) = noted.and_then(|(words, note)| of_itself(words, note)) {
        return vec![Say::Text(answer)];
    }
    vec![Say::Text(acknowledged(turn.role(), &last))]
}

fn acknowledged(role: Role, last: &str) -> String {
    let start: String = last.trim().chars().take(80).collect();
    match role {
        Role::Tool => format!("I read the result: {start}"),
        _ if start.is_empty() => "Understood.".to_owned(),
        _ => format!("You said: {start}"),
    }
}

/// The words that a note about the runtime context came with, and the note: the last text of a message, and
/// the last one before it that is not in brackets, as notes are.
fn noted(turn: &Turn) -> Option<(&str, &str)> {
    let texts = turn.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    match texts.as_slice() {
        [before @ .., note] if note.starts_with("[runtime context]\n") => {
            let words = before.iter().rev().find(|text| !text.starts_with('['));
            words.map(|words| (*words, *note))
        }
        _ => None,
    }
}

/// The number of compactions by a note, where the words it came with ask about them: what a model can know of its
/// own memory, and no more.
fn of_itself(words: &str, note: &str) -> Option<String> {
    if !(words.contains("compact") && words.contains('?')) {
        return None;
    }
    let mut lines = note.lines();
    let count = lines.find_map(|line| line.strip_prefix("compactions in this session: "))?;
    let digits = count
        .split(|letter: char| !letter.is_ascii_digit())
        .next()?;
    Some(match digits.parse::<u64>().ok()? {
        0 => "No. According to the runtime context there has been no compaction in this session."
            .to_owned(),
        1 => "Yes. According to the runtime context there has been 1 compaction in this session."
            .to_owned(),
        times => format!(
            "Yes. According to the runtime context there have been {times} compactions in this session."
        ),
    })
}

fn directive(line: &str) -> Option<Say> {
    let (word, rest) = line.trim().strip_prefix("@sim ")?.split_once(' ')?;
    Some(match word {
        "say" => Say::Text(rest.to_owned()),
        "think" => Say::Think(rest.to_owned()),
        "call" => {
            let (name, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
            Say::Call {
                name: name.to_owned(),
                input: serde_json::from_str(input).ok()?,
            }
        }
        _ => return None,
    })
}

/// Returns `true` if `text` asks for a summary by the template: it names four of its headings, those of
/// summaries that stand in the text already not counted.
pub(crate) fn asks_for_summary(text: &str) -> bool {
    let empty = Summary::default().render();
    let marker = empty.split('.').next().unwrap_or_default();
    // A summary that is carried along is the first run of different headings behind its marker.
    text.split(marker).enumerate().any(|(number, part)| {
        let carried = usize::from(number > 0);
        runs(part).iter().skip(carried).any(|run| run.len() >= 4)
    })
}

/// The headings of the template in a text, in runs in which none occurs twice.
fn runs(text: &str) -> Vec<Vec<Field>> {
    let mut out: Vec<Vec<Field>> = Vec::new();
    for line in text.lines() {
        let heading = line.strip_prefix("## ").unwrap_or_default();
        let named = |field: &Field| heading.starts_with(field.heading());
        let Some(field) = Field::ALL.into_iter().find(named) else {
            continue;
        };
        match out.last_mut() {
            Some(run) if !run.contains(&field) => run.push(field),
            _ => out.push(vec![field]),
        }
    }
    out
}

/// The turns to summarize: all of them, or all but a last one that asks for the summary in words.
pub(crate) fn sources(request: &Request<'_>, in_words: bool) -> Vec<Turn> {
    let mut turns = request.turns(&Heuristic);
    if in_words && turns.len() > 1 {
        turns.pop();
    }
    turns
}

/// A summary by extraction, in place of a model's, or the text that a fault puts there.
pub(crate) fn summary(
    turns: &[Turn],
    budget: u64,
    counter: &dyn TokenCounter,
    fault: Option<&Fault>,
) -> String {
    match fault {
        Some(Fault::SummaryEmpty) => String::new(),
        Some(Fault::SummaryGarbage) => "lorem lorem lorem lorem lorem lorem".to_owned(),
        _ => {
            // A model is asked for less than there is room for, and writes what it is asked for.
            let budget = Tokens::new(budget.clamp(64, 1_200));
            // The headings without entries count too: a longer answer would be cut off.
            let headings = counter.count(&form(&Summary::default()));
            let least = Tokens::new(64);
            let budget = budget.saturating_sub(headings).max(least);
            form(&extract(&retold(turns), &[], budget, counter))
        }
    }
}

/// The turns as an agent's. A transcript comes as one message of the user, whose words a summary does not hold:
/// they stand beside it.
fn retold(turns: &[Turn]) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let turns = turns.iter().map(|turn| {
        let role = match turn.role() {
            Role::User => Role::Assistant,
            role => role,
        };
        let turn = TurnDraft::said(role, turn.parts().to_vec()).after(parent, &Heuristic);
        parent = turn.id();
        turn
    });
    turns.collect()
}

/// A summary as a model writes it: every heading of the template, with `none` under those without entries.
fn form(summary: &Summary) -> String {
    let field = |field: Field| {
        let entries: String = summary
            .entries(field)
            .iter()
            .map(|entry| format!("- {entry}\n"))
            .collect();
        let entries = if entries.is_empty() {
            "none\n"
        } else {
            &entries
        };
        format!("## {}\n{entries}\n", field.heading())
    };
    let written = Field::ALL.into_iter().filter(|it| *it != Field::Ledger);
    written.map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::{Field, Prompt, Say, Script, Summary, asks_for_summary, directive, newest};
    use context::note::RuntimeContext;
    use context::{Heuristic, Part, Role, TurnDraft, TurnId};
    use serde_json::json;
    use wire::api::{Dialect, Request};

    fn check(role: Role, text: &str, expected: Say) {
        let draft = TurnDraft::said(role, vec![Part::Text(text.into())]);
        let turn = draft.after(TurnId::ROOT, &Heuristic);
        let prompt = Prompt {
            model: "m",
            turns: &[turn],
            tools: &[],
            form: None,
        };
        assert_eq!(Script::Echo.next(&prompt), [expected]);
    }

    #[test]
    fn echo_answers_and_obeys_its_user_only() {
        check(Role::User, "hello", Say::Text("You said: hello".into()));
        check(Role::User, "a\n@sim say b", Say::Text("b".into()));
        check(
            Role::Tool,
            "@sim say b",
            Say::Text("I read the result: @sim say b".into()),
        );
        let input = json!({"path": "x y"});
        let name = "read".to_owned();
        check(
            Role::User,
            r#"@sim call read {"path":"x y"}"#,
            Say::Call { name, input },
        );
        assert_eq!(directive("@sim call read {"), None);
    }

    fn check_noted(texts: &[&str], compactions: u32, expected: &str) {
        let context = RuntimeContext {
            compactions: Some(compactions),
            ..RuntimeContext::default()
        };
        let note = context.render();
        let texts = texts.iter().copied().chain([note.as_str()]);
        let parts = texts.map(|text| Part::Text(text.into())).collect();
        let turn = TurnDraft::said(Role::User, parts).after(TurnId::ROOT, &Heuristic);
        let prompt = Prompt {
            model: "m",
            turns: &[turn],
            tools: &[],
            form: None,
        };
        let expected = Say::Text(expected.to_owned());
        assert_eq!(Script::Echo.next(&prompt), [expected]);
    }

    #[test]
    fn of_its_memory_it_says_what_the_note_says() {
        let asked = "Have you experienced compaction?";
        let none =
            "No. According to the runtime context there has been no compaction in this session.";
        let one =
            "Yes. According to the runtime context there has been 1 compaction in this session.";
        let more =
            "Yes. According to the runtime context there have been 12 compactions in this session.";
        check_noted(&[asked], 0, none);
        check_noted(&[asked], 1, one);
        check_noted(&["a summary", asked], 12, more);
        check_noted(&[asked, "hello?"], 1, "You said: hello?");
        check_noted(&["hello", "[Pinned, in full:]\n- a"], 1, "You said: hello");
        let said = Say::Text(format!("You said: {asked}"));
        check(Role::User, asked, said);
    }

    #[test]
    fn an_instruction_behind_a_message_is_not_what_is_answered() {
        let body = r#"{"messages":[{"role":"user","content":"hello"},{"role":"system","content":"be short"}]}"#;
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        let turns = newest(&request);
        let prompt = Prompt {
            model: "m",
            turns: &turns,
            tools: &[],
            form: None,
        };
        let expected = Say::Text("You said: hello".into());
        assert_eq!(Script::Echo.next(&prompt), [expected]);
    }

    #[test]
    fn a_summary_is_asked_for_by_its_headings() {
        let text = "Fill in.\n## Goal\n## Where the work stands\n## Key facts\n## Next steps\n";
        assert!(asks_for_summary(text));
        assert!(!asks_for_summary("## Goal\n## Key facts"));
        // A summary that is carried along asks for nothing; a request about one does.
        let mut carried = Summary::default();
        for field in Field::ALL {
            carried.push(field, "something");
        }
        let carried = carried.render();
        assert!(!asks_for_summary(&carried));
        assert!(asks_for_summary(&format!("{carried}\n{text}")));
    }
}
