//! What the engine tells, as plain Python objects.

use ebbtide::{EngineError, Purged as Removed};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::clock::seconds;

/// One conversation in figures.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Conversation {
    id: String,
    session: Option<String>,
    model: String,
    turns: u64,
    tokens: Option<u64>,
    window: Option<u64>,
    compactions: u32,
    requests: u64,
    cost: f64,
    seen: f64,
}

impl Conversation {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a cost stays far below 2^52 millionths"
    )]
    pub fn of(one: &ebbtide::Overview) -> Self {
        Self {
            id: one.id.to_string(),
            session: one.session.as_ref().map(ToString::to_string),
            model: one.model.to_string(),
            turns: one.turns,
            tokens: one.view.map(ebbtide::Tokens::get),
            window: one.window.map(ebbtide::Tokens::get),
            compactions: one.compactions,
            requests: one.totals.requests,
            cost: one.totals.micros as f64 / 1e6,
            seen: seconds(one.seen),
        }
    }
}

/// The sums over all conversations of a client.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Stats {
    conversations: usize,
    requests: u64,
    compactions: u32,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    cost: f64,
}

impl Stats {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a cost stays far below 2^52 millionths"
    )]
    pub fn of(all: &[ebbtide::Overview]) -> Self {
        let sum = |figure: fn(&ebbtide::Overview) -> u64| all.iter().map(figure).sum::<u64>();
        Self {
            conversations: all.len(),
            requests: sum(|one| one.totals.requests),
            compactions: all.iter().map(|one| one.compactions).sum(),
            input: sum(|one| one.totals.fresh.get()),
            cache_read: sum(|one| one.totals.cache_read.get()),
            cache_write: sum(|one| one.totals.cache_write.get()),
            output: sum(|one| one.totals.output.get()),
            cost: sum(|one| one.totals.micros) as f64 / 1e6,
        }
    }
}

/// A pinned text.
#[pyclass(frozen, get_all, module = "ebbtide")]
#[derive(Clone)]
pub struct Pin {
    id: String,
    text: String,
    origin: String,
}

impl Pin {
    pub fn of(pin: &ebbtide::Pin) -> Self {
        Self {
            id: pin.id.to_string(),
            text: pin.text.to_string(),
            origin: pin.origin.to_string(),
        }
    }
}

/// A summary that was made.
#[pyclass(frozen, get_all, module = "ebbtide")]
#[derive(Clone)]
pub struct Summary {
    id: String,
    turns: usize,
    tokens: u64,
    route: &'static str,
    at: f64,
    text: String,
    is_shown: bool,
}

impl Summary {
    fn of(one: &ebbtide::SummaryReport) -> Self {
        Self {
            id: one.id.to_string(),
            turns: one.turns,
            tokens: one.tokens.get(),
            route: one.route.as_str(),
            at: seconds(one.at),
            text: one.text.to_string(),
            is_shown: one.is_shown,
        }
    }
}

/// The reasons of a conversation's view.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Explanation {
    conversation: Py<Conversation>,
    pins: Vec<Pin>,
    summaries: Vec<Summary>,
    journal: Vec<(f64, String)>,
}

impl Explanation {
    pub fn of(py: Python<'_>, told: ebbtide::Explanation) -> PyResult<Self> {
        let journal = told.journal.into_iter();
        Ok(Self {
            conversation: Py::new(py, Conversation::of(&told.overview))?,
            pins: told.pins.iter().map(Pin::of).collect(),
            summaries: told.summaries.iter().map(Summary::of).collect(),
            journal: journal.map(|(at, text)| (seconds(at), text)).collect(),
        })
    }
}

#[pymethods]
impl Explanation {
    fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        drawn(this.as_any(), "explanation")
    }
}

/// A turn as it was said.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Original {
    role: &'static str,
    tokens: u64,
    text: String,
    message: Py<PyBytes>,
}

impl Original {
    pub fn of(py: Python<'_>, one: &ebbtide::Original) -> Self {
        Self {
            role: one.role.as_str(),
            tokens: one.tokens.get(),
            text: one.text.clone(),
            message: PyBytes::new(py, &one.message).unbind(),
        }
    }
}

/// One thing that the model can no longer see.
#[pyclass(frozen, get_all, module = "ebbtide")]
#[derive(Clone)]
pub struct Loss {
    kind: &'static str,
    handle: String,
    text: String,
}

/// The receipt of a summary.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Lost {
    turns: usize,
    tokens: u64,
    entries: Vec<Loss>,
    left_out: usize,
}

impl Lost {
    pub fn of(lost: ebbtide::Lost) -> Self {
        let entries = lost.entries.into_iter().map(|loss| Loss {
            kind: loss.kind,
            handle: loss.handle,
            text: loss.text,
        });
        Self {
            turns: lost.turns,
            tokens: lost.tokens.get(),
            entries: entries.collect(),
            left_out: lost.left_out,
        }
    }
}

#[pymethods]
impl Lost {
    fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        drawn(this.as_any(), "lost")
    }
}

/// A section of an original.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Excerpt {
    title: String,
    text: String,
    section: String,
    next: Option<String>,
    bytes: usize,
}

impl From<ebbtide::Excerpt> for Excerpt {
    fn from(one: ebbtide::Excerpt) -> Self {
        Self {
            title: one.title,
            text: one.text,
            section: one.section,
            next: one.next,
            bytes: one.bytes,
        }
    }
}

/// A tool result that was shortened.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Shortened {
    text: String,
    handle: String,
    before: u64,
    after: u64,
}

impl From<ebbtide::Shortened> for Shortened {
    fn from(one: ebbtide::Shortened) -> Self {
        Self {
            text: one.text.to_string(),
            handle: one.handle,
            before: one.before.get(),
            after: one.after.get(),
        }
    }
}

/// What a purge removed.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Purged {
    conversations: u64,
    turns: u64,
    marks: u64,
    bytes: u64,
}

impl Purged {
    pub fn of(removed: Removed) -> Self {
        Self {
            conversations: removed.conversations,
            turns: removed.turns,
            marks: removed.marks,
            bytes: removed.bytes,
        }
    }
}

/// The picture of an object in a notebook.
pub fn drawn<'py>(this: &Bound<'py, PyAny>, picture: &str) -> PyResult<Bound<'py, PyAny>> {
    let module = this.py().import("ebbtide._html")?;
    module.getattr(picture)?.call1((this,))
}

/// The result of a call, with its error as an exception.
pub fn told<T>(py: Python<'_>, result: Result<T, EngineError>) -> PyResult<T> {
    result.map_err(|error| crate::error::raised(py, &error))
}
