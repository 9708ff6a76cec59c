"""The examples of `docs/python`, as they are printed."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Script, words

pytest.importorskip("pydantic_ai", reason="only the newest environment has all frameworks")

PAGES = Path(__file__).parents[2] / "docs" / "python"


def examples(page: Path) -> str:
    """The Python code of a page, in order."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_the_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    import httpx2
    import matplotlib
    from test_others import AgentsScript, Provider

    matplotlib.use("agg")
    provider = Provider(httpx2)
    transport = httpx2.MockTransport(provider.answer)
    monkeypatch.setattr(httpx2, "HTTPTransport", lambda *a, **k: transport)
    program = os.environ.get("EBBTIDE_PROGRAM", "")
    monkeypatch.setenv("PATH", f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}")
    session = tmp_path / "session.json"
    messages: list[Any] = []
    for number in range(30):
        messages += [{"role": "user", "content": words(number)}, {"role": "assistant", "content": "Done."}]
    session.write_text(json.dumps({"model": "claude-opus-4-5", "messages": messages}))
    model: Any = AgentsScript() if page.stem == "openai-agents" else Script()
    code = examples(page)
    exec(compile(code, str(page), "exec"), {"model": model, "session": str(session)})


def test_the_quickstart_has_the_right_types(tmp_path: Path) -> None:
    code = tmp_path / "quickstart.py"
    code.write_text(examples(PAGES / "README.md"))
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(code)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_the_example_of_the_agents_module_runs() -> None:
    from agents import Agent, RunConfig, Runner, SQLiteSession, set_tracing_disabled
    from test_others import AgentsScript

    from ebbtide import Engine, openai_agents

    set_tracing_disabled(True)
    found = re.findall(r"^```python\n(.*?)^```$", str(openai_agents.__doc__), re.DOTALL | re.MULTILINE)
    code = found[0].replace('Agent(name="assistant")', 'Agent(name="assistant", model=model)')
    names: dict[str, Any] = {**vars(openai_agents), "Engine": Engine, "Agent": Agent, "RunConfig": RunConfig}
    names |= {"Runner": Runner, "SQLiteSession": SQLiteSession, "model": AgentsScript()}
    body = "".join(f"    {line}\n" for line in code.splitlines())
    exec(f"async def example():\n{body}    return engine, session", names)
    engine, session = asyncio.run(names["example"]())
    # The session finds the conversation of the filter.
    assert len(session.engine.conversations()) == 1 and engine.conversations() == []


def test_every_page_is_linked() -> None:
    index = (PAGES / "README.md").read_text()
    for page in PAGES.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page
