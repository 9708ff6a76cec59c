//! What the engine tells, as plain Python objects.

use ebbtide::{EngineError, Purged as Removed};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::clock::seconds;

/// One conversation in figures.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Conversation {
    /// Its ID.
    id: String,
    /// The name of its session, if the client gave one.
    session: Option<String>,
    /// The model of its last request.
    model: String,
    /// The turns of its last request.
    turns: u64,
    /// The tokens of the view that was sent last; None while it rests in the store.
    tokens: Option<u64>,
    /// The window in tokens; None while it rests in the store.
    window: Option<u64>,
    /// The summaries swapped in so far.
    compactions: u32,
    /// The requests that were answered.
    requests: u64,
    /// The cost in USD.
    cost: f64,
    /// The time when it was last seen, in seconds since 1970.
    seen: f64,
}

#[pymethods]
impl Conversation {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(
            this.as_any(),
            &[
                "id",
                "session",
                "model",
                "turns",
                "tokens",
                "window",
                "compactions",
                "requests",
                "cost",
            ],
        )
    }
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

/// The sums over a client's conversations: tokens as the provider reported them, cost in USD.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Stats {
    /// The conversations.
    conversations: usize,
    /// The requests that were answered.
    requests: u64,
    /// The summaries swapped in so far.
    compactions: u32,
    /// The input tokens that came neither from the cache nor went into it.
    input: u64,
    /// The input tokens read from the cache.
    cache_read: u64,
    /// The input tokens written to the cache.
    cache_write: u64,
    /// The output tokens.
    output: u64,
    /// The cost in USD.
    cost: f64,
}

#[pymethods]
impl Stats {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(
            this.as_any(),
            &[
                "conversations",
                "requests",
                "compactions",
                "input",
                "cache_read",
                "cache_write",
                "output",
                "cost",
            ],
        )
    }
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
    /// Its ID, for `unpin`.
    id: String,
    /// The text, word for word.
    text: String,
    /// Its source: `user`, `agent`, `api` or `strategy`.
    origin: String,
}

#[pymethods]
impl Pin {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["id", "text", "origin"])
    }
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
    /// Its ID, for `expand` and `lost`.
    id: String,
    /// The number of turns that it replaces, from the first one on.
    turns: usize,
    /// Its size in tokens.
    tokens: u64,
    /// The way it was made: `native`, `readable` or `extractive`.
    route: &'static str,
    /// The time when it was made, in seconds since 1970.
    at: f64,
    /// Its text.
    text: String,
    /// True if the model sees it.
    is_shown: bool,
}

#[pymethods]
impl Summary {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(
            this.as_any(),
            &["id", "turns", "tokens", "route", "is_shown", "text"],
        )
    }
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
    /// The figures of the conversation.
    conversation: Py<Conversation>,
    /// Its pins.
    pins: Vec<Pin>,
    /// Its summaries, those of fewer turns first.
    summaries: Vec<Summary>,
    /// Times, in seconds since 1970, and what happened then, newest first; empty while it rests in
    /// the store.
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
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(
            this.as_any(),
            &["conversation", "pins", "summaries", "journal"],
        )
    }

    fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        drawn(this.as_any(), "explanation")
    }
}

/// A turn as it was said.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Original {
    /// The speaker: `user`, `assistant`, …
    role: &'static str,
    /// Its size in tokens.
    tokens: u64,
    /// All that can be read of it.
    text: String,
    /// The message as JSON.
    message: Py<PyBytes>,
}

#[pymethods]
impl Original {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["role", "tokens", "text"])
    }
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
    /// `constraint`, `decision`, `open task`, `failed attempt`, `closed task`, `action` or
    /// `identifier`.
    kind: &'static str,
    /// The handle of the turn that says it, for `original`.
    handle: String,
    /// The quotation, on one line.
    text: String,
}

#[pymethods]
impl Loss {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["kind", "handle", "text"])
    }
}

/// The receipt of a summary: what the model can no longer see.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Lost {
    /// The turns that the summary replaces.
    turns: usize,
    /// Their tokens.
    tokens: u64,
    /// The entries, the most important first.
    entries: Vec<Loss>,
    /// The number of entries that are not listed.
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
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["turns", "tokens", "entries", "left_out"])
    }

    fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        drawn(this.as_any(), "lost")
    }
}

/// A section of an original.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Excerpt {
    /// The kind of original and its handle: `tool result (turn:14.2)`.
    title: String,
    /// The text, as it was said.
    text: String,
    /// The section that it is.
    section: String,
    /// The section that follows, if any.
    next: Option<String>,
    /// The size of the whole original in bytes.
    bytes: usize,
}

#[pymethods]
impl Excerpt {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["title", "section", "next", "bytes"])
    }
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
    /// The text to use instead. Its first line says what is missing, and how to get it.
    text: String,
    /// The handle of the original, for `archived`.
    handle: String,
    /// The tokens of the original.
    before: u64,
    /// The tokens of `text`.
    after: u64,
}

#[pymethods]
impl Shortened {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["handle", "before", "after", "text"])
    }
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

/// The result of a purge.
#[pyclass(frozen, get_all, module = "ebbtide")]
pub struct Purged {
    /// The conversations removed.
    conversations: u64,
    /// The turns that no conversation leads to any more.
    turns: u64,
    /// The summaries on those turns.
    marks: u64,
    /// The bytes freed, as far as they are known.
    bytes: u64,
}

#[pymethods]
impl Purged {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["conversations", "turns", "marks", "bytes"])
    }
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

/// An object on one line, with some of its members.
pub fn line(this: &Bound<'_, PyAny>, members: &[&str]) -> PyResult<String> {
    let module = this.py().import("ebbtide._repr")?;
    let line = module.getattr("line")?;
    line.call1((this, members.to_vec()))?.extract()
}

/// The result of a call, with its error as an exception.
pub fn told<T>(py: Python<'_>, result: Result<T, EngineError>) -> PyResult<T> {
    result.map_err(|error| crate::error::raised(py, &error))
}
