"""The official OpenAI SDK on Responses: plain, streaming, tools, by the id of the answer before."""

import openai
import pytest

from conversation import GATEWAY, KEY, PATIENCE, TURNS, WINDOW, Conversation

# Both ways to compact: the provider's own item, and a summary that can be read.
MODELS = ["gpt-5.5", "gpt-4.1"]
TOOL = {
    "type": "function",
    "name": "read_file",
    "description": "Reads a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    "strict": False,
}


def client(conversation: Conversation) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"{GATEWAY}/v1",
        api_key=KEY,
        timeout=PATIENCE,
        default_headers=conversation.headers,
    )


def request(conversation: Conversation, model: str, items: list) -> dict:
    return {
        "model": model,
        "instructions": conversation.system,
        "input": items,
        "store": False,
    }


@pytest.mark.parametrize("model", MODELS)
def test_plain(model):
    conversation = Conversation("openai python, responses, plain", "responses")
    with client(conversation) as it:
        items = []
        for _ in range(TURNS):
            items.append({"role": "user", "content": conversation.says()})
            raw = it.responses.with_raw_response.create(**request(conversation, model, items))
            conversation.was_told(raw.headers)
            answer = raw.parse()
            assert answer.usage.input_tokens < WINDOW
            conversation.hears(answer.output_text)
            items += [item.to_dict() for item in answer.output]
    conversation.ended()


@pytest.mark.parametrize("model", MODELS)
def test_streaming(model):
    conversation = Conversation("openai python, responses, streaming", "responses")
    with client(conversation) as it:
        items = []
        for _ in range(TURNS):
            items.append({"role": "user", "content": conversation.says()})
            with it.responses.stream(**request(conversation, model, items)) as stream:
                heard = ""
                for event in stream:
                    if event.type == "response.output_text.delta":
                        heard += event.delta
                answer = stream.get_final_response()
            conversation.hears(heard)
            assert answer.output_text == heard
            items += [item.to_dict() for item in answer.output]
    conversation.ended()


@pytest.mark.parametrize("model", MODELS)
def test_tools(model):
    conversation = Conversation("openai python, responses, tools", "responses")
    with client(conversation) as it:
        items = []
        for turn in range(TURNS // 2):
            directive = f'@sim call read_file {{"path": "src/file_{turn}.rs"}}'
            items.append({"role": "user", "content": conversation.says(directive)})
            while True:
                sent = request(conversation, model, items)
                raw = it.responses.with_raw_response.create(**sent, tools=[TOOL])
                conversation.was_told(raw.headers)
                answer = raw.parse()
                items += [item.to_dict() for item in answer.output]
                calls = [item for item in answer.output if item.type == "function_call"]
                if not calls:
                    break
                items.append(
                    {
                        "type": "function_call_output",
                        "call_id": calls[0].call_id,
                        "output": conversation.result(),
                    }
                )
            conversation.hears(answer.output_text)
    assert len(conversation.said) == 2 * (TURNS // 2)
    conversation.ended()


@pytest.mark.parametrize("model", MODELS)
def test_previous_response_id(model):
    conversation = Conversation("openai python, responses, by id", "responses")
    with client(conversation) as it:
        previous = {}
        for _ in range(TURNS):
            said = [{"role": "user", "content": conversation.says()}]
            raw = it.responses.with_raw_response.create(
                model=model, instructions=conversation.system, input=said, **previous
            )
            conversation.was_told(raw.headers)
            answer = raw.parse()
            assert answer.usage.input_tokens < WINDOW
            conversation.hears(answer.output_text)
            previous = {"previous_response_id": answer.id}
    conversation.ended()
