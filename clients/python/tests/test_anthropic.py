"""The official Anthropic SDK: plain, streaming, tools, asynchronous, counting."""

import asyncio

import anthropic
import pytest

from conversation import GATEWAY, KEY, PATIENCE, PROVIDER, TURNS, WINDOW, Conversation

TOOL = {
    "name": "read_file",
    "description": "Reads a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
# Both ways to compact: the provider's own block, and a summary that can be read.
MODELS = ["claude-opus-5-5", "claude-opus-4-5"]


def client(conversation: Conversation) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=GATEWAY, api_key=KEY, timeout=PATIENCE, default_headers=conversation.headers
    )


def request(conversation: Conversation, messages: list, model: str) -> dict:
    return {
        "model": model,
        "max_tokens": 300,
        "system": conversation.system,
        "messages": messages,
    }


def size(usage) -> int:
    return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


@pytest.mark.parametrize("model", MODELS)
def test_plain(model):
    conversation = Conversation("anthropic python, plain", "anthropic")
    with client(conversation) as it:
        messages = []
        for _ in range(TURNS):
            messages.append({"role": "user", "content": conversation.says()})
            raw = it.messages.with_raw_response.create(**request(conversation, messages, model))
            conversation.was_told(raw.headers)
            answer = raw.parse()
            assert size(answer.usage) < WINDOW
            conversation.hears(answer.content[0].text)
            messages.append({"role": "assistant", "content": answer.content})
        counted = it.messages.count_tokens(
            model=model, system=conversation.system, messages=messages[:-1]
        )
        assert counted.input_tokens < WINDOW
    with anthropic.Anthropic(base_url=PROVIDER, api_key=KEY, timeout=PATIENCE) as direct:
        whole = direct.messages.count_tokens(
            model=model, system=conversation.system, messages=messages[:-1]
        )
        assert whole.input_tokens > 2 * WINDOW
    conversation.ended()


@pytest.mark.parametrize("model", MODELS)
def test_streaming(model):
    conversation = Conversation("anthropic python, streaming", "anthropic")
    with client(conversation) as it:
        messages = []
        for _ in range(TURNS):
            # A client that marks its newest message for the cache, and so moves the mark each time.
            block = {
                "type": "text",
                "text": conversation.says(),
                "cache_control": {"type": "ephemeral"},
            }
            sent = [*messages, {"role": "user", "content": [block]}]
            with it.messages.stream(**request(conversation, sent, model)) as stream:
                heard = "".join(stream.text_stream)
                conversation.was_told(stream.response.headers)
                answer = stream.get_final_message()
            conversation.hears(heard)
            unmarked = {"type": "text", "text": block["text"]}
            messages.append({"role": "user", "content": [unmarked]})
            messages.append({"role": "assistant", "content": answer.content})
    conversation.ended()


@pytest.mark.parametrize("model", MODELS)
def test_tools(model):
    """A plain tool loop, without the SDK's runner."""
    conversation = Conversation("anthropic python, tools", "anthropic")
    with client(conversation) as it:
        messages = []
        for turn in range(TURNS // 2):
            directive = f'@sim call read_file {{"path": "src/file_{turn}.rs"}}'
            messages.append({"role": "user", "content": conversation.says(directive)})
            while True:
                raw = it.messages.with_raw_response.create(
                    **request(conversation, messages, model), tools=[TOOL]
                )
                conversation.was_told(raw.headers)
                answer = raw.parse()
                messages.append({"role": "assistant", "content": answer.content})
                if answer.stop_reason != "tool_use":
                    break
                call = answer.content[-1]
                assert call.input == {"path": f"src/file_{turn}.rs"}
                result = {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": conversation.result(),
                }
                messages.append({"role": "user", "content": [result]})
    assert len(conversation.said) == TURNS
    conversation.ended()


def test_asynchronous():
    conversation = Conversation("anthropic python, asynchronous", "anthropic")

    async def talk():
        it = anthropic.AsyncAnthropic(
            base_url=GATEWAY, api_key=KEY, timeout=PATIENCE, default_headers=conversation.headers
        )
        async with it:
            messages = []
            for turn in range(TURNS):
                messages.append({"role": "user", "content": conversation.says()})
                sent = request(conversation, messages, "claude-haiku-5-5")
                if turn % 2:
                    async with it.messages.stream(**sent) as stream:
                        answer = await stream.get_final_message()
                        conversation.was_told(stream.response.headers)
                else:
                    raw = await it.messages.with_raw_response.create(**sent)
                    conversation.was_told(raw.headers)
                    answer = await raw.parse()
                conversation.hears(answer.content[0].text)
                messages.append({"role": "assistant", "content": answer.content})

    asyncio.run(talk())
    conversation.ended()
