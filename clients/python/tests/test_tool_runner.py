"""The tool runner of the Anthropic SDK: its threads, and its own compaction.

A runner ends with the first answer that calls no tool. What the provider is to call next is said in a
text behind the tool's result, as an application does that adds a remark of its own.
"""

import anthropic
import pytest
from anthropic import beta_tool

from conversation import GATEWAY, KEY, PATIENCE, TURNS, Conversation

MODEL = "claude-opus-5-5"


def reader(conversation: Conversation):
    # The runner asks again for a result that the application has taken.
    read = {}

    @beta_tool
    def read_file(path: str) -> str:
        """Reads a file.

        Args:
            path: Its path.
        """
        if path not in read:
            read[path] = conversation.result()
        return read[path]

    return read_file


def call(turn: int) -> str:
    return f'@sim call read_file {{"path": "src/file_{turn}.rs"}}'


def client(conversation: Conversation) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=GATEWAY, api_key=KEY, timeout=PATIENCE, default_headers=conversation.headers
    )


def runner(it: anthropic.Anthropic, conversation: Conversation, messages: list, **more):
    return it.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=300,
        system=conversation.system,
        tools=[reader(conversation)],
        messages=messages,
        **more,
    )


def call_again(loop, answer, turn: int) -> None:
    """Lets the next answer be a call as well."""
    results = loop.generate_tool_call_response()
    remark = {"type": "text", "text": call(turn)}
    loop.append_messages(
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": [*results["content"], remark]},
    )


@pytest.mark.parametrize("stream", [False, True])
def test_a_runner_goes_on_without_threads(stream):
    """The runner asks for a thread, is refused, and sends the whole history from then on."""
    conversation = Conversation("anthropic python, tool runner", "anthropic")
    with client(conversation) as it:
        first = {"role": "user", "content": conversation.says(call(0))}
        loop = runner(it, conversation, [first], stream=stream)
        for turn, reply in enumerate(loop, start=1):
            answer = reply.get_final_message() if stream else reply
            if turn < TURNS - 1:
                assert answer.stop_reason == "tool_use"
                call_again(loop, answer, turn)
    assert len(conversation.said) == TURNS
    conversation.hears(answer.content[0].text)
    conversation.ended()


def test_a_runner_compacts_by_itself():
    """The conversation goes on from the block of the client's own compaction, over a swap of ours.

    The client threw its messages away, the one with the pin among them; the pin stays all the same.
    """
    conversation = Conversation("anthropic python, compacts by itself", "anthropic")
    beta = {"betas": ["compact-2026-09-04"]}
    with client(conversation) as it:
        first = {"role": "user", "content": conversation.says(call(0))}
        loop = runner(it, conversation, [first], **beta)
        answers = []
        for turn, answer in enumerate(loop, start=1):
            answers.append(answer)
            if answer.stop_reason == "compaction":
                conversation.compacted.append(len(conversation.said) - 1)
            if turn < 3:
                call_again(loop, answer, turn)
            elif turn == 3:
                loop.compact_before_next_turn()
        assert [answer.stop_reason for answer in answers] == [
            "tool_use",
            "tool_use",
            "tool_use",
            "compaction",
            "end_turn",
        ]
        compacted, last = answers[3:]
        assert [block.type for block in compacted.content] == ["compaction"]
        assert compacted.content[0].content

        messages = [
            {"role": "assistant", "content": compacted.content},
            {"role": "assistant", "content": last.content},
            {"role": "user", "content": conversation.says(call(TURNS))},
        ]
        loop = runner(it, conversation, messages, **beta)
        while len(conversation.said) < TURNS - 1:
            answer = next(loop)
            assert answer.stop_reason == "tool_use"
            call_again(loop, answer, len(conversation.said))
        for answer in loop:
            pass
    conversation.hears(answer.content[0].text)
    conversation.ended()
