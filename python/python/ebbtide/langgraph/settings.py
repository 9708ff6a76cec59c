"""Checks of what a user passes in: a wrong setting is refused at once, not in the middle of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ebbtide import Engine
from ebbtide._checked import engine, shown
from ebbtide._extras import needs

__all__ = ["asked", "at_least_one", "engine", "pins", "share", "shown", "summarizer"]


def asked(engine: Engine, summarizer: Any) -> None:
    """Raises where an engine would never ask the summarizer beside it."""
    if summarizer is not None and engine.summaries != "caller":
        raise ValueError('the engine makes its own summaries; for a summarizer, open it with summaries="caller"')


def summarizer(given: Any) -> Any:
    """Returns a chat model or a function. LangChain resolves the name of a model."""
    if isinstance(given, str):
        with needs("langgraph", "langchain"):
            from langchain.chat_models import init_chat_model

        return init_chat_model(given)
    if given is None or callable(given) or hasattr(given, "invoke"):
        return given
    raise TypeError(
        f"summarizer is {shown(given)}; pass a chat model, the name of one, or a function of the system prompt "
        "and the source"
    )


def pins(given: Iterable[str]) -> tuple[str, ...]:
    """Returns the texts to pin."""
    # A text would be read as a list of its characters.
    texts = None if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else tuple(given)
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"pins is {shown(given)}; pass a list of texts, such as pins=['Never push to main.']")
    if not all(map(str.strip, texts)):
        raise ValueError("pins holds a text without a word; leave it out")
    return texts


def at_least_one(name: str, given: int | None, none: str) -> int | None:
    """Returns a number of tokens. `none` says what None stands for."""
    if given is not None and not isinstance(given, int):
        raise TypeError(f"{name} is {shown(given)}; pass a number of tokens such as 100_000, or None for {none}")
    if given is not None and given < 1:
        raise ValueError(f"{name} is {given} tokens; pass at least one, or None for {none}")
    return given


def share(name: str, given: float | None) -> float | None:
    """Returns a share of the messages."""
    if given is not None and not isinstance(given, (int, float)):
        raise TypeError(f"{name} is {shown(given)}; pass a share of the messages, such as 0.5")
    if given is not None and not 0 < given <= 1:
        raise ValueError(f"{name} is {given}; pass a share above 0 and up to 1, such as 0.5")
    return given
