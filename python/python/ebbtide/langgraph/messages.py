"""LangChain's messages as the bytes that the engine reads, and back.

The engine reads requests of Chat Completions, one JSON message for each message. They are never sent; what the
engine shows of them is mapped back to the same message objects.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from ebbtide._aligned import Line, aligned, dump
from ebbtide.langgraph.forgetting import remembers

__all__ = ["Encoder", "Shown", "answer", "body", "digest", "encode", "made", "shown", "text_of"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_SAID_ELSEWHERE = {"tool_use", "tool_call", "tool_call_chunk", "function_call", "server_tool_call_chunk"}


# The room for the lines of all threads, in bytes.
_ROOM = 64_000_000


@dataclass
class _Written:
    """The lines of a thread, by the message's ID, and their size."""

    lines: dict[str, tuple[Any, Any, bytes]]
    size: int = 0


class Encoder:
    """Writes messages, and remembers how it wrote those of the threads that were used last."""

    def __init__(self, room: int = _ROOM) -> None:
        self._lock = Lock()
        self._threads: OrderedDict[str | None, _Written] = OrderedDict()
        self._room, self._size = room, 0
        remembers(self)

    def lines(self, messages: Sequence[BaseMessage], thread: str | None = None) -> list[bytes]:
        """Returns the JSON of each message."""
        with self._lock:
            own = self._threads.pop(thread, None) or _Written({})
            self._threads[thread] = own
            self._size -= own.size
            out = [_line(message, own) for message in messages]
            self._size += own.size
            while self._size > self._room:
                self._size -= self._threads.popitem(last=False)[1].size
        return out

    def forget(self, thread_id: str) -> None:
        """Forgets a thread."""
        with self._lock:
            own = self._threads.pop(thread_id, None)
            self._size -= own.size if own is not None else 0


def _line(message: BaseMessage, own: _Written) -> bytes:
    key, content = message.id, message.content
    calls = message.tool_calls if isinstance(message, AIMessage) else None
    before = own.lines.get(key) if key else None
    if before is not None and before[0] == content and before[1] == calls:
        return before[2]
    line = encode(message)
    if key:
        own.lines[key] = (content, calls, line)
        own.size += _held(content, line) - (_held(before[0], before[2]) if before is not None else 0)
    return line


def _held(content: Any, line: bytes) -> int:
    """The size of a line, and of the content that is held beside it: an image has no data in its line."""
    blocks = content if isinstance(content, list) else []
    images = (block for block in blocks if isinstance(block, dict) and block.get("type") == "image")
    return 2 * len(line) + sum(_size(image) for image in images)


def _size(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return len(value) if isinstance(value, str | bytes) else sum(map(_size, inner))


def body(model: str, written: Sequence[bytes], *, tools: Sequence[Any] = ()) -> bytes:
    """Returns the body of a request with messages that are written already."""
    offered = f',"tools":{dump([_tool(tool) for tool in tools])}'.encode() if tools else b""
    return b'{"model":%b%b,"messages":[%b]}' % (dump(model).encode(), offered, b",".join(written))


def encode(message: BaseMessage) -> bytes:
    """Writes a message."""
    role = _ROLES.get(message.type, "user")
    if message.type == "chat":
        role = getattr(message, "role", "user")
    out: dict[str, Any] = {"role": role}
    reasoning, content = _content(message.content)
    if reasoning:
        out["reasoning_content"] = reasoning
    out["content"] = content
    if isinstance(message, ToolMessage):
        out["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage) and message.tool_calls:
        out["tool_calls"] = [
            {
                "id": call.get("id") or "",
                "type": "function",
                "function": {"name": call["name"], "arguments": dump(call["args"])},
            }
            for call in message.tool_calls
        ]
    return dump(out).encode()


def _content(content: Any) -> tuple[str, Any]:
    """The reasoning in a content, and the rest of it."""
    if isinstance(content, str):
        return "", content
    reasoning: list[str] = []
    blocks: list[Any] = []
    for block in content:
        if isinstance(block, str):
            blocks.append({"type": "text", "text": block})
            continue
        kind = block.get("type")
        if kind in ("thinking", "reasoning"):
            reasoning.append(str(block.get("thinking") or block.get("reasoning") or block.get("summary") or ""))
        elif kind not in _SAID_ELSEWHERE:
            blocks.append(_block(block))
    return "\n".join(part for part in reasoning if part), blocks


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Converts a block to the form of Chat Completions, which the engine reads.

    LangChain and the adapters of Anthropic and MCP have other forms of images and files. The engine counts an image at
    a fixed size, so a hash takes the place of its data; other files count by their size.
    """
    kind = block.get("type")
    if kind == "image":
        # A cache breakpoint moves from message to message, and changes none.
        cached = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
        name = digest([dump({key: value for key, value in block.items() if key != "cache_control"}).encode()])
        source = block.get("source")
        inner = source if isinstance(source, dict) else {}
        media = block.get("mime_type") or inner.get("media_type") or block.get("mimeType") or "image"
        return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{name}"}, **cached}
    if kind in ("audio", "video", "document"):
        return {"type": "file", "file": block}
    return block


def _tool(tool: Any) -> Any:
    if isinstance(tool, dict):
        return tool
    try:
        from langchain_core.utils.function_calling import convert_to_openai_tool

        return convert_to_openai_tool(tool)
    except Exception:  # It is only counted: a tool that cannot be described counts by its name.
        return {"type": "function", "function": {"name": getattr(tool, "name", str(tool))}}


def answer(message: AIMessage, model: str) -> bytes:
    """Writes a model's message as the answer of a provider, with the usage that it reports."""
    said = json.loads(encode(message))
    out: dict[str, Any] = {
        "object": "chat.completion",
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": said,
                "finish_reason": "tool_calls" if message.tool_calls else "stop",
            }
        ],
    }
    usage = message.usage_metadata
    if usage:
        details = usage.get("input_token_details") or {}
        out["usage"] = {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
            "prompt_tokens_details": {"cached_tokens": details.get("cache_read") or 0},
        }
    return dump(out).encode()


@dataclass(frozen=True)
class Shown:
    """What the model sees.

    The first `hidden` messages are not shown, but for the operator's; what stands in their place is `front`.
    """

    messages: list[AnyMessage]
    hidden: int
    front: list[dict[str, Any]]


def shown(view: bytes, messages: Sequence[BaseMessage], written: Sequence[bytes]) -> Shown:
    """Maps what an engine shows back to the messages that it was given.

    A message that is shown unchanged is the same object. One that the engine changed, by shortening it or by
    adding to it, keeps its place and its ID.
    """
    found = aligned(view, written)
    lines = [*found.operators, *found.front, *found.tail]
    front = [line.said for line in found.front]
    return Shown([_of(line, messages) for line in lines], found.hidden, front)


def _of(line: Line, messages: Sequence[BaseMessage]) -> Any:
    if line.at is None:
        return made(line.said)
    message = messages[line.at]
    if not line.is_changed:
        return message
    content = line.said.get("content") or ""
    if isinstance(content, list) and isinstance(message.content, list):
        # The model gets the blocks as its adapter reads them.
        own = {dump(_block(block)): block for block in message.content if isinstance(block, dict)}
        content = [own.get(dump(block), block) for block in content]
    return message.model_copy(update={"content": content})


def made(said: dict[str, Any]) -> AnyMessage:
    """A message that the engine wrote."""
    content = said.get("content") or ""
    identity = "ebbtide-" + digest([dump(said).encode()])[:16]
    marked: dict[str, Any] = {"id": identity, "additional_kwargs": {"lc_source": "ebbtide"}}
    if said["role"] == "tool":
        return ToolMessage(content=content, tool_call_id=said.get("tool_call_id") or "", **marked)
    if said["role"] == "assistant":
        calls = [
            {
                "id": call.get("id"),
                "name": call["function"]["name"],
                "args": json.loads(call["function"]["arguments"] or "{}"),
                "type": "tool_call",
            }
            for call in said.get("tool_calls") or []
        ]
        return AIMessage(content=content, tool_calls=calls, **marked)
    # Not every provider takes a system message behind the first one.
    return HumanMessage(content=content, **marked)


def digest(written: Sequence[bytes]) -> str:
    """A hash over messages."""
    # A message is one line of JSON, so a line feed separates two of them.
    return blake2b(b"\n".join(written), digest_size=16).hexdigest()


def text_of(content: Any) -> str:
    """The text in a content."""
    if isinstance(content, str):
        return content
    texts = (
        block if isinstance(block, str) else block.get("text", "")
        for block in content
        if isinstance(block, str) or block.get("type") == "text"
    )
    return "".join(texts)
