"""Pydantic AI, the OpenAI Agents SDK, plain SDKs, replays."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import WINDOW, words

from ebbtide import Engine

pytest.importorskip("pydantic_ai", reason="only the newest environment has the other frameworks")

import httpx
import httpx2
from agents import Agent as OpenAIAgent
from agents import ModelResponse as AgentsResponse
from agents import RunConfig, Runner, SQLiteSession, Usage
from agents.models.interface import Model as AgentsModel
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    CompactionPart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ebbtide import replay
from ebbtide.httpx import EbbtideTransport as OldTransport
from ebbtide.httpx2 import AsyncEbbtideTransport, EbbtideTransport
from ebbtide.openai_agents import EbbtideSession, model_input_filter
from ebbtide.pydantic_ai import EbbtideMemory, _pieces

TURNS = 24


async def test_pydantic_ai_keeps_the_history_and_shows_less() -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[TextPart(f"Answer {len(seen)}: the work goes on.")])

    # The function's own estimate of its usage counts, which is low.
    engine = Engine(window=2_000, notes=False)
    agent = Agent(FunctionModel(answer, model_name="script"), capabilities=[EbbtideMemory(engine)])
    history: list[ModelMessage] = []
    for number in range(TURNS):
        result = await agent.run(words(number), message_history=history)
        history = result.all_messages()
    assert len(history) == 2 * TURNS
    asked = [p.content for m in history if isinstance(m, ModelRequest) for p in m.parts if isinstance(p, UserPromptPart)]
    assert asked == [words(number) for number in range(TURNS)]
    assert not any(isinstance(p, CompactionPart) for m in history for p in m.parts)
    shown = [p for m in seen[-1] for p in m.parts if isinstance(p, CompactionPart)]
    assert len(shown) == 1 and "Summary of earlier conversation" in str(shown[0].content)
    assert len(seen[-1]) < 1.2 * TURNS and seen[-1][-1].parts[-1].content == words(TURNS - 1)


async def test_pydantic_ai_keeps_a_shortened_result_in_its_place() -> None:
    seen: list[list[ModelMessage]] = []
    log = "".join(f"step {line} is done\n" for line in range(400))

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        asked = messages[-1].parts[-1]
        if isinstance(asked, UserPromptPart) and "Build" in str(asked.content):
            return ModelResponse(parts=[ToolCallPart("build", {}, tool_call_id=f"c{len(seen)}")])
        return ModelResponse(parts=[TextPart(f"Answer {len(seen)}: the work goes on.")])

    engine = Engine(window=2_000, notes=False, shrink=100)
    agent = Agent(FunctionModel(answer, model_name="script"), capabilities=[EbbtideMemory(engine)])

    @agent.tool_plain
    def build() -> str:
        return log

    history: list[ModelMessage] = []
    for number in range(TURNS):
        ask = f"Build it, {number}." if number % 3 == 0 else words(number)
        history = (await agent.run(ask, message_history=history)).all_messages()
    fronts = 0
    for messages in seen:
        calls = [p.tool_call_id for m in messages for p in m.parts if isinstance(p, ToolCallPart)]
        results = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
        assert [result.tool_call_id for result in results] == calls
        assert all(isinstance(r.content, str) and len(r.content) < len(log) / 2 for r in results)
        front = [(m, p) for m in messages for p in m.parts if isinstance(p, CompactionPart)]
        assert all("Summary of earlier" in str(p.content) and "step 1 is done" not in str(p.content) for _, p in front)
        assert len(front) <= 1 and all(m is messages[0] for m, _ in front)
        fronts += len(front)
    assert fronts and "interrupted" not in str(seen)
    kept = [p for m in history for p in m.parts if isinstance(p, ToolReturnPart)]
    assert len(kept) == TURNS // 3 and all(part.content == log for part in kept)


async def test_pydantic_ai_counts_an_image_as_an_image() -> None:
    image = BinaryContent(bytes(range(256)) * 1_000, media_type="image/png")
    asked = ["What is this?", image, ImageUrl("https://example.org/a.png"), CachePoint()]
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(asked)]),
        ModelResponse(parts=[ToolCallPart("draw", {}, tool_call_id="c1")]),
        ModelRequest(parts=[ToolReturnPart("draw", ["Here it is.", image], tool_call_id="c1")]),
    ]
    lines = [piece.line for piece in _pieces(messages)]
    assert all(len(line) < 1_000 for line in lines) and image.identifier.encode() in lines[0]
    size = Engine(dialect="chat").count(b'{"messages":[' + b",".join(lines) + b"]}")
    assert 1_000 < size < 10_000


async def test_pydantic_ai_keeps_nothing_of_a_run_that_failed() -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ValueError("no credit")

    memory = EbbtideMemory(Engine(window=WINDOW, notes=False))
    agent = Agent(FunctionModel(answer, model_name="script"), capabilities=[memory])
    for _ in range(3):
        with pytest.raises(ValueError, match="credit"):
            await agent.run("Hello")
    assert not memory._under_way


class AgentsScript(AgentsModel):
    """A model of the Agents SDK that remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> AgentsResponse:
        self.seen.append(list(input))
        text = ResponseOutputText(text=f"Answer {len(self.seen)}.", type="output_text", annotations=[])
        said = ResponseOutputMessage(
            id=f"msg_{len(self.seen)}", content=[text], role="assistant", status="completed", type="message"
        )
        return AgentsResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


async def test_openai_agents_keep_the_session_and_show_less() -> None:
    engine, model = Engine(window=WINDOW, notes=False), AgentsScript()
    session = EbbtideSession(SQLiteSession("first"), engine)
    agent = OpenAIAgent(name="assistant", model=model)
    config = RunConfig(call_model_input_filter=model_input_filter(engine, session="first"), tracing_disabled=True)
    for number in range(TURNS):
        await Runner.run(agent, words(number), session=session, run_config=config)  # type: ignore[arg-type]
    items = await session.get_items()
    assert [item["content"] for item in items if item.get("role") == "user"] == [words(n) for n in range(TURNS)]
    assert len(items) == 2 * TURNS and len(model.seen[-1]) < 1.2 * TURNS
    assert "Summary of earlier conversation" in json.dumps(model.seen[-1][0])
    await session.clear_session()
    assert await session.get_items() == [] and session.engine.conversations() == []


async def test_run_compaction_orders_a_summary() -> None:
    engine, model = Engine(window=10_000, notes=False), AgentsScript()
    session = EbbtideSession(SQLiteSession("second"), engine)
    agent = OpenAIAgent(name="assistant", model=model)
    config = RunConfig(call_model_input_filter=model_input_filter(engine, session="second"), tracing_disabled=True)

    async def ask(number: int) -> list[Any]:
        await Runner.run(agent, words(number), session=session, run_config=config)  # type: ignore[arg-type]
        return model.seen[-1]

    for number in range(TURNS):
        await session.run_compaction({"force": False})
        assert len(await ask(number)) == 2 * number + 1
    await session.run_compaction({"force": True})
    for number in range(TURNS, TURNS + 3):
        seen = await ask(number)
    assert len(seen) < TURNS and "Summary of earlier conversation" in json.dumps(seen[0])
    assert len(await session.get_items()) == 2 * (TURNS + 3)
    conversation = session.engine.conversations()[0]
    assert conversation.compactions == 1


def pieces_of(data: bytes, library: Any) -> Any:
    """A stream of small pieces, as a network gives them."""

    class Stream(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc,name-defined]
        def __iter__(self) -> Any:
            return (data[at : at + 50] for at in range(0, len(data), 50))

        async def __aiter__(self) -> Any:
            for piece in self:
                yield piece

    return Stream()


class Provider:
    """A provider of Anthropic Messages inside the process."""

    def __init__(self, library: Any) -> None:
        self.library, self.bodies, self.refuse = library, [], False

    def answer(self, request: Any) -> Any:
        body = json.loads(request.content)
        self.bodies.append(body)
        if self.refuse:
            self.refuse = False
            error = {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 4000 maximum"}
            return self.library.Response(400, json={"type": "error", "error": error})
        text = f"Answer {len(self.bodies)}."
        usage = {"input_tokens": len(request.content) // 4, "output_tokens": 3}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "usage": usage}
        if not body.get("stream"):
            content = [{"type": "text", "text": text}]
            whole = {**message, "content": content, "stop_reason": "end_turn", "stop_sequence": None}
            return self.library.Response(200, json=whole)
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
        lines = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        pieces = pieces_of(lines.encode(), self.library)
        return self.library.Response(200, stream=pieces, headers={"content-type": "text/event-stream"})


def test_a_plain_sdk_needs_another_client_only() -> None:
    provider = Provider(httpx2)
    engine = Engine(window=WINDOW, notes=False)
    transport = EbbtideTransport(engine, httpx2.MockTransport(provider.answer))
    client = Anthropic(api_key="key", http_client=httpx2.Client(transport=transport))
    messages: list[Any] = []
    for number in range(TURNS):
        messages.append({"role": "user", "content": words(number)})
        given: Any = {"model": "claude-opus-4-5", "max_tokens": 99, "messages": messages}
        if number % 2:
            said = client.messages.create(**given)
        else:
            with client.messages.stream(**given) as stream:
                said = stream.get_final_message()
        messages.append({"role": "assistant", "content": said.content[0].text})
        assert said.content[0].text == f"Answer {number + 1}."
    assert len(provider.bodies[-1]["messages"]) < 1.2 * TURNS < len(messages)
    assert words(TURNS - 1) in json.dumps(provider.bodies[-1]["messages"][-1])
    tenant = engine.with_client(tenant="\x1fkey")
    assert tenant.stats().requests == TURNS and tenant.stats().compactions >= 1


def test_a_refusal_is_sent_once_more_and_smaller() -> None:
    provider = Provider(httpx)
    engine = Engine(window=200_000, notes=False)
    client = httpx.Client(transport=OldTransport(engine, httpx.MockTransport(provider.answer)))
    messages: list[Any] = []
    for number in range(TURNS):
        provider.refuse = number == TURNS - 1
        messages.append({"role": "user", "content": words(number)})
        body = {"model": "claude-opus-4-5", "max_tokens": 99, "messages": messages}
        answer = client.post("https://provider.test/v1/messages", json=body, headers={"x-api-key": "k"})
        assert answer.status_code == 200, answer.text
        messages.append({"role": "assistant", "content": answer.json()["content"]})
    assert len(provider.bodies) == TURNS + 1
    assert len(provider.bodies[-1]["messages"]) < len(provider.bodies[-2]["messages"])


async def test_the_async_transport() -> None:
    provider = Provider(httpx2)
    engine = Engine(window=WINDOW, notes=False)
    transport = AsyncEbbtideTransport(engine, httpx2.MockTransport(provider.answer))
    client = AsyncAnthropic(api_key="key", http_client=httpx2.AsyncClient(transport=transport))
    messages: list[Any] = []
    for number in range(TURNS):
        messages.append({"role": "user", "content": words(number)})
        said = await client.messages.create(model="claude-opus-4-5", max_tokens=99, messages=messages)
        messages.append({"role": "assistant", "content": said.content[0].text})
    assert len(provider.bodies[-1]["messages"]) < 1.2 * TURNS


def chat_completions(request: Any) -> Any:
    """A provider of Chat Completions that streams, whose connection stays open behind the last event."""
    body = json.loads(request.content)
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    delta = {"index": 0, "delta": {"role": "assistant", "content": "Done."}, "finish_reason": None}
    usage = {"prompt_tokens": len(request.content) // 4, "completion_tokens": 3, "total_tokens": 3}
    chunks = [
        {**base, "choices": [delta]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**base, "choices": [], "usage": usage},
    ]
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n" + ":\n\n" * 99
    stream = pieces_of(lines.encode(), httpx2)
    return httpx2.Response(200, stream=stream, headers={"content-type": "text/event-stream"})


def check_heard(engine: Engine) -> None:
    """Every answer was observed, with the usage that it reports."""
    stats = engine.with_client(tenant="\x1fkey", dialect="chat").stats()
    assert stats.requests == 3 and stats.output == 9 and stats.input > 0


def asked_of(number: int) -> Any:
    turn = [{"role": "user", "content": "Again."}, {"role": "assistant", "content": "Done."}]
    messages = [*turn * number, {"role": "user", "content": "Again."}]
    return {"model": "gpt-5.2", "messages": messages, "stream": True}


def test_a_stream_of_openai_is_observed() -> None:
    engine = Engine(window=WINDOW, notes=False)
    transport = EbbtideTransport(engine, httpx2.MockTransport(chat_completions))
    client = OpenAI(api_key="key", http_client=httpx2.Client(transport=transport))
    for number in range(3):
        chunks = list(client.chat.completions.create(**asked_of(number)))
        assert chunks[0].choices[0].delta.content == "Done."
    check_heard(engine)


async def test_an_async_stream_of_openai_is_observed() -> None:
    engine = Engine(window=WINDOW, notes=False)
    transport = AsyncEbbtideTransport(engine, httpx2.MockTransport(chat_completions))
    client = AsyncOpenAI(api_key="key", http_client=httpx2.AsyncClient(transport=transport))
    for number in range(3):
        chunks = [chunk async for chunk in await client.chat.completions.create(**asked_of(number))]
        assert chunks[0].choices[0].delta.content == "Done."
    check_heard(engine)


@pytest.fixture
def program() -> str:
    found = os.environ.get("EBBTIDE_PROGRAM") or shutil.which("ebbtide")
    assert found, "EBBTIDE_PROGRAM names the program `ebbtide`"
    return found


def write_session(path: Path) -> Path:
    messages = []
    for number in range(30):
        messages += [{"role": "user", "content": words(number)}, {"role": "assistant", "content": "Done."}]
    path.write_text(json.dumps({"model": "claude-opus-4-5", "messages": messages}))
    return path


def test_a_replay_is_a_data_frame(tmp_path: Path, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    import matplotlib

    matplotlib.use("agg")
    session = write_session(tmp_path / "session.json")
    done = replay.run([session], strategies=("prepared", "truncate"), window=4_000, program=program, progress=True)
    frame = done.frame()
    assert list(frame["strategy"]) == ["prepared", "truncate"] and (frame["compactions"] > 0).all()
    assert frame["dropped"].tolist()[0] == 0 and frame["dropped"].tolist()[1] > 0
    assert done.pressures()["pressure"].max() <= 1.0
    assert len(done.plot_pressure().get_lines()) == 3 and done.plot_loss().patches
    assert "<table" in done._repr_html_() and "1 of 1 paths" in capsys.readouterr().err


def test_one_session_and_one_strategy_are_texts(tmp_path: Path, program: str) -> None:
    session = write_session(tmp_path / "session.json")
    for one in (session, str(session)):
        done = replay.run(one, strategies="truncate", program=program)
        assert list(done.frame()["strategy"]) == ["truncate"]


def test_a_file_that_cannot_be_read_costs_no_other(tmp_path: Path, program: str) -> None:
    write_session(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("no session")
    done = replay.run(tmp_path, program=program)
    assert len(done.comparisons) == 1 and [Path(one["path"]).name for one in done.skipped] == ["b.json"]
    with pytest.raises(RuntimeError, match="E0121"):
        replay.run(tmp_path / "b.json", program=program)
    several = replay.run([tmp_path / "missing.json", *sorted(tmp_path.glob("*.json"))], program=program)
    assert len(several.comparisons) == 1 and [one["code"] for one in several.skipped] == ["E0001", "E0121"]
    with pytest.raises(RuntimeError, match=r"E0121[^;]*; [^;]*E0001"):
        replay.run([tmp_path / "b.json", tmp_path / "missing.json"], program=program)
    with pytest.raises(RuntimeError, match="E0303"):
        replay.run([tmp_path, tmp_path], strategies="none", program=program)


def test_replays_of_nothing_are_an_empty_frame(tmp_path: Path, program: str) -> None:
    import matplotlib

    matplotlib.use("agg")
    done, nothing = replay.run(write_session(tmp_path / "a.json"), program=program), replay.run([], program=program)
    assert list(nothing.frame().columns) == list(done.frame().columns) and nothing.frame().empty
    assert not nothing.plot_loss().patches and "<table" in nothing._repr_html_()
    assert len(nothing.plot_pressure().get_lines()) == 1


def test_a_window_of_nothing_is_an_error(program: str) -> None:
    with pytest.raises(ValueError, match="at least one"):
        replay.run("session.json", window=0, program=program)
