"""What is remembered of threads in this process, so that a deleted thread leaves nothing behind."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

__all__ = ["Remembers", "forget", "remembers"]


class Remembers(Protocol):
    """Something that remembers threads."""

    def forget(self, thread_id: str) -> None:
        """Forgets a thread."""


_ALL: WeakSet[Remembers] = WeakSet()


def remembers(one: Remembers) -> None:
    """Adds something that remembers threads, until it is dropped."""
    _ALL.add(one)


def forget(thread_id: str) -> None:
    """Forgets a thread everywhere."""
    for one in list(_ALL):
        one.forget(thread_id)
