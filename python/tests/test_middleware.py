"""`EbbtideMiddleware` in LangChain's `create_agent`."""

from __future__ import annotations

import asyncio
import threading
import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import langgraph.runtime
import pytest
from conftest import WINDOW, Script, call, words
from langchain.agents import create_agent
from langchain.agents.middleware import ExtendedModelResponse, HumanInTheLoopMiddleware, ModelResponse
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from typing_extensions import NotRequired

from ebbtide import Engine, View
from ebbtide.langgraph import EbbtideMiddleware, pre_model_hook, threads
from ebbtide.langgraph.middleware import EbbtideState
from ebbtide.langgraph.messages import Encoder, answer, body, encode, shown

# On Python 3.10, LangGraph tells an async run its thread as of the version that has `ExecutionInfo`.
IS_THREADED = sys.version_info >= (3, 11) or hasattr(langgraph.runtime, "ExecutionInfo")
threaded = pytest.mark.skipif(not IS_THREADED, reason="LangGraph does not tell an async run its thread here")


TURNS = 24


def config(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}}


def ask(number: int) -> Any:
    return {"messages": [HumanMessage(words(number))]}


def agent_of(script: Script, saver: Any, middleware: EbbtideMiddleware | None = None, **options: Any) -> Any:
    middleware = middleware or EbbtideMiddleware(window=WINDOW)
    return create_agent(
        script, options.pop("tools", []), middleware=[middleware, *options.pop("more", [])],
        checkpointer=saver, system_prompt="You are a careful engineer.", **options,
    )


def check_whole(agent: Any, script: Script, turns: int = TURNS, thread: str = "t") -> None:
    """The state keeps every message; the model sees the system prompt, a summary and the newest messages."""
    state = agent.get_state(config(thread)).values
    said = [message.content for message in state["messages"] if isinstance(message, HumanMessage)]
    assert said == [words(number) for number in range(turns)]
    assert len(state["messages"]) == 2 * turns
    seen = script.seen[-1]
    assert seen[0].content == "You are a careful engineer."
    assert len(seen) < 1.2 * turns and seen[-1].content == words(turns - 1)
    assert seen[1].additional_kwargs.get("lc_source") == "ebbtide"
    tail = [message.id for message in seen[2:]]
    every = [message.id for message in state["messages"]]
    # The last answer was not there yet.
    assert every[:-1][-len(tail) :] == tail
    mark = state["_ebbtide"]
    assert set(mark) == {"id", "after", "hash", "edition", "front", "base"} and mark["edition"] >= 1
    assert mark["after"] in every and mark["after"] not in tail


def test_the_state_keeps_every_message(script: Script, saver: Any) -> None:
    agent = agent_of(script, saver)
    for number in range(TURNS):
        out = agent.invoke(ask(number), config())
        assert "_ebbtide" not in out
    check_whole(agent, script)


def test_streamed(script: Script, saver: Any) -> None:
    agent = agent_of(script, saver)
    for number in range(TURNS):
        pieces = [chunk.content for chunk, _ in agent.stream(ask(number), config(), stream_mode="messages")]
        assert "".join(pieces).startswith(f"Answer {number + 1}: the work")
    check_whole(agent, script)


@threaded
async def test_async_and_streamed_in_every_mode(script: Script, tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        agent = agent_of(script, saver)
        modes = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"]
        for number in range(TURNS):
            if number % 2:
                await agent.ainvoke(ask(number), config())
                continue
            seen = set()
            async for mode, chunk in agent.astream(ask(number), config(), stream_mode=modes):
                seen.add(mode)
                if mode == "messages":
                    assert "[summary" not in str(chunk[0].content).lower()
            assert {"values", "updates", "messages", "debug", "tasks", "checkpoints"} <= seen
        state = (await agent.aget_state(config())).values
        assert len(state["messages"]) == 2 * TURNS and state["_ebbtide"]["edition"] >= 1
        assert len(script.seen[-1]) < 1.2 * TURNS


@threaded
async def test_async_on_postgres(script: Script, postgres: str) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(postgres) as saver:
        await saver.setup()
        agent = agent_of(script, saver)
        for number in range(TURNS):
            await agent.ainvoke(ask(number), config("async"))
        state = (await agent.aget_state(config("async"))).values
        assert len(state["messages"]) == 2 * TURNS and state["_ebbtide"]["edition"] >= 1


def test_the_users_own_model_writes_in_the_background(script: Script) -> None:
    writer = Script(answers=["## Goal\n- mend all parts\n## Where the work stands\n- the violet parser is next"] * 9)
    middleware = EbbtideMiddleware(window=WINDOW, summarizer=writer)
    agent = agent_of(script, InMemorySaver(), middleware)
    streamed = ""
    for number in range(TURNS):
        for chunk, _ in agent.stream(ask(number), config(), stream_mode="messages"):
            streamed += str(chunk.content)
        middleware.wait(60)
    assert writer.seen and "violet" not in streamed
    assert any("violet parser is next" in str(message.content) for message in script.seen[-1])


def test_the_agents_own_model_writes(script: Script) -> None:
    class Both(Script):
        """Answers the agent, and writes summaries apart from that."""

        asked: list[Any] = []

        def _next(self, messages: list[Any]) -> AIMessage:
            if messages and "src/part_" not in str(messages[0].content) and len(messages) == 2 and written(messages):
                self.asked.append(messages)
                return AIMessage("## Goal\n- mend all parts\n## Where the work stands\n- the violet parser is next")
            return super()._next(messages)

    def written(messages: list[Any]) -> bool:
        return messages[0].type == "system" and messages[0].content != "You are a careful engineer."

    model, streamed = Both(), ""
    middleware = EbbtideMiddleware(window=WINDOW, summarizer="agent")
    agent = agent_of(model, InMemorySaver(), middleware)
    for number in range(TURNS):
        for chunk, _ in agent.stream(ask(number), config(), stream_mode="messages"):
            streamed += str(chunk.content)
        middleware.wait(60)
    assert model.asked and "violet" not in streamed
    assert any("violet parser is next" in str(message.content) for message in model.seen[-1])


async def test_async_threads_never_share_a_memory(script: Script) -> None:
    middleware = EbbtideMiddleware(window=WINDOW)
    agent = agent_of(script, InMemorySaver(), middleware)
    for name in ("one", "two"):
        await agent.ainvoke(ask(1), config(name))
    found = [middleware.conversation(name) for name in ("one", "two")]
    if IS_THREADED:
        assert None not in found and found[0] != found[1]
    else:
        # LangGraph does not tell which thread runs, so none has a memory.
        assert found == [None, None] and middleware.conversation(None) is None


@threaded
async def test_an_async_summarizer_is_awaited(script: Script) -> None:
    async def writer(system: str, source: str) -> str:
        await asyncio.sleep(0)
        return "## Goal\n- mend all parts\n## Where the work stands\n- the violet parser is next"

    middleware = EbbtideMiddleware(window=WINDOW, summarizer=writer)
    agent = agent_of(script, InMemorySaver(), middleware)
    for number in range(TURNS):
        await agent.ainvoke(ask(number), config())
        await asyncio.to_thread(middleware.wait, 60)
    assert any("violet parser is next" in str(message.content) for message in script.seen[-1])
    assert "coroutine object" not in str(script.seen[-1])


@threaded
async def test_a_request_that_is_held_leaves_the_event_loop_free(script: Script) -> None:
    calls: list[bool] = []

    def writer(system: str, source: str) -> str:
        try:
            asyncio.get_running_loop()
            calls.append(True)
        except RuntimeError:
            calls.append(False)
        return "## Goal\n- mend all parts\n## Where the work stands\n- the violet parser is next"

    engine = Engine(window=WINDOW, strategy="stop_the_world", summaries="caller", patience=30, notes=False)
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(engine, summarizer=writer))
    for number in range(TURNS):
        await agent.ainvoke(ask(number), config())
    assert calls and not any(calls)
    assert any("violet parser is next" in str(message.content) for message in script.seen[-1])


@threaded
async def test_a_summary_without_a_model_leaves_the_event_loop_free(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: set[bool] = set()
    middleware = EbbtideMiddleware(window=WINDOW)
    begin = middleware._begin

    def watched(request: Any) -> Any:
        ran.add(threading.current_thread() is threading.main_thread())
        return begin(request)

    monkeypatch.setattr(middleware, "_begin", watched)
    agent = agent_of(script, InMemorySaver(), middleware)
    for number in range(TURNS):
        await agent.ainvoke(ask(number), config())
    assert ran == {False}
    check_whole(agent, script)


def test_a_summarizer_that_would_never_be_asked_is_an_error(script: Script) -> None:
    for make in (EbbtideMiddleware, pre_model_hook):
        with pytest.raises(ValueError, match='summaries="caller"'):
            make(Engine(window=WINDOW), summarizer=script)
        make(Engine(window=WINDOW, summaries="caller"), summarizer=script)


def test_wrong_settings_are_refused_at_once(script: Script) -> None:
    engine = Engine(window=WINDOW, notes=False)
    for given, error, says in [
        ({"pins": "Never push."}, TypeError, "a list of texts"),
        ({"pins": [1]}, TypeError, "a list of texts"),
        ({"pins": [" "]}, ValueError, "a text without a word"),
        ({"summarizer": 5}, TypeError, "summarizer is 5; pass a chat model"),
        ({"engine": "x"}, TypeError, "pass an ebbtide.Engine"),
        ({"engine": engine, "window": WINDOW}, ValueError, r"pass them to Engine"),
        ({"engine": engine, "store": "a.db"}, ValueError, r"pass them to Engine"),
        ({"engine": engine, "strategy": "truncate"}, ValueError, r"pass them to Engine"),
        ({"engine": engine, "summarizer": "agent"}, ValueError, 'summaries="caller"'),
        ({"window": 0}, ValueError, "window is 0 tokens; pass at least one"),
        ({"max_tool_result": 0}, ValueError, "max_tool_result is 0 tokens; pass at least one"),
    ]:
        with pytest.raises(error, match=says):
            EbbtideMiddleware(**given)
    with pytest.raises(TypeError, match="a list of texts"):
        pre_model_hook(engine, pins="Never push.")
    with pytest.raises(TypeError, match="pass an ebbtide.Engine"):
        pre_model_hook(script)  # type: ignore[arg-type]


def test_a_summarizer_may_be_the_name_of_a_model(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: named.append(name) or script)
    engine = Engine(window=WINDOW, summaries="caller", notes=False)
    assert EbbtideMiddleware(summarizer="test:writer")._summarizer is script
    pre_model_hook(engine, summarizer="test:other")
    assert named == ["test:writer", "test:other"]
    assert EbbtideMiddleware(summarizer="agent")._summarizer == "agent"


def test_a_summarizer_that_fails_costs_no_turn(script: Script) -> None:
    def broken(system: str, source: str) -> str:
        raise OSError("no network")

    middleware = EbbtideMiddleware(window=WINDOW, summarizer=broken)
    agent = agent_of(script, InMemorySaver(), middleware)
    for number in range(TURNS):
        agent.invoke(ask(number), config())
        middleware.wait(60)
    check_whole(agent, script)


def test_pins_are_always_in_view(script: Script) -> None:
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=WINDOW, pins=["Never touch src/part_3.rs."]))
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    assert any("Never touch src/part_3.rs." in str(message.content) for message in script.seen[-1])


@pytest.mark.parametrize("way", ["middleware", "hook"])
def test_a_pin_that_is_refused_costs_no_more_than_itself(
    script: Script, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    pins = ["x " * 1_000, "Never touch src/part_3.rs."]
    if way == "middleware":
        agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=WINDOW, pins=pins))
        for number in range(TURNS):
            agent.invoke(ask(number), config())
        last = script.seen[-1]
    else:
        hook, said = pre_model_hook(Engine(window=WINDOW), pins=pins), list[Any]()
        for number in range(TURNS):
            said += [*ask(number)["messages"], AIMessage("Done.", id=f"a{number}")]
            last = hook({"messages": said[:-1]})["llm_input_messages"]
    assert len(last) < TURNS * 3 / 2 and any("Never touch src/part_3.rs." in str(one.content) for one in last)
    assert sum("is not pinned" in one.getMessage() for one in caplog.records) == 1


def test_an_interrupt_while_a_request_waits_loses_no_summary(script: Script) -> None:
    interrupts = [KeyboardInterrupt()]

    def writer(system: str, source: str) -> str:
        if interrupts:
            raise interrupts.pop()
        return "## Goal\n- read every part\n## Where the work stands\n- it goes on\n"

    middleware = EbbtideMiddleware(window=WINDOW, strategy="stop_the_world", summarizer=writer)
    agent = agent_of(script, InMemorySaver(), middleware)
    for number in range(TURNS):
        try:
            agent.invoke(ask(number), config())
        except KeyboardInterrupt:
            pass
    assert not interrupts and len(script.seen[-1]) < TURNS


def test_a_fork_makes_its_summaries_itself(script: Script) -> None:
    made: list[int] = []

    def writer(system: str, source: str) -> str:
        made.append(os.getpid())
        return "## Goal\n- read every part\n## Where the work stands\n- it goes on\n"

    middleware = EbbtideMiddleware(window=WINDOW, summarizer=writer)
    agent = agent_of(script, InMemorySaver(), middleware)
    for number in range(TURNS):
        agent.invoke(ask(number), config("parent"))
        middleware.wait(60)
    child = os.fork()
    if child == 0:
        try:
            made.clear()
            for number in range(TURNS):
                agent.invoke(ask(number), config("child"))
                middleware.wait(60)
        finally:  # The tests go on in the parent only.
            os._exit(0 if made and set(made) == {os.getpid()} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and made


def test_six_of_six_interrupted_calls_are_resumed(saver: Any) -> None:
    ran: list[str] = []

    @tool
    def send(to: str) -> str:
        """Sends a mail."""
        ran.append(to)
        return f"sent to {to}"

    script = Script()
    agent = agent_of(
        script, saver, tools=[send], more=[HumanInTheLoopMiddleware(interrupt_on={"send": True})]
    )
    resumed = 0
    for number in range(TURNS):
        asks = number % 4 == 3
        if asks:
            script.answers = [call("send", f"c{number}", to=f"p{number}@example.org"), "It is sent."]
        out = agent.invoke(ask(number), config())
        if asks:
            assert out["__interrupt__"] and agent.get_state(config()).next
            out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config())
            resumed += out["messages"][-1].content == "It is sent."
    assert resumed == 6 and ran == [f"p{number}@example.org" for number in range(3, TURNS, 4)]
    assert agent.get_state(config()).values["_ebbtide"]["edition"] >= 1
    for seen in script.seen:
        open_calls = {c["id"] for m in seen if isinstance(m, AIMessage) for c in m.tool_calls}
        assert {m.tool_call_id for m in seen if isinstance(m, ToolMessage)} == open_calls


def test_what_expand_returns_is_not_shortened_again() -> None:
    script = Script(answers=[call("build", "c1"), "Built."])
    middleware = EbbtideMiddleware(window=32_000, max_tool_result=500)
    agent = agent_of(script, InMemorySaver(), middleware, tools=[build])
    agent.invoke({"messages": [HumanMessage("Build it.")]}, config())
    short = next(m for m in agent.get_state(config()).values["messages"] if isinstance(m, ToolMessage))
    handle = re.findall(r'"([0-9a-f]{32})"', str(short.content))[0]
    script.answers = [call("expand", "c2", handle=handle, section="2000-2200"), "Read."]
    agent.invoke({"messages": [HumanMessage("Look again.")]}, config())
    given = str(script.seen[-1][-1].content)
    assert "step 1999 is done" in given and "follows]" in given and "shortened" not in given


def test_one_result_does_not_fill_a_small_window() -> None:
    script = Script(answers=[call("build", "c1"), "Built."])
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=WINDOW), tools=[build])
    agent.invoke({"messages": [HumanMessage("Build it.")]}, config())
    assert len(str(script.seen[-1][-1].content)) < WINDOW * 2


def test_a_result_that_is_no_valid_text_stays_as_it_is() -> None:
    @tool
    def names() -> str:
        """Lists names."""
        return "name \udcff"

    script = Script(answers=[call("names", "c1"), "Listed."])
    agent = agent_of(script, InMemorySaver(), tools=[names])
    out = agent.invoke({"messages": [HumanMessage("List them.")]}, config())
    assert out["messages"][-1].content == "Listed." and script.seen[-1][-1].content == "name \udcff"


def test_an_oversized_result_never_enters_the_state() -> None:
    script = Script(answers=[call("build", "c1"), "Built."])
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=64_000, max_tool_result=500), tools=[build])
    agent.invoke({"messages": [HumanMessage("Build it.")]}, config())
    result = next(m for m in agent.get_state(config()).values["messages"] if isinstance(m, ToolMessage))
    assert len(result.content) < len(lines_of(4_000)) / 10 and "use expand with the id" in result.content
    handle = result.content.split('use expand with the id "')[1].split('"')[0]
    script.answers = [call("expand", "c2", handle=handle, section="3999-3999"), "Seen."]
    agent.invoke({"messages": [HumanMessage("What was step 3998?")]}, config())
    found = agent.get_state(config()).values["messages"][-2]
    assert isinstance(found, ToolMessage) and "step 3998 is done" in found.content
    # Another thread has no such original.
    script.answers = [call("expand", "c3", handle=handle), "No."]
    out = agent.invoke({"messages": [HumanMessage("And here?")]}, config("other"))
    assert "step 3998" not in out["messages"][-2].content


def lines_of(number: int) -> str:
    return "".join(f"step {line} is done\n" for line in range(number))


@tool
def build() -> str:
    """Builds."""
    return lines_of(4_000)


@tool
def build_in_blocks() -> Any:
    """Builds, and answers like an adapter of MCP."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    return [{"type": "text", "text": lines_of(3_000)}, image, {"type": "text", "text": lines_of(1_000)}]


@tool
def build_by_command(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Builds, and writes the state itself."""
    return Command(update={"messages": [ToolMessage(lines_of(4_000), tool_call_id=tool_call_id)]})


@pytest.mark.parametrize("builds", [build, build_in_blocks, build_by_command], ids=lambda one: one.name)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_result_is_shortened_in_every_form(builds: Any, is_async: bool) -> None:
    script = Script(answers=[call(builds.name, "c1"), "Built."])
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=64_000, max_tool_result=500), tools=[builds])
    ask = {"messages": [HumanMessage("Build it.")]}
    if is_async:
        asyncio.run(agent.ainvoke(ask, config()))
    else:
        agent.invoke(ask, config())
    result = next(m for m in agent.get_state(config()).values["messages"] if isinstance(m, ToolMessage))
    assert "use expand with the id" in str(result.content) and len(str(result.content)) < 5_000
    if builds is build_in_blocks:
        assert [block["type"] for block in result.content] == ["text", "image_url"]


def test_a_call_with_arguments_is_told_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def find(what: str, deep: bool) -> str:
        """Finds."""
        return lines_of(4_000)

    given: list[str] = []
    plain = threads.engine_of

    class Watched:
        def __init__(self, engine: Engine) -> None:
            self.engine = engine

        def __getattr__(self, name: str) -> Any:
            return getattr(self.engine, name)

        def shorten(self, text: str, **options: Any) -> Any:
            given.append(options["arguments"])
            return self.engine.shorten(text, **options)

    monkeypatch.setattr(threads, "engine_of", lambda *args: Watched(plain(*args)))
    script = Script(answers=[call("find", "c1", what="it's", deep=True), "Found."])
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=64_000, max_tool_result=500), tools=[find])
    agent.invoke({"messages": [HumanMessage("Find it.")]}, config())
    assert [json.loads(one) for one in given] == [{"what": "it's", "deep": True}]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_model_that_takes_no_tools_runs(is_async: bool) -> None:
    agent = agent_of(FakeListChatModel(responses=["Hello."]), InMemorySaver())  # type: ignore[arg-type]
    ask = {"messages": [HumanMessage("Hi.")]}
    out = asyncio.run(agent.ainvoke(ask, config())) if is_async else agent.invoke(ask, config())
    assert out["messages"][-1].content == "Hello."
    # Tools of the agent's own are its own affair.
    agent = agent_of(FakeListChatModel(responses=["Hello."]), InMemorySaver(), tools=[build])  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        agent.invoke(ask, config())


def test_a_tool_of_the_users_own_called_expand_is_shortened(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def expand(handle: str) -> str:
        """Expands an abbreviation."""
        return lines_of(4_000)

    script = Script(answers=[call("expand", "c1", handle="etc."), "Expanded."])
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=64_000, max_tool_result=500), tools=[expand])
    out = agent.invoke({"messages": [HumanMessage("Expand it.")]}, config())
    assert len(str(out["messages"][-2].content)) < 5_000
    assert caplog.text.count("has a tool `expand` of its own") == 1


def test_an_earlier_message_is_expanded_by_its_place(script: Script) -> None:
    agent = agent_of(script, InMemorySaver())
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    script.answers = [call("expand", "c1", handle="turn:1"), "Seen."]
    out = agent.invoke({"messages": [HumanMessage("What did I ask first?")]}, config())
    assert words(0) in out["messages"][-2].content


def test_two_threads_at_once_never_mix(script: Script) -> None:
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=WINDOW))

    async def talk(thread: str) -> None:
        for number in range(TURNS):
            await agent.ainvoke({"messages": [HumanMessage(f"{thread} {words(number)}")]}, config(thread))

    async def both() -> None:
        await asyncio.gather(*(talk(f"thread-{name}") for name in "abcd"))

    asyncio.run(both())
    for seen in script.seen:
        names = {name for name in "abcd" for message in seen if f"thread-{name}" in str(message.content)}
        assert len(names) == 1
    for name in "abcd":
        assert len(agent.get_state(config(f"thread-{name}")).values["messages"]) == 2 * TURNS


def test_time_travel_across_a_compaction(script: Script, saver: Any) -> None:
    agent = agent_of(script, saver)
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    early = [
        state
        for state in agent.get_state_history(config())
        if len(state.values.get("messages", [])) == 8 and not state.next
    ][0]
    assert not early.values.get("_ebbtide")
    out = agent.invoke({"messages": [HumanMessage("Another way.")]}, early.config)
    assert len(out["messages"]) == 10
    seen = [message.content for message in script.seen[-1][1:]]
    assert seen[0] == words(0) and seen[-1] == "Another way." and len(seen) == 9
    late = [
        state
        for state in agent.get_state_history(config())
        if len(state.values.get("messages", [])) == 2 * TURNS and not state.next
    ][0]
    agent.invoke({"messages": [HumanMessage("Back here.")]}, late.config)
    seen = [str(message.content) for message in script.seen[-1][1:]]
    assert len(seen) < 1.2 * TURNS and seen[-1] == "Back here." and "Another way." not in "".join(seen)


def test_a_subgraph_has_a_memory_of_its_own() -> None:
    inner, outer = Script(), Script()
    middleware = EbbtideMiddleware(window=WINDOW)
    helper = create_agent(inner, [], middleware=[EbbtideMiddleware(engine=middleware.engine)], name="helper")
    lead = create_agent(outer, [], middleware=[middleware], name="lead")
    graph = StateGraph(MessagesState)
    graph.add_node("lead", lead)
    graph.add_node("helper", helper)
    graph.add_edge(START, "lead")
    graph.add_edge("lead", "helper")
    app = graph.compile(checkpointer=InMemorySaver())
    for number in range(TURNS):
        spaces = {space for space, *_ in app.stream(ask(number), config(), subgraphs=True, stream_mode=["updates"])}
        assert len(spaces) >= 2
    assert len(app.get_state(config()).values["messages"]) == 3 * TURNS
    for model in (inner, outer):
        assert len(model.seen[-1]) < TURNS and model.seen[-1][0].additional_kwargs["lc_source"] == "ebbtide"


def test_undo_and_explain_through_the_middleware(script: Script) -> None:
    middleware = EbbtideMiddleware(window=WINDOW)
    agent = agent_of(script, InMemorySaver(), middleware)
    number = 0
    while not agent.get_state(config()).values.get("_ebbtide"):
        agent.invoke(ask(number), config())
        number += 1
    found = middleware.conversation("t")
    assert found is not None
    engine, conversation = found
    assert engine.lost(conversation).turns > 0
    assert engine.explain(conversation).summaries[-1].is_shown
    engine.undo(conversation)
    agent.invoke({"messages": [HumanMessage("go on")]}, config())
    told = [text for _, text in engine.explain(conversation).journal]
    assert any("undo" in text or "taken back" in text or "shown again" in text for text in told), told[:5]


def test_the_conversation_of_an_agent_in_a_graph_is_found() -> None:
    middleware = EbbtideMiddleware(window=WINDOW)
    graph = StateGraph(MessagesState)
    for name in ("one", "two"):
        graph.add_node(name, create_agent(Script(), [], middleware=[middleware], name=name))
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    app = graph.compile(checkpointer=InMemorySaver())
    assert middleware.conversation(5) is None
    app.invoke(ask(0), {"configurable": {"thread_id": 5}})
    newest, first = middleware.conversation(5), middleware.conversation("5", agent="one")
    assert newest is not None and first is not None and newest[1] != first[1]
    for engine, conversation in (newest, first):
        engine.pin(conversation, "Never push to main.")
        assert [pin.text for pin in engine.explain(conversation).pins] == ["Never push to main."]
    two = middleware.conversation(5, agent="two")
    assert two is not None and two[1] == newest[1] and middleware.conversation(5, agent="three") is None
    assert middleware.conversation(6) is None


def test_a_new_process_shows_the_same_summary(script: Script, saver: Any) -> None:
    agent = agent_of(script, saver)
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    before = script.seen[-1]
    # Nothing but the checkpoints is left: the engine's history was in memory.
    other = agent_of(script, saver, EbbtideMiddleware(window=200_000))
    other.invoke({"messages": [HumanMessage("go on")]}, config())
    after = script.seen[-1]
    assert [m.content for m in after[: len(before)]] == [m.content for m in before]
    assert len(after) == len(before) + 2


def texts(messages: list[Any]) -> list[str]:
    return [f"{message.type}: {message.content}" for message in messages]


def check_the_next_process(script: Script, saver: Any, make: Any, turns: int = TURNS) -> None:
    """Another process with nothing but the checkpoints shows what this one did, and what comes next."""
    agent_of(script, saver, make()).invoke(ask(turns), config())
    before, other = script.seen[-2], agent_of(script, saver, make())
    assert texts(script.seen[-1])[: len(before)] == texts(before)
    for number in range(turns + 1, turns + 3):
        before = script.seen[-1]
        other.invoke(ask(number), config())
        assert texts(script.seen[-1])[: len(before)] == texts(before)
        assert len(script.seen[-1]) == len(before) + 2


def until_compacted(agent: Any, script: Script, more: int = 1) -> int:
    """Asks until a summary is shown, and some questions more. Returns the number of questions."""
    number = 0
    while not agent.get_state(config()).values.get("_ebbtide"):
        agent.invoke(ask(number), config())
        number += 1
    for _ in range(more):
        agent.invoke(ask(number), config())
        number += 1
    return number


def test_a_new_process_with_the_same_window_goes_on_with_the_summary(script: Script, saver: Any) -> None:
    def make() -> EbbtideMiddleware:
        return EbbtideMiddleware(window=WINDOW, pins=["Never touch src/part_3.rs."])

    agent = agent_of(script, saver, make())
    turns = until_compacted(agent, script)
    mark = agent.get_state(config()).values["_ebbtide"]
    check_the_next_process(script, saver, make, turns)
    assert agent.get_state(config()).values["_ebbtide"] == mark
    # It makes summaries of its own, which a third process goes on with.
    other = agent_of(script, saver, make())
    for number in range(turns + 3, turns + 3 + TURNS):
        other.invoke(ask(number), config())
    later = agent.get_state(config()).values["_ebbtide"]
    assert later["edition"] > mark["edition"] and later["base"]["id"] == mark["id"]
    assert len(script.seen[-1]) < TURNS and words(turns + 2 + TURNS) == script.seen[-1][-1].content
    state = agent.get_state(config()).values["messages"]
    assert len(state) == 2 * (turns + 3 + TURNS)
    # The numbers in the summary count turns that this process has not seen.
    script.answers = [call("expand", "c9", handle="turn:3"), "Read."]
    other.invoke({"messages": [HumanMessage("Look back.")]}, config())
    assert "are not in the archive" in str(script.seen[-1][-1].content)


def test_a_shortened_result_in_the_tail_hides_nothing(script: Script, saver: Any) -> None:
    @tool
    def build(part: int) -> str:
        """Builds a part."""
        return lines_of(300)

    def make(window: int) -> EbbtideMiddleware:
        return EbbtideMiddleware(Engine(window=window, notes=False, shrink=200), max_tool_result=None)

    agent = agent_of(script, saver, make(WINDOW), tools=[build])
    script.answers = [call("build", "c0", part=0), "Built."]
    agent.invoke({"messages": [HumanMessage("Build it.")]}, config())
    state = agent.get_state(config()).values
    assert len(str(script.seen[-1])) < len(lines_of(300)) and not state.get("_ebbtide")
    shortened = script.seen[-1][-1]
    assert isinstance(shortened, ToolMessage) and shortened.id == state["messages"][-2].id
    turns = until_compacted(agent, script, more=0)
    script.answers = [call("build", "c1", part=1), "Built again."]
    agent.invoke({"messages": [HumanMessage("Build it again.")]}, config())
    state = agent.get_state(config()).values
    assert len(str(script.seen[-1][-1].content)) < len(lines_of(300)) / 2
    covered = [m.id for m in state["messages"]].index(state["_ebbtide"]["after"]) + 1
    seen = [m.id for m in script.seen[-1]]
    assert [m.id for m in state["messages"][covered:-1]] == seen[2:]
    before = script.seen[-1]
    other = agent_of(script, saver, make(200_000), tools=[build])
    other.invoke(ask(turns), config())
    # The same messages; the engine of the other process may show the result whole.
    assert [m.id for m in script.seen[-1]][: len(before)] == [m.id for m in before]
    assert texts(script.seen[-1])[:2] == texts(before)[:2]
    assert len(script.seen[-1]) == len(before) + 2


def test_messages_that_no_summary_covers_are_never_hidden(script: Script, saver: Any) -> None:
    def make(window: int) -> EbbtideMiddleware:
        return EbbtideMiddleware(Engine(window=window, strategy="truncate", notes=False), max_tool_result=None)

    agent = agent_of(script, saver, make(WINDOW))
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    assert len(script.seen[-1]) < 2 * TURNS - 2 and not agent.get_state(config()).values.get("_ebbtide")
    agent_of(script, saver, make(200_000)).invoke(ask(TURNS), config())
    assert len(script.seen[-1]) == 2 * TURNS + 2


def test_a_system_message_in_the_state_is_always_shown(script: Script, saver: Any) -> None:
    agent = agent_of(script, saver)
    agent.invoke({"messages": [HumanMessage("Begin."), SystemMessage("Answer in French.", id="s")]}, config())
    turns = until_compacted(agent, script)
    assert [m.content for m in script.seen[-1]].count("Answer in French.") == 1
    before = script.seen[-1]
    agent_of(script, saver).invoke(ask(turns), config())
    assert texts(script.seen[-1])[: len(before)] == texts(before)


class ContextOverflowError(ValueError):
    """As LangChain's own."""


class TheirOverflow(ContextOverflowError):
    """As an integration's own."""


@pytest.mark.parametrize(
    "error",
    [
        ValueError("prompt is too long: 5000 tokens > 4000 maximum"),
        # Gemini
        ValueError("400 The input token count (5000) exceeds the maximum number of tokens allowed (4000)."),
        # Bedrock
        ValueError("ValidationException: Input is too long for requested model."),
        TheirOverflow("no words"),
    ],
    ids=["anthropic", "gemini", "bedrock", "langchain"],
)
def test_a_refusal_as_too_long_is_answered_with_a_smaller_request(error: Exception, script: Script) -> None:
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(window=200_000))
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    script.error = error
    out = agent.invoke(ask(TURNS), config())
    assert out["messages"][-1].content.startswith("Answer")
    assert len(script.seen[-1]) < len(script.seen[-2])
    script.error = ValueError("the key is wrong")
    with pytest.raises(ValueError, match="key"):
        agent.invoke(ask(TURNS + 1), config())


def test_an_engine_that_fails_leaves_the_request_alone(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    middleware = EbbtideMiddleware(window=WINDOW)
    monkeypatch.setattr(middleware._encoder, "lines", lambda *a, **k: 1 / 0)
    agent = agent_of(script, InMemorySaver(), middleware)
    for number in range(4):
        agent.invoke(ask(number), config())
    assert len(script.seen[-1]) == 8


def test_a_shared_engine_sees_each_thread_alone() -> None:
    engine = Engine(window=WINDOW, notes=False)
    script = Script()
    agent = agent_of(script, InMemorySaver(), EbbtideMiddleware(engine))
    agent.invoke(ask(0), config("one"))
    assert engine.conversations() == []


def test_the_memory_of_written_messages_is_bound() -> None:
    encoder = Encoder(room=100_000)
    for thread in range(20):
        messages = [HumanMessage("x" * 1_000, id=f"{thread} {number}") for number in range(20)]
        assert encoder.lines(messages, str(thread)) == encoder.lines(messages, str(thread))
    assert 0 < encoder._size <= 100_000 and len(encoder._threads) == 2
    # The line of an image holds no data, but its message does.
    image = {"type": "image", "base64": "A" * 100_000, "mime_type": "image/png"}
    for thread in range(20):
        encoder.lines([HumanMessage([image], id="image")], f"image {thread}")
    assert len(encoder._threads) == 0 and encoder._size == 0
    encoder.lines([HumanMessage("x" * 1_000, id="1")], "19")
    big = [HumanMessage("x" * 100_000, id="big")]
    assert len(encoder.lines(big, "19")[0]) > 100_000 and encoder._size == 0 and not encoder._threads


def test_a_changed_message_is_written_anew() -> None:
    encoder = Encoder()
    before, after = AIMessage("a", id="m"), call("send", "c1", to="p")
    assert encoder.lines([before], "t") != encoder.lines([after.model_copy(update={"id": "m"})], "t")
    assert encoder.lines([before], "t") == encoder.lines([before], "other")


class Counting(EbbtideState):
    answered: NotRequired[int]


class CountingMiddleware(EbbtideMiddleware):
    """Writes a field of its own with each answer."""

    state_schema = Counting

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        count = request.state.get("answered", 0) + 1

        def counted(request: Any) -> Any:
            said: ModelResponse[Any] = handler(request)
            return ExtendedModelResponse(model_response=said, command=Command(update={"answered": count}))

        return super().wrap_model_call(request, counted)


def test_a_handler_that_writes_the_state_leaves_the_mark_there() -> None:
    script = Script()
    agent = agent_of(script, InMemorySaver(), CountingMiddleware(window=WINDOW))
    for number in range(TURNS):
        agent.invoke(ask(number), config())
    check_whole(agent, script)
    assert agent.get_state(config()).values["answered"] == TURNS


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "base64": "A" * 400_000, "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": "A" * 400_000, "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}},
    ],
    ids=["langchain 1", "langchain 0.3", "anthropic", "openai"],
)
def test_an_image_counts_as_an_image_in_every_form(block: dict[str, Any]) -> None:
    said = HumanMessage([{"type": "text", "text": "What is this?"}, block], id="m1")
    line = encode(said)
    engine = Engine(dialect="chat")
    size = engine.count(b'{"messages":[' + line + b"]}")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    own = encode(HumanMessage([{"type": "text", "text": "What is this?"}, picture]))
    assert size == engine.count(b'{"messages":[' + own + b"]}")
    # The model gets the block as it came, in a message that the engine has changed too.
    changed = json.loads(line)
    changed["content"].append({"type": "text", "text": "A note."})
    view = json.dumps({"messages": [changed]}).encode()
    message = shown(view, [said], [line]).messages[0]
    assert message.id == "m1"
    assert message.content == [*said.content, {"type": "text", "text": "A note."}]


def test_a_cache_breakpoint_that_leaves_an_image_splits_no_conversation() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400}}
    marked = {**image, "cache_control": {"type": "ephemeral"}}
    engine = Engine(dialect="chat", window=WINDOW)
    said = [HumanMessage([marked]), AIMessage("A tree."), HumanMessage("And now?")]
    first = engine.view(body("m", [encode(said[0])]))
    assert isinstance(first, View)
    engine.observe(first, answer(AIMessage("A tree."), "m"))
    second = engine.view(body("m", [encode(HumanMessage([image])), *map(encode, said[1:])]))
    assert isinstance(second, View) and second.conversation == first.conversation is not None
