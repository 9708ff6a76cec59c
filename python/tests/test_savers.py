"""LangGraph's conformance suite for savers, with `EbbtideSaver` in front; and a deleted thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from conftest import WINDOW, Script, words
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ebbtide import EbbtideError, Engine
from ebbtide.langgraph import EbbtideMiddleware, EbbtideSaver


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
async def test_the_conformance_suite_is_as_green_as_without(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if kind == "postgres" else ""
    number = iter(range(1_000))

    async def savers(wrapped: bool) -> AsyncGenerator[Any, None]:
        if kind == "memory":
            saver: Any = InMemorySaver()
            yield EbbtideSaver(saver, Engine()) if wrapped else saver
        elif kind == "sqlite":
            async with AsyncSqliteSaver.from_conn_string(str(tmp_path / f"{next(number)}.db")) as saver:
                await saver.setup()
                yield EbbtideSaver(saver, Engine()) if wrapped else saver
        else:
            async with AsyncPostgresSaver.from_conn_string(url) as saver:
                await saver.setup()
                yield EbbtideSaver(saver, Engine()) if wrapped else saver

    async def report(wrapped: bool) -> Any:
        @checkpointer_test(name=f"{kind}-{wrapped}")
        async def factory() -> AsyncGenerator[Any, None]:
            async for saver in savers(wrapped):
                yield saver

        return await validate(factory)

    with_ours = await report(True)
    assert with_ours.passed_all_base(), with_ours.to_dict()
    plain = await report(False)
    assert with_ours.conformance_level() == plain.conformance_level()
    assert len(with_ours.to_dict()["results"]) == len(plain.to_dict()["results"])


def test_a_deleted_thread_leaves_nothing_behind(saver: Any) -> None:
    engine = Engine(window=WINDOW, notes=False)
    middleware, script = EbbtideMiddleware(engine), Script()
    agent = create_agent(script, [], middleware=[middleware], checkpointer=EbbtideSaver(saver, engine))
    for thread in ("one", "other"):
        for number in range(20):
            agent.invoke(
                {"messages": [HumanMessage(words(number))]}, {"configurable": {"thread_id": thread}}
            )
    found = middleware.conversation("one")
    assert found is not None and found[0].explain(found[1]).summaries
    agent.checkpointer.delete_thread("one")
    with pytest.raises(EbbtideError):
        found[0].explain(found[1])
    assert not agent.get_state({"configurable": {"thread_id": "one"}}).values
    assert middleware.conversation("one") is None and list(middleware._encoder._threads) == ["other"]
    other = middleware.conversation("other")
    assert other is not None and other[0].explain(other[1]).summaries
