"""The engine of each thread, and the summaries that are made in the background."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import reprlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from weakref import WeakSet

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.config import get_config

from ebbtide import EbbtideError, Engine, Held, View, Work
from ebbtide.langgraph.forgetting import remembers
from ebbtide.langgraph.messages import text_of

log = logging.getLogger("ebbtide")

# The tokens of a transcript that a summarizer is given.
ROOM = 100_000


def thread(config: Any = None) -> tuple[str | None, str]:
    """The thread of a config, or of the running graph, and the agent within it."""
    if config is None:
        try:
            config = get_config()
        except RuntimeError:  # Outside a graph.
            config = {}
    configurable = (config or {}).get("configurable") or {}
    place = configurable.get("checkpoint_ns") or ""
    agent = "/".join(part.split(":")[0] for part in place.split("|") if part)
    identity = configurable.get("thread_id")
    return (None if identity is None else str(identity)), agent


def thread_of(runtime: Any) -> tuple[str | None, str] | None:
    """The thread of a run and its agent. None where LangGraph does not tell: async runs on Python 3.10, before 1.1."""
    config = getattr(runtime, "config", None)
    if config is None:
        try:
            config = get_config()
        except RuntimeError:
            info = getattr(runtime, "execution_info", None)
            if runtime is not None and info is None:
                return None
            config = {"configurable": {name: getattr(info, name, None) for name in ("thread_id", "checkpoint_ns")}}
    return thread(config)


def tenant(engine: Engine, thread_id: str | None) -> str:
    """The key of a thread's tenant: conversations of two threads never meet."""
    return f"{engine.tenant}\x1f{thread_id or ''}"


def engine_of(engine: Engine, thread_id: str | None, agent: str = "") -> Engine:
    """The engine as a thread sees it."""
    return engine.with_client(
        tenant=tenant(engine, thread_id), dialect="chat", session=thread_id or None, agent=agent or None
    )


def pin(engine: Engine, conversation: str, texts: Iterable[str], refused: set[str]) -> None:
    """Pins texts but those that were refused before. One that the engine refuses costs no more than itself."""
    for text in texts:
        if text in refused:
            continue
        try:
            engine.pin(conversation, text)
        except EbbtideError as error:
            refused.add(text)
            log.warning("the text %s is not pinned: %s. %s", reprlib.repr(text), error, error.hint or "")


class Latest:
    """Something for each of the threads that were used last."""

    def __init__(self, most: int = 1_000) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str | None, str], Any] = OrderedDict()
        self._most = most
        remembers(self)

    def forget(self, thread_id: str) -> None:
        """Forgets a thread."""
        with self._lock:
            for key in [key for key in self._held if key[0] == thread_id]:
                del self._held[key]

    def put(self, key: tuple[str | None, str], value: Any) -> None:
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)

    def get(self, key: tuple[str | None, str]) -> Any:
        with self._lock:
            return self._held.get(key)

    def of(self, thread_id: str | None) -> list[tuple[str, Any]]:
        """What is held for the agents of a thread, that of the one used last first."""
        with self._lock:
            return [(agent, value) for (one, agent), value in reversed(self._held.items()) if one == thread_id]


def ask(model: Any, prompt: tuple[str, str]) -> str:
    """Asks a model object, or calls a function of the prompt, for the text of a summary."""
    system, source = prompt
    if not hasattr(model, "invoke"):
        text = model(system, source)
        return str(_result_of(text) if inspect.isawaitable(text) else text)
    said = model.invoke([SystemMessage(system), HumanMessage(source)], config={"tags": ["nostream"]})
    return text_of(getattr(said, "content", said))


def _result_of(awaitable: Awaitable[Any]) -> Any:
    """Waits for an async function. Its event loop has a thread of its own: this one may have a loop already."""

    async def wait() -> Any:
        return await awaitable

    with ThreadPoolExecutor(1, thread_name_prefix="ebbtide") as pool:
        return pool.submit(asyncio.run, wait()).result()


_KITCHENS: WeakSet[Kitchen] = WeakSet()


class Kitchen:
    """Makes summaries in the background, with the user's own model object."""

    def __init__(self, workers: int = 2) -> None:
        self._workers = workers
        self.open()
        _KITCHENS.add(self)

    def open(self) -> None:
        """Begins without a summary under way."""
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="ebbtide")
        self._lock = threading.Lock()
        self._running: set[Future[None]] = set()

    def start(self, engine: Engine, work: Work, model: Any) -> None:
        """Begins a summary. The pool's threads carry none of the run's context, so no token of it is streamed."""
        future = self._pool.submit(make, engine, work, model)
        with self._lock:
            self._running.add(future)
        future.add_done_callback(self._done)

    def _done(self, future: Future[None]) -> None:
        with self._lock:
            self._running.discard(future)

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the summaries that were begun in this process."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.result(timeout)


def _reopen() -> None:
    # A fork copies the pools without their threads.
    for kitchen in list(_KITCHENS):
        kitchen.open()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reopen)


def make(engine: Engine, work: Work, model: Any) -> None:
    """Makes a summary with a model, or without one where that fails."""
    if model is None:
        engine.extract(work)
        return
    try:
        text = ask(model, work.prompt(ROOM))
    except Exception as error:
        log.warning("the summarizer failed (%s); the summary is made without a model", type(error).__name__)
        engine.failed(work, type(error).__name__)
        return
    except BaseException as error:
        # Ctrl-C in a request that waits: no other request has this work.
        engine.failed(work, type(error).__name__)
        raise
    try:
        engine.prepared(work, text)
    except EbbtideError as error:
        log.warning("%s (%s)", error, error.code)


def let_go(engine: Engine, came: View | Held, make_now: Callable[[Work], None]) -> View:
    """Waits out the holds of a request: its summaries are made here."""
    while isinstance(came, Held):
        if came.work is not None:
            make_now(came.work)
            came = engine.resume(came)
        else:
            # Another request has the work; this one goes out without it.
            came = engine.resume(came, now=(came.until or 0) or None)
            if isinstance(came, Held):
                raise TimeoutError("the request is held for a summary that another one makes")
    return came
