"""Work on a thread in steps: written once, run sync or async.

A function of steps is a generator. It yields what is to be done to the agent and is sent the result, so the same
code serves `invoke` and `ainvoke`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar, Union

__all__ = ["Acquire", "Call", "Newest", "Steps", "Work", "arun", "run"]

T = TypeVar("T")

# How often a coroutine looks at a lock that another holds.
_PAUSE = 0.01


@dataclass(frozen=True)
class Call:
    """A call of one of the agent's methods, whose async twin has an `a` in front of its name."""

    method: str
    config: Any
    given: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Newest:
    """The newest state of a thread before a checkpoint."""

    config: Any
    before: Any


@dataclass(frozen=True)
class Work:
    """Work that takes its time, which an event loop gives to a thread."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Acquire:
    """A lock to take."""

    lock: threading.Lock


Step = Union[Call, Newest, Work, Acquire]
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
    if isinstance(step, Newest):
        return next(iter(agent.get_state_history(step.config, before=step.before, limit=1)), None)
    if isinstance(step, Work):
        return step.function()
    return step.lock.acquire()


async def _adone(agent: Any, step: Step) -> Any:
    if isinstance(step, Call):
        return await getattr(agent, f"a{step.method}")(step.config, *step.given)
    if isinstance(step, Newest):
        async for state in agent.aget_state_history(step.config, before=step.before, limit=1):
            return state
        return None
    if isinstance(step, Work):
        return await asyncio.to_thread(step.function)
    # A thread that waits for the lock would keep it if this task were cancelled.
    while not step.lock.acquire(blocking=False):
        await asyncio.sleep(_PAUSE)
    return True
