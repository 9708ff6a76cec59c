"""A wrapper around an agent that is compiled already: it compacts the thread after each run."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from ebbtide.langgraph.compacting import Compacting, ThreadView
from ebbtide.langgraph.history import Compaction, HistoryManager
from ebbtide.langgraph.steps import arun, run
from ebbtide.langgraph.streaming import Compacted, Done, Event, Failed, Reader, chunk_of

__all__ = ["CompactingSupervisor", "ThreadView"]

_EVENTS = ("tokens", "events")
# What neither runs the agent nor writes its threads.
_PASSED = ("aget_graph", "builder", "channels", "checkpointer", "get_graph", "name", "nodes", "store")


class CompactingSupervisor(Compacting):
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
        super().__init__(
            agent,
            history_manager,
            token_limit=token_limit,
            compaction_ratio=compaction_ratio,
            keep=keep,
            raise_errors=raise_errors,
        )
        nodes = getattr(agent, "nodes", None) or {}
        self.supervisor_name = supervisor_name or ("supervisor" if "supervisor" in nodes else None)

    def __getattr__(self, name: str) -> Any:
        if name in _PASSED:
            return getattr(self.__dict__["agent"], name)
        raise AttributeError(f"CompactingSupervisor has no attribute {name!r}; its agent stands in `agent`")

    # Running.

    def invoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Runs the agent, and compacts the thread if it is too long."""
        response = self.agent.invoke(input, config, **options)
        return self._shown(response, run(self.agent, self._after(config)))

    async def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """Runs the agent, and compacts the thread if it is too long."""
        response = await self.agent.ainvoke(input, config, **options)
        return self._shown(response, await arun(self.agent, self._after(config)))

    def batch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """Runs the agent for each input."""
        pairs = zip(inputs, _each(config, len(inputs)))
        return [self.invoke(one, of, **options) for one, of in pairs]

    async def abatch(self, inputs: Sequence[Any], config: Any = None, **options: Any) -> list[Any]:
        """Runs the agent for each input, one after the other."""
        pairs = zip(inputs, _each(config, len(inputs)))
        return [await self.ainvoke(one, of, **options) for one, of in pairs]

    def stream(
        self, input: Any, config: Any = None, *, stream_mode: Any = "tokens", **options: Any
    ) -> Iterator[Any]:
        """Streams a run, and compacts the thread behind it.

        `"tokens"` gives dictionaries: `{"type": "token", "content": …}`, and at the end one of type `done` with
        the `token_count`, or of type `error`. Where the run is paused, one of type `interrupt` stands before
        `done`: each of its `interrupts` has an `id` and a `value`. `"events"` gives typed events. Any other mode,
        or list of modes, gives the agent's own chunks.
        """
        if _is_agents(stream_mode):
            yield from self.agent.stream(input, config, stream_mode=stream_mode, **options)
            run(self.agent, self._after(config))
            return
        for event in self._events(input, config, options):
            chunk = event if "events" in stream_mode else chunk_of(event)
            if chunk is not None:
                yield chunk

    async def astream(
        self, input: Any, config: Any = None, *, stream_mode: Any = "tokens", **options: Any
    ) -> AsyncIterator[Any]:
        """Streams a run like `stream`."""
        if _is_agents(stream_mode):
            async for chunk in self.agent.astream(input, config, stream_mode=stream_mode, **options):
                yield chunk
            await arun(self.agent, self._after(config))
            return
        async for event in self._aevents(input, config, options):
            chunk = event if "events" in stream_mode else chunk_of(event)
            if chunk is not None:
                yield chunk

    def stream_events(self, input: Any, config: Any = None, **options: Any) -> Iterator[Any]:
        """Streams the agent's own events, and compacts the thread behind them."""
        yield from self.agent.stream_events(input, config, **options)
        run(self.agent, self._after(config))

    async def astream_events(self, input: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Streams the agent's own events, and compacts the thread behind them."""
        events = self.agent.astream_events(input, config, **options)
        if inspect.isawaitable(events):  # As of version "v3".
            events = await events
        async for event in events:
            yield event
        await arun(self.agent, self._after(config))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "stream_mode": ["messages", "updates"], "subgraphs": self.supervisor_name is not None}

    def _events(self, input: Any, config: Any, options: dict[str, Any]) -> Iterator[Event]:
        reader = Reader(self.supervisor_name)
        try:
            for chunk in self.agent.stream(input, config, **self._options(options)):
                yield from reader.events(chunk)
            done = run(self.agent, self._after(config))
        except Exception as error:
            if self.raise_errors:
                raise
            yield Failed(error)
            return
        yield from reader.pause()
        yield from self._end(done)

    async def _aevents(self, input: Any, config: Any, options: dict[str, Any]) -> AsyncIterator[Event]:
        reader = Reader(self.supervisor_name)
        try:
            async for chunk in self.agent.astream(input, config, **self._options(options)):
                for event in reader.events(chunk):
                    yield event
            done = await arun(self.agent, self._after(config))
        except Exception as error:
            if self.raise_errors:
                raise
            yield Failed(error)
            return
        for event in (*reader.pause(), *self._end(done)):
            yield event

    def _end(self, done: tuple[Compaction | None, int]) -> Iterator[Event]:
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

    def compact(self, config: Any = None) -> Compaction:
        """Compacts a thread now, whatever its size."""
        return run(self.agent, self._compacted(config))

    async def acompact(self, config: Any = None) -> Compaction:
        """Compacts a thread now, whatever its size."""
        return await arun(self.agent, self._compacted(config))

    def undo(self, config: Any = None) -> bool:
        """Takes the newest compaction back.

        Returns False where there is none, where the messages before it are no longer in the thread's history, or
        where the thread is interrupted. The thread is not compacted again before it has grown by a quarter.
        """
        return run(self.agent, self._undone(config))

    async def aundo(self, config: Any = None) -> bool:
        """Takes the newest compaction back, like `undo`."""
        return await arun(self.agent, self._undone(config))

    def explain(self, config: Any = None) -> list[dict[str, Any]]:
        """Lists the compactions that the thread stands on, the newest first."""
        return run(self.agent, self._explained(config))

    async def aexplain(self, config: Any = None) -> list[dict[str, Any]]:
        """Lists the compactions that the thread stands on, the newest first."""
        return await arun(self.agent, self._explained(config))

    # The thread.

    def get_state(self, config: Any = None, *, view: bool = False, **options: Any) -> Any:
        """Returns the agent's state; with `view`, the thread as the model sees it and as it was said."""
        state = self.agent.get_state(self._bound(config), **options)
        return run(self.agent, self._viewed(config, state)) if view else state

    async def aget_state(self, config: Any = None, *, view: bool = False, **options: Any) -> Any:
        """Returns the agent's state; with `view`, the thread as the model sees it and as it was said."""
        state = await self.agent.aget_state(self._bound(config), **options)
        return await arun(self.agent, self._viewed(config, state)) if view else state

    def get_state_history(self, config: Any = None, **options: Any) -> Iterator[Any]:
        """Returns the agent's checkpoints."""
        history: Iterator[Any] = self.agent.get_state_history(self._bound(config), **options)
        return history

    async def aget_state_history(self, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Returns the agent's checkpoints."""
        async for state in self.agent.aget_state_history(self._bound(config), **options):
            yield state

    def update_state(self, config: Any, values: Any, **options: Any) -> Any:
        """Updates the agent's state."""
        return self.agent.update_state(self._bound(config), values, **options)

    async def aupdate_state(self, config: Any, values: Any, **options: Any) -> Any:
        """Updates the agent's state."""
        return await self.agent.aupdate_state(self._bound(config), values, **options)

    def with_config(self, config: Any = None, **options: Any) -> CompactingSupervisor:
        """Returns a wrapper of the agent with a config."""
        other = CompactingSupervisor.__new__(CompactingSupervisor)
        other.__dict__.update(self.__dict__)
        other.agent = self.agent.with_config(config, **options)
        return other


def _is_agents(mode: Any) -> bool:
    """True for modes of the agent's own stream."""
    modes = [mode] if isinstance(mode, str) else list(mode or ())
    if len(modes) > 1 and any(one in _EVENTS for one in modes):
        raise ValueError(f"stream_mode is {mode}; 'tokens' and 'events' stand alone")
    return not modes or modes[0] not in _EVENTS


def _each(config: Any, number: int) -> list[Any]:
    """The config of each input."""
    return config if isinstance(config, list) else [config] * number
