"""What an engine shows, line by line beside the messages that it was given.

An engine shows the operator's messages, its own message in front, and then every message from a place on. It may
shorten the result in one of these, or add to one; the adapters map such a line back to the message that it shows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Aligned", "Line", "aligned", "dump", "is_operator", "text_of_line"]

dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_OPERATORS = ("system", "developer")


@dataclass(frozen=True)
class Line:
    """A line, and the index of the message that it shows: None for a message that the engine wrote."""

    said: dict[str, Any]
    at: int | None
    is_changed: bool = False


@dataclass(frozen=True)
class Aligned:
    """All lines. The first `hidden` messages are not shown, but for the operator's."""

    operators: list[Line]
    front: list[Line]
    tail: list[Line]
    hidden: int


def aligned(view: bytes, written: Sequence[bytes]) -> Aligned:
    """Compares the body that an engine shows with the lines that it was given."""
    lines = json.loads(view)["messages"]
    number = next((i for i, said in enumerate(lines) if said["role"] not in _OPERATORS), len(lines))
    found: list[Line] = []
    hidden, last, shown = len(written), len(written) - 1, 0
    for said in reversed(lines[number:]):
        line = _line(said, written, last)
        found.append(line)
        if line.at is None:
            continue
        if line.at == hidden - 1:
            # What the engine put behind a message that it shows is not in front.
            hidden, shown = line.at, len(found)
        last = line.at - 1
    if all(map(is_operator, written[:hidden])):
        hidden = 0
    found.reverse()
    front = len(found) - shown
    return Aligned(_operators(lines[:number], written), found[:front], found[front:], hidden)


def is_operator(line: bytes) -> bool:
    """True for a message of the operator, which an engine never hides."""
    return line.startswith((b'{"role":"system"', b'{"role":"developer"'))


def _operators(lines: Sequence[dict[str, Any]], written: Sequence[bytes]) -> list[Line]:
    out: list[Line] = []
    start = 0
    for said in lines:
        line = dump(said).encode()
        at = next((at for at in range(start, len(written)) if written[at] == line), None)
        out.append(Line(said, at))
        start = start if at is None else at + 1
    return out


def _line(said: dict[str, Any], written: Sequence[bytes], last: int) -> Line:
    line = dump(said).encode()
    if last >= 0 and written[last] != line and _changes(said, json.loads(written[last])):
        return Line(said, last, True)
    return Line(said, next((at for at in range(last, -1, -1) if written[at] == line), None))


def _changes(said: dict[str, Any], given: dict[str, Any]) -> bool:
    """True if a line is the message `given` with another result, or with more behind it."""
    if said["role"] != given["role"]:
        return False
    if said["role"] == "tool":
        return bool(given["tool_call_id"]) and said.get("tool_call_id") == given["tool_call_id"]
    if said.get("tool_calls") != given.get("tool_calls"):
        return False
    before = _blocks(given["content"])
    return bool(before) and _blocks(said.get("content"))[: len(before)] == before


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def text_of_line(said: dict[str, Any]) -> str:
    """The text in a line."""
    return "\n\n".join(block["text"] for block in _blocks(said.get("content")) if block.get("text"))
