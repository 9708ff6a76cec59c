"""A wrapper around an agent that is compiled already: it compacts the thread after each run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ebbtide.langgraph import threads
from ebbtide.langgraph.history import Compaction, HistoryManager
from ebbtide.langgraph.streaming import Compacted, Done, Event, Failed, Reader, chunk_of

_EVENTS = ("tokens", "events")


@dataclass(frozen=True)
class ThreadView:
    """A thread as the model sees it, and as it was said."""

    messages: list[AnyMessage]
    originals: list[AnyMessage]
    tokens: int


class CompactingSupervisor:
    """Runs an agent, and replaces the older messages of its thread with a summary when it grows too long.

    Only the agent's own channel `messages` is compacted, tool calls and results included: what its sub-agents
    say among themselves is not in it. The thread is written through the graph, never while it is interrupted,
    and a turn that came in the meantime is kept. The messages before a compaction stay in LangGraph's history.
    """

    def __init__(
        self,
        agent: Any,
        history_manager: HistoryManager | None = None,
        *,
        token_limit: int | None = 500,
        compaction_ratio: float | None = 0.5,
        keep: int | None = None,
        supervisor_name: str | None = None,
        raise_errors: bool = False,
    ) -> None:
        """Wraps an agent.

        Above `token_limit` tokens, the oldest `compaction_ratio` of the messages are summarized; with `keep`,
        all but the newest messages of so many tokens. `supervisor_name` is the node of the supervisor in a
        graph of `create_supervisor`, by default `supervisor` where there is such a node.
        """
        self.agent = agent
        self.history = history_manager or HistoryManager()
        self.token_limit = token_limit
        self.compaction_ratio = compaction_ratio
        self.keep = keep
        self.raise_errors = raise_errors
        self.last_error: Exception | None = None
        nodes = getattr(agent, "nodes", None) or {}
        self.supervisor_name = supervisor_name or ("supervisor" if "supervisor" in nodes else None)
        self._futile = threads.Latest()

    # Running.

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Runs the agent, and compacts the thread if it is too long."""
        response = self.agent.invoke(input, config, **options)
        return self._shown(response, self._after(config))

    async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Runs the agent, and compacts the thread if it is too long."""
        response = await self.agent.ainvoke(input, config, **options)
        return self._shown(response, await self._aafter(config))

    def batch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """Runs the agent for each input."""
        configs = config if isinstance(config, list) else [config] * len(inputs)
        return [self.invoke(one, of, **options) for one, of in zip(inputs, configs)]

    def stream(
        self, input: Any, config: Any = None, *, stream_mode: Any = "tokens", **options: Any
    ) -> Iterator[Any]:
        """Streams a run, and compacts the thread behind it.

        `"tokens"` gives dictionaries: `{"type": "token", "content": …}`, and at the end one of type `done` with
        the `token_count`, or of type `error`. `"events"` gives typed events. Any other mode, or list of modes,
        gives the agent's own chunks.
        """
        if stream_mode not in _EVENTS:
            yield from self.agent.stream(input, config, stream_mode=stream_mode, **options)
            self._after(config)
            return
        for event in self._events(input, config, options):
            chunk = event if stream_mode == "events" else chunk_of(event)
            if chunk is not None:
                yield chunk

    async def astream(
        self, input: Any, config: Any = None, *, stream_mode: Any = "tokens", **options: Any
    ) -> AsyncIterator[Any]:
        """Streams a run like `stream`."""
        if stream_mode not in _EVENTS:
            async for chunk in self.agent.astream(input, config, stream_mode=stream_mode, **options):
                yield chunk
            await self._aafter(config)
            return
        async for event in self._aevents(input, config, options):
            chunk = event if stream_mode == "events" else chunk_of(event)
            if chunk is not None:
                yield chunk

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "stream_mode": ["messages", "updates"], "subgraphs": self.supervisor_name is not None}

    def _events(self, input: Any, config: Any, options: dict[str, Any]) -> Iterator[Event]:
        reader = Reader(self.supervisor_name)
        try:
            for chunk in self.agent.stream(input, config, **self._options(options)):
                yield from reader.events(chunk)
            done = self._after(config)
        except Exception as error:
            if self.raise_errors:
                raise
            yield Failed(error)
            return
        yield from self._end(config, done)

    async def _aevents(self, input: Any, config: Any, options: dict[str, Any]) -> AsyncIterator[Event]:
        reader = Reader(self.supervisor_name)
        try:
            async for chunk in self.agent.astream(input, config, **self._options(options)):
                for event in reader.events(chunk):
                    yield event
            done = await self._aafter(config)
        except Exception as error:
            if self.raise_errors:
                raise
            yield Failed(error)
            return
        for event in self._end(config, done):
            yield event

    def _end(self, config: Any, done: tuple[Compaction | None, int]) -> Iterator[Event]:
        compaction, tokens = done
        if compaction is not None:
            yield Compacted(compaction.replaced, compaction.before, compaction.after)
        yield Done(tokens)

    def _shown(self, response: Any, done: tuple[Compaction | None, int]) -> Any:
        compaction = done[0]
        if compaction is not None and isinstance(response, dict) and "messages" in response:
            return {**response, "messages": compaction.messages}
        return response

    # Compacting.

    def _after(self, config: Any) -> tuple[Compaction | None, int]:
        """Compacts a thread that is too long. A failure leaves it as it is."""
        if threads.thread(config)[0] is None:
            return None, 0
        config = _thread_config(config)
        try:
            state = self.agent.get_state(config)
            due, tokens = self._is_due(state)
            if not due:
                return None, tokens
            done = self._written(config, state, self._compaction(config, state))
            return done, done.after if done else tokens
        except Exception as error:
            self._report(error)
            return None, 0

    async def _aafter(self, config: Any) -> tuple[Compaction | None, int]:
        if threads.thread(config)[0] is None:
            return None, 0
        config = _thread_config(config)
        try:
            state = await self.agent.aget_state(config)
            due, tokens = self._is_due(state)
            if not due:
                return None, tokens
            originals = await self._aoriginals(config, _messages(state))
            made = await asyncio.to_thread(self._made, state, originals)
            done = await self._awritten(config, state, made)
            return done, done.after if done else tokens
        except Exception as error:
            self._report(error)
            return None, 0

    def _report(self, error: Exception) -> None:
        self.last_error = error
        threads.log.warning("the thread was not compacted: %s", error)
        if self.raise_errors:
            raise error

    def _is_due(self, state: Any) -> tuple[bool, int]:
        tokens = self.history.count(_messages(state))
        if self.token_limit is None or tokens <= self.token_limit or state.next:
            return False, tokens
        # A summary that would not help is not tried again until the thread has grown.
        futile = self._futile.get((threads.thread(state.config)[0], ""))
        return futile is None or tokens > futile * 1.25, tokens

    def _compaction(self, config: Any, state: Any) -> Compaction:
        return self._made(state, self._originals(config, _messages(state)))

    def _made(self, state: Any, originals: list[Any], must_gain: bool = True) -> Compaction:
        made = self.history.compaction(
            _messages(state),
            ratio=self.compaction_ratio,
            keep=self.keep,
            originals=originals,
            room=None if self.token_limit is None else self.token_limit // 3,
            must_gain=must_gain,
        )
        if made.summary is None or made.after > (self.token_limit or made.after):
            self._futile.put((threads.thread(state.config)[0], ""), made.after)
        if made.summary is None:
            threads.log.info("the thread stays as it is: %s", made.reason)
            return made
        told = made.summary.additional_kwargs["ebbtide"]
        told["before"] = state.config["configurable"].get("checkpoint_id")
        told["tokens"] = [made.before, made.after]
        return made

    def _written(self, config: Any, state: Any, made: Compaction) -> Compaction | None:
        merged = self._merged(state, self.agent.get_state(config), made)
        if merged is None:
            return None
        self.agent.update_state(config, {"messages": _replacing(merged.messages)})
        return merged

    async def _awritten(self, config: Any, state: Any, made: Compaction) -> Compaction | None:
        merged = self._merged(state, await self.agent.aget_state(config), made)
        if merged is None:
            return None
        await self.agent.aupdate_state(config, {"messages": _replacing(merged.messages)})
        return merged

    def _merged(self, state: Any, now: Any, made: Compaction) -> Compaction | None:
        """The compaction with the turns that came meanwhile. None where the thread may not be written now."""
        if made.summary is None or now.next:
            return None
        said, before = _messages(now), _messages(state)
        if [message.id for message in said[: len(before)]] != [message.id for message in before]:
            return None
        late = said[len(before) :]
        messages = [*made.messages, *late]
        after = self.history.count(messages) if late else made.after
        return Compaction(messages, made.summary, made.replaced, made.before, after)

    def compact(self, config: Any) -> Compaction:
        """Compacts a thread now, whatever its size."""
        config = _thread_config(config)
        state = self.agent.get_state(config)
        if state.next:
            return Compaction(_messages(state), reason="the thread is interrupted")
        made = self._made(state, self._originals(config, _messages(state)), must_gain=False)
        return self._written(config, state, made) or made

    def undo(self, config: Any) -> bool:
        """Takes the newest compaction back. Returns False where there is none, or the thread is interrupted."""
        config = _thread_config(config)
        state = self.agent.get_state(config)
        messages = _messages(state)
        told = _told(messages)
        if told is None or state.next:
            return False
        before = _messages(self.agent.get_state(_at(config, told["before"])))
        known = {message.id for message in [*before, *messages[: _place(messages) + 1]]}
        late = [message for message in messages if message.id not in known]
        self.agent.update_state(config, {"messages": _replacing([*before, *late])})
        return True

    def explain(self, config: Any) -> list[dict[str, Any]]:
        """Lists the compactions that the thread stands on, the newest first."""
        out = []
        told = _told(_messages(self.agent.get_state(config)))
        while told is not None:
            out.append(dict(told))
            told = _told(_messages(self.agent.get_state(_at(config, told["before"]))))
        return out

    # The thread.

    def _originals(self, config: Any, messages: list[Any]) -> list[Any]:
        """The messages behind the summary of a thread, from LangGraph's history."""
        told = _told(messages)
        if told is None or not told.get("before"):
            return []
        before = _messages(self.agent.get_state(_at(config, told["before"])))
        return _behind(before, messages, self._originals(config, before))

    async def _aoriginals(self, config: Any, messages: list[Any]) -> list[Any]:
        told = _told(messages)
        if told is None or not told.get("before"):
            return []
        before = _messages(await self.agent.aget_state(_at(config, told["before"])))
        return _behind(before, messages, await self._aoriginals(config, before))

    def get_state(self, config: Any, *, view: bool = False, **options: Any) -> Any:
        """Returns the agent's state; with `view`, the thread as the model sees it and as it was said."""
        state = self.agent.get_state(config, **options)
        if not view:
            return state
        messages = _messages(state)
        place = _place(messages)
        originals = [*messages[:place], *self._originals(config, messages), *messages[place + 1 :]]
        return ThreadView(messages, originals, self.history.count(messages))

    async def aget_state(self, config: Any, **options: Any) -> Any:
        """Returns the agent's state."""
        return await self.agent.aget_state(config, **options)

    def get_state_history(self, config: Any, **options: Any) -> Iterator[Any]:
        """Returns the agent's checkpoints."""
        history: Iterator[Any] = self.agent.get_state_history(config, **options)
        return history

    def update_state(self, config: Any, values: Any, **options: Any) -> Any:
        """Updates the agent's state."""
        return self.agent.update_state(config, values, **options)

    def with_config(self, config: Any = None, **options: Any) -> CompactingSupervisor:
        """Returns a wrapper of the agent with a config."""
        other = CompactingSupervisor.__new__(CompactingSupervisor)
        other.__dict__.update(self.__dict__)
        other.agent = self.agent.with_config(config, **options)
        return other


def _messages(state: Any) -> list[Any]:
    values = state.values
    return list(values.get("messages") or []) if isinstance(values, dict) else []


def _replacing(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages]


def _place(messages: Sequence[BaseMessage]) -> int:
    """The index of the newest summary, or -1."""
    places = [i for i, message in enumerate(messages) if "ebbtide" in message.additional_kwargs]
    return places[-1] if places else -1


def _told(messages: Sequence[BaseMessage]) -> dict[str, Any] | None:
    place = _place(messages)
    return None if place < 0 else messages[place].additional_kwargs["ebbtide"]


def _behind(before: list[Any], messages: list[Any], earlier: list[Any]) -> list[Any]:
    """The originals of the summary in `messages`, which were in `before` behind its own summary."""
    shown: set[Any] = {message.id for message in messages}
    own = before[_place(before) + 1 :] if earlier else before
    return [*earlier, *(message for message in own if message.id not in shown)]


def _thread_config(config: Any) -> Any:
    """The config without the checkpoint that a run began at: the thread's newest one counts after it."""
    configurable = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
    return {**config, "configurable": configurable}


def _at(config: Any, checkpoint_id: str) -> Any:
    place = {**config["configurable"], "checkpoint_id": checkpoint_id}
    return {**config, "configurable": place}


