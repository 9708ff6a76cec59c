//! The task list that an agent keeps by tools.

use serde_json::Value;

use super::steps::Step;

/// A task and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub text: String,
    pub state: State,
    /// The id, where tasks are made and changed one by one.
    id: Option<String>,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Begun and not finished.
    Doing,
    /// Not begun.
    Open,
    /// Finished.
    Closed,
}

impl State {
    /// The word that a summary writes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Doing => "in progress",
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }

    /// The state that a tool writes as this word.
    pub fn of(status: &str) -> Option<Self> {
        match status {
            "in_progress" | "doing" | "active" => Some(Self::Doing),
            "pending" | "open" | "todo" | "not_started" => Some(Self::Open),
            "completed" | "done" | "closed" | "cancelled" => Some(Self::Closed),
            _ => None,
        }
    }
}

/// The tasks as the newest calls leave them. Tools give a whole list (`todos`, `plan`, `tasks`), or make and change
/// single tasks (`subject` or `title`, then an id and a `status`).
pub(crate) fn tasks(steps: &[Step<'_>]) -> Vec<Task> {
    let mut out: Vec<Task> = Vec::new();
    for step in steps {
        let arguments = &step.arguments;
        if let Some(list) = list(arguments) {
            // A finished list and the next one are both worth knowing.
            let before = std::mem::replace(&mut out, list);
            let said = |task: &Task| out.iter().any(|it| it.text == task.text);
            let closed = before.into_iter().filter(|it| it.state == State::Closed);
            let earlier: Vec<Task> = closed.filter(|it| !said(it)).collect();
            out.splice(..0, earlier);
            continue;
        }
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        if let Some(id) = changed(arguments) {
            let Some(task) = out.iter_mut().find(|it| it.id.as_deref() == Some(&id)) else {
                continue;
            };
            if let Some(state) = text("status").and_then(State::of) {
                task.state = state;
            } else if text("status") == Some("deleted") {
                out.retain(|it| it.id.as_deref() != Some(&id));
            }
        } else if let Some(subject) = text("subject") {
            out.push(Task {
                text: subject.to_owned(),
                state: text("status").and_then(State::of).unwrap_or(State::Open),
                id: step.result.and_then(|result| made_id(&result.text)),
            });
        }
    }
    out
}

/// The tasks of a call that gives a whole list.
pub(crate) fn list(arguments: &Value) -> Option<Vec<Task>> {
    let items = ["todos", "plan", "tasks"]
        .iter()
        .find_map(|name| arguments.get(name)?.as_array())?;
    let task = |item: &Value| {
        let text = ["content", "step", "title", "subject", "description"]
            .iter()
            .find_map(|name| item.get(name)?.as_str())?;
        let state = State::of(item.get("status")?.as_str()?)?;
        Some(Task {
            text: text.to_owned(),
            state,
            id: None,
        })
    };
    let tasks: Vec<Task> = items.iter().filter_map(task).collect();
    (!tasks.is_empty()).then_some(tasks)
}

/// The id of the single task that a call changes.
pub(crate) fn changed(arguments: &Value) -> Option<String> {
    let mut names = ["taskId", "task_id", "id"].iter();
    names.find_map(|name| id_of(arguments.get(name)?))
}

fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The id in a result such as `Task #3 created`.
fn made_id(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('#')?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}
