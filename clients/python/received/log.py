"""The log of the provider: each request as it was received, byte for byte."""

import json
import re
from dataclasses import dataclass

from conversation import SESSION_HEADER

LIST = {"anthropic": "messages", "chat": "messages", "responses": "input"}
PATH = {"anthropic": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}
# Of these a client says that they stay the same.
SAME = ("system", "tools", "instructions")
# What the gateway says in messages of its own, behind a result of a tool that has no room for a text.
RESTATED = ("[Pinned, in full:]", "[From earlier in this conversation")
DECODER = json.JSONDecoder()
SPACE = re.compile(r"[ \t\r\n]*")


@dataclass
class Received:
    """One request in the log."""

    # The JSON of each message as it stood in the body.
    messages: list[str]
    # The JSON of the fields that stay the same.
    same: dict[str, str]

    def newest(self) -> str:
        """The text of the last message that is neither an instruction nor restated by the gateway."""
        said = [message for message in map(json.loads, self.messages) if not instructs(message)]
        texts = [text_of(message) for message in said]
        return next((text for text in reversed(texts) if not text.startswith(RESTATED)), "")

    def asks(self, session: str) -> bool:
        """Says if it ends with a text of the client."""
        return re.match(rf"\[{session} \d+\]", self.newest()) is not None

    def says(self, text: str) -> bool:
        """Says if a message contains this text."""
        return any(text in text_of(json.loads(message)) for message in self.messages)


def instructs(message: dict) -> bool:
    return message.get("role") in ("system", "developer")


def text_of(value) -> str:
    """All texts in a message, in their order."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, dict):
        keys = ("content", "text", "output")
        return "\n".join(text_of(value[key]) for key in keys if key in value)
    return ""


def received(path: str, session: str, dialect: str) -> list[Received]:
    """The requests of a conversation in order that end with something said: none that count, ask for a
    summary, or hold nothing but the block of a client that compacted by itself."""
    found = []
    with open(path) as file:
        for line in file:
            # Nothing is read of the other conversations.
            if session not in line:
                continue
            head = json.loads(line)
            if head["headers"].get(SESSION_HEADER) != session:
                continue
            if head["path"].split("?")[0] != PATH[dialect] or "compaction" in head["body"]:
                continue
            found.append(read(line, dialect))
    return [it for it in found if it.asks(session)]


def read(line: str, dialect: str) -> Received:
    fields = dict(members(line, dict(members(line))["body"].start))
    messages = elements(line, fields[LIST[dialect]].start)
    same = {key: line[span] for key, span in fields.items() if key in SAME}
    return Received([line[span] for span in messages], same)


def members(text: str, at: int = 0):
    """The keys of the object at this place, each with the span of its value."""
    at = skip(text, at + 1)
    while text[at] != "}":
        key, at = DECODER.raw_decode(text, at)
        start = skip(text, skip(text, at) + 1)
        _, end = DECODER.raw_decode(text, start)
        yield key, slice(start, end)
        at = after_comma(text, end)


def elements(text: str, at: int):
    """The spans of the elements of the array at this place."""
    at = skip(text, at + 1)
    while text[at] != "]":
        _, end = DECODER.raw_decode(text, at)
        yield slice(at, end)
        at = after_comma(text, end)


def after_comma(text: str, at: int) -> int:
    at = skip(text, at)
    return skip(text, at + 1) if text[at] == "," else at


def skip(text: str, at: int) -> int:
    return SPACE.match(text, at).end()
