"""Checks what the provider received of each conversation.

The bytes before the newest message change at a swap only; a swap puts a summary in front of what is
kept; the pin stands in every request; and what the user said last is what was said.
"""

import itertools
import json
import os
import re

import pytest

from conversation import CONVERSATIONS
from log import Received, instructs, received, text_of

LOG = os.environ["CLIENTS_PROVIDER_LOG"]
SUMMARY = "[Summary of earlier conversation, made by compaction."
MARK = re.compile(r',?"cache_control":\{[^{}]*\}')
# A text as a string is short for one block of text. A breakpoint needs the block.
ONE_TEXT = re.compile(r'"content":\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]')


def conversations() -> list:
    with open(CONVERSATIONS) as file:
        lines = [json.loads(line) for line in file]
    return [pytest.param(it, id=f"{it['client']}, {it['session']}") for it in lines]


#: What a note quotes of the turns that a summary stands for.
LOST = re.compile(r"\\n- (?:constraint|decision|open task): .*?(?=\\n)")
#: Begins the user's earlier words where they are told again.
WORDS = "[The user's own words in the earlier conversation"


def front(request: Received) -> dict:
    """The first message that is no instruction."""
    messages = map(json.loads, request.messages)
    return next(message for message in messages if not instructs(message))


def is_summary(message: dict) -> bool:
    if message.get("type") == "compaction":
        return True
    content = message.get("content")
    if isinstance(content, list) and any(block.get("type") == "compaction" for block in content):
        return message["role"] == "assistant" and len(content) == 1
    return message.get("role") == "user" and SUMMARY in text_of(message)


def unmarked(messages: list[str]) -> list[str]:
    """Without the breakpoints, which a client moves, or the gateway for a client that sets none."""
    return [ONE_TEXT.sub(r'"content":\1', MARK.sub("", message)) for message in messages]


def extends(before: list[str], after: list[str]) -> bool:
    return len(after) > len(before) and unmarked(after[: len(before)]) == unmarked(before)


def added(before: list[str], after: list[str]) -> list[str]:
    """What stands behind the longest run of messages that ended a request and stands in the next one."""
    before, after = unmarked(before), unmarked(after)
    for length in range(len(before), 0, -1):
        tail = before[-length:]
        for start in range(len(after) - length + 1):
            if after[start : start + length] == tail:
                return after[start + length :]
    return after


@pytest.mark.parametrize("it", conversations())
def test_conversation(it):
    requests = received(LOG, it["session"], it["dialect"])
    # Each text was received once, in order, and as it was said.
    asked = [said for at, said in enumerate(it["said"]) if at not in it["compacted"]]
    assert len(requests) == len(asked)
    for request, said in zip(requests, asked):
        assert request.newest().startswith(said)

    swaps = 0
    for before, after in itertools.pairwise(requests):
        assert after.same == before.same
        if extends(before.messages, after.messages):
            continue
        swaps += 1
        assert is_summary(front(after)), after.messages[0][:300]
        assert sum('"type":"compaction"' in message for message in after.messages) <= 1
        # What was kept is unchanged, and nothing but the newest text came behind it.
        new = [
            message
            for message in added(before.messages, after.messages)
            # The user's earlier words, told again behind a provider's own summary, are not said now.
            if f"[{it['session']} " in LOST.sub("", message) and WORDS not in message
        ]
        said = [message for message in new if json.loads(message).get("role") != "assistant"]
        assert len([message for message in said if not is_summary(json.loads(message))]) <= 1
    assert swaps >= it["swaps"], f"{swaps} swaps in {len(requests)} requests"

    for at, request in enumerate(requests):
        assert request.says(it["pin"]), f"the pin is missing in request {at + 1}"
