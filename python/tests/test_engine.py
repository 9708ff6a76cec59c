"""The engine over bytes."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ebbtide
from ebbtide import EbbtideError, Engine, Held, View, _native
from ebbtide._extras import needs


def words(number: int) -> str:
    """A task of about 600 tokens, no sentence of which is said twice."""
    lines = (f"Line {line} of src/part_{number}.rs must never call helper_{number}_{line}." for line in range(30))
    return " ".join(lines)


class Talk:
    """A client that sends its whole conversation each time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.messages: list[Any] = []
        self.now = 1_790_000_000.0

    def say(self, text: str) -> tuple[bytes, View, Any]:
        self.messages.append({"role": "user", "content": text})
        body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 99, "messages": self.messages}).encode()
        self.now += 30
        view = self.engine.view(body, now=self.now)
        assert isinstance(view, View)
        answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Done."}],
                  "stop_reason": "end_turn", "usage": {"input_tokens": view.tokens, "output_tokens": 2}}
        work = self.engine.observe(view, json.dumps(answer).encode(), now=self.now)
        self.messages.append({"role": "assistant", "content": answer["content"]})
        return body, view, work

    def until(self, word: str) -> View:
        for number in range(60):
            _, view, _ = self.say(words(number))
            if word in view.did:
                return view
        raise AssertionError(f"never {word}")


def test_a_short_conversation_passes_untouched() -> None:
    body, view, _ = Talk(Engine(window=8_000, notes=False)).say("Hello")
    assert view.body is not None and view.body == body and not view.changed
    assert view.did == ["kept"]


def test_a_long_one_is_swapped_looked_into_and_taken_back() -> None:
    talk = Talk(Engine(window=8_000, notes=False))
    talk.say("Let us begin, and never touch src/part_3.rs.")
    view = talk.until("swapped")
    assert len(view.body) < len(json.dumps(talk.messages)) * 0.6
    conversation = view.conversation
    assert conversation is not None
    lost = talk.engine.lost(conversation)
    assert lost.turns > 3 and lost.entries
    assert "src/part_" in talk.engine.original(conversation, lost.entries[0].handle).text
    originals = talk.engine.expand(conversation)
    assert originals[0].text == "Let us begin, and never touch src/part_3.rs."
    assert [s.is_shown for s in talk.engine.explain(conversation).summaries].count(True) == 1
    stats = talk.engine.stats()
    assert stats.compactions == 1 and stats.requests == len(talk.messages) // 2 and stats.output > 0
    talk.engine.undo(conversation)
    assert "undone" in talk.say("go on")[1].did
    with pytest.raises(EbbtideError) as raised:
        talk.engine.lost(conversation, "0" * 32)
    assert raised.value.code == "E1005" and raised.value.hint


def test_pins_survive_and_can_be_removed() -> None:
    talk = Talk(Engine(window=8_000, notes=False))
    conversation = talk.say("Let us begin.")[1].conversation
    assert conversation is not None
    pin = talk.engine.pin(conversation, "Never touch src/part_3.rs.")
    talk.until("swapped")
    assert b"Never touch src/part_3.rs." in talk.say("go on")[1].body
    assert talk.engine.unpin(conversation, pin.id) and not talk.engine.unpin(conversation, pin.id)


def test_summaries_of_the_caller() -> None:
    talk = Talk(Engine(window=8_000, notes=False, summaries="caller"))
    work = None
    while work is None:
        _, _, work = talk.say("Look at src/part_1.rs and mend what is wrong there. " * 30)
    system, source = work.prompt()
    assert "## Goal" in system and "src/part_1.rs" in source
    record = "## Goal\n- mend all parts\n## Where the work stands\n- part 1\n## Key facts\n- the violet parser is slow"
    talk.engine.prepared(work, record, now=talk.now)
    with pytest.raises(ValueError):
        talk.engine.failed(work, "twice")
    assert "violet parser" in talk.until("swapped").body.decode()


def test_a_request_is_held_where_the_strategy_waits() -> None:
    engine = Engine(window=4_000, notes=False, summaries="caller", strategy="stop_the_world")
    messages: list[Any] = []
    for number in range(60):
        messages.append({"role": "user", "content": "Mend what is wrong there. " * 40})
        body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}).encode()
        came = engine.view(body)
        if isinstance(came, Held):
            assert came.work is not None
            engine.extract(came.work)
            came = engine.resume(came)
            assert isinstance(came, View) and "swapped" in came.did
            return
        messages.append({"role": "assistant", "content": "Done."})
        engine.observe(came, json.dumps(messages[-1]).encode())
    raise AssertionError("never held")


def test_a_sqlite_file_outlives_the_engine(tmp_path: Path) -> None:
    talk = Talk(Engine(window=8_000, notes=False, store=tmp_path / "history.db"))
    before = talk.until("swapped")
    talk.engine = Engine(window=8_000, notes=False, store=tmp_path / "history.db")
    after = talk.say("go on")[1]
    first = [json.loads(view.body)["messages"][0]["content"] for view in (before, after)]
    assert first[0] == first[1] and "compacted" in after.did


def test_tenants_never_meet_and_a_purge_leaves_nothing() -> None:
    engine = Engine()
    one, other = engine.with_client(tenant="one"), engine.with_client(tenant="other")
    conversation = Talk(one).say("Hello")[1].conversation
    assert conversation is not None and one.conversations()[0].id == conversation
    assert other.conversations() == []
    with pytest.raises(EbbtideError):
        other.explain(conversation)
    assert one.purge(conversation).conversations == 1 and one.conversations() == []


def test_an_oversized_result_is_shortened_and_comes_back() -> None:
    engine = Engine()
    log = "".join(f"step {line} is done\n" for line in range(2_000))
    short = engine.shorten(log, limit=400, call="c1", tool="build")
    assert short is not None and short.after <= 400 < short.before and short.handle in short.text
    found = engine.archived(short.handle, section="2000-2000")
    assert found.text == "step 1999 is done\n" and found.bytes == len(log)
    assert engine.shorten("fine", limit=400) is None
    engine.forget_results()
    with pytest.raises(EbbtideError):
        engine.archived(short.handle)


def test_threads_share_an_engine() -> None:
    engine = Engine(window=8_000, notes=False)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            Talk(engine.with_client(tenant=str(number))).until("swapped")
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert errors == []


def test_pictures_are_escaped() -> None:
    talk = Talk(Engine(window=8_000, notes=False))
    talk.say("Never run <script>alert(1)</script> here. " * 3)
    view = talk.until("swapped")
    assert view.conversation is not None
    picture = talk.engine.explain(view.conversation)._repr_html_()
    assert "<meter" in picture and "8,000 tokens" in picture
    picture = talk.engine.lost(view.conversation)._repr_html_()
    assert "<table>" in picture and "<script>" not in picture
    assert "swapped" in view._repr_html_()


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(EbbtideError) as raised:
        Engine(strategy="none such")
    assert raised.value.code == "E1002"
    with pytest.raises(ValueError):
        Engine(dialect="klingon")  # type: ignore[arg-type]


def test_a_daemon_thread_inside_the_engine_does_not_disturb_the_end() -> None:
    script = """
import json, threading, time
from ebbtide import Engine
engine = Engine(window=8_000)
body = json.dumps({"model": "claude-opus-4-5", "messages": [{"role": "user", "content": "word " * 3_000}]}).encode()
def work():
    while True:
        engine.view(body)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(6):
        assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def test_a_purge_takes_a_conversation_or_a_time() -> None:
    engine = Engine(window=8_000)
    with pytest.raises(ValueError, match="not both"):
        engine.purge("0" * 32, before=0.0)


def test_the_stub_is_the_module() -> None:
    # The oldest supported frameworks are tested without mypy.
    pytest.importorskip("mypy")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "ebbtide._native"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
    assert (Path(ebbtide.__file__).parent / "py.typed").exists()


def documented(owner: object, nodes: list[ast.stmt], path: str = "") -> Iterator[tuple[str, str | None, str | None]]:
    """What the stub and the module say about each class and member."""
    for node in nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name not in ("__new__", "_repr_html_"):
            member = getattr(owner, node.name)
            at = f"{path}{node.name}"
            yield at, ast.get_docstring(node), inspect.getdoc(member)
            if isinstance(node, ast.ClassDef):
                yield from documented(member, node.body, f"{at}.")


def test_help_says_what_the_stub_says() -> None:
    stub = ast.parse((Path(ebbtide.__file__).parent / "_native.pyi").read_text())
    members = list(documented(_native, stub.body))
    assert len(members) > 100
    for at, written, said in members:
        assert written and said, at
        assert written.split() == said.split(), at


def test_objects_show_themselves_on_one_line() -> None:
    talk = Talk(Engine(window=8_000, notes=False))
    talk.say("Always answer in French. " * 40)
    view = talk.until("swapped")
    assert view.conversation is not None
    pin = talk.engine.pin(view.conversation, "Port 5433 is ours.")
    assert repr(pin) == f"Pin(id='{pin.id}', text='Port 5433 is ours.', origin='api')"
    told = talk.engine.explain(view.conversation)
    lost = talk.engine.lost(view.conversation)
    for it in (talk.engine, view, told, told.summaries[0], lost, talk.engine.stats()):
        shown = repr(it)
        assert shown.startswith(f"{type(it).__name__}(") and "\n" not in shown
        assert len(shown) < 1_000, shown


@pytest.mark.parametrize(
    ("statement", "package", "extra"),
    [
        ("import ebbtide.langgraph", "langchain_core", "langgraph"),
        ("import ebbtide.langgraph", "langgraph", "langgraph"),
        ("from ebbtide.langgraph import EbbtideMiddleware", "langchain", "langgraph"),
        ("import ebbtide.pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("import ebbtide.openai_agents", "agents", "openai-agents"),
        ("import ebbtide.httpx", "httpx", "httpx"),
        ("import ebbtide.httpx2", "httpx2", "httpx2"),
    ],
)
def test_a_missing_package_names_its_extra(statement: str, package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; {statement}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1
    said = ran.stderr.splitlines()[-1]
    assert f"no module named '{package}" in said and f"pip install 'ebbtide[{extra}]'" in said
    assert ran.stderr.count("Traceback") == 1


def test_an_error_of_our_own_is_not_a_missing_package() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'ebbtide.nothing'"), needs("httpx", "httpx"):
        importlib.import_module("ebbtide.nothing")
