"""The compaction of the threads of an agent, in steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langchain_core.runnables.config import merge_configs
from langgraph.constants import END
from langgraph.errors import InvalidUpdateError
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ebbtide.langgraph import settings, threads
from ebbtide.langgraph.history import Compaction, HistoryManager
from ebbtide.langgraph.steps import Acquire, Call, Newest, Steps, Work

__all__ = ["Compacting", "ThreadView"]

# A summary that did not help is not tried again before the thread is so much larger.
_GROWN = 1.25


@dataclass(frozen=True)
class ThreadView:
    """A thread as the model sees it, and as it was said."""

    messages: list[AnyMessage]
    originals: list[AnyMessage]
    tokens: int


class Compacting:
    """Reads and writes threads through the graph.

    A thread is written only behind a state that no run goes on from. What a run writes meanwhile is found behind
    the write, and put back.
    """

    def __init__(
        self,
        agent: Any,
        history_manager: HistoryManager | None = None,
        *,
        token_limit: int | None = 500,
        compaction_ratio: float | None = 0.5,
        keep: int | None = None,
        raise_errors: bool = False,
    ) -> None:
        if not isinstance(history_manager, (HistoryManager, type(None))):
            given = type(history_manager).__name__
            raise TypeError(f"history_manager is of type {given}; pass a HistoryManager, such as HistoryManager(saver)")
        if not hasattr(agent, "invoke"):
            raise TypeError(f"agent is {settings.shown(agent)}; pass a compiled graph, such as create_agent(…)")
        if keep is not None and compaction_ratio not in (None, 0.5):
            raise ValueError("compaction_ratio and keep are two ways to say what stays; pass one of them")
        self.agent = agent
        self.history = history_manager or HistoryManager()
        self.token_limit = settings.at_least_one("token_limit", token_limit, "no compaction after a run")
        self.compaction_ratio = settings.share("compaction_ratio", compaction_ratio)
        self.keep = settings.at_least_one("keep", keep, "compaction_ratio")
        self.raise_errors = raise_errors
        self.last_error: Exception | None = None
        self._futile = threads.Latest()
        # Two threads may share a lock: it is held for a few reads and writes only.
        self._locks = [threading.Lock() for _ in range(64)]

    def _own_config(self) -> Any:
        own = getattr(self.agent, "config", None)
        return own if isinstance(own, dict) else {}

    def _bound(self, config: Any) -> Any:
        """The config with what the agent is bound to."""
        return merge_configs(self._own_config(), config)

    def _of_thread(self, config: Any) -> Any:
        """The config without the checkpoint that a run began at: the thread's newest one counts."""
        config = self._bound(config)
        configurable = {k: v for k, v in (config.get("configurable") or {}).items() if k != "checkpoint_id"}
        if "checkpoint_id" in (self._own_config().get("configurable") or {}):
            # The agent would add its own again.
            configurable["checkpoint_id"] = None
        return {**config, "configurable": configurable}

    def _after(self, config: Any) -> Steps[tuple[Compaction | None, int]]:
        """Compacts a thread that is too long. A failure leaves it as it is."""
        config = self._of_thread(config)
        if threads.thread(config)[0] is None:
            return None, 0
        tokens = 0
        try:
            state = yield Call("get_state", config)
            due, tokens = self._is_due(state)
            if not due:
                return None, tokens
            made = yield from self._made(config, state)
            try:
                done = yield from self._written(config, state, made)
            except Exception:
                # No summary is paid for each turn where none can be written.
                self._futile.put(_key(state.config), tokens)
                raise
            return done, done.after if done else tokens
        except Exception as error:
            self.last_error = error
            threads.log.warning("the thread was not compacted: %s", error)
            if self.raise_errors:
                raise
            return None, tokens

    def _is_due(self, state: Any) -> tuple[bool, int]:
        tokens = self.history.count(_messages(state))
        if self.token_limit is None or tokens <= self.token_limit or state.next:
            return False, tokens
        futile = self._futile.get(_key(state.config))
        return futile is None or tokens > futile * _GROWN, tokens

    def _made(self, config: Any, state: Any, must_gain: bool = True) -> Steps[Compaction]:
        messages = _messages(state)
        originals = yield from self._originals(config, messages)
        made: Compaction = yield Work(
            lambda: self.history.compaction(
                messages,
                ratio=self.compaction_ratio,
                keep=self.keep,
                originals=originals,
                room=None if self.token_limit is None else self.token_limit // 3,
                must_gain=must_gain,
            )
        )
        if made.summary is None or made.after > (self.token_limit or made.after):
            self._futile.put(_key(state.config), made.after)
        if made.summary is None:
            threads.log.info("the thread stays as it is: %s", made.reason)
            return made
        told = made.summary.additional_kwargs["ebbtide"]
        told["before"] = _id(state.config)
        told["tokens"] = [made.before, made.after]
        return made

    def _written(self, config: Any, state: Any, made: Compaction) -> Steps[Compaction | None]:
        """Writes a compaction, with the turns that came meanwhile. None where the thread may not be written."""
        if made.summary is None:
            return None
        before = _messages(state)

        def merged(said: list[Any]) -> list[Any] | None:
            return [*made.messages, *said[len(before) :]] if _begins(said, before) else None

        messages = yield from self._put(config, merged)
        if messages is None:
            return None
        after = made.after if len(messages) == len(made.messages) else self.history.count(messages)
        return Compaction(messages, made.summary, made.replaced, made.before, after)

    def _compacted(self, config: Any) -> Steps[Compaction]:
        config = _named(self._of_thread(config))
        state = yield Call("get_state", config)
        if state.next:
            return Compaction(_messages(state), reason="the thread is interrupted")
        made = yield from self._made(config, state, must_gain=False)
        if made.summary is None:
            return made
        done = yield from self._written(config, state, made)
        if done is None:
            newest = yield Call("get_state", config)
            return Compaction(_messages(newest), reason="the thread changed meanwhile")
        return done

    def _undone(self, config: Any) -> Steps[bool]:
        config = _named(self._of_thread(config))
        state = yield Call("get_state", config)
        told = _told(_messages(state))
        if told is None or state.next:
            return False
        earlier = yield from self._before(config, told)
        if not earlier:
            return False

        def restored(said: list[Any]) -> list[Any] | None:
            if _told(said) != told:
                return None
            known = {message.id for message in [*earlier, *said[: _place(said) + 1]]}
            return [*earlier, *(message for message in said if message.id not in known)]

        messages = yield from self._put(config, restored)
        if messages is None:
            return False
        # The next turn would take it back at once.
        self._futile.put(_key(config), self.history.count(messages))
        return True

    def _explained(self, config: Any) -> Steps[list[dict[str, Any]]]:
        config = _named(self._bound(config))
        out: list[dict[str, Any]] = []
        state = yield Call("get_state", config)
        told = _told(_messages(state))
        while told is not None:
            out.append(dict(told))
            earlier = yield from self._before(config, told)
            told = _told(earlier)
        return out

    def _viewed(self, config: Any, state: Any) -> Steps[ThreadView]:
        messages = _messages(state)
        place = _place(messages)
        originals = yield from self._originals(self._bound(config), messages)
        whole = [*messages[:place], *originals, *messages[place + 1 :]] if originals else messages
        return ThreadView(messages, whole, self.history.count(messages))

    # The thread's history.

    def _before(self, config: Any, told: dict[str, Any]) -> Steps[list[Any]]:
        """The messages before a compaction. None are left where the history was pruned."""
        if not told.get("before"):
            return []
        place = {**config["configurable"], "checkpoint_id": told["before"]}
        state = yield Call("get_state", {**config, "configurable": place})
        return _messages(state)

    def _originals(self, config: Any, messages: list[Any]) -> Steps[list[Any]]:
        """The messages behind the summary of a thread."""
        told = _told(messages)
        if told is None:
            return []
        before = yield from self._before(config, told)
        earlier = yield from self._originals(config, before)
        shown: set[Any] = {message.id for message in messages}
        own = before[_place(before) + 1 :] if earlier else before
        return [*earlier, *(message for message in own if message.id not in shown)]

    # Writing.

    def _put(self, config: Any, merged: Callable[[list[Any]], list[Any] | None]) -> Steps[list[Any] | None]:
        """Writes what `merged` makes of the thread's messages. None where it was not written."""
        lock = self._locks[hash(_key(config)) % len(self._locks)]
        yield Acquire(lock)
        try:
            return (yield from self._put_alone(config, merged))
        finally:
            lock.release()

    def _put_alone(
        self, config: Any, merged: Callable[[list[Any]], list[Any] | None]
    ) -> Steps[list[Any] | None]:
        now = yield Call("get_state", config)
        messages = None if now.next else merged(_messages(now))
        is_merged = messages is not None
        while messages is not None:
            own = yield from self._update(config, messages)
            # Savers have no compare-and-swap, so a run may have written between the look and the write.
            covered = yield Newest(config, own)
            if covered is None or _id(covered.config) == _id(now.config):
                yield from self._at_rest(config, own)
                return messages if is_merged else None
            now = yield Call("get_state", config)
            said = _messages(now)
            if not _begins(said, messages):
                # A run that had not seen the write has written since, with all messages of its own.
                return None
            late = said[len(messages) :]
            if covered.next and _id(now.config) == _id(own):
                yield from self._brought_back(config, covered, own)
                return None
            again = merged(_messages(covered))
            is_merged = again is not None
            messages = [*(_messages(covered) if again is None else again), *late]
        return None

    def _update(self, config: Any, messages: list[Any]) -> Steps[Any]:
        """Writes messages as the node that ran last, or where several did, as one that the run ends with."""
        values = {"messages": _replacing(messages)}
        try:
            return (yield Call("update_state", config, (values,)))
        except InvalidUpdateError:
            node = _last_node(self.agent)
            if node is None:
                raise
        return (yield Call("update_state", config, (values, node)))

    def _at_rest(self, config: Any, own: Any) -> Steps[None]:
        """Ends the thread where the write scheduled further nodes, as a branch may for other messages."""
        state = yield Call("get_state", config)
        if not state.next or _id(state.config) != _id(own):
            return
        end = yield Call("update_state", config, (None, END))
        covered = yield Newest(config, end)
        if covered is not None and _id(covered.config) != _id(own):
            # A run came between, which may wait for an answer.
            yield from self._brought_back(config, covered, end)

    def _brought_back(self, config: Any, covered: Any, own: Any) -> Steps[None]:
        """Makes a state that a write has covered the newest again, with the tasks that it waits for."""
        while covered is not None:
            copy = yield Call("update_state", covered.config, (None, "__copy__"))
            found = yield Newest(config, copy)
            # A run may have written once more.
            covered = found if found is not None and _id(found.config) != _id(own) else None
            own = copy


def _last_node(agent: Any) -> str | None:
    """A node that no other follows; or else one that only a branch follows."""
    builder = getattr(agent, "builder", None)
    if builder is None:
        return None
    followed = {start for start, end in builder.edges if end != END}
    # A node that waits for several would count the write as one of them.
    followed |= {start for starts, _ in builder.waiting_edges for start in starts}
    free = [name for name in builder.nodes if name not in followed]
    branching = {*builder.branches, *(name for name in free if builder.nodes[name].ends)}
    return next((name for name in free if name not in branching), next(iter(free), None))


def _named(config: Any) -> Any:
    """The config, which has to name a thread."""
    if threads.thread(config)[0] is None:
        raise ValueError('the config names no thread; pass {"configurable": {"thread_id": "…"}}')
    return config


def _key(config: Any) -> tuple[str | None, str]:
    return threads.thread(config)[0], ""


def _id(config: Any) -> Any:
    return config["configurable"].get("checkpoint_id")


def _messages(state: Any) -> list[Any]:
    values = state.values
    return list(values.get("messages") or []) if isinstance(values, dict) else []


def _replacing(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages]


def _begins(messages: Sequence[BaseMessage], first: Sequence[BaseMessage]) -> bool:
    """True if the same messages come first."""
    pairs = list(zip(messages, first))
    return len(pairs) == len(first) and all(
        one.id == other.id and one.content == other.content for one, other in pairs
    )


def _place(messages: Sequence[BaseMessage]) -> int:
    """The index of the newest summary, or -1."""
    places = [i for i, message in enumerate(messages) if "ebbtide" in message.additional_kwargs]
    return places[-1] if places else -1


def _told(messages: Sequence[BaseMessage]) -> dict[str, Any] | None:
    place = _place(messages)
    return None if place < 0 else messages[place].additional_kwargs["ebbtide"]
