"""The engine of Ebbtide, over bytes. Every call releases the interpreter's lock; objects may be shared by threads."""

import os
from typing import Literal, final

__all__ = [
    "Conversation",
    "Digest",
    "EbbtideError",
    "Engine",
    "Excerpt",
    "Explanation",
    "Held",
    "Loss",
    "Lost",
    "Original",
    "Pin",
    "Purged",
    "Shortened",
    "Stats",
    "Summary",
    "View",
    "Work",
    "__version__",
]

_Dialect = Literal["anthropic", "chat", "responses"]

__version__: str

class EbbtideError(Exception):
    """An error of the engine. `code` is stable, `hint` says what to do."""

    code: str
    hint: str | None

@final
class Engine:
    """The memory of conversations, seen by one client of it.

    `store` is the path of a SQLite file; without it, the history is in memory. `window` is the window of
    every model in tokens; without it, the model's own. `strategy` names a built-in strategy, or the program
    in `strategy_text`. `observe` changes nothing. `summaries="caller"` hands out `Work` instead of making
    summaries without a model. `patience` is the longest time in seconds that a request is held; 0 holds none, except under a
    strategy that waits, with up to 300. `notes` tells the model the state of its memory. `shrink` is the largest tool result that is first sent whole,
    in tokens. The other four are those of `with_client`.
    """

    def __new__(
        cls,
        *,
        store: str | os.PathLike[str] | None = None,
        window: int | None = None,
        strategy: str = "prepared",
        strategy_text: str | None = None,
        observe: bool = False,
        summaries: Literal["extractive", "caller"] = "extractive",
        patience: float = 0.0,
        notes: bool = True,
        shrink: int | None = 16_000,
        secret: bytes | None = None,
        tenant: str = "",
        dialect: _Dialect = "anthropic",
        session: str | None = None,
        agent: str | None = None,
    ) -> Engine: ...

    def with_client(
        self,
        *,
        tenant: str | None = None,
        dialect: _Dialect | None = None,
        session: str | None = None,
        agent: str | None = None,
    ) -> Engine:
        """Returns the same engine for another client. Conversations of different tenants never meet."""

    @property
    def summaries(self) -> Literal["extractive", "caller"]:
        """The maker of summaries."""

    @property
    def tenant(self) -> str:
        """The key of the client's tenant."""

    def view(self, body: bytes, *, now: float | None = None) -> View | Held:
        """Takes the body of a request for the next message, and gives the one to send.

        A `Held` comes only with `summaries="caller"` and a strategy that waits. `now` is in seconds since 1970.
        """

    def resume(self, held: Held, *, now: float | None = None) -> View | Held:
        """Goes on with a request that was held, once its work is done or its time has come."""

    def observe(self, view: View, answer: bytes | None = None, *, now: float | None = None) -> Work | None:
        """Takes the whole answer, or what the view has heard of it. Returns the summary to make, if any."""

    def refused(self, view: View, status: int, body: bytes, *, now: float | None = None) -> bytes | None:
        """The provider refused a request as too long: the body to send instead, once, if there is one."""

    def prepared(self, work: Work, text: str, *, now: float | None = None) -> None:
        """Takes the summary that a model wrote. One that is turned away is replaced by one without a model."""

    def failed(self, work: Work, why: str, *, now: float | None = None) -> None:
        """A summary could not be made: one is made without a model."""

    def extract(self, work: Work, *, now: float | None = None) -> None:
        """Makes a summary without a model."""

    def pin(self, conversation: str, text: str, *, now: float | None = None) -> Pin:
        """Pins a text: it stays in view word for word."""

    def unpin(self, conversation: str, pin: str, *, now: float | None = None) -> bool:
        """Removes a pin by its ID. Returns False where there is none, or where a `#pin` line keeps its text pinned."""

    def compact(self, conversation: str, *, now: float | None = None) -> None:
        """Orders a summary, to be swapped in as soon as it is ready."""

    def undo(self, conversation: str, *, now: float | None = None) -> None:
        """Orders that the newest swap is taken back with the next request."""

    def redo(self, conversation: str, *, now: float | None = None) -> None:
        """Orders that the view that was taken back is shown again."""

    def expand(self, conversation: str, summary: str | None = None) -> list[Original]:
        """Returns the turns behind a summary, or behind the one that is shown."""

    def lost(self, conversation: str, summary: str | None = None) -> Lost:
        """Returns the receipt of a summary, or of the one that is shown: what the model can no longer see."""

    def original(
        self, conversation: str, handle: str, *, section: str | None = None, room: int = 24_000
    ) -> Excerpt:
        """Returns the original behind a handle such as `turn:14`. `section` is lines `10-80` or bytes `b0-4000`."""

    def explain(self, conversation: str) -> Explanation:
        """Explains a conversation's view: figures, pins, summaries, and the journal."""

    def conversations(self) -> list[Conversation]:
        """Returns the client's conversations, those seen last first."""

    def stats(self) -> Stats:
        """Returns the sums over the client's conversations."""

    def purge(self, conversation: str | None = None, *, before: float | None = None) -> Purged:
        """Removes a conversation for good, or those last seen before a time, or all; not both at once."""

    def rest(self, *, now: float | None = None) -> None:
        """Lets idle conversations leave memory at once. Requests do so by themselves, a few at a time."""

    def shorten(
        self,
        text: str,
        *,
        limit: int,
        call: str = "",
        tool: str = "",
        arguments: str = "{}",
        now: float | None = None,
    ) -> Shortened | None:
        """Shortens a tool result of more than `limit` tokens, and keeps the original. None where it fits."""

    def archived(self, handle: str, *, section: str | None = None, room: int = 24_000) -> Excerpt:
        """Returns the original of a shortened tool result."""

    def forget_results(self) -> Purged:
        """Removes the originals of all shortened tool results of the client."""

    def count(self, body: bytes) -> int:
        """Counts the tokens of a request's messages."""

    def digest(
        self,
        body: bytes,
        *,
        ratio: float | None = None,
        keep: int | None = None,
        at: int | None = None,
        room: int | None = None,
    ) -> Digest | None:
        """Cuts a request's messages outside any conversation, never inside a step.

        Keeps all but the share `ratio` (0.5), or the newest `keep` tokens, or the messages from index `at` on.
        The summary has about `room` tokens at most. None where no cut leaves something on both sides.
        """

@final
class View:
    """The body to send for a request."""

    @property
    def body(self) -> bytes:
        """The bytes to send."""
    @property
    def changed(self) -> bool:
        """False if they are the caller's own."""
    @property
    def did(self) -> list[str]:
        """The actions taken: `kept`, `swapped`, `compacted`, …"""
    @property
    def betas(self) -> list[str]:
        """Names for the header `anthropic-beta`, also those that the body of a rescue needs."""
    @property
    def tokens(self) -> int | None:
        """The size; None where the body was not read."""
    @property
    def conversation(self) -> str | None:
        """The ID of the conversation; None where the request belongs to none."""

    def hear(self, piece: bytes) -> bool:
        """Hears a piece of a streamed answer. True once the stream is whole."""

    def _repr_html_(self) -> str: ...

@final
class Held:
    """A request that waits for a summary."""

    @property
    def work(self) -> Work | None:
        """The summary to make; None where it was handed out before."""
    @property
    def until(self) -> float | None:
        """The time at which the request goes out without it."""

@final
class Work:
    """A summary to make. Use it once: with `prepared`, `failed` or `extract`."""

    @property
    def conversation(self) -> str:
        """The ID of the conversation."""
    @property
    def budget(self) -> int:
        """The largest summary, in tokens."""
    @property
    def model(self) -> str:
        """The model that the conversation is held with."""

    def prompt(self, room: int = 100_000) -> tuple[str, str]:
        """Returns the system prompt and the source, for a model with room for so many tokens of it."""

@final
class Digest:
    """The beginning of a request, to be replaced with a summary."""

    @property
    def kept_from(self) -> int:
        """The index of the first message to keep."""
    @property
    def tokens(self) -> int:
        """The tokens of the messages to replace."""

    def prompt(self, room: int = 100_000) -> tuple[str, str]:
        """Returns the system prompt and the source, for a model with room for so many tokens of it."""

    def extract(self) -> str:
        """Makes a summary without a model."""

    def written(self, text: str) -> str:
        """Checks a model's summary and completes it from the originals."""

    def count(self, text: str) -> int:
        """Counts the tokens of a text."""

@final
class Conversation:
    """One conversation in figures."""

    @property
    def id(self) -> str:
        """Its ID."""
    @property
    def session(self) -> str | None:
        """The name of its session, if the client gave one."""
    @property
    def model(self) -> str:
        """The model of its last request."""
    @property
    def turns(self) -> int:
        """The turns of its last request."""
    @property
    def tokens(self) -> int | None:
        """The tokens of the view that was sent last; None while it rests in the store."""
    @property
    def window(self) -> int | None:
        """The window in tokens; None while it rests in the store."""
    @property
    def compactions(self) -> int:
        """The summaries swapped in so far."""
    @property
    def requests(self) -> int:
        """The requests that were answered."""
    @property
    def cost(self) -> float:
        """The cost in USD."""
    @property
    def seen(self) -> float:
        """The time when it was last seen, in seconds since 1970."""

@final
class Stats:
    """The sums over a client's conversations: tokens as the provider reported them, cost in USD."""

    @property
    def conversations(self) -> int:
        """The conversations."""
    @property
    def requests(self) -> int:
        """The requests that were answered."""
    @property
    def compactions(self) -> int:
        """The summaries swapped in so far."""
    @property
    def input(self) -> int:
        """The input tokens that came neither from the cache nor went into it."""
    @property
    def cache_read(self) -> int:
        """The input tokens read from the cache."""
    @property
    def cache_write(self) -> int:
        """The input tokens written to the cache."""
    @property
    def output(self) -> int:
        """The output tokens."""
    @property
    def cost(self) -> float:
        """The cost in USD."""

@final
class Pin:
    """A pinned text."""

    @property
    def id(self) -> str:
        """Its ID, for `unpin`."""
    @property
    def text(self) -> str:
        """The text, word for word."""
    @property
    def origin(self) -> str:
        """Its source: `user`, `agent`, `api` or `strategy`."""

@final
class Summary:
    """A summary that was made."""

    @property
    def id(self) -> str:
        """Its ID, for `expand` and `lost`."""
    @property
    def turns(self) -> int:
        """The number of turns that it replaces, from the first one on."""
    @property
    def tokens(self) -> int:
        """Its size in tokens."""
    @property
    def route(self) -> str:
        """The way it was made: `native`, `readable` or `extractive`."""
    @property
    def at(self) -> float:
        """The time when it was made, in seconds since 1970."""
    @property
    def text(self) -> str:
        """Its text."""
    @property
    def is_shown(self) -> bool:
        """True if the model sees it."""

@final
class Explanation:
    """The reasons of a conversation's view."""

    @property
    def conversation(self) -> Conversation:
        """The figures of the conversation."""
    @property
    def pins(self) -> list[Pin]:
        """Its pins."""
    @property
    def summaries(self) -> list[Summary]:
        """Its summaries, those of fewer turns first."""
    @property
    def journal(self) -> list[tuple[float, str]]:
        """Times, in seconds since 1970, and what happened then, newest first; empty while it rests in the store."""
    def _repr_html_(self) -> str: ...

@final
class Original:
    """A turn as it was said."""

    @property
    def role(self) -> str:
        """The speaker: `user`, `assistant`, …"""
    @property
    def tokens(self) -> int:
        """Its size in tokens."""
    @property
    def text(self) -> str:
        """All that can be read of it."""
    @property
    def message(self) -> bytes:
        """The message as JSON."""

@final
class Loss:
    """One thing that the model can no longer see."""

    @property
    def kind(self) -> str:
        """`constraint`, `decision`, `open task`, `failed attempt`, `closed task`, `action` or `identifier`."""
    @property
    def handle(self) -> str:
        """The handle of the turn that says it, for `original`."""
    @property
    def text(self) -> str:
        """The quotation, on one line."""

@final
class Lost:
    """The receipt of a summary: what the model can no longer see."""

    @property
    def turns(self) -> int:
        """The turns that the summary replaces."""
    @property
    def tokens(self) -> int:
        """Their tokens."""
    @property
    def entries(self) -> list[Loss]:
        """The entries, the most important first."""
    @property
    def left_out(self) -> int:
        """The number of entries that are not listed."""
    def _repr_html_(self) -> str: ...

@final
class Excerpt:
    """A section of an original."""

    @property
    def title(self) -> str:
        """The kind of original and its handle: `tool result (turn:14.2)`."""
    @property
    def text(self) -> str:
        """The text, as it was said."""
    @property
    def section(self) -> str:
        """The section that it is."""
    @property
    def next(self) -> str | None:
        """The section that follows, if any."""
    @property
    def bytes(self) -> int:
        """The size of the whole original in bytes."""

@final
class Shortened:
    """A tool result that was shortened."""

    @property
    def text(self) -> str:
        """The text to use instead. Its first line says what is missing, and how to get it."""
    @property
    def handle(self) -> str:
        """The handle of the original, for `archived`."""
    @property
    def before(self) -> int:
        """The tokens of the original."""
    @property
    def after(self) -> int:
        """The tokens of `text`."""

@final
class Purged:
    """The result of a purge."""

    @property
    def conversations(self) -> int:
        """The conversations removed."""
    @property
    def turns(self) -> int:
        """The turns that no conversation leads to any more."""
    @property
    def marks(self) -> int:
        """The summaries on those turns."""
    @property
    def bytes(self) -> int:
        """The bytes freed, as far as they are known."""
