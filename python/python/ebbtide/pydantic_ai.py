"""Ebbtide for Pydantic AI: `Agent(model, capabilities=[EbbtideMemory(engine)])`.

The history of a run keeps every message; each request shows the model a summary, as a `CompactionPart`, and the
newest messages.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext

from ebbtide import Engine, Held, View

__all__ = ["EbbtideMemory"]

log = logging.getLogger("ebbtide")
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


@dataclass
class EbbtideMemory(AbstractCapability[Any]):
    """Shows the model a summary and the newest messages.

    `session` names the conversation's owner, so that conversations of different users never meet: a text, or a
    function of the run's context. Without it, each `conversation_id` of Pydantic AI is an owner.
    """

    engine: Engine
    session: str | Callable[[RunContext[Any]], str] | None = None
    _under_way: dict[str, tuple[Engine, View]] = field(default_factory=dict, repr=False)

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
            lines = ",".join(line for *_, line in pieces)
            name = _dump(request_context.model.model_name)
            came: View | Held = own.view(f'{{"model":{name},"messages":[{lines}]}}'.encode())
            while isinstance(came, Held):
                if came.work is None:
                    return request_context
                own.extract(came.work)
                came = own.resume(came)
            self._under_way[str(ctx.run_id)] = (own, came)
            if came.changed:
                messages = _shown(request_context.messages, pieces, json.loads(came.body)["messages"])
                return replace(request_context, messages=messages)
        except Exception as error:
            log.warning("the request goes out unchanged: %s", error)
        return request_context

    def _owner(self, ctx: RunContext[Any]) -> str:
        if self.session is None:
            return str(ctx.conversation_id or "")
        return self.session if isinstance(self.session, str) else self.session(ctx)

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


# A message's index, its part's index where it is a request, and the line that the engine reads.
_Piece = tuple[int, int, str]


def _pieces(messages: list[ModelMessage]) -> list[_Piece]:
    out: list[_Piece] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            out.append((at, 0, _dump(_said(message))))
        else:
            out += ((at, index, _dump(_part(part))) for index, part in enumerate(message.parts))
    return out


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if isinstance(part, RetryPromptPart) and part.tool_name:
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
    if isinstance(part, UserPromptPart):
        if isinstance(part.content, str):
            return {"role": "user", "content": part.content}
        blocks = [
            {"type": "text", "text": one} if isinstance(one, str) else {"type": type(one).__name__, "data": str(one)}
            for one in part.content
        ]
        return {"role": "user", "content": blocks}
    return {"role": "user", "content": str(getattr(part, "content", None) or part)}


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
    return _dump(out).encode()


def _shown(messages: list[ModelMessage], pieces: list[_Piece], body: list[dict[str, Any]]) -> list[ModelMessage]:
    """The messages that are shown: the same objects, requests of which only some parts are, and the summary."""
    kept: set[tuple[int, int]] = set()
    front: list[str] = []
    last = len(pieces) - 1
    for said in reversed(body):
        line = _dump(said)
        at = last
        while at >= 0 and pieces[at][2] != line:
            at -= 1
        if at < 0:
            front.insert(0, _text(said))
        else:
            kept.add(pieces[at][:2])
            last = at - 1
    out: list[ModelMessage] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            if (at, 0) in kept:
                out.append(message)
            continue
        parts = [part for index, part in enumerate(message.parts) if (at, index) in kept]
        if len(parts) == len(message.parts):
            out.append(message)
        elif parts:
            out.append(replace(message, parts=parts))
    if not front:
        return out
    summary = CompactionPart(content="\n\n".join(front))
    first = out[0] if out else None
    if isinstance(first, ModelRequest):
        operator = [part for part in first.parts if isinstance(part, SystemPromptPart)]
        others = [part for part in first.parts if not isinstance(part, SystemPromptPart)]
        return [replace(first, parts=[*operator, summary, *others]), *out[1:]]
    return [ModelRequest(parts=[summary]), *out]


def _text(said: dict[str, Any]) -> str:
    content = said.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n\n".join(block.get("text", "") for block in content)
