//! The objects of a request on its way: views, holds, work, digests.

use std::sync::{Mutex, PoisonError};

use ebbtide::{Next, Ticket, Tokens};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::clock::seconds;
use crate::told::{drawn, line, told};

/// A place for what is used once, from any thread.
pub struct Once<T>(Mutex<Option<T>>);

impl<T> Once<T> {
    pub fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// Takes it out.
    pub fn take(&self, what: &str) -> PyResult<T> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = held.take();
        taken.ok_or_else(|| PyValueError::new_err(format!("{what} was used already")))
    }

    /// Uses it in place; `None` once it was taken.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map(work)
    }
}

/// The body to send for a request.
#[pyclass(frozen, module = "ebbtide")]
pub struct View {
    /// The bytes to send.
    #[pyo3(get)]
    body: Py<PyBytes>,
    /// False if they are the caller's own.
    #[pyo3(get)]
    changed: bool,
    /// The actions taken: `kept`, `swapped`, `compacted`, …
    #[pyo3(get)]
    did: Vec<&'static str>,
    betas: Vec<&'static str>,
    /// The size; None where the body was not read.
    #[pyo3(get)]
    tokens: Option<u64>,
    /// The ID of the conversation; None where the request belongs to none.
    #[pyo3(get)]
    conversation: Option<String>,
    pub ticket: Once<Ticket>,
}

#[pymethods]
impl View {
    /// Hears a piece of a streamed answer. True once the stream is whole.
    fn hear(&self, py: Python<'_>, piece: &[u8]) -> bool {
        py.detach(|| self.ticket.with(|ticket| ticket.hear(piece)))
            .unwrap_or_default()
    }

    /// Names for the header `anthropic-beta`, also those that the body of a rescue needs.
    #[getter]
    fn betas(&self) -> Vec<&'static str> {
        let mut all = self.betas.clone();
        let rescue = self.ticket.with(|ticket| ticket.betas().to_vec());
        let new = rescue.unwrap_or_default();
        all.extend(new.into_iter().filter(|name| !self.betas.contains(name)));
        all
    }

    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["did", "changed", "tokens", "conversation"])
    }

    fn _repr_html_(this: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        drawn(this.as_any(), "view")
    }
}

/// A request that waits for a summary.
#[pyclass(frozen, module = "ebbtide")]
pub struct Held {
    /// The summary to make; None where it was handed out before.
    #[pyo3(get)]
    work: Option<Py<Work>>,
    /// The time at which the request goes out without it.
    #[pyo3(get)]
    until: Option<f64>,
    pub held: Once<(ebbtide::Held, Py<PyBytes>)>,
}

#[pymethods]
impl Held {
    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["until", "work"])
    }
}

/// A summary to make. Use it once: with `prepared`, `failed` or `extract`.
#[pyclass(frozen, module = "ebbtide")]
pub struct Work {
    /// The ID of the conversation.
    #[pyo3(get)]
    conversation: String,
    /// The largest summary, in tokens.
    #[pyo3(get)]
    budget: u64,
    /// The model that the conversation is held with.
    #[pyo3(get)]
    model: String,
    pub work: Once<ebbtide::Work>,
}

#[pymethods]
impl Work {
    /// Returns the system prompt and the source, for a model with room for so many tokens of it.
    #[pyo3(signature = (room = 100_000))]
    fn prompt(&self, py: Python<'_>, room: u64) -> PyResult<(String, String)> {
        let prompt = py.detach(|| self.work.with(|work| work.prompt(Tokens::new(room))));
        let prompt = prompt.ok_or_else(|| PyValueError::new_err("the work was used already"))?;
        Ok((prompt.system, prompt.source))
    }

    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["conversation", "budget", "model"])
    }
}

impl Work {
    pub fn of(work: ebbtide::Work) -> Self {
        Self {
            conversation: work.conversation().to_string(),
            budget: work.budget().get(),
            model: work.model().to_owned(),
            work: Once::new(work),
        }
    }
}

/// The beginning of a request, to be replaced with a summary.
#[pyclass(frozen, module = "ebbtide")]
pub struct Digest {
    /// The index of the first message to keep.
    #[pyo3(get)]
    kept_from: usize,
    /// The tokens of the messages to replace.
    #[pyo3(get)]
    tokens: u64,
    digest: ebbtide::Digest,
}

#[pymethods]
impl Digest {
    /// Returns the system prompt and the source, for a model with room for so many tokens of it.
    #[pyo3(signature = (room = 100_000))]
    fn prompt(&self, py: Python<'_>, room: u64) -> (String, String) {
        let prompt = py.detach(|| self.digest.prompt(Tokens::new(room)));
        (prompt.system, prompt.source)
    }

    /// Makes a summary without a model.
    fn extract(&self, py: Python<'_>) -> String {
        py.detach(|| self.digest.extract().to_string())
    }

    /// Checks a model's summary and completes it from the originals.
    fn written(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        let made = py.detach(|| self.digest.written(text));
        told(py, made).map(|text| text.to_string())
    }

    /// Counts the tokens of a text.
    fn count(&self, py: Python<'_>, text: &str) -> u64 {
        py.detach(|| self.digest.count(text).get())
    }

    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["kept_from", "tokens"])
    }
}

impl Digest {
    pub fn of(digest: ebbtide::Digest) -> Self {
        Self {
            kept_from: digest.kept_from(),
            tokens: digest.tokens().get(),
            digest,
        }
    }
}

/// The next step of a request whose body came as `came`.
pub fn next(py: Python<'_>, next: Next, came: Py<PyBytes>) -> PyResult<Py<PyAny>> {
    match next {
        Next::Send(out) => {
            let changed = came.bind(py).as_bytes() != &*out.body;
            let body = match changed {
                true => PyBytes::new(py, &out.body).unbind(),
                false => came,
            };
            let view = View {
                body,
                changed,
                did: out.did.iter().map(|did| did.as_str()).collect(),
                betas: out.betas,
                tokens: out.tokens.map(Tokens::get),
                conversation: out.ticket.conversation().map(|id| id.to_string()),
                ticket: Once::new(out.ticket),
            };
            Ok(Py::new(py, view)?.into_any())
        }
        Next::Hold(mut held) => {
            let work = held.work.take().map(Work::of);
            let held = Held {
                work: work.map(|work| Py::new(py, work)).transpose()?,
                until: held.until.map(seconds),
                held: Once::new((held, came)),
            };
            Ok(Py::new(py, held)?.into_any())
        }
        _ => Err(PyValueError::new_err("an unknown step")),
    }
}
