"""Ebbtide for Pydantic AI: `Agent(model, capabilities=[EbbtideMemory(engine)])`.

The history of a run keeps every message; each request shows the model a summary, as a `CompactionPart`, and the
newest messages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ebbtide import Engine, Held, View
from ebbtide._aligned import aligned, dump, text_of_line
from ebbtide._checked import engine as checked
from ebbtide._extras import needs

with needs("pydantic-ai", "pydantic_ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        BinaryContent,
        CachePoint,
        CompactionPart,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryFeedbackPart,
        RetryPromptPart,
        SystemPromptPart,
        TextContent,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext

__all__ = ["EbbtideMemory"]

log = logging.getLogger("ebbtide")


@dataclass
class EbbtideMemory(AbstractCapability[Any]):
    """Shows the model a summary and the newest messages.

    `session` names the conversation's owner, so that conversations of different users never meet: a text, or a
    function of the run's context. Without it, each `conversation_id` of Pydantic AI is an owner.
    """

    engine: Engine
    session: str | Callable[[RunContext[Any]], str] | None = None
    _under_way: dict[str, tuple[Engine, View]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Checks the engine at once, not in the middle of a run."""
        checked(self.engine)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Puts the view into the request. The run's history stays as it is."""
        try:
            owner = self._owner(ctx)
            own = self.engine.with_client(
                tenant=f"{self.engine.tenant}\x1f{owner}", dialect="chat", session=owner or None
            )
            pieces = _pieces(request_context.messages)
            name = dump(request_context.model.model_name).encode()
            lines = b",".join(piece.line for piece in pieces)
            came: View | Held = own.view(b'{"model":%b,"messages":[%b]}' % (name, lines))
            while isinstance(came, Held):
                if came.work is None:
                    return request_context
                own.extract(came.work)
                came = own.resume(came)
            self._under_way[str(ctx.run_id)] = (own, came)
            if came.changed:
                messages = _shown(request_context.messages, pieces, came.body)
                return replace(request_context, messages=messages)
        except Exception as error:
            log.warning("the request goes out unchanged: %s", error)
        return request_context

    def _owner(self, ctx: RunContext[Any]) -> str:
        if self.session is None:
            return str(ctx.conversation_id or "")
        return self.session if isinstance(self.session, str) else self.session(ctx)

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        """Forgets a request that failed or was cancelled."""
        try:
            response: ModelResponse = await handler(request_context)
            return response
        finally:
            self._under_way.pop(str(ctx.run_id), None)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Observes the answer."""
        under_way = self._under_way.pop(str(ctx.run_id), None)
        if under_way is not None:
            own, view = under_way
            try:
                work = own.observe(view, _answer(response))
                if work is not None:
                    own.extract(work)
            except Exception as error:
                log.warning("the answer was not observed: %s", error)
        return response


@dataclass(frozen=True)
class _Piece:
    """A response, or a part of a request, and the line that the engine reads."""

    message: int
    part: int
    line: bytes


def _pieces(messages: list[ModelMessage]) -> list[_Piece]:
    out: list[_Piece] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            out.append(_Piece(at, 0, dump(_said(message)).encode()))
        else:
            out += (_Piece(at, index, dump(_part(part)).encode()) for index, part in enumerate(message.parts))
    return out


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, ToolReturnPart):
        text = part.model_response_str()
        content: Any = [{"type": "text", "text": text}, *map(_block, part.files)] if part.files else text
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": content}
    if isinstance(part, RetryPromptPart) and part.tool_name:
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
    if isinstance(part, UserPromptPart):
        return {"role": "user", "content": part.content if isinstance(part.content, str) else _blocks(part)}
    if isinstance(part, (RetryPromptPart, RetryFeedbackPart)):
        return {"role": "user", "content": part.model_response()}
    content = getattr(part, "content", None)
    return {"role": "user", "content": content if isinstance(content, str) else repr(part)}


def _blocks(part: UserPromptPart) -> list[dict[str, Any]]:
    content = [part.content] if isinstance(part.content, str) else part.content
    return [_block(one) for one in content if not isinstance(one, CachePoint)]


def _block(one: Any) -> dict[str, Any]:
    """A piece of a prompt as the engine reads it. It counts an image by its kind, so its bytes are left out."""
    if isinstance(one, str):
        return {"type": "text", "text": one}
    if isinstance(one, TextContent):
        return {"type": "text", "text": one.content}
    if isinstance(one, BinaryContent):
        if one.is_image:
            address = f"data:{one.media_type};base64,{one.identifier}"
            return {"type": "image_url", "image_url": {"url": address}}
        return {"type": "file", "file": {"file_data": one.data_uri}}
    address = str(getattr(one, "url", None) or getattr(one, "file_id", ""))
    if isinstance(one, ImageUrl):
        return {"type": "image_url", "image_url": {"url": address}}
    return {"type": "file", "file": {"file_id": address}}


def _said(message: ModelResponse) -> dict[str, Any]:
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    thoughts = [part.content for part in message.parts if isinstance(part, ThinkingPart) and part.content]
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    out: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    if thoughts:
        out["reasoning_content"] = "\n".join(thoughts)
    if calls:
        out["tool_calls"] = calls
    return out


def _answer(response: ModelResponse) -> bytes:
    usage = response.usage
    total = usage.input_tokens + usage.output_tokens
    out: dict[str, Any] = {"object": "chat.completion", "choices": [{"index": 0, "message": _said(response)}]}
    if total:
        out["usage"] = {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": total,
        }
    return dump(out).encode()


def _shown(messages: list[ModelMessage], pieces: list[_Piece], view: bytes) -> list[ModelMessage]:
    """The messages that are shown: the same objects, and the summary in front of them.

    A request of which only some parts are shown, or one that the engine changed, is another object.
    """
    found = aligned(view, [piece.line for piece in pieces])
    parts: dict[tuple[int, int], list[Any]] = {}
    place = (0, 0)
    for line in (*found.operators, *found.tail):
        if line.at is None:
            parts.setdefault(place, []).append(UserPromptPart(content=text_of_line(line.said)))
            continue
        piece = pieces[line.at]
        place = (piece.message, piece.part)
        message = messages[piece.message]
        part = message if isinstance(message, ModelResponse) else message.parts[piece.part]
        parts[place] = [_changed(part, line.said) if line.is_changed else part]
    begins = min((pieces[line.at].message for line in found.tail if line.at is not None), default=0)
    out: list[ModelMessage] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            said, *others = parts.get((at, 0), [None])
            out += [message] if said is not None else []
            out += [ModelRequest(parts=others)] if others else []
            continue
        own = [part for index in range(len(message.parts)) for part in parts.get((at, index), ())]
        if len(own) == len(message.parts) and all(one is other for one, other in zip(own, message.parts)):
            # One without parts may carry instructions.
            out += [message] if own or at >= begins else []
        elif own:
            out.append(replace(message, parts=own))
    return _with_summary(out, [text_of_line(line.said) for line in found.front])


def _changed(part: Any, said: dict[str, Any]) -> Any:
    """A part as the engine shows it: a shortened result, or a prompt with more behind it."""
    text = text_of_line(said)
    if isinstance(part, ToolReturnPart):
        return replace(part, content=[text, *part.files] if part.files else text)
    if isinstance(part, UserPromptPart):
        before = [part.content] if isinstance(part.content, str) else part.content
        blocks = said["content"][len(_blocks(part)) :]
        return replace(part, content=[*before, *(block["text"] for block in blocks)])
    return part


def _with_summary(messages: list[ModelMessage], front: list[str]) -> list[ModelMessage]:
    if not front:
        return messages
    summary = CompactionPart(content="\n\n".join(front))
    first = messages[0] if messages else None
    if isinstance(first, ModelRequest):
        operator = [part for part in first.parts if isinstance(part, SystemPromptPart)]
        others = [part for part in first.parts if not isinstance(part, SystemPromptPart)]
        return [replace(first, parts=[*operator, summary, *others]), *messages[1:]]
    return [ModelRequest(parts=[summary]), *messages]
