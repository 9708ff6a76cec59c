//! The engine.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use ebbtide::history::Limits;
use ebbtide::{
    Builder, Client, ConversationId, Dialect, EngineError, Keep, MarkId, Mode, PinId, Selection,
    SignedDuration, Summaries, Timestamp, Tokens, ToolResult,
};
use history_sqlite::Sqlite;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::clock::time;
use crate::error::{raised, unknown};
use crate::told::{
    Conversation, Excerpt, Explanation, Lost, Original, Pin, Purged, Shortened, Stats, line, told,
};
use crate::way::{Digest, Held, View, Work, next};

/// The memory of conversations, seen by one client of it.
///
/// `store` is the path of a SQLite file; without it, the history is in memory. `window` is the
/// window of every model in tokens; without it, the model's own. `strategy` names a built-in
/// strategy, or the program in `strategy_text`. `observe` changes nothing.
/// `summaries="caller"` hands out `Work` instead of making summaries without a model.
/// `patience` is the longest time in seconds that a request is held; 0 holds none, except under a
/// strategy that waits, with up to 300. `notes` tells the model the state of its memory. `shrink`
/// is the largest tool result that is first sent whole, in tokens. The other four are those of
/// `with_client`.
#[pyclass(frozen, module = "ebbtide")]
pub struct Engine {
    engine: Arc<ebbtide::Engine>,
    client: Client,
    /// The maker of summaries: `extractive` or `caller`.
    summaries: String,
    /// The tenant's key, the dialect, the session and the agent.
    names: Names,
}

#[derive(Clone)]
struct Names {
    tenant: String,
    dialect: String,
    session: Option<String>,
    agent: Option<String>,
}

impl Names {
    fn client(&self, engine: &ebbtide::Engine) -> PyResult<Client> {
        let dialect = match self.dialect.as_str() {
            "anthropic" => Dialect::Anthropic,
            "chat" => Dialect::Chat,
            "responses" => Dialect::Responses,
            other => return Err(unknown("a dialect: anthropic, chat or responses", other)),
        };
        let mut client = engine.client(&self.tenant).speaking(dialect);
        if let Some(session) = &self.session {
            client = client.session(session);
        }
        if let Some(agent) = &self.agent {
            client = client.agent(agent);
        }
        Ok(client)
    }
}

/// The settings that are numbers and words.
struct Settings {
    window: Option<u64>,
    strategy: String,
    strategy_text: Option<String>,
    observe: bool,
    summaries: String,
    patience: f64,
    notes: bool,
    shrink: Option<u64>,
}

impl Settings {
    fn builder(&self) -> PyResult<Result<Builder, EngineError>> {
        let summaries = match self.summaries.as_str() {
            "extractive" => Summaries::Extractive,
            "caller" => Summaries::ByCaller,
            other => return Err(unknown("a maker of summaries: extractive or caller", other)),
        };
        let patience = SignedDuration::try_from_secs_f64(self.patience);
        let patience = patience.map_err(|_| unknown("a time", &self.patience.to_string()))?;
        let builder = ebbtide::Engine::builder()
            .summaries(summaries)
            .patience(patience)
            .notes(self.notes)
            .shrink(self.shrink)
            .mode(if self.observe {
                Mode::Observe
            } else {
                Mode::On
            });
        let builder = match self.window {
            Some(window) => builder.window(window),
            None => builder,
        };
        Ok(match &self.strategy_text {
            Some(text) => builder.strategy_text(&self.strategy, text),
            None => builder.strategy(&self.strategy),
        })
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (*, store = None, window = None, strategy = "prepared", strategy_text = None,
        observe = false, summaries = "extractive", patience = 0.0, notes = true, shrink = 16_000,
        secret = None, tenant = "", dialect = "anthropic", session = None, agent = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        store: Option<PathBuf>,
        window: Option<u64>,
        strategy: &str,
        strategy_text: Option<String>,
        observe: bool,
        summaries: &str,
        patience: f64,
        notes: bool,
        shrink: Option<u64>,
        secret: Option<[u8; 32]>,
        tenant: &str,
        dialect: &str,
        session: Option<String>,
        agent: Option<String>,
    ) -> PyResult<Self> {
        let settings = Settings {
            window,
            strategy: strategy.to_owned(),
            strategy_text,
            observe,
            summaries: summaries.to_owned(),
            patience,
            notes,
            shrink,
        };
        let mut builder = told(py, settings.builder()?)?;
        if let Some(secret) = secret {
            builder = builder.secret(secret);
        }
        let engine = py.detach(|| {
            if let Some(path) = store {
                let store = Sqlite::open(&path, Limits::default());
                builder = builder.store(Arc::new(store.map_err(EngineError::NoStore)?));
            }
            builder.open()
        });
        let names = Names {
            tenant: tenant.to_owned(),
            dialect: dialect.to_owned(),
            session,
            agent,
        };
        let engine = told(py, engine)?;
        Ok(Self {
            client: names.client(&engine)?,
            engine: Arc::new(engine),
            summaries: settings.summaries,
            names,
        })
    }

    /// Returns the same engine for another client. Conversations of different tenants never meet.
    #[pyo3(signature = (*, tenant = None, dialect = None, session = None, agent = None))]
    fn with_client(
        &self,
        tenant: Option<String>,
        dialect: Option<String>,
        session: Option<String>,
        agent: Option<String>,
    ) -> PyResult<Self> {
        let names = self.names.clone();
        let names = Names {
            tenant: tenant.unwrap_or(names.tenant),
            dialect: dialect.unwrap_or(names.dialect),
            session: session.or(names.session),
            agent: agent.or(names.agent),
        };
        Ok(Self {
            client: names.client(&self.engine)?,
            engine: Arc::clone(&self.engine),
            summaries: self.summaries.clone(),
            names,
        })
    }

    /// The maker of summaries.
    #[getter]
    fn summaries(&self) -> &str {
        &self.summaries
    }

    /// The key of the client's tenant.
    #[getter]
    fn tenant(&self) -> &str {
        &self.names.tenant
    }

    /// Takes the body of a request for the next message, and gives the one to send.
    ///
    /// A `Held` comes only with `summaries="caller"` and a strategy that waits. `now` is in
    /// seconds since 1970.
    #[pyo3(signature = (body, *, now = None))]
    fn view(&self, py: Python<'_>, body: Py<PyBytes>, now: Option<f64>) -> PyResult<Py<PyAny>> {
        let (bytes, now) = (Bytes::copy_from_slice(body.bind(py).as_bytes()), time(now)?);
        let came = py.detach(|| self.engine.request(&self.client, bytes, now));
        next(py, told(py, came)?, body)
    }

    /// Goes on with a request that was held, once its work is done or its time has come.
    #[pyo3(signature = (held, *, now = None))]
    fn resume(&self, py: Python<'_>, held: &Held, now: Option<f64>) -> PyResult<Py<PyAny>> {
        let (now, (held, body)) = (time(now)?, held.held.take("the hold")?);
        let came = py.detach(|| self.engine.resume(held, now));
        next(py, told(py, came)?, body)
    }

    /// Takes the whole answer, or what the view has heard of it. Returns the summary to make, if
    /// any.
    #[pyo3(signature = (view, answer = None, *, now = None))]
    fn observe(
        &self,
        py: Python<'_>,
        view: &View,
        answer: Option<&[u8]>,
        now: Option<f64>,
    ) -> PyResult<Option<Work>> {
        let (now, ticket) = (time(now)?, view.ticket.take("the view")?);
        let work = py.detach(|| match answer {
            None => self.engine.answered(ticket, now),
            Some(answer) => self.engine.observe(ticket, answer, now),
        });
        Ok(told(py, work)?.map(Work::of))
    }

    /// The provider refused a request as too long: the body to send instead, once, if there is
    /// one.
    #[pyo3(signature = (view, status, body, *, now = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn refused<'py>(
        &self,
        py: Python<'py>,
        view: &View,
        status: u16,
        body: &[u8],
        now: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let now = time(now)?;
        let again = py.detach(|| {
            let refused =
                |ticket: &mut ebbtide::Ticket| self.engine.refused(ticket, (status, body), now);
            view.ticket.with(refused).flatten()
        });
        Ok(again.map(|body| PyBytes::new(py, &body)))
    }

    /// Takes the summary that a model wrote. One that is turned away is replaced by one without a
    /// model.
    #[pyo3(signature = (work, text, *, now = None))]
    fn prepared(&self, py: Python<'_>, work: &Work, text: &str, now: Option<f64>) -> PyResult<()> {
        let (now, work) = (time(now)?, work.work.take("the work")?);
        told(py, py.detach(|| self.engine.prepared(work, text, now)))
    }

    /// A summary could not be made: one is made without a model.
    #[pyo3(signature = (work, why, *, now = None))]
    fn failed(&self, py: Python<'_>, work: &Work, why: &str, now: Option<f64>) -> PyResult<()> {
        let (now, work) = (time(now)?, work.work.take("the work")?);
        py.detach(|| self.engine.failed(work, why, now));
        Ok(())
    }

    /// Makes a summary without a model.
    #[pyo3(signature = (work, *, now = None))]
    fn extract(&self, py: Python<'_>, work: &Work, now: Option<f64>) -> PyResult<()> {
        let (now, work) = (time(now)?, work.work.take("the work")?);
        py.detach(|| self.engine.extract(work, now));
        Ok(())
    }

    /// Pins a text: it stays in view word for word.
    #[pyo3(signature = (conversation, text, *, now = None))]
    fn pin(
        &self,
        py: Python<'_>,
        conversation: &str,
        text: &str,
        now: Option<f64>,
    ) -> PyResult<Pin> {
        let (of, now) = (found(conversation)?, time(now)?);
        let pin = py.detach(|| self.engine.pin(&self.client, of, text, now));
        Ok(Pin::of(&told(py, pin)?))
    }

    /// Removes a pin by its ID. Returns False where there is none, or where a `#pin` line keeps its text pinned.
    #[pyo3(signature = (conversation, pin, *, now = None))]
    fn unpin(
        &self,
        py: Python<'_>,
        conversation: &str,
        pin: &str,
        now: Option<f64>,
    ) -> PyResult<bool> {
        let (of, now) = (found(conversation)?, time(now)?);
        let pin = PinId::parse(pin).ok_or_else(|| unknown("a pin", pin))?;
        told(
            py,
            py.detach(|| self.engine.unpin(&self.client, of, pin, now)),
        )
    }

    /// Orders a summary, to be swapped in as soon as it is ready.
    #[pyo3(signature = (conversation, *, now = None))]
    fn compact(&self, py: Python<'_>, conversation: &str, now: Option<f64>) -> PyResult<()> {
        self.ordered(py, (conversation, now), ebbtide::Engine::compact)
    }

    /// Orders that the newest swap is taken back with the next request.
    #[pyo3(signature = (conversation, *, now = None))]
    fn undo(&self, py: Python<'_>, conversation: &str, now: Option<f64>) -> PyResult<()> {
        self.ordered(py, (conversation, now), ebbtide::Engine::undo)
    }

    /// Orders that the view that was taken back is shown again.
    #[pyo3(signature = (conversation, *, now = None))]
    fn redo(&self, py: Python<'_>, conversation: &str, now: Option<f64>) -> PyResult<()> {
        self.ordered(py, (conversation, now), ebbtide::Engine::redo)
    }

    /// Returns the turns behind a summary, or behind the one that is shown.
    #[pyo3(signature = (conversation, summary = None))]
    fn expand(
        &self,
        py: Python<'_>,
        conversation: &str,
        summary: Option<&str>,
    ) -> PyResult<Vec<Original>> {
        let (of, summary) = (found(conversation)?, mark(summary)?);
        let all = py.detach(|| self.engine.expand(&self.client, of, summary));
        Ok(told(py, all)?
            .iter()
            .map(|one| Original::of(py, one))
            .collect())
    }

    /// Returns the receipt of a summary, or of the one that is shown: what the model can no longer
    /// see.
    #[pyo3(signature = (conversation, summary = None))]
    fn lost(&self, py: Python<'_>, conversation: &str, summary: Option<&str>) -> PyResult<Lost> {
        let (of, summary) = (found(conversation)?, mark(summary)?);
        let lost = py.detach(|| self.engine.lost(&self.client, of, summary));
        told(py, lost).map(Lost::of)
    }

    /// Returns the original behind a handle such as `turn:14`. `section` is lines `10-80` or bytes
    /// `b0-4000`.
    #[pyo3(signature = (conversation, handle, *, section = None, room = 24_000))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn original(
        &self,
        py: Python<'_>,
        conversation: &str,
        handle: &str,
        section: Option<&str>,
        room: usize,
    ) -> PyResult<Excerpt> {
        let of = found(conversation)?;
        let original = py.detach(|| {
            self.engine
                .original(&self.client, of, (handle, section), room)
        });
        told(py, original).map(Excerpt::from)
    }

    /// Explains a conversation's view: figures, pins, summaries, and the journal.
    fn explain(&self, py: Python<'_>, conversation: &str) -> PyResult<Explanation> {
        let of = found(conversation)?;
        let explained = py.detach(|| self.engine.explain(&self.client, of));
        Explanation::of(py, told(py, explained)?)
    }

    /// Returns the client's conversations, those seen last first.
    fn conversations(&self, py: Python<'_>) -> PyResult<Vec<Conversation>> {
        let all = py.detach(|| self.engine.conversations(&self.client));
        Ok(told(py, all)?.iter().map(Conversation::of).collect())
    }

    /// Returns the sums over the client's conversations.
    fn stats(&self, py: Python<'_>) -> PyResult<Stats> {
        let all = py.detach(|| self.engine.conversations(&self.client));
        Ok(Stats::of(&told(py, all)?))
    }

    /// Removes a conversation for good, or those last seen before a time, or all; not both at once.
    #[pyo3(signature = (conversation = None, *, before = None))]
    fn purge(
        &self,
        py: Python<'_>,
        conversation: Option<&str>,
        before: Option<f64>,
    ) -> PyResult<Purged> {
        if conversation.is_some() && before.is_some() {
            return Err(PyValueError::new_err(
                "give a conversation or a time, not both",
            ));
        }
        let what = match conversation {
            Some(conversation) => Selection::One(found(conversation)?),
            None => {
                Selection::Before(before.map_or(Ok(Timestamp::MAX), |time_| time(Some(time_)))?)
            }
        };
        let purged = py.detach(|| self.engine.purge(&self.client, what));
        told(py, purged).map(Purged::of)
    }

    /// Lets idle conversations leave memory at once. Requests do so by themselves, a few at a time.
    #[pyo3(signature = (*, now = None))]
    fn rest(&self, py: Python<'_>, now: Option<f64>) -> PyResult<()> {
        let now = time(now)?;
        py.detach(|| self.engine.rest(now));
        Ok(())
    }

    /// Shortens a tool result of more than `limit` tokens, and keeps the original. None where it
    /// fits.
    #[pyo3(signature = (text, *, limit, call = "", tool = "", arguments = "{}", now = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn shorten(
        &self,
        py: Python<'_>,
        text: &str,
        limit: u64,
        call: &str,
        tool: &str,
        arguments: &str,
        now: Option<f64>,
    ) -> PyResult<Option<Shortened>> {
        let now = time(now)?;
        let result = ToolResult {
            call,
            tool,
            arguments,
            text,
        };
        let short = py.detach(|| self.engine.shorten(&self.client, result, limit, now));
        Ok(told(py, short)?.map(Shortened::from))
    }

    /// Returns the original of a shortened tool result.
    #[pyo3(signature = (handle, *, section = None, room = 24_000))]
    fn archived(
        &self,
        py: Python<'_>,
        handle: &str,
        section: Option<&str>,
        room: usize,
    ) -> PyResult<Excerpt> {
        let original = py.detach(|| self.engine.archived(&self.client, handle, section, room));
        told(py, original).map(Excerpt::from)
    }

    /// Removes the originals of all shortened tool results of the client.
    fn forget_results(&self, py: Python<'_>) -> PyResult<Purged> {
        let purged = py.detach(|| self.engine.forget_results(&self.client));
        told(py, purged).map(Purged::of)
    }

    /// Counts the tokens of a request's messages.
    fn count(&self, py: Python<'_>, body: &[u8]) -> PyResult<u64> {
        let counted = py.detach(|| self.engine.count(&self.client, body));
        told(py, counted).map(Tokens::get)
    }

    /// Cuts a request's messages outside any conversation, never inside a step.
    ///
    /// Keeps all but the share `ratio` (0.5), or the newest `keep` tokens, or the messages from
    /// index `at` on. The summary has about `room` tokens at most. None where no cut leaves
    /// something on both sides.
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (body, *, ratio = None, keep = None, at = None, room = None))]
    fn digest(
        &self,
        py: Python<'_>,
        body: &[u8],
        ratio: Option<f64>,
        keep: Option<u64>,
        at: Option<usize>,
        room: Option<u64>,
    ) -> PyResult<Option<Digest>> {
        let keep = match (ratio, keep, at) {
            (None, Some(tokens), None) => Keep::Newest(Tokens::new(tokens)),
            (None, None, Some(at)) => Keep::From(at),
            (ratio, None, None) => Keep::AllBut(ratio.unwrap_or(0.5)),
            _ => return Err(PyValueError::new_err("give one of ratio, keep and at")),
        };
        let digest = py.detach(|| self.engine.digest(&self.client, body, keep));
        let within = |digest: ebbtide::Digest| match room {
            Some(room) => digest.within(Tokens::new(room)),
            None => digest,
        };
        Ok(told(py, digest)?.map(within).map(Digest::of))
    }

    fn __repr__(this: Bound<'_, Self>) -> PyResult<String> {
        line(this.as_any(), &["summaries", "tenant"])
    }
}

impl Engine {
    fn ordered(
        &self,
        py: Python<'_>,
        (conversation, now): (&str, Option<f64>),
        order: fn(&ebbtide::Engine, &Client, ConversationId, Timestamp) -> Result<(), EngineError>,
    ) -> PyResult<()> {
        let (of, now) = (found(conversation)?, time(now)?);
        let done = py.detach(|| order(&self.engine, &self.client, of, now));
        done.map_err(|error| raised(py, &error))
    }
}

fn found(conversation: &str) -> PyResult<ConversationId> {
    ConversationId::parse(conversation).ok_or_else(|| unknown("a conversation", conversation))
}

fn mark(summary: Option<&str>) -> PyResult<Option<MarkId>> {
    let parse = |text: &str| MarkId::parse(text).ok_or_else(|| unknown("a summary", text));
    summary.map(parse).transpose()
}
