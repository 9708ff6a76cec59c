"""`ebbtide plumb run` with tools of a server that is written with the official package `mcp`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conversation import PATIENCE

EBBTIDE = os.environ["CLIENTS_EBBTIDE"]
SERVER = Path(__file__).parent.parent / "tool_server.py"

ONE = """
type Place = {{ place: string }}
let tool_of_notes : Place -> {answer} = tool {{ mcp: {command}, name: "{name}" }}
let main : !Place -> !{answer} = plumb(input, output) {{ input ; tool_of_notes ; output }}
"""

AGENT = """
let main : !string -> !string = agent {{ provider: "sim", mcp: {command} }}
"""


class Notes:
    """A folder with the program, and the file in which its server says how it ended."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.end = folder / "end.txt"
        arguments = json.dumps([str(SERVER), str(self.end)])
        self.command = f"{{ command: {json.dumps(sys.executable)}, args: {arguments} }}"

    def run(self, text: str, messages: list) -> subprocess.CompletedProcess:
        """Runs a program on these messages."""
        program = self.folder / "notes.plumb"
        program.write_text(text)
        told = "".join(json.dumps(message) + "\n" for message in messages)
        arguments = [EBBTIDE, "plumb", "run", str(program)]
        return subprocess.run(
            arguments, input=told, capture_output=True, text=True, timeout=PATIENCE
        )

    def ask(self, name: str, answer: str, place: str = "harbour"):
        """Asks one tool, whose answer is of this type."""
        text = ONE.format(answer=answer, name=name, command=self.command)
        ran = self.run(text, [{"place": place}])
        # The server had its time to end when its input ended.
        assert self.end.read_text() == "ended in order"
        return ran


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("find", "{ place: string, notes: int, high?: number }", {"place": "harbour", "notes": 2}),
        ("find", "json", {"place": "harbour", "notes": 2, "high": None}),
        ("read", "[string]", ["the tide turns at six", "the ferry leaves at seven"]),
        ("count", "int", 2),
        ("describe", "string", "harbour: ä ✓\nsecond line"),
    ],
)
def test_an_answer_is_of_its_type(notes, name, answer, expected):
    ran = notes.ask(name, answer)
    assert (ran.returncode, json.loads(ran.stdout)) == (0, expected), ran.stderr


def test_nothing_is_an_answer_too(notes):
    ran = notes.ask("read", "[string]", place="hill")
    assert (ran.returncode, json.loads(ran.stdout)) == (0, []), ran.stderr


@pytest.mark.parametrize(
    ("name", "place", "why"),
    [
        ("tear", "harbour", "nothing about harbour may be torn"),
        ("read", "nowhere", "Error executing tool read"),
        ("nothing", "harbour", "Unknown tool: nothing"),
        ("find", "harbour", "of another type"),
    ],
)
def test_a_tool_that_fails_says_why(notes, name, place, why):
    ran = notes.ask(name, "int", place=place)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert why in ran.stderr


def test_many_messages_are_one_process(notes):
    text = ONE.format(answer="int", name="count", command=notes.command)
    ran = notes.run(text, [{"place": place} for place in ["harbour", "hill"] * 20])
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [2, 0] * 20, ran.stderr
    assert notes.end.read_text() == "ended in order"


def test_an_agent_is_told_of_the_tools_and_calls_them(notes):
    question = '@sim call read {"place": "harbour", "most": 1}'
    ran = notes.run(AGENT.format(command=notes.command), [question])
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == "I read the result: the tide turns at six"
    assert notes.end.read_text() == "ended in order"
