"""The middleware for LangChain's `create_agent`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from typing_extensions import NotRequired, TypedDict

from ebbtide import EbbtideError, Engine, View, Work
from ebbtide._aligned import dump, is_operator
from ebbtide.langgraph import settings, threads
from ebbtide.langgraph.messages import Encoder, Shown, answer, body, digest, made, shown

__all__ = ["EbbtideMiddleware", "EbbtideState", "Mark"]

# What tells our tool `expand` from one of the agent's own, that of another middleware included.
_OURS = {"ebbtide": "expand"}


class Base(TypedDict):
    """The summary that stands in for the older messages of a thread.

    `after` is the ID of the last message that is not shown, `hash` is over all messages up to it. Where either
    differs, the mark does not count. `front` is shown in their place.
    """

    id: str
    after: str
    hash: str
    front: list[dict[str, Any]]


class Mark(Base):
    """The summary that is shown. `base` is the one that its engine's history began with, if any."""

    edition: int
    base: Base | None


def _newest(_: Any, new: Any) -> Any:
    return new


class EbbtideState(AgentState[Any]):
    """The agent's state with the private mark."""

    _ebbtide: NotRequired[Annotated[Mark | None, PrivateStateAttr, _newest]]


@dataclass
class _Step:
    """A model call under way."""

    request: ModelRequest[Any]
    messages: list[Any]
    given: _Given
    engine: Engine
    view: View
    seen: Shown
    key: tuple[str | None, str]


@dataclass
class _Given:
    """The messages that the engine is given: those of the state, or those behind a mark that it does not know."""

    messages: list[Any]
    written: list[bytes]
    # The messages of the system prompt, which the state does not hold.
    head: int = 0
    base: Base | None = None
    # The number of the state's messages that the base stands for.
    covered: int = 0
    # The number of messages in front of the others: the operator's, and the base's own.
    front: int = 0


# The share of the window that one tool result may take.
_RESULTS = 4
# The bytes of a token, at least.
_BYTES = 2


class EbbtideMiddleware(AgentMiddleware[EbbtideState, Any, Any]):
    """Shows the model a summary and the newest messages; the state keeps every message.

    The summary is prepared ahead of the limit. `summarizer` makes it: a chat model, the name of one, a
    function of the system prompt and the source, which may be async, or `"agent"` for the agent's own model, in the
    background. Without one, the engine makes it from the messages alone, in milliseconds. Tool results of more than `max_tool_result`
    tokens are shortened before they enter the state; the model gets the tool `expand` for the originals.

    An `engine` that is passed in has its own settings: with a summarizer, open it with `summaries="caller"`.
    """

    state_schema = EbbtideState

    def __new__(cls, *_: Any, **settings: Any) -> EbbtideMiddleware:
        """A middleware that shortens nothing has no hook for tools: LangChain builds the agent by a class's hooks."""
        shortens = settings.get("max_tool_result", 0) is not None
        return super().__new__(cls if shortens or cls is not EbbtideMiddleware else _WithoutTools)

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        window: int | None = None,
        store: str | None = None,
        strategy: str = "prepared",
        summarizer: Any | Literal["agent"] | None = None,
        pins: Sequence[str] = (),
        max_tool_result: int | None = 16_000,
    ) -> None:
        super().__init__()
        if engine is not None:
            settings.asked(settings.engine(engine), summarizer)
            if (window, store, strategy) != (None, None, "prepared"):
                raise ValueError("window, store and strategy are settings of the engine; pass them to Engine(…)")
        self.max_tool_result = settings.at_least_one("max_tool_result", max_tool_result, "whole results")
        settings.at_least_one("window", window, "the model's own")
        # One result may not fill a small window.
        self._longest = max_tool_result
        if window is not None and max_tool_result is not None:
            self._longest = min(max_tool_result, max(1, window // _RESULTS))
        # What `expand` returns is sent whole: it stays below the size that is shortened.
        self._room = min(24_000, (self._longest or 16_000) * _BYTES)
        self.pins = settings.pins(pins)
        self.engine = engine or Engine(
            window=window,
            store=store,
            strategy=strategy,
            summaries="extractive" if summarizer is None else "caller",
            notes=False,
            shrink=self._longest,
        )
        self._expand = None if max_tool_result is None else self._expand_tool()
        self._warned = False
        self.tools: Sequence[BaseTool] = [] if self._expand is None else [self._expand]
        self._summarizer = summarizer if summarizer == "agent" else settings.summarizer(summarizer)
        self._encoder = Encoder()
        self._kitchen = threads.Kitchen()
        self._conversations = threads.Latest()
        self._pinned = threads.Latest()
        self._refused: set[str] = set()
        self._resumed = threads.Latest()
        self._known = threads.Latest()

    # The model's calls.

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Any:
        """Calls the model with the view."""
        request = self._bindable(request)
        step = self._begin(request)
        if step is None:
            return handler(request)
        try:
            response = handler(step.request)
        except Exception as error:
            again = self._again(step, error)
            if again is None:
                raise
            response = handler(again)
        return self._end(step, response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        """Calls the model with the view."""
        request = self._bindable(request)
        # Making a summary takes a while even without a model, and a strategy may hold the request for one.
        step = await asyncio.to_thread(self._begin, request)
        if step is None:
            return await handler(request)
        try:
            response = await handler(step.request)
        except Exception as error:
            again = self._again(step, error)
            if again is None:
                raise
            response = await handler(again)
        return self._end(step, response)

    def _bindable(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request without `expand` where its model takes no tools: an agent without tools may have such a model."""
        own = [one for one in request.tools if _is_ours(one)]
        if own and getattr(type(request.model), "bind_tools", None) is BaseChatModel.bind_tools:
            return request.override(tools=[one for one in request.tools if not _is_ours(one)])
        if self._expand is not None and not own and not self._warned and "expand" in map(_tool_name, request.tools):
            self._warned = True
            threads.log.warning(
                "the agent has a tool `expand` of its own, so the model cannot ask for shortened results; "
                "rename it, or pass max_tool_result=None"
            )
        return request

    def _begin(self, request: ModelRequest[Any]) -> _Step | None:
        """The request with the view, or None where the engine failed: the agent then goes on without it."""
        try:
            key = threads.thread_of(request.runtime)
            if key is None:
                # Threads must not share a memory.
                raise RuntimeError("LangGraph does not tell an async run on Python 3.10 its thread; use Python 3.11")
            engine = threads.engine_of(self.engine, *key)
            given = self._given(engine, key, request)
            came = engine.view(body(_name(request.model), given.written, tools=request.tools))
            view = threads.let_go(engine, came, lambda work: self._make(engine, work, request.model))
            self._remember(engine, key, view)
            seen = self._seen(given, view.body if view.changed else None)
            # Middlewares and handlers may add to the list of an unchanged request: it is the state's own.
            is_changed = view.changed or given.base is not None
            shows = request.override(messages=seen.messages) if is_changed else request
            return _Step(shows, list(request.messages), given, engine, view, seen, key)
        except Exception as error:
            threads.log.warning("the request goes out unchanged: %s", error)
            return None

    def _given(self, engine: Engine, key: tuple[str | None, str], request: ModelRequest[Any]) -> _Given:
        """The messages for the engine.

        Where its history was in a process that ended, it goes on behind the summary in the state.
        """
        head: list[Any] = [request.system_message] if request.system_message else []
        messages: list[Any] = list(request.messages)
        written = self._encoder.lines([*head, *messages], key[0])
        mark: Any = request.state.get("_ebbtide")
        base = None if not mark else mark.get("base") if self._knows(engine, key, mark["id"]) else _base(mark)
        own = written[len(head) :]
        at = None if base is None else _covered(base, messages, own)
        if base is None or at is None:
            return _Given([*head, *messages], written, len(head))
        operators = [message for message, line in zip(messages[:at], own) if is_operator(line)]
        self._resumed.put((key[0], ""), True)
        front = [*operators, *map(made, base["front"])]
        shown_of = [*head, *front, *messages[at:]]
        written = self._encoder.lines(shown_of, key[0])
        return _Given(shown_of, written, len(head), base, at, len(front))

    def _knows(self, engine: Engine, key: tuple[str | None, str], summary: str) -> bool:
        """True if the engine has made a summary itself."""
        before = self._known.get(key)
        if before is not None and before[0] == summary:
            return bool(before[1])
        found = any(
            one.id == summary
            for conversation in engine.conversations()
            for one in engine.explain(conversation.id).summaries
        )
        self._known.put(key, (summary, found))
        return found

    def _seen(self, given: _Given, shows: bytes | None) -> Shown:
        """What the model sees of the state's messages, without the system prompt."""
        front = given.base["front"] if given.base is not None else []
        if shows is None:
            return Shown(given.messages[given.head :], given.covered, front)
        seen = shown(shows, given.messages, given.written)
        head = given.messages[: given.head]
        messages = seen.messages[given.head :] if seen.messages[: given.head] == head else seen.messages
        hidden = seen.hidden - given.head - given.front
        if hidden > 0:
            return Shown(messages, given.covered + hidden, seen.front)
        return Shown(messages, given.covered, front)

    def _again(self, step: _Step, error: Exception) -> ModelRequest[Any] | None:
        """The request to send once more, where the provider refused it as too long."""
        is_overflow = any(kind.__name__ == "ContextOverflowError" for kind in type(error).__mro__)
        code = "context_length_exceeded" if is_overflow else None
        # The engine knows the wordings of the providers.
        refusal = dump({"error": {"message": str(error), "code": code}}).encode()
        smaller = step.engine.refused(step.view, 400, refusal)
        if smaller is None:
            return None
        return step.request.override(messages=self._seen(step.given, smaller).messages)

    def _end(self, step: _Step, response: Any) -> Any:
        """Takes the answer, and gives it on with the mark where that changed."""
        try:
            said = _said(response)
            work = None
            if said is not None:
                work = step.engine.observe(step.view, answer(said, _name(step.request.model)))
            if work is not None:
                self._kitchen.start(step.engine, work, self._model(step.request.model))
            changed, mark = self._mark(step)
        except Exception as error:
            threads.log.warning("the answer was not observed: %s", error)
            return response
        if not changed:
            return response
        if isinstance(response, ExtendedModelResponse):
            return replace(response, command=_marking(response.command, mark))
        command = _marking(None, mark)
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        return ExtendedModelResponse(model_response=response, command=command)

    def _mark(self, step: _Step) -> tuple[bool, Mark | None]:
        """The mark for the state, and if it is another than before."""
        before: Any = step.request.state.get("_ebbtide")
        hidden, base = step.seen.hidden, step.given.base
        after = str(step.messages[hidden - 1].id or "") if hidden else ""
        if before and before["after"] == after and before["front"] == step.seen.front:
            # The engine has compared all that the summary covers.
            return False, before
        if hidden == 0:
            return bool(before), None
        summaries = step.engine.explain(step.view.conversation).summaries if step.view.conversation else []
        standing = next((summary for summary in summaries if summary.is_shown), None)
        edition = (before["edition"] if before else 0) + 1
        if base is not None and (standing is None or hidden == step.given.covered):
            return before["id"] != base["id"], {**base, "edition": edition, "base": None}
        if standing is None:
            # The next process shows messages again that no summary stands for.
            return bool(before), None
        self._known.put(step.key, (standing.id, True))
        return True, {
            "id": standing.id,
            "after": after,
            "hash": digest(self._encoder.lines(step.messages[:hidden], step.key[0])),
            "edition": edition,
            "front": step.seen.front,
            "base": base,
        }

    def _remember(self, engine: Engine, key: tuple[str | None, str], view: View) -> None:
        if view.conversation is None:
            return
        self._conversations.put(key, view.conversation)
        if self.pins and self._pinned.get(key) != view.conversation:
            threads.pin(engine, view.conversation, self.pins, self._refused)
            self._pinned.put(key, view.conversation)

    def _model(self, own: Any) -> Any:
        return own if self._summarizer == "agent" else self._summarizer

    def _make(self, engine: Engine, work: Work, own: Any) -> None:
        threads.make(engine, work, self._model(own))

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the summaries that are being made in the background."""
        self._kitchen.wait(timeout)

    # Tool results.

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Shortens an oversized result."""
        return self._shortened(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Shortens an oversized result."""
        result = await handler(request)
        return await asyncio.to_thread(self._shortened, request, result)

    def _shortened(self, request: Any, result: Any) -> Any:
        if self.max_tool_result is None or _is_ours(request.tool):
            return result
        if isinstance(result, Command):
            update = result.update
            if not isinstance(update, dict) or not update.get("messages"):
                return result
            said = update["messages"]
            messages = said if isinstance(said, list) else [said]
            shorter = [self._shorter(request, message) for message in messages]
            return replace(result, update={**update, "messages": shorter})
        return self._shorter(request, result)

    def _shorter(self, request: Any, message: Any) -> Any:
        if not isinstance(message, ToolMessage) or self._longest is None:
            return message
        content = message.content
        blocks = [content] if isinstance(content, str) else content
        texts = [text for block in blocks if (text := _text_in(block)) is not None]
        call = request.tool_call
        try:
            key = threads.thread_of(request.runtime)
            if key is None:
                return message
            engine = threads.engine_of(self.engine, key[0])
            short = engine.shorten(
                "\n".join(texts),
                limit=self._longest,
                call=call.get("id") or "",
                tool=call["name"],
                arguments=dump(call["args"]),
            )
        except (EbbtideError, UnicodeError) as error:
            threads.log.warning("a tool result stays as it is: %s", error)
            return message
        if short is None:
            return message
        if isinstance(content, str):
            return message.model_copy(update={"content": short.text})
        # One block holds the text now, in the place of the first; images and the like stay.
        others = [block for block in blocks if _text_in(block) is None]
        first = next(i for i, block in enumerate(blocks) if _text_in(block) is not None)
        others.insert(first, {"type": "text", "text": short.text})
        return message.model_copy(update={"content": others})

    def _expand_tool(self) -> BaseTool:
        def expand(handle: str, section: str | None = None) -> str:
            """Returns the original of a shortened tool result or of an earlier message.

            Args:
                handle: the ID that the shortened text names, or a place such as turn:14.
                section: lines such as 10-80, or bytes such as b0-4000.
            """
            return self._expanded(handle, section)

        return StructuredTool.from_function(expand, metadata=_OURS)

    def _expanded(self, handle: str, section: str | None) -> str:
        key = threads.thread()
        engine = threads.engine_of(self.engine, key[0])
        try:
            if ":" in handle:
                if self._resumed.get((key[0], "")):
                    # The summary counts turns that this process has not seen.
                    return (
                        "The messages before the agent's restart are not in the archive, and the numbers in the "
                        "summary count them. They are kept where the middleware has a store."
                    )
                # The tool runs in a node beside the model's.
                beside = key[1].rpartition("/")[0]
                agent = f"{beside}/model" if beside else "model"
                place = self._conversations.get((key[0], agent))
                if place is None:
                    return "This conversation has nothing at that place yet."
                found = engine.with_client(agent=agent).original(place, handle, section=section, room=self._room)
            else:
                found = engine.archived(handle, section=section, room=self._room)
        except EbbtideError as error:
            return f"{error}. {error.hint or ''}"
        more = f"\n[section {found.next} follows]" if found.next else ""
        return f"[quoted from the archive, {found.title}, section {found.section}]\n{found.text}{more}"

    # Looking into a thread.

    def conversation(self, thread_id: str | int | None, *, agent: str | None = None) -> tuple[Engine, str] | None:
        """The engine of a thread, and the ID of its conversation: for `pin`, `lost`, `undo`, `explain`.

        Where several agents of a thread have this middleware, it is the one that called its model last, or the one
        at the node `agent` of the graph, such as `lead` or `lead/helper`. None before the first call.
        """
        name = None if thread_id is None else str(thread_id)
        for place, found in self._conversations.of(name):
            if agent is None or agent == place.rpartition("/")[0]:
                return threads.engine_of(self.engine, name, place), found
        return None


def _is_ours(one: Any) -> bool:
    return isinstance(one, BaseTool) and one.metadata == _OURS


def _base(mark: Mark) -> Base:
    return {"id": mark["id"], "after": mark["after"], "hash": mark["hash"], "front": mark["front"]}


def _covered(base: Base, messages: Sequence[BaseMessage], written: Sequence[bytes]) -> int | None:
    """The number of messages that a summary stands for, where they are still the same."""
    at = next((i + 1 for i, message in enumerate(messages) if message.id == base["after"]), 0)
    return at if at and digest(written[:at]) == base["hash"] else None


def _marking(command: Command[Any] | None, mark: Mark | None) -> Command[Any]:
    """The command with the mark for the state."""
    if command is None or command.update is None:
        return replace(command or Command(), update={"_ebbtide": mark})
    before = command.update
    if isinstance(before, Mapping):
        return replace(command, update={**before, "_ebbtide": mark})
    if isinstance(before, Sequence):
        return replace(command, update=[*before, ("_ebbtide", mark)])
    # The state is an object of the user's own, which has no place for the mark.
    return command


def _name(model: Any) -> str:
    for key in ("model_name", "model"):
        name = getattr(model, key, None)
        if isinstance(name, str):
            return name
    return ""


def _tool_name(tool: Any) -> Any:
    return tool.get("name") if isinstance(tool, dict) else getattr(tool, "name", None)


def _text_in(block: Any) -> str | None:
    """The text of a block of a tool result. None for one without, such as an image."""
    if isinstance(block, str):
        return block
    return str(block.get("text") or "") if block.get("type") == "text" else None


def _said(response: Any) -> AIMessage | None:
    if isinstance(response, AIMessage):
        return response
    inner = response.model_response if isinstance(response, ExtendedModelResponse) else response
    return next((message for message in inner.result if isinstance(message, AIMessage)), None)


class _WithoutTools(EbbtideMiddleware):
    """The middleware as it is with `max_tool_result=None`."""

    wrap_tool_call = AgentMiddleware.wrap_tool_call
    awrap_tool_call = AgentMiddleware.awrap_tool_call

    @property
    def name(self) -> str:
        return EbbtideMiddleware.__name__
