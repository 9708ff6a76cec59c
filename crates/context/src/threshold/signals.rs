//! The signals of the adaptive threshold, read off real turns.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::turn::{Outcome, ToolCall, Turn};

/// The presence of a loop.
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
    tasks: Option<TaskList>,
    /// The newest results that failed, and all of them.
    results: Option<(u32, u32)>,
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
            tasks: None,
            results: None,
        }
    }

    /// The task list behind the progress, where one was read.
    pub(super) const fn tasks(&self) -> Option<TaskList> {
        self.tasks
    }

    /// The counts behind the error rate, where results were read: failures, and all.
    pub(super) const fn results(&self) -> Option<(u32, u32)> {
        self.results
    }

    /// The progress of the task, `0..=1`, where known.
    #[must_use]
    pub const fn progress(&self) -> Option<f64> {
        self.progress
    }

    /// The share of recent tool results that failed, `0..=1`.
    #[must_use]
    pub const fn error_rate(&self) -> f64 {
        self.error_rate
    }

    /// The presence of a loop.
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

/// The signals of a conversation that grows. Takes each turn once; a turn costs its calls and results.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The outcomes of the newest results, the oldest first.
    results: VecDeque<Outcome>,
    recent: usize,
    /// The whole list that a call stated, unless a single task changed since.
    stated: Option<TaskList>,
    created: u32,
    /// The status of each task that was updated on its own.
    updated: BTreeMap<String, Status>,
}

impl Watch {
    /// A watch whose error rate covers the newest `recent` tool results.
    #[must_use]
    pub const fn new(recent: usize) -> Self {
        Self {
            results: VecDeque::new(),
            recent,
            stated: None,
            created: 0,
            updated: BTreeMap::new(),
        }
    }

    /// Takes the next turn.
    pub fn push(&mut self, turn: &Turn) {
        for call in turn.calls() {
            self.call(call);
        }
        self.results
            .extend(turn.results().map(|result| result.outcome));
        let old = self.results.len().saturating_sub(self.recent);
        self.results.drain(..old);
    }

    /// Two habits are understood: a call that states the whole list (`TodoWrite`, `update_plan` and
    /// anything else whose arguments hold an array of objects with a `status`), and calls that
    /// create and update one task each (`TaskCreate`, `TaskUpdate`).
    fn call(&mut self, call: &ToolCall) {
        match call.name.as_str() {
            "TaskCreate" => self.created = self.created.saturating_add(1),
            "TaskUpdate" => {
                let Some((task, status)) = updated(call) else {
                    return;
                };
                self.updated.insert(task, status);
            }
            _ => {
                self.stated = stated(call).or(self.stated);
                return;
            }
        }
        self.stated = None;
    }

    /// The newest task list; `None` where the agent keeps none.
    #[must_use]
    pub fn tasks(&self) -> Option<TaskList> {
        if self.stated.is_some() {
            return self.stated;
        }
        let of = |wanted: Status| {
            let found = self.updated.values().filter(|status| **status == wanted);
            count(found.count())
        };
        let known = self.created.max(count(self.updated.len()));
        let all = known.saturating_sub(of(Status::Cancelled));
        let done = of(Status::Done).min(all);
        (all > 0).then_some(TaskList { done, all })
    }

    /// Progress from the task list, the share of failures among the newest results, and the loop
    /// signal that vitality gives.
    #[must_use]
    pub fn signals(&self, looping: LoopSignal) -> Signals {
        let failed = self
            .results
            .iter()
            .filter(|outcome| **outcome == Outcome::Failed);
        let (failed, all) = (count(failed.count()), count(self.results.len()));
        let errors = f64::from(failed) / f64::from(all.max(1));
        let tasks = self.tasks();
        Signals {
            tasks,
            results: Some((failed, all)),
            ..Signals::new(tasks.and_then(TaskList::progress), errors, looping)
        }
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
    /// Done ÷ all, `None` for an empty list.
    #[must_use]
    pub fn progress(self) -> Option<f64> {
        (self.all > 0).then(|| f64::from(self.done) / f64::from(self.all))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Done,
    Cancelled,
    Open,
}

fn status(name: &str) -> Status {
    match name {
        "completed" | "complete" | "done" | "finished" | "closed" => Status::Done,
        "cancelled" | "canceled" | "deleted" | "abandoned" => Status::Cancelled,
        _ => Status::Open,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The task and the status that a call updates.
fn updated(call: &ToolCall) -> Option<(String, Status)> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let task = ["taskId", "task_id", "id"]
        .iter()
        .find_map(|key| arguments.get(key))?
        .to_string();
    let name = arguments.get("status")?.as_str()?;
    Some((task, status(name)))
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
        match status(task.get("status")?.as_str()?) {
            Status::Done => {
                list.done += 1;
                list.all += 1;
            }
            Status::Open => list.all += 1,
            Status::Cancelled => {}
        }
    }
    (list.all > 0).then_some(list)
}
