"""Agents whose models are scripts, and savers of all kinds."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import PrivateAttr

WINDOW = 4_000


class Script(BaseChatModel):
    """A chat model that answers from a list, then with words, and remembers what it saw."""

    model_name: str = "script"
    answers: list[Any] = []
    error: Exception | None = None
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    model_config = {"arbitrary_types_allowed": True}

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self._seen.append(list(messages))
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if self.answers:
            said = self.answers.pop(0)
            return said if isinstance(said, AIMessage) else AIMessage(said)
        return AIMessage(f"Answer {len(self._seen)}: the work goes on.")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> Iterator[ChatGenerationChunk]:
        said = self._next(messages)
        if said.tool_calls:
            calls = [
                {"name": c["name"], "args": __import__("json").dumps(c["args"]), "id": c["id"], "index": i}
                for i, c in enumerate(said.tool_calls)
            ]
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=calls))
            return
        for word in str(said.content).split(" "):
            piece = word if word == str(said.content).split(" ")[0] else f" {word}"
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk


def words(number: int) -> str:
    """A question of about 150 tokens."""
    return f"Question {number}: look at src/part_{number}.rs and mend what is wrong there. " * 8


def call(name: str, identity: str, **args: Any) -> AIMessage:
    """An answer that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": identity, "type": "tool_call"}])


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of its own, on a free port of this machine."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb") or next((str(f / "initdb") for f in folders if (f / "initdb").exists()), None)
    if found is None:
        pytest.fail("no PostgreSQL: install the Debian package `postgresql`")
    binaries = Path(found).parent
    data = tmp_path_factory.mktemp("postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        # The server refuses to run as root.
        user = {"user": "postgres", "group": "postgres"}
        for folder in (data, *list(data.parents)[:3]):
            if folder.stat().st_uid == 0 and str(folder) != "/tmp":
                shutil.chown(folder, *(("postgres", "postgres") if folder == data else (None, "postgres")))
                folder.chmod(0o700 if folder == data else 0o750)
    options = {"cwd": data, "check": True, "stdout": subprocess.DEVNULL, **user}
    subprocess.run([binaries / "initdb", "-D", data / "db", "-U", "test", "-A", "trust"], **options)
    settings = f"-p {port} -h 127.0.0.1 -k {data} -F"
    start = [binaries / "pg_ctl", "-D", data / "db", "-o", settings, "-l", data / "log", "-w", "start"]
    subprocess.run(start, **options)
    try:
        yield f"postgresql://test@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([binaries / "pg_ctl", "-D", data / "db", "-m", "immediate", "stop"], **options)


def fresh(url: str) -> str:
    """A new database on the server."""
    import psycopg

    name = f"t{os.urandom(6).hex()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
    return f"{url.rpartition('/')[0]}/{name}"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A checkpointer of each kind."""
    with ExitStack() as stack:
        if request.param == "memory":
            yield InMemorySaver()
        elif request.param == "sqlite":
            yield stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")))
        else:
            from langgraph.checkpoint.postgres import PostgresSaver

            url = fresh(request.getfixturevalue("postgres"))
            postgres = stack.enter_context(PostgresSaver.from_conn_string(url))
            postgres.setup()
            yield postgres
