"""LangChain's chat models: invoke, stream, and a loop over bound tools."""

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from conversation import GATEWAY, KEY, PATIENCE, TURNS, Conversation


@tool
def read_file(path: str) -> str:
    """Reads a file."""
    return path


def chat_anthropic(conversation: Conversation):
    return ChatAnthropic(
        model="claude-haiku-5-5",
        max_tokens=300,
        base_url=GATEWAY,
        api_key=KEY,
        timeout=PATIENCE,
        default_headers=conversation.headers,
    )


def chat_openai(conversation: Conversation, **more):
    return ChatOpenAI(
        model="gpt-4.1",
        base_url=f"{GATEWAY}/v1",
        api_key=KEY,
        timeout=PATIENCE,
        default_headers=conversation.headers,
        **more,
    )


def chat_openai_responses(conversation: Conversation):
    return chat_openai(conversation, use_responses_api=True, output_version="responses/v1")


MODELS = [
    pytest.param("anthropic", chat_anthropic, id="anthropic"),
    pytest.param("chat", chat_openai, id="openai"),
    pytest.param("responses", chat_openai_responses, id="openai-responses"),
]


def opening(conversation: Conversation) -> list:
    return [SystemMessage(conversation.system)]


@pytest.mark.parametrize(("dialect", "model_for"), MODELS)
def test_invoke(dialect, model_for):
    conversation = Conversation("langchain, invoke", dialect)
    model = model_for(conversation)
    messages = opening(conversation)
    for _ in range(TURNS):
        messages.append(HumanMessage(conversation.says()))
        answer = model.invoke(messages)
        conversation.hears(answer.text)
        messages.append(answer)
    conversation.ended()


@pytest.mark.parametrize(("dialect", "model_for"), MODELS)
def test_stream(dialect, model_for):
    conversation = Conversation("langchain, stream", dialect)
    model = model_for(conversation)
    messages = opening(conversation)
    for _ in range(TURNS):
        messages.append(HumanMessage(conversation.says()))
        answer = None
        for chunk in model.stream(messages):
            answer = chunk if answer is None else answer + chunk
        conversation.hears(answer.text)
        messages.append(answer)
    conversation.ended()


@pytest.mark.parametrize(("dialect", "model_for"), MODELS)
def test_tools(dialect, model_for):
    conversation = Conversation("langchain, tools", dialect)
    model = model_for(conversation).bind_tools([read_file])
    messages = opening(conversation)
    for turn in range(TURNS // 2):
        directive = f'@sim call read_file {{"path": "src/file_{turn}.rs"}}'
        messages.append(HumanMessage(conversation.says(directive)))
        answer = model.invoke(messages)
        messages.append(answer)
        assert [call["args"] for call in answer.tool_calls] == [{"path": f"src/file_{turn}.rs"}]
        result = ToolMessage(conversation.result(), tool_call_id=answer.tool_calls[0]["id"])
        messages.append(result)
        answer = model.invoke(messages)
        conversation.hears(answer.text)
        messages.append(answer)
    conversation.ended()
