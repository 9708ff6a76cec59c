"""Checks of what a user passes in, for all frameworks."""

from __future__ import annotations

from typing import Any

from ebbtide import Engine

__all__ = ["engine", "shown"]


def engine(given: Any) -> Engine:
    """Returns the engine that was passed in."""
    if not isinstance(given, Engine):
        raise TypeError(f"engine is {shown(given)}; pass an ebbtide.Engine, such as Engine(window=32_000)")
    return given


def shown(given: Any) -> str:
    """Something in a message, or its type where it is long."""
    text = repr(given)
    return text if len(text) <= 40 else f"an object of {type(given).__name__}"
