"""Work on a thread in steps: written once, run sync or async.

A function of steps is a generator. It yields what is to be done to the agent and is sent the result, so the same
code serves `invoke` and `ainvoke`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar, Union

__all__ = ["Call", "Steps", "Work", "arun", "run"]

T = TypeVar("T")

@dataclass(frozen=True)
class Call:
    """A call of one of the agent's methods, whose async twin has an `a` in front of its name."""

    method: str
    config: Any
    given: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Work:
    """Work that takes its time, which an event loop gives to a thread."""

    function: Callable[[], Any]


Step = Union[Call, Work]
Steps = Generator[Step, Any, T]


def run(agent: Any, steps: Steps[T]) -> T:
    """Runs steps with the agent's sync methods."""
    answer: Any = None
    error: Exception | None = None
    try:
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as end:
                done: T = end.value
                return done
            answer, error = None, None
            try:
                answer = _done(agent, step)
            except Exception as failed:
                error = failed
    finally:
        steps.close()


async def arun(agent: Any, steps: Steps[T]) -> T:
    """Runs steps with the agent's async methods."""
    answer: Any = None
    error: Exception | None = None
    try:
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as end:
                done: T = end.value
                return done
            answer, error = None, None
            try:
                answer = await _adone(agent, step)
            except Exception as failed:
                error = failed
    finally:
        steps.close()


def _done(agent: Any, step: Step) -> Any:
    if isinstance(step, Call):
        return getattr(agent, step.method)(step.config, *step.given)
    return step.function()


async def _adone(agent: Any, step: Step) -> Any:
    if isinstance(step, Call):
        return await getattr(agent, f"a{step.method}")(step.config, *step.given)
    return await asyncio.to_thread(step.function)
