"""Compares the middleware with LangChain's and deepagents', and writes docs/python/comparison.md.

`compare.py --write` measures and writes the page. `compare.py --check` repeats what does not depend on the
machine, and fails if the page says otherwise.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "python" / "comparison.md"
sys.path.insert(0, str(HERE / "tests"))
warnings.simplefilter("ignore")

from conftest import Script, call  # noqa: E402
from deepagents.backends import StateBackend  # noqa: E402
from deepagents.middleware.filesystem import FilesystemMiddleware  # noqa: E402
from deepagents.middleware.summarization import create_summarization_middleware  # noqa: E402
from langchain.agents import create_agent  # noqa: E402
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware  # noqa: E402
from langchain.agents.middleware.types import ModelRequest, ModelResponse  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.types import Command  # noqa: E402

from ebbtide.langgraph import EbbtideMiddleware  # noqa: E402

WINDOW = 32_000
TRIGGER = 27_200
TURNS = 48
WRITES = 0.2
EACH = 5
SENTENCES = HERE.parent / "crates" / "lab" / "src" / "survival" / "sentences.tsv"


def sentences() -> list[str]:
    """Every fifth sentence of the survival benchmark: all of its kinds and languages."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    found = [line.split("\t")[2] for line in lines if not line.startswith("#")]
    return found[::EACH]


RULES = sentences()


class Worker(Script):
    """An agent's model that reports at length: some 1,500 tokens an answer."""

    def _next(self, messages: list[Any]) -> AIMessage:
        is_scripted = bool(self.answers)
        said = super()._next(messages)
        if is_scripted:
            return said
        lines = (f"Line {n} of the report: part_{len(self.seen)}.rs reads its input twice." for n in range(90))
        return AIMessage("\n".join(lines))


class Writer(Script):
    """A summarizer that takes its time, and forgets all but the drift."""

    model_name: str = "writer"
    written: int = 0
    waits: int = 0

    def _next(self, messages: list[Any]) -> AIMessage:
        time.sleep(WRITES)
        self.written += 1
        # The agent runs in the main thread: a summary that is written there holds it.
        self.waits += threading.current_thread() is threading.main_thread()
        return AIMessage(
            "## Goal\n- mend the parts that the user names\n## Where the work stands\n- the parts are mended in order"
        )


@dataclass
class Rival:
    """A middleware under comparison."""

    name: str
    make: Callable[[Writer], Any]
    facts: dict[str, str] = field(default_factory=dict)


def langchains(writer: Writer) -> Any:
    return SummarizationMiddleware(writer, trigger=("tokens", TRIGGER), keep=("messages", 20))


def beside(rival: Rival) -> list[Any]:
    """What a middleware needs beside itself: deepagents writes old messages into files of the state."""
    return [FilesystemMiddleware()] if rival.make is deepagents else []


def deepagents(writer: Writer) -> Any:
    writer.profile = {"max_input_tokens": WINDOW}  # type: ignore[typeddict-item]
    return create_summarization_middleware(writer, StateBackend())


def ours(writer: Writer) -> Any:
    return EbbtideMiddleware(window=WINDOW, summarizer=writer)


def rivals() -> list[Rival]:
    return [
        Rival("`SummarizationMiddleware`", langchains),
        Rival("deepagents", deepagents),
        Rival("`EbbtideMiddleware`", ours),
    ]


def thread() -> Any:
    return {"configurable": {"thread_id": "t"}}


def question(number: int) -> str:
    rule = f" {RULES[number]}" if number < len(RULES) else ""
    return f"Question {number}: look at src/part_{number}.rs and mend what is wrong there.{rule}"


def talk(rival: Rival) -> None:
    """A long conversation with a sentence of the benchmark in most questions."""
    model, writer = Worker(), Writer()
    middleware = rival.make(writer)
    agent = create_agent(model, [], middleware=[*beside(rival), middleware], checkpointer=InMemorySaver())
    took = []
    for number in range(TURNS):
        began = time.perf_counter()
        agent.invoke({"messages": [HumanMessage(question(number))]}, thread())
        took.append(time.perf_counter() - began)
        if isinstance(middleware, EbbtideMiddleware):
            # The next question comes after the summary is written, as with a person.
            middleware.wait(60)
    state = agent.get_state(thread()).values["messages"]
    said = {str(message.content) for message in state}
    kept = sum(question(number) in said for number in range(TURNS))
    seen = "\n".join(str(message.content) for message in model.seen[-1])
    rival.facts["summaries written"] = str(writer.written)
    rival.facts["of them while the agent waited"] = str(writer.waits)
    first, *took = took
    usual = statistics.median(took)
    waited = sum(max(one - usual, 0) for one in took)
    rival.facts["waiting time per summary"] = f"{waited / max(writer.written, 1):.2f} s"
    rival.facts["first turn"] = f"{first:.2f} s"
    rival.facts["longest turn after it"] = f"{max(took):.2f} s"
    rival.facts["questions lost from the state"] = f"{TURNS - kept} of {TURNS}"
    rival.facts["sentences that the model still sees"] = f"{sum(rule in seen for rule in RULES)} of {len(RULES)}"


def interrupts(rival: Rival) -> None:
    """Six calls that a person approves, with summaries between them."""
    ran: list[str] = []

    @tool
    def send(to: str) -> str:
        """Sends a mail."""
        ran.append(to)
        return f"sent to {to}"

    model = Worker()
    human = HumanInTheLoopMiddleware(interrupt_on={"send": True})
    middleware = [*beside(rival), rival.make(Writer()), human]
    agent = create_agent(model, [send], middleware=middleware, checkpointer=InMemorySaver())
    resumed = 0
    for number in range(24):
        asks = number % 4 == 3
        if asks:
            model.answers = [call("send", f"c{number}", to=f"p{number}"), "It is sent."]
        agent.invoke({"messages": [HumanMessage(question(number))]}, thread())
        if asks:
            out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread())
            resumed += out["messages"][-1].content == "It is sent."
    rival.facts["interrupted calls resumed"] = f"{min(resumed, len(ran))} of 6"


def cost(rival: Rival) -> None:
    """What the hook costs a call at 1,000 messages, below its trigger."""
    kinds = (HumanMessage, AIMessage)
    text = "some words about the work that goes on " * 3
    messages = [kinds[n % 2](f"message {n}: {text}", id=f"m{n}") for n in range(1_041)]
    model = Script()
    if rival.make is ours:
        hook: Any = EbbtideMiddleware(window=1_000_000)
    elif rival.make is deepagents:
        writer = Writer()
        writer.profile = {"max_input_tokens": 1_000_000}  # type: ignore[typeddict-item]
        hook = create_summarization_middleware(writer, StateBackend())
    else:
        hook = SummarizationMiddleware(Writer(), trigger=("tokens", 1_000_000))
    took = []
    for size in range(921, 1_041, 2):
        state: Any = {"messages": messages[:size]}
        request: Any = ModelRequest(model=model, messages=messages[:size], tools=[], state=state)
        began = time.thread_time()
        if rival.make is langchains:
            hook.before_model(state, None)
        else:
            hook.wrap_model_call(request, lambda _: ModelResponse(result=[AIMessage("Done.")]))
        took.append(time.thread_time() - began)
    name = "CPU time of the hook at 1,000 messages"
    rival.facts[f"{name}, p50"] = f"{statistics.median(took[20:]) * 1e3:.1f} ms"
    rival.facts[f"{name} not seen before"] = f"{took[0] * 1e3:.0f} ms"


# Without the number of summaries: on a busy machine, the engine has prepared one more or one less at the end.
FIXED = (
    "of them while the agent waited",
    "questions lost from the state",
    "sentences that the model still sees",
    "interrupted calls resumed",
)

INTRO = f"""# Comparison

<!-- Generated by `cargo xtask python --write`; do not edit. -->

Each middleware gets the same agent, the same {TURNS} questions and a window of {WINDOW:,} tokens.
The first {len(RULES)} hold a sentence of the survival benchmark: orders, prohibitions, facts,
preferences and decisions in ten languages. The agent answers with 1,500 tokens. A person
asks the next question once the last summary is written. The summarizer is the same for
all: it takes {WRITES} s, and its text keeps the drift and no sentence. So the table shows what
each middleware does for itself, not what a good model does. `SummarizationMiddleware` keeps
its default of 20 messages, deepagents its default of 10 % of the window; both begin at 85 %.

The model answers at once, so a turn takes what the framework and the middleware need. The
waiting time is the time of all turns but the first above their median; in the first, ours
loads its vocabulary. The hook is measured below its
trigger, on messages it has seen before but for the newest two, with the wheel of the tests,
which is optimized little; the first look at 1,000 messages that it has not seen takes longer.

"""


def table(all_of: list[Rival]) -> str:
    names = list(all_of[0].facts)
    lines = ["| | " + " | ".join(rival.name for rival in all_of) + " |", "|---|" + "---|" * len(all_of)]
    lines += [f"| {name} | " + " | ".join(rival.facts[name] for rival in all_of) + " |" for name in names]
    return "\n".join(lines) + "\n"


def main() -> None:
    all_of = rivals()
    writes = "--write" in sys.argv
    for rival in all_of:
        talk(rival)
        interrupts(rival)
        if writes:
            cost(rival)
    if writes:
        PAGE.write_text(INTRO + table(all_of))
        return
    page = PAGE.read_text() if PAGE.exists() else ""
    stale = [name for name in FIXED if _row(all_of, name) not in page]
    if stale:
        sys.exit(f"{PAGE} is stale ({', '.join(stale)}); run `cargo xtask python --write`\n{table(all_of)}")


def _row(all_of: list[Rival], name: str) -> str:
    return f"| {name} | " + " | ".join(rival.facts[name] for rival in all_of) + " |"


if __name__ == "__main__":
    main()
