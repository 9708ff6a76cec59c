//! What the adaptive threshold listens to, read off real turns.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::turn::{Outcome, ToolCall, Turn};

/// Whether the agent is going in circles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopSignal {
    /// No loop is seen.
    #[default]
    Clear,
    /// The agent repeats itself.
    Detected,
}

/// Progress, error rate and loops, each in range by construction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    progress: Option<f64>,
    error_rate: f64,
    looping: LoopSignal,
}

impl Signals {
    /// Signals with this progress (`None`: not known) and error rate, each clamped to `0..=1`; NaN
    /// counts as not known, or as no errors.
    #[must_use]
    pub fn new(progress: Option<f64>, error_rate: f64, looping: LoopSignal) -> Self {
        Self {
            progress: progress
                .filter(|progress| !progress.is_nan())
                .map(|progress| progress.clamp(0.0, 1.0)),
            error_rate: if error_rate.is_nan() {
                0.0
            } else {
                error_rate.clamp(0.0, 1.0)
            },
            looping,
        }
    }

    /// The signals of a conversation: progress from the task list that the agent keeps, the share of
    /// failures among the last `recent` tool results, and the loop flag that vitality gives.
    #[must_use]
    pub fn of(turns: &[Turn], recent: usize, looping: LoopSignal) -> Self {
        let progress = TaskList::latest(turns).and_then(|list| list.progress());
        Self::new(progress, error_rate(turns, recent), looping)
    }

    /// How far the task is, `0..=1`, where known.
    #[must_use]
    pub const fn progress(&self) -> Option<f64> {
        self.progress
    }

    /// The share of recent tool results that failed, `0..=1`.
    #[must_use]
    pub const fn error_rate(&self) -> f64 {
        self.error_rate
    }

    /// Whether the agent is going in circles.
    #[must_use]
    pub const fn looping(&self) -> LoopSignal {
        self.looping
    }
}

impl Default for Signals {
    /// A task that has just begun: progress 0, no errors, no loop.
    fn default() -> Self {
        Self::new(Some(0.0), 0.0, LoopSignal::Clear)
    }
}

/// The share of failures among the last `recent` tool results; 0 where there are none.
fn error_rate(turns: &[Turn], recent: usize) -> f64 {
    let mut results = 0_u32;
    let mut failed = 0_u32;
    let newest_first = turns
        .iter()
        .rev()
        .flat_map(|turn| turn.results().collect::<Vec<_>>().into_iter().rev());
    for result in newest_first.take(recent) {
        results += 1;
        failed += u32::from(result.outcome == Outcome::Failed);
    }
    if results == 0 {
        0.0
    } else {
        f64::from(failed) / f64::from(results)
    }
}

/// The state of the task list that an agent keeps through its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    /// Tasks that are done.
    pub done: u32,
    /// All tasks, done ones included; cancelled ones are not counted.
    pub all: u32,
}

impl TaskList {
    /// The newest task list in these turns.
    ///
    /// Two habits are understood: a call that states the whole list (`TodoWrite`, `update_plan` and
    /// anything else whose arguments hold an array of objects with a `status`), and calls that
    /// create and update one task each (`TaskCreate`, `TaskUpdate`). What a tool answers is not read.
    #[must_use]
    pub fn latest(turns: &[Turn]) -> Option<Self> {
        let mut finished = BTreeSet::new();
        let mut cancelled = BTreeSet::new();
        let mut created = 0_u32;
        let mut seen = BTreeSet::new();
        for call in turns.iter().rev().flat_map(newest_first) {
            match call.name.as_str() {
                "TaskCreate" => created += 1,
                "TaskUpdate" => {
                    let Some((task, status)) = updated(call) else {
                        continue;
                    };
                    // Newest first: only a task's last word counts.
                    if seen.insert(task.clone()) {
                        match standing(&status) {
                            Standing::Done => drop(finished.insert(task)),
                            Standing::Cancelled => drop(cancelled.insert(task)),
                            Standing::Open => {}
                        }
                    }
                }
                _ if created == 0 && seen.is_empty() => {
                    if let Some(list) = stated(call) {
                        return Some(list);
                    }
                }
                _ => {}
            }
        }
        let known = created.max(count(seen.len()));
        let all = known.saturating_sub(count(cancelled.len()));
        let done = count(finished.len()).min(all);
        (all > 0).then_some(Self { done, all })
    }

    /// Done ÷ all, `None` for an empty list.
    #[must_use]
    pub fn progress(self) -> Option<f64> {
        (self.all > 0).then(|| f64::from(self.done) / f64::from(self.all))
    }
}

enum Standing {
    Done,
    Cancelled,
    Open,
}

fn standing(status: &str) -> Standing {
    match status {
        "completed" | "complete" | "done" | "finished" | "closed" => Standing::Done,
        "cancelled" | "canceled" | "deleted" | "abandoned" => Standing::Cancelled,
        _ => Standing::Open,
    }
}

fn newest_first(turn: &Turn) -> impl Iterator<Item = &ToolCall> {
    turn.calls().collect::<Vec<_>>().into_iter().rev()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The task and the status that a call updates.
fn updated(call: &ToolCall) -> Option<(String, String)> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let task = ["taskId", "task_id", "id"]
        .iter()
        .find_map(|key| arguments.get(key))?
        .to_string();
    let status = arguments.get("status")?.as_str()?;
    Some((task, status.to_owned()))
}

/// The list that a call states whole.
fn stated(call: &ToolCall) -> Option<TaskList> {
    // Most calls are no task lists and some are megabytes of file content: look before parsing.
    memchr::memmem::find(call.arguments.as_bytes(), b"\"status\"")?;
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let tasks = ["todos", "plan", "tasks", "items"]
        .iter()
        .filter_map(|key| arguments.get(key))
        .find_map(Value::as_array)?;
    let mut list = TaskList::default();
    for task in tasks {
        match standing(task.get("status")?.as_str()?) {
            Standing::Done => {
                list.done += 1;
                list.all += 1;
            }
            Standing::Open => list.all += 1,
            Standing::Cancelled => {}
        }
    }
    (list.all > 0).then_some(list)
}
