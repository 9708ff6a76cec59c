"""`CompactingSupervisor`, `HistoryManager` and the hook."""

from __future__ import annotations

import asyncio
import operator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from conftest import WINDOW, Script, call, fresh, words
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_supervisor

from ebbtide import Engine
from ebbtide.langgraph import (
    Compacted,
    CompactingSupervisor,
    Done,
    Failed,
    HistoryManager,
    Interrupted,
    Token,
    ToolCall,
    ToolResult,
    pre_model_hook,
)
from ebbtide.langgraph.history import MARKER


def config(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}}


def ten() -> list[Any]:
    return [
        (HumanMessage if n % 2 else AIMessage)(f"message {n} says something about part {n}", id=f"m{n}")
        for n in range(1, 11)
    ]


@pytest.mark.parametrize(
    ("ratio", "first_kept"), [(0.5, 6), (0.8, 9), (0.2, 3), (0.0, 2), (1.0, 10), (0.05, 2)]
)
def test_the_table_of_ratios(ratio: float, first_kept: int) -> None:
    messages = ten()
    made = HistoryManager().compact_messages(messages, compaction_ratio=ratio)
    assert isinstance(made[0], HumanMessage) and made[0].content.startswith(MARKER)
    assert made[1:] == messages[first_kept - 1 :]
    assert all(one is other for one, other in zip(made[1:], messages[first_kept - 1 :]))
    assert [message.id for message in messages] == [f"m{n}" for n in range(1, 11)]


def test_system_messages_stay_and_are_not_counted() -> None:
    first, later = SystemMessage("You are an HR assistant.", id="s1"), SystemMessage("Answer briefly.", id="s2")
    messages = [first, *ten()]
    messages.insert(3, later)
    made = HistoryManager().compact_messages(messages)
    assert made[0] is first and made[1] is later and made[2].content.startswith(MARKER)
    assert [message.id for message in made[3:]] == ["m6", "m7", "m8", "m9", "m10"]


def test_short_histories_are_left_alone() -> None:
    manager = HistoryManager()
    for messages in ([], ten()[:1], [SystemMessage("s"), HumanMessage("h")]):
        assert manager.compact_messages(messages) == messages


def test_a_call_stays_with_its_results() -> None:
    manager = HistoryManager()
    calls = AIMessage("", id="a", tool_calls=[
        {"name": "find", "args": {"name": "Alice"}, "id": "c1"}, {"name": "find", "args": {"name": "Bob"}, "id": "c2"}])
    group = [HumanMessage("Find both.", id="h"), calls,
             ToolMessage("Alice: alice@example.org", tool_call_id="c1", id="t1"),
             ToolMessage("Bob: bob@example.org", tool_call_id="c2", id="t2"), AIMessage("Both are here.", id="b")]
    half = manager.compact_messages(group, 0.5)
    assert [message.id for message in half[1:]] == ["a", "t1", "t2", "b"]
    most = manager.compact_messages(group, 0.8)
    assert [message.id for message in most[1:]] == ["b"]
    assert "find" in most[0].content and "Alice" in most[0].content
    assert manager.compact_messages(group[1:3], 0.5) == group[1:3]


def test_a_summarizer_gets_the_old_part_only() -> None:
    given: list[str] = []

    def writer(system: str, source: str) -> str:
        given.append(source)
        return "## Goal\n- talk of parts\n## Where the work stands\n- at part 5"

    made = HistoryManager(summarizer=writer).compact_messages(ten())
    assert "message 5 says" in given[0] and "message 6 says" not in given[0]
    assert made[0].content.startswith(MARKER)


def chat_agent(script: Script, saver: Any, tools: Any = ()) -> Any:
    return create_agent(script, list(tools), checkpointer=saver)


def test_a_thread_is_compacted_above_the_limit_only(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), HistoryManager(memory_saver=saver), token_limit=1_500)
    sizes = []
    for number in range(20):
        out = supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
        assert out["messages"][-1].content.startswith(f"Answer {number + 1}:")
        state = supervisor.get_state(config())
        assert state.next == () and [m.id for m in state.values["messages"]] == [m.id for m in out["messages"]]
        sizes.append(len(out["messages"]))
    assert sizes[0] == 2 and max(sizes) < 24 and supervisor.last_error is None
    compactions = [n for n, (a, b) in enumerate(zip(sizes, sizes[1:])) if b <= a]
    assert len(compactions) >= 2
    # Every turn was seen by the model: a compaction is read back, never a state before it.
    for number, seen in enumerate(script.seen):
        assert seen[-1].content == words(number)
        if number:
            assert seen[-2].content.startswith(f"Answer {number}:")
    view = supervisor.get_state(config(), view=True)
    assert [m.content for m in view.originals if isinstance(m, HumanMessage)] == [words(n) for n in range(20)]
    told = supervisor.explain(config())
    assert told[0]["edition"] == len(told) >= 2 and told[0]["tokens"][1] < told[0]["tokens"][0]


def test_undo_brings_the_messages_back(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), HistoryManager(saver), token_limit=None)
    for number in range(6):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    before = [m.id for m in supervisor.get_state(config()).values["messages"]]
    done = supervisor.compact(config())
    assert done.replaced == 6 and len(done.messages) == 7
    supervisor.invoke({"messages": [HumanMessage(words(6))]}, config())
    assert len(script.seen[-1]) == 8 and script.seen[-1][0].content.startswith(MARKER)
    assert supervisor.undo(config())
    after = [m.id for m in supervisor.get_state(config()).values["messages"]]
    assert after[:12] == before and len(after) == 14
    assert not supervisor.undo(config())


def test_undo_is_not_taken_back_by_the_next_turn(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), HistoryManager(saver), token_limit=1_200)
    number = 0
    while not supervisor.explain(config()):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
        number += 1
    assert supervisor.undo(config()) and not supervisor.explain(config())
    supervisor.invoke({"messages": [HumanMessage("And now?")]}, config())
    said = [m.content for m in supervisor.get_state(config()).values["messages"] if isinstance(m, HumanMessage)]
    assert said == [*map(words, range(number)), "And now?"]
    for later in range(number, number + 4):
        supervisor.invoke({"messages": [HumanMessage(words(later))]}, config())
    assert supervisor.explain(config())


def test_undo_says_that_the_history_is_gone(script: Script) -> None:
    saver = InMemorySaver()
    supervisor = CompactingSupervisor(chat_agent(script, saver), HistoryManager(saver), token_limit=None)
    for number in range(6):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    supervisor.compact(config())
    before = supervisor.get_state(config()).values["messages"]
    newest = supervisor.get_state(config()).config["configurable"]["checkpoint_id"]
    checkpoints = saver.storage["t"][""]
    for identity in [identity for identity in checkpoints if identity != newest]:
        del checkpoints[identity]
    assert not supervisor.undo(config())
    assert supervisor.get_state(config()).values["messages"] == before
    assert len(supervisor.explain(config())) == 1
    view = supervisor.get_state(config(), view=True)
    assert view.originals == view.messages == before


def test_undo_takes_a_replaced_history_back(script: Script, saver: Any) -> None:
    manager = HistoryManager(saver)
    supervisor = CompactingSupervisor(chat_agent(script, saver), manager, token_limit=None)
    for number in range(6):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    before = supervisor.get_state(config()).values["messages"]
    assert manager.replace_thread_history("t", manager.compact_messages(before))
    assert [told["edition"] for told in supervisor.explain(config())] == [1]
    view = supervisor.get_state(config(), view=True)
    assert [m.id for m in view.originals] == [m.id for m in before] and len(view.messages) == 7
    supervisor.invoke({"messages": [HumanMessage(words(6))]}, config())
    assert supervisor.undo(config())
    after = supervisor.get_state(config()).values["messages"]
    assert [m.id for m in after[:12]] == [m.id for m in before] and len(after) == 14


class Counted(MessagesState):
    counter: Annotated[int, operator.add]
    notes: dict[str, str]


def counting(script: Script, saver: Any, pauses: bool = False) -> Any:
    def chat(state: Counted) -> Any:
        if pauses and "pause" in str(state["messages"][-1].content):
            interrupt("may I?")
        return {"messages": [script.invoke(state["messages"])], "counter": 1, "notes": {"last": "kept"}}

    graph = StateGraph(Counted)
    graph.add_node("chat", chat)
    graph.add_edge(START, "chat")
    graph.add_edge("chat", END)
    return graph.compile(checkpointer=saver)


def test_other_channels_survive(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(counting(script, saver), HistoryManager(saver), token_limit=1_200)
    for number in range(12):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    values = supervisor.get_state(config()).values
    assert values["counter"] == 12 and values["notes"] == {"last": "kept"} and len(values["messages"]) < 16


def test_a_paused_thread_is_left_alone_and_resumes(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(counting(script, saver, pauses=True), HistoryManager(saver), token_limit=600)
    for number in range(8):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    supervisor.invoke({"messages": [HumanMessage(f"pause {words(8)}")]}, config())
    assert supervisor.get_state(config()).next == ("chat",)
    refused = supervisor.compact(config())
    assert refused.summary is None and refused.reason == "the thread is interrupted"
    assert not HistoryManager(saver).replace_thread_history("t", [HumanMessage("x")])
    assert supervisor.get_state(config()).next == ("chat",)
    out = supervisor.invoke(Command(resume="yes"), config())
    assert out["messages"][-1].content.startswith("Answer 9:")


def test_a_turn_that_came_meanwhile_is_kept(script: Script, saver: Any) -> None:
    agent = chat_agent(script, saver)

    def slow(system: str, source: str) -> str:
        agent.invoke({"messages": [HumanMessage("a late turn", id="late")]}, config())
        return "## Goal\n- mend all parts\n## Where the work stands\n- at part 5"

    supervisor = CompactingSupervisor(agent, HistoryManager(saver, summarizer=slow), token_limit=1_200)
    for number in range(10):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
        state = supervisor.get_state(config()).values["messages"]
        if state[0].content.startswith(MARKER):
            break
    assert [m.id for m in state].count("late") == 1 and state[-1].content.startswith("Answer")


class Racing:
    """An agent to which something happens just before a thread is written."""

    def __init__(self, agent: Any, happens: Any) -> None:
        self.agent, self.happens = agent, [happens]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def update_state(self, *args: Any) -> Any:
        if self.happens:
            self.happens.pop()(self.agent)
        return self.agent.update_state(*args)

    async def aupdate_state(self, *args: Any) -> Any:
        if self.happens:
            await asyncio.to_thread(self.happens.pop(), self.agent)
        return await self.agent.aupdate_state(*args)


def late_turn(agent: Any) -> None:
    agent.invoke({"messages": [HumanMessage("a late turn", id="late")]}, config())


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("work", ["compact", "undo"])
def test_a_turn_between_the_look_and_the_write_is_kept(work: str, is_async: bool, script: Script) -> None:
    saver = InMemorySaver()
    agent = counting(script, saver)
    supervisor = CompactingSupervisor(agent, HistoryManager(saver), token_limit=None)
    for number in range(6):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    before = [m.id for m in supervisor.get_state(config()).values["messages"]]
    if work == "undo":
        supervisor.compact(config())
    supervisor.agent = Racing(agent, late_turn)
    if is_async:
        done = asyncio.run(getattr(supervisor, f"a{work}")(config()))
    else:
        done = getattr(supervisor, work)(config())
    assert not supervisor.agent.happens and (done is True or done.summary is not None)
    values = agent.get_state(config()).values
    said = values["messages"]
    assert said[-2].id == "late" and said[-1].content == "Answer 7: the work goes on." and values["counter"] == 7
    if work == "undo":
        assert [m.id for m in said[:-2]] == before
    else:
        assert said[0].content.startswith(MARKER) and [m.id for m in said[1:-2]] == before[6:]
        assert [m.id for m in done.messages] == [m.id for m in said]


def test_an_interrupt_between_the_look_and_the_write_is_resumed(script: Script, saver: Any) -> None:
    agent = counting(script, saver, pauses=True)
    supervisor = CompactingSupervisor(agent, HistoryManager(saver), token_limit=None)
    for number in range(6):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    supervisor.agent = Racing(agent, lambda agent: agent.invoke({"messages": [HumanMessage("pause")]}, config()))
    done = supervisor.compact(config())
    assert done.summary is None and done.reason == "the thread changed meanwhile"
    state = agent.get_state(config())
    assert state.next == ("chat",) and len(state.values["messages"]) == 13
    out = supervisor.invoke(Command(resume="yes"), config())
    assert out["messages"][-1].content == "Answer 7: the work goes on." and len(out["messages"]) == 14


def test_a_run_that_writes_over_the_summary_keeps_its_messages(script: Script) -> None:
    """A turn that began before the write, and ends after it, has all messages of its own."""
    saver = InMemorySaver()
    agent = chat_agent(script, saver)
    supervisor = CompactingSupervisor(agent, HistoryManager(saver), token_limit=None)
    for number in range(6):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    turn = agent.stream({"messages": [HumanMessage("under way", id="late")]}, config(), stream_mode="values")
    supervisor.agent = Racing(agent, lambda _: next(turn))
    assert supervisor.compact(config()).summary is None
    list(turn)
    said = agent.get_state(config()).values["messages"]
    assert len(said) == 14 and said[-2].id == "late" and said[-1].content.startswith("Answer 7")


def test_a_turn_from_an_earlier_checkpoint_is_kept(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), HistoryManager(saver), token_limit=None)
    for number in range(8):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    early = next(s for s in supervisor.get_state_history(config()) if len(s.values["messages"]) == 12 and not s.next)
    supervisor.token_limit = 900
    out = supervisor.invoke({"messages": [HumanMessage("Another way.")]}, early.config)
    assert [m.content for m in out["messages"][-2:]] == ["Another way.", "Answer 9: the work goes on."]
    state = supervisor.get_state(config()).values["messages"]
    assert [m.id for m in state] == [m.id for m in out["messages"]] and state[0].content.startswith(MARKER)
    assert words(7) not in str(state)


def test_a_thread_that_the_wrapper_is_bound_to_is_compacted(script: Script, saver: Any) -> None:
    plain = CompactingSupervisor(chat_agent(script, saver), HistoryManager(saver), token_limit=1_200)
    supervisor = plain.with_config(config())
    for number in range(8):
        supervisor.invoke({"messages": [HumanMessage(words(number))]})
    state = supervisor.get_state().values["messages"]
    assert len(state) < 14 and any(m.content.startswith(MARKER) for m in state)
    assert supervisor.explain() and supervisor.get_state(view=True).originals[0].content == words(0)
    edition = supervisor.explain()[0]["edition"]
    assert supervisor.compact().summary is not None and supervisor.explain()[0]["edition"] == edition + 1
    assert supervisor.undo()


def test_a_summary_that_does_not_help_is_not_made_again_each_turn(script: Script) -> None:
    asked: list[str] = []

    def writer(system: str, source: str) -> str:
        asked.append(source)
        return "## Goal\n- mend all parts\n## Where the work stands\n" + "- and so on, at length\n" * 2_000

    saver = InMemorySaver()
    manager = HistoryManager(saver, summarizer=writer)
    # A twentieth of the messages is less than any summary of it.
    supervisor = CompactingSupervisor(chat_agent(script, saver), manager, token_limit=600, compaction_ratio=0.05)
    above = 0
    for number in range(60):
        supervisor.invoke({"messages": [HumanMessage(f"And part {number}?")]}, config())
        above += manager.count(supervisor.get_state(config()).values["messages"]) > 600
    # Each attempt waits until the thread has grown by a quarter.
    assert supervisor.last_error is None and above > 20 and 1 < len(asked) <= above / 4


def test_a_summary_must_gain() -> None:
    def writer(system: str, source: str) -> str:
        return "## Goal\n- mend all parts\n## Where the work stands\n" + "- and so on, at length\n" * 2_000

    manager = HistoryManager(summarizer=writer)
    made = manager.compaction(ten(), ratio=0.5, must_gain=True)
    assert made.after <= made.before and (made.summary is None) == (made.messages == ten())
    short = [HumanMessage("a", id="a"), AIMessage("b", id="b"), HumanMessage("c", id="c")]
    stays = manager.compaction(short, ratio=0.5, must_gain=True)
    assert stays.messages == short and stays.summary is None and "smaller" in str(stays.reason)
    assert manager.compaction(short, ratio=0.5).summary is not None


async def test_an_async_summarizer_is_awaited(script: Script) -> None:
    async def writer(system: str, source: str) -> str:
        await asyncio.sleep(0)
        return "## Goal\n- mend all parts\n## Where the work stands\n- the violet parser is next"

    saver = InMemorySaver()
    manager = HistoryManager(saver, summarizer=writer)
    supervisor = CompactingSupervisor(chat_agent(script, saver), manager, token_limit=None)
    for number in range(6):
        await supervisor.ainvoke({"messages": [HumanMessage(words(number))]}, config())
    said = (await supervisor.aget_state(config())).values["messages"]
    made = await supervisor.acompact(config())
    assert "violet parser" in made.messages[0].content and "coroutine" not in made.messages[0].content
    # A sync call within a running loop works, too.
    assert "violet parser" in HistoryManager(summarizer=writer).compact_messages(said)[0].content


def ending_in_two(script: Script, saver: Any, ends: str) -> Any:
    """A graph whose last step runs two nodes."""
    ran: list[str] = []

    def many(state: MessagesState) -> str:
        return END if len(state["messages"]) % 2 == 0 else "chat"

    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [script.invoke(state["messages"])]})
    graph.add_node("a", lambda state: ran.append("a"))
    graph.add_node("b", lambda state: ran.append("b"))
    graph.add_edge(START, "chat")
    graph.add_edge("chat", "a")
    graph.add_edge("chat", "b")
    for node in ("a", "b") if ends == "branches" else ():
        graph.add_conditional_edges(node, many, ["chat", END])
    agent = graph.compile(checkpointer=saver)
    agent.ran = ran  # type: ignore[attr-defined]
    return agent


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("ends", ["plain", "branches"])
def test_a_graph_that_ends_in_parallel_nodes_is_compacted(ends: str, is_async: bool, script: Script) -> None:
    saver, asked = InMemorySaver(), []

    def writer(system: str, source: str) -> str:
        asked.append(source)
        return "## Goal\n- mend all parts\n## Where the work stands\n- at part 5"

    agent = ending_in_two(script, saver, ends)
    supervisor = CompactingSupervisor(
        agent, HistoryManager(saver, summarizer=writer), token_limit=1_500, raise_errors=True
    )

    def done(name: str, *given: Any) -> Any:
        if is_async:
            return asyncio.run(getattr(supervisor, f"a{name}")(*given))
        return getattr(supervisor, name)(*given)

    turns = 12
    for number in range(turns):
        done("invoke", {"messages": [HumanMessage(words(number))]}, config())
        assert agent.get_state(config()).next == ()
    told = supervisor.explain(config())
    assert 1 <= len(told) == len(asked) <= turns / 3
    assert done("compact", config()).summary is not None and agent.get_state(config()).next == ()
    assert done("undo", config()) and agent.get_state(config()).next == ()
    assert len(supervisor.explain(config())) == len(told)
    # No write ran a node.
    assert len(script.seen) == turns and agent.ran == ["a", "b"] * turns


def test_a_summary_that_cannot_be_written_is_not_paid_for_each_turn(script: Script) -> None:
    asked: list[str] = []

    def writer(system: str, source: str) -> str:
        asked.append(source)
        return "## Goal\n- mend all parts\n## Where the work stands\n- at part 5"

    class Full:
        """An agent whose threads cannot be written from outside."""

        def __init__(self, agent: Any) -> None:
            self.agent = agent

        def __getattr__(self, name: str) -> Any:
            return getattr(self.agent, name)

        def update_state(self, *args: Any) -> Any:
            raise OSError("no space")

    saver = InMemorySaver()
    agent = Full(chat_agent(script, saver))
    supervisor = CompactingSupervisor(agent, HistoryManager(saver, summarizer=writer), token_limit=600)
    for number in range(16):
        supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    assert isinstance(supervisor.last_error, OSError) and 1 < len(asked) <= 8


def test_wrong_settings_are_refused_at_once(script: Script) -> None:
    saver = InMemorySaver()
    agent = chat_agent(script, saver)
    for given, error, says in [
        ({"history_manager": saver}, TypeError, r"HistoryManager\(saver\)"),
        ({"token_limit": 0}, ValueError, "token_limit is 0 tokens; pass at least one"),
        ({"token_limit": "500"}, TypeError, "token_limit is '500'; pass a number of tokens"),
        ({"compaction_ratio": "half"}, TypeError, "compaction_ratio is 'half'; pass a share"),
        ({"token_limit": -1}, ValueError, "token_limit is -1 tokens; pass at least one"),
        ({"compaction_ratio": 0}, ValueError, "compaction_ratio is 0; pass a share above 0"),
        ({"compaction_ratio": 50}, ValueError, "compaction_ratio is 50; pass a share above 0"),
        ({"compaction_ratio": 0.8, "keep": 400}, ValueError, "pass one of them"),
        ({"keep": 0}, ValueError, "keep is 0 tokens; pass at least one"),
    ]:
        with pytest.raises(error, match=says):
            CompactingSupervisor(agent, **given)
    CompactingSupervisor(agent, None, token_limit=None, compaction_ratio=None, keep=400)
    with pytest.raises(TypeError, match="the agent's checkpointer"):
        HistoryManager(Engine())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="summarizer is 5; pass a chat model"):
        HistoryManager(saver, summarizer=5)


def test_what_needs_a_thread_says_so(script: Script) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, InMemorySaver()))
    for ask in (supervisor.compact, supervisor.undo, supervisor.explain):
        for given in (None, {}, {"configurable": {}}):
            with pytest.raises(ValueError, match=r'"configurable": {"thread_id"'):
                ask(given)
    for twin in (supervisor.acompact, supervisor.aundo, supervisor.aexplain):
        with pytest.raises(ValueError, match="names no thread"):
            asyncio.run(twin())


def test_without_a_thread_nothing_is_compacted(script: Script) -> None:
    supervisor = CompactingSupervisor(create_agent(script, []), HistoryManager(), token_limit=10)
    out = supervisor.invoke({"messages": [HumanMessage(words(1))]})
    assert len(out["messages"]) == 2 and supervisor.last_error is None


def test_a_summarizer_that_fails_keeps_the_answer(script: Script) -> None:
    def broken(system: str, source: str) -> str:
        raise OSError("no network")

    saver = InMemorySaver()
    supervisor = CompactingSupervisor(
        chat_agent(script, saver), HistoryManager(saver, summarizer=broken), token_limit=300
    )
    for number in range(3):
        out = supervisor.invoke({"messages": [HumanMessage(words(number))]}, config())
    assert len(out["messages"]) == 6 and isinstance(supervisor.last_error, OSError)
    supervisor.raise_errors = True
    with pytest.raises(OSError):
        supervisor.invoke({"messages": [HumanMessage(words(3))]}, config())


def test_the_first_examples_run_as_printed(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines that this interface was first shown with, but for the import."""
    memory = InMemorySaver()
    supervisor_agent = chat_agent(script, memory)

    compacting_supervisor = CompactingSupervisor(
        agent=supervisor_agent,
        history_manager=HistoryManager(memory_saver=memory),
    )
    response = compacting_supervisor.invoke(
        {"messages": [HumanMessage(content="Hello")]},
        config={"configurable": {"thread_id": "my-thread"}}
    )
    assert response["messages"][-1].content == "Answer 1: the work goes on."
    for number in range(6):
        for chunk in compacting_supervisor.stream(
            {"messages": [HumanMessage(content=words(number))]},
            config={"configurable": {"thread_id": "my-thread"}}
        ):
            if chunk["type"] == "token":
                print(chunk["content"], end="")
        assert capsys.readouterr().out == f"Answer {number + 2}: the work goes on."
    # The limit is 500 tokens where none is given.
    assert compacting_supervisor.token_limit == 500 and compacting_supervisor.compaction_ratio == 0.5
    state = compacting_supervisor.get_state(config("my-thread")).values["messages"]
    assert any(message.content.startswith(MARKER) for message in state)


def test_streamed_as_the_readme_prints_it(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), HistoryManager(saver), token_limit=1_200)
    for number in range(10):
        chunks = list(supervisor.stream({"messages": [HumanMessage(words(number))]}, config()))
        text = "".join(chunk["content"] for chunk in chunks if chunk["type"] == "token")
        assert text == f"Answer {number + 1}: the work goes on."
        assert [chunk["type"] for chunk in chunks].count("done") == 1 and chunks[-1]["type"] == "done"
        state = supervisor.get_state(config()).values["messages"]
        assert chunks[-1]["token_count"] == supervisor.history.count(state)
    assert state[0].content.startswith(MARKER) or any(m.content.startswith(MARKER) for m in state)


def test_typed_events_without_what_a_tool_says_to_itself(saver: Any) -> None:
    secret = Script(answers=["SECRET thoughts"])

    @tool
    def search(query: str) -> str:
        """Searches."""
        secret.invoke([HumanMessage(query)])
        return "three candidates"

    script = Script(answers=[call("search", "c1", query="all"), "There are three."])
    supervisor = CompactingSupervisor(chat_agent(script, saver, [search]), token_limit=20)
    ask = {"messages": [HumanMessage("Show me all candidates. " * 30)]}
    events = list(supervisor.stream(ask, config(), stream_mode="events"))
    assert "".join(event.content for event in events if isinstance(event, Token)) == "There are three."
    assert [event for event in events if isinstance(event, ToolCall)] == [ToolCall("c1", "search", {"query": "all"})]
    assert [event.content for event in events if isinstance(event, ToolResult)] == ["three candidates"]
    assert isinstance(events[-1], Done) and sum(isinstance(e, (Done, Failed)) for e in events) == 1


@tool
def may(what: str) -> str:
    """Asks the user."""
    return str(interrupt({"may I": what}))


def both() -> AIMessage:
    calls = [{"name": "may", "args": {"what": name}, "id": name, "type": "tool_call"} for name in ("read", "write")]
    return AIMessage("", tool_calls=calls)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("is_supervised", [False, True], ids=["agent", "supervised"])
def test_a_paused_run_tells_what_it_waits_for(is_supervised: bool, is_async: bool) -> None:
    script, lead = Script(answers=[both(), "Done."]), Script(answers=[handoff(1), "All done."])
    agent = create_agent(script, [may], checkpointer=None if is_supervised else InMemorySaver(), name="mailer")
    if is_supervised:
        agent = create_supervisor([agent], model=lead).compile(checkpointer=InMemorySaver())
    supervisor = CompactingSupervisor(agent)

    def streamed(input: Any, **options: Any) -> list[Any]:
        async def all_of() -> list[Any]:
            return [chunk async for chunk in supervisor.astream(input, config(), **options)]

        return asyncio.run(all_of()) if is_async else list(supervisor.stream(input, config(), **options))

    *_, paused, done = streamed({"messages": [HumanMessage("Read and write.")]})
    assert done["type"] == "done" and paused["type"] == "interrupt"
    waits = {one["value"]["may I"]: one["id"] for one in paused["interrupts"]}
    assert waits.keys() == {"read", "write"}
    *_, event, end = streamed(Command(resume={waits["read"]: "yes"}), stream_mode="events")
    assert isinstance(event, Interrupted) and isinstance(end, Done)
    assert [one.id for one in event.interrupts] == [waits["write"]]
    chunks = streamed(Command(resume={waits["write"]: "yes"}))
    assert "interrupt" not in {chunk["type"] for chunk in chunks} and chunks[-1]["type"] == "done"


def test_a_run_that_stops_at_a_node_is_paused(script: Script) -> None:
    agent = create_agent(script, [may], checkpointer=InMemorySaver(), interrupt_before=["tools"])
    script.answers = [call("may", "c1", what="read")]
    chunks = list(CompactingSupervisor(agent).stream({"messages": [HumanMessage("Read.")]}, config()))
    assert chunks[-2] == {"type": "interrupt", "interrupts": []} and chunks[-1]["type"] == "done"


def test_the_same_message_may_stand_twice() -> None:
    made = HistoryManager().compact_messages([HumanMessage(words(1), id="1")] * 10, 0.5)
    assert len(made) == 6


def test_our_modes_stand_alone(script: Script) -> None:
    supervisor = CompactingSupervisor(create_agent(script, [], checkpointer=InMemorySaver()))
    with pytest.raises(ValueError, match="stand alone"):
        list(supervisor.stream(None, config(), stream_mode=["events", "values"]))
    with pytest.raises(TypeError, match="pass a compiled graph"):
        CompactingSupervisor("agent")
    asked = {"messages": [HumanMessage("Read.")]}
    chunks = list(supervisor.stream(asked, config(), stream_mode=None))
    assert chunks and all("model" in chunk for chunk in chunks)


def test_a_compaction_is_an_event(script: Script) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, InMemorySaver()), token_limit=1_200)
    events: list[Any] = []
    for number in range(10):
        events += supervisor.stream({"messages": [HumanMessage(words(number))]}, config(), stream_mode="events")
    compacted = [event for event in events if isinstance(event, Compacted)]
    assert compacted and all(event.after < event.before for event in compacted)


async def test_events_and_what_is_the_agents_own(script: Script) -> None:
    agent = create_agent(script, [], checkpointer=InMemorySaver())
    supervisor = CompactingSupervisor(agent, HistoryManager(), token_limit=200)
    for number in range(8):
        asked = {"messages": [HumanMessage(words(number))]}
        kinds = {event["event"] async for event in supervisor.astream_events(asked, config(), version="v2")}
        assert "on_chain_end" in kinds
    if type(agent).astream_events is not Runnable.astream_events:  # Newer versions have events of their own.
        asked = {"messages": [HumanMessage("And the new way?")]}
        assert [event async for event in supervisor.astream_events(asked, config(), version="v3")]
        assert list(supervisor.stream_events(asked, config(), version="v3"))
    assert supervisor.explain(config())
    assert supervisor.get_graph().nodes.keys() == agent.get_graph().nodes.keys()
    assert supervisor.nodes is agent.nodes
    with pytest.raises(AttributeError, match="its agent stands in `agent`"):
        supervisor.nothing


def test_a_failing_model_ends_the_stream_with_one_error(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver))
    script.error = ValueError("no credit")
    chunks = list(supervisor.stream({"messages": [HumanMessage("Hello")]}, config()))
    assert chunks[-1] == {"type": "error", "content": "no credit"} and len(chunks) == 1
    assert list(supervisor.stream({"messages": [HumanMessage("Again")]}, config()))[-1]["type"] == "done"


def test_a_stream_that_is_closed_early_can_be_gone_on_with(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), token_limit=None)
    stream = supervisor.stream({"messages": [HumanMessage("Hello")]}, config())
    assert next(stream)["type"] == "token"
    stream.close()
    out = supervisor.invoke({"messages": [HumanMessage("Go on")]}, config())
    assert out["messages"][-1].content.startswith("Answer 2")


def test_the_agents_own_modes_pass(script: Script, saver: Any) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, saver), token_limit=900)
    for number in range(6):
        ask = {"messages": [HumanMessage(words(number))]}
        modes = {mode for mode, _ in supervisor.stream(ask, config(), stream_mode=["values", "updates"])}
        assert modes == {"values", "updates"}
    assert len(supervisor.get_state(config()).values["messages"]) < 12


async def test_the_async_twins(script: Script) -> None:
    supervisor = CompactingSupervisor(chat_agent(script, InMemorySaver()), token_limit=1_200)
    for number in range(10):
        if number % 2:
            await supervisor.ainvoke({"messages": [HumanMessage(words(number))]}, config())
            continue
        ask = {"messages": [HumanMessage(words(number))]}
        chunks = [chunk async for chunk in supervisor.astream(ask, config())]
        assert chunks[-1]["type"] == "done"
    state = (await supervisor.aget_state(config())).values["messages"]
    assert len(state) < 16 and sum(m.content.startswith(MARKER) for m in state) == 1


@asynccontextmanager
async def async_saver(kind: str, path: Path, url: str) -> Any:
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(path / "checkpoints.db")) as saver:
            yield saver
    else:
        async with AsyncPostgresSaver.from_conn_string(fresh(url)) as saver:
            await saver.setup()
            yield saver


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
async def test_everything_has_an_async_twin(
    kind: str, script: Script, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if kind == "postgres" else ""
    async with async_saver(kind, tmp_path, url) as saver:
        manager = HistoryManager(saver)
        supervisor = CompactingSupervisor(chat_agent(script, saver), manager, token_limit=1_500, raise_errors=True)
        for number in range(20):
            out = await supervisor.ainvoke({"messages": [HumanMessage(words(number))]}, config())
        state = await supervisor.aget_state(config())
        assert [m.id for m in state.values["messages"]] == [m.id for m in out["messages"]] and len(out["messages"]) < 24
        view = await supervisor.aget_state(config(), view=True)
        assert [m.content for m in view.originals if isinstance(m, HumanMessage)] == [words(n) for n in range(20)]
        told = await supervisor.aexplain(config())
        assert told[0]["edition"] == len(told) >= 2
        made = await supervisor.acompact(config())
        assert made.summary is not None and len(await supervisor.aexplain(config())) == len(told) + 1
        assert await supervisor.aundo(config()) and len(await supervisor.aexplain(config())) == len(told)
        states = [one async for one in supervisor.aget_state_history(config(), limit=5)]
        assert len(states) == 5
        await supervisor.aupdate_state(config(), {"messages": [AIMessage("Noted.", id="n")]})
        assert (await supervisor.aget_state(config())).values["messages"][-1].id == "n"
        outs = await supervisor.abatch([{"messages": [HumanMessage("Hi.")]}] * 2, [config("a"), config("b")])
        assert [len(one["messages"]) for one in outs] == [2, 2]
        said = (await supervisor.aget_state(config())).values["messages"]
        assert await manager.areplace_thread_history("t", manager.compact_messages(said))
        assert (await supervisor.aget_state(config())).values["messages"][0].content.startswith(MARKER)
        assert not await manager.areplace_thread_history("t", said, expect="1f000000-0000-6000-8000-000000000000")


def test_content_in_blocks_is_text(script: Script) -> None:
    script.answers = [AIMessage([{"type": "text", "text": "In "}, {"type": "text", "text": "blocks."}])] * 2
    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [script._next(state["messages"])]})
    graph.add_edge(START, "chat")
    supervisor = CompactingSupervisor(graph.compile(checkpointer=InMemorySaver()))
    chunks = list(supervisor.stream({"messages": [HumanMessage("Hello")]}, config()))
    assert "".join(chunk.get("content", "") for chunk in chunks) == "In blocks."


def test_a_checkpoint_is_written_behind_the_newest(script: Script, saver: Any) -> None:
    agent = counting(script, saver)
    manager = HistoryManager(saver)
    assert not manager.replace_thread_history("t", [])
    for number in range(3):
        agent.invoke({"messages": [HumanMessage(words(number))]}, config())
    newest = agent.get_state(config()).config["configurable"]["checkpoint_id"]
    shorter = manager.compact_messages(agent.get_state(config()).values["messages"])
    assert not manager.replace_thread_history("t", shorter, expect="1f000000-0000-6000-8000-000000000000")
    assert manager.replace_thread_history("t", shorter, expect=newest)
    state = agent.get_state(config())
    assert [m.id for m in state.values["messages"]] == [m.id for m in shorter]
    assert state.values["counter"] == 3 and state.next == () and state.metadata["source"] == "update"
    for number in range(3, 6):
        agent.invoke({"messages": [HumanMessage(words(number))]}, config())
        assert [m.content for m in script.seen[-1]][: len(shorter)] == [m.content for m in shorter]
    assert agent.get_state(config()).values["counter"] == 6


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_paused_run_is_not_replaced(is_async: bool, script: Script) -> None:
    saver = InMemorySaver()
    agent = create_agent(script, [build], checkpointer=saver, interrupt_before=["tools"])
    script.answers = [call("build", "c1"), "Built."]
    agent.invoke({"messages": [HumanMessage("Build it.")]}, config())
    assert agent.get_state(config()).next == ("tools",)
    manager = HistoryManager(saver)

    def replaced() -> bool:
        new = [HumanMessage("x"), AIMessage("y", id="y")]
        if is_async:
            return asyncio.run(manager.areplace_thread_history("t", new))
        return manager.replace_thread_history("t", new)

    assert not replaced()
    assert agent.invoke(None, config())["messages"][-1].content == "Built."
    assert replaced()
    said = agent.get_state(config()).values["messages"]
    assert said[0].id and said[1].id == "y" and agent.get_state(config()).next == ()


def test_a_paused_thread_is_not_replaced_on_any_saver(script: Script, saver: Any) -> None:
    graph = StateGraph(Counted)
    graph.add_node("a", lambda state: {"counter": 1})
    graph.add_node("b", lambda state: {"counter": 1})
    graph.add_node("c", lambda state: {"counter": 1})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge(["a", "b"], "c")
    graph.add_edge("c", END)
    agent = graph.compile(checkpointer=saver, interrupt_before=["c"])
    agent.invoke({"messages": [HumanMessage("Begin.")]}, config())
    assert agent.get_state(config()).next == ("c",)
    assert not HistoryManager(saver).replace_thread_history("t", [HumanMessage("x")])
    agent.invoke(None, config())
    assert agent.get_state(config()).values["counter"] == 3
    assert HistoryManager(saver).replace_thread_history("t", [HumanMessage("x")])


@tool
def build() -> str:
    """Builds."""
    return "built"


def helper(name: str) -> tuple[Script, Any]:
    model = Script()
    return model, create_agent(model, [], name=name)


def handoff(number: int) -> AIMessage:
    return call("transfer_to_mailer", f"h{number}")


def supervised(hook: Any, saver: Any) -> tuple[Script, Script, Any]:
    lead = Script()
    inner, mailer = helper("mailer")
    graph = create_supervisor([mailer], model=lead, prompt="Delegate.", pre_model_hook=hook)
    return lead, inner, graph.compile(checkpointer=saver)


def test_the_hook_shows_less_and_keeps_all(saver: Any) -> None:
    plain_lead, plain_inner, plain = supervised(None, InMemorySaver())
    lead, inner, app = supervised(pre_model_hook(Engine(window=WINDOW, notes=False)), saver)
    for number in range(16):
        for model in (lead, plain_lead):
            model.answers = [handoff(number), f"Mail {number} is written."]
        for graph in (app, plain):
            graph.invoke({"messages": [HumanMessage(words(number))]}, config())
    kept, all_of = app.get_state(config()).values["messages"], plain.get_state(config()).values["messages"]
    assert [m.content for m in kept] == [m.content for m in all_of]
    assert len(lead.seen[-1]) < len(plain_lead.seen[-1]) / 2
    # What the sub-agent sees is, byte for byte, the same.
    def lines(model: Script) -> list[list[str]]:
        return [[str(m.content) for m in seen] for seen in model.seen]

    assert lines(inner) == lines(plain_inner)


def test_a_supervisor_is_wrapped_and_its_helpers_are_not(saver: Any) -> None:
    plain_lead, plain_inner, plain = supervised(None, InMemorySaver())
    lead, inner, app = supervised(None, saver)
    wrapped = CompactingSupervisor(app, HistoryManager(saver), token_limit=1_500)
    for number in range(8):
        lead.answers = [handoff(number), f"Mail {number} is written."]
        plain_lead.answers = [handoff(number), f"Mail {number} is written."]
        events = list(wrapped.stream({"messages": [HumanMessage(words(number))]}, config()))
        text = "".join(event["content"] for event in events if event["type"] == "token")
        assert text == f"Mail {number} is written.", events
        plain.invoke({"messages": [HumanMessage(words(number))]}, config())
    state = wrapped.get_state(config()).values["messages"]
    assert any(m.content.startswith(MARKER) for m in state) and wrapped.last_error is None
    assert lead.seen[-1] != plain_lead.seen[-1]

    # The helper gets the thread of the lead: it sees the messages of the plain run, or the summary of those.
    plain = plain.get_state(config()).values["messages"]
    for seen, plainly in zip(inner.seen, plain_inner.seen):
        said, all_of = [str(m.content) for m in seen], [str(m.content) for m in plainly]
        at = next((i + 1 for i, text in enumerate(said) if text.startswith(MARKER)), 0)
        assert said[at:] == all_of[len(all_of) - len(said) + at :]
    # What the helper says to itself is in no summary.
    whole = wrapped.get_state(config(), view=True).originals
    assert [m.content for m in whole] == [m.content for m in plain]


def test_the_end_of_a_thread_does_not_end_a_run_that_came_between(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "word " * 60

    def follows(state: Any) -> str:
        return "c" if any(MARKER in str(message.content) for message in state["messages"]) else END

    def last(state: Any) -> Any:
        if "wait" in str(state["messages"][-1].content):
            interrupt("approve?")
        return {"messages": [AIMessage("c")]}

    graph = StateGraph(MessagesState)
    graph.add_node("a", lambda _: {"messages": [AIMessage(f"a {long}")]})
    graph.add_node("c", last)
    graph.add_conditional_edges(START, lambda state: "c" if "wait" in state["messages"][-1].content else "a")
    graph.add_conditional_edges("a", follows, ["c", END])
    graph.add_edge("c", END)
    agent = graph.compile(checkpointer=InMemorySaver())
    supervisor = CompactingSupervisor(agent, HistoryManager(), token_limit=300)
    write = type(agent).update_state

    def late(self: Any, of: Any, values: Any, as_node: Any = None, *rest: Any, **more: Any) -> Any:
        if as_node == END:
            agent.invoke({"messages": [HumanMessage("wait please")]}, config())
        return write(self, of, values, as_node, *rest, **more)

    monkeypatch.setattr(type(agent), "update_state", late)
    for number in range(4):
        supervisor.invoke({"messages": [HumanMessage(f"q{number} {long}")]}, config())
        if agent.get_state(config()).next:
            break
    assert agent.get_state(config()).next == ("c",)
    out = agent.invoke(Command(resume="yes"), config())
    assert out["messages"][-1].content == "c"
