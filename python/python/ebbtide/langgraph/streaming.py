"""The stream of a run as typed events, whatever form LangGraph gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.types import Interrupt

from ebbtide.langgraph.messages import text_of


@dataclass(frozen=True)
class Token:
    """A piece of the agent's answer."""

    content: str


@dataclass(frozen=True)
class ToolCall:
    """The agent calls a tool."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class ToolResult:
    """A tool has answered."""

    id: str
    name: str
    content: str


@dataclass(frozen=True)
class Interrupted:
    """The run is paused, and waits for a `Command(resume=…)`.

    `interrupts` have a `value` and an `id` each. There are none where the graph was compiled to stop at a node.
    """

    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class Compacted:
    """The thread was compacted after the run."""

    replaced: int
    before: int
    after: int


@dataclass(frozen=True)
class Done:
    """The run is over, or paused. `token_count` is the size of the thread now."""

    token_count: int


@dataclass(frozen=True)
class Failed:
    """The run failed."""

    error: BaseException

    @property
    def content(self) -> str:
        """The error as text."""
        return str(self.error)


Event = Union[Token, ToolCall, ToolResult, Interrupted, Compacted, Done, Failed]


def unwrapped(chunk: Any) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """The namespace, mode and data of a chunk: a pair, a mode with data, a namespace in front, or a dictionary."""
    if isinstance(chunk, dict) and {"type", "data"} <= chunk.keys():
        yield tuple(chunk.get("ns") or ()), chunk["type"], chunk["data"]
        return
    if not isinstance(chunk, tuple):
        yield (), "updates" if isinstance(chunk, dict) else "values", chunk
        return
    space: tuple[str, ...] = ()
    if chunk and isinstance(chunk[0], tuple):
        space, chunk = chunk[0], chunk[1:]
        chunk = chunk[0] if len(chunk) == 1 else chunk
    if isinstance(chunk, tuple) and len(chunk) == 2 and isinstance(chunk[0], str):
        yield space, chunk[0], chunk[1]
    else:
        yield space, "messages" if isinstance(chunk, tuple) else "updates", chunk


class Reader:
    """Turns chunks of the modes `messages` and `updates` into events of one agent."""

    def __init__(self, supervisor: str | None = None) -> None:
        self._supervisor = supervisor
        self._told: set[str] = set()
        self._interrupts: dict[str, Interrupt] | None = None

    def events(self, chunk: Any) -> Iterator[Event]:
        """The events in a chunk."""
        for space, mode, data in unwrapped(chunk):
            if mode == "updates" and not space and isinstance(data, dict) and "__interrupt__" in data:
                # Those of sub-agents come up here, too; those of parallel calls one by one.
                found = {one.id: one for one in data["__interrupt__"]}
                self._interrupts = {**(self._interrupts or {}), **found}
                continue
            if not self._is_own(space):
                continue
            if mode == "messages":
                yield from self._token(*data)
            elif mode == "updates" and isinstance(data, dict):
                yield from self._updates(data)

    def pause(self) -> Iterator[Event]:
        """The event of a run that is paused."""
        if self._interrupts is not None:
            yield Interrupted(tuple(self._interrupts.values()))

    def _is_own(self, space: tuple[str, ...]) -> bool:
        if self._supervisor is None:
            return not space
        return len(space) == 1 and space[0].split(":")[0] == self._supervisor

    def _token(self, message: Any, metadata: dict[str, Any]) -> Iterator[Token]:
        # What a tool asks a model is no answer of the agent.
        if metadata.get("langgraph_node") == "tools" or not isinstance(message, (AIMessage, AIMessageChunk)):
            return
        if (text := text_of(message.content)) and not self._is_repeated(message):
            yield Token(text)

    def _is_repeated(self, message: Any) -> bool:
        """True for a whole message that came in pieces before."""
        identity = str(message.id)
        if isinstance(message, AIMessageChunk):
            self._told.add(identity)
            return False
        return identity in self._told

    def _updates(self, data: dict[str, Any]) -> Iterator[Event]:
        for update in data.values():
            if isinstance(update, list):
                updates = [one for one in update if isinstance(one, dict)]
            else:
                updates = [update] if isinstance(update, dict) else []
            for one in updates:
                messages = one.get("messages") or []
                for message in messages if isinstance(messages, list) else [messages]:
                    yield from self._steps(message)

    def _steps(self, message: Any) -> Iterator[Event]:
        key = f"step {getattr(message, 'id', None)}"
        if key in self._told:
            return
        self._told.add(key)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield ToolCall(str(call.get("id")), call["name"], call["args"])
        elif isinstance(message, ToolMessage):
            yield ToolResult(message.tool_call_id, message.name or "", text_of(message.content))


def chunk_of(event: Event) -> dict[str, Any] | None:
    """An event as a dictionary: a token, an interrupt, `done`, or an error. None for other events."""
    if isinstance(event, Token):
        return {"type": "token", "content": event.content}
    if isinstance(event, Interrupted):
        waits = [{"id": one.id, "value": one.value} for one in event.interrupts]
        return {"type": "interrupt", "interrupts": waits}
    if isinstance(event, Done):
        return {"type": "done", "token_count": event.token_count}
    if isinstance(event, Failed):
        return {"type": "error", "content": event.content}
    return None
