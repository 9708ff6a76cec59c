"""The official OpenAI SDK on Chat Completions: plain, streaming, tools, asynchronous."""

import asyncio

import openai
import pytest

from conversation import GATEWAY, KEY, PATIENCE, TURNS, WINDOW, Conversation

MODEL = "gpt-4.1"
TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


def settings(conversation: Conversation) -> dict:
    return {
        "base_url": f"{GATEWAY}/v1",
        "api_key": KEY,
        "timeout": PATIENCE,
        "default_headers": conversation.headers,
    }


def opening(conversation: Conversation) -> list:
    return [{"role": "system", "content": conversation.system}]


def test_plain():
    conversation = Conversation("openai python, chat, plain", "chat")
    with openai.OpenAI(**settings(conversation)) as it:
        messages = opening(conversation)
        for _ in range(TURNS):
            messages.append({"role": "user", "content": conversation.says()})
            raw = it.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
            conversation.was_told(raw.headers)
            answer = raw.parse()
            assert answer.usage.prompt_tokens < WINDOW
            conversation.hears(answer.choices[0].message.content)
            messages.append(answer.choices[0].message.to_dict())
    conversation.ended()


def test_streaming():
    conversation = Conversation("openai python, chat, streaming", "chat")
    with openai.OpenAI(**settings(conversation)) as it:
        messages = opening(conversation)
        for _ in range(TURNS):
            messages.append({"role": "user", "content": conversation.says()})
            options = {"include_usage": True}
            stream = it.chat.completions.create(
                model=MODEL, messages=messages, stream=True, stream_options=options
            )
            conversation.was_told(stream.response.headers)
            heard, used = "", 0
            for chunk in stream:
                heard += "".join(choice.delta.content or "" for choice in chunk.choices)
                used += chunk.usage.prompt_tokens if chunk.usage else 0
            assert 0 < used < WINDOW
            conversation.hears(heard)
            messages.append({"role": "assistant", "content": heard})
    conversation.ended()


@pytest.mark.parametrize("stream", [False, True])
def test_tools(stream):
    conversation = Conversation("openai python, chat, tools", "chat")
    with openai.OpenAI(**settings(conversation)) as it:
        messages = opening(conversation)
        for turn in range(TURNS // 2):
            directive = f'@sim call read_file {{"path": "src/file_{turn}.rs"}}'
            messages.append({"role": "user", "content": conversation.says(directive)})
            while True:
                sent = {"model": MODEL, "messages": messages, "tools": [TOOL]}
                if stream:
                    with it.chat.completions.stream(**sent) as events:
                        for _ in events:
                            pass
                        answer = events.get_final_completion().choices[0].message
                else:
                    answer = it.chat.completions.create(**sent).choices[0].message
                messages.append(answer.to_dict())
                if not answer.tool_calls:
                    break
                call = answer.tool_calls[0]
                assert call.function.arguments == f'{{"path":"src/file_{turn}.rs"}}'
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "content": conversation.result()}
                )
            conversation.hears(answer.content)
    assert len(conversation.said) == 2 * (TURNS // 2)
    conversation.ended()


def test_asynchronous():
    conversation = Conversation("openai python, chat, asynchronous", "chat")

    async def talk():
        async with openai.AsyncOpenAI(**settings(conversation)) as it:
            messages = opening(conversation)
            for _ in range(TURNS):
                messages.append({"role": "user", "content": conversation.says()})
                answer = await it.chat.completions.create(model=MODEL, messages=messages)
                conversation.hears(answer.choices[0].message.content)
                messages.append(answer.choices[0].message.to_dict())

    asyncio.run(talk())
    conversation.ended()
