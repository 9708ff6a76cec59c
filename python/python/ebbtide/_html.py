"""Pictures of the engine's objects for notebooks. Everything that a conversation said is escaped."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ebbtide import Explanation, Lost, View


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def view(it: View) -> str:
    """The picture of a view."""
    tokens = "unread" if it.tokens is None else f"{it.tokens:,} tokens"
    return f"<p><b>View</b>: {tokens}, {len(it.body):,} bytes; {escape(', '.join(it.did))}</p>"


def lost(it: Lost) -> str:
    """The picture of a receipt."""
    head = f"<p>{it.turns} turns, {it.tokens:,} tokens are not shown"
    more = f"; {it.left_out} entries are not listed" if it.left_out else ""
    return f"{head}{more}.</p>" + _table(
        ("kind", "handle", "text"), ((loss.kind, loss.handle, loss.text) for loss in it.entries)
    )


def explanation(it: Explanation) -> str:
    """The picture of an explanation: a gauge, summaries, pins, the journal."""
    one = it.conversation
    gauge = ""
    if one.tokens is not None and one.window:
        gauge = (
            f'<p><meter min="0" max="{one.window}" value="{one.tokens}"></meter> '
            f"{one.tokens:,} of {one.window:,} tokens</p>"
        )
    summaries = _table(
        ("summary", "turns", "tokens", "route", "shown"),
        ((s.id[:8], s.turns, s.tokens, s.route, "yes" if s.is_shown else "") for s in it.summaries),
    )
    pins = _table(("pin", "origin"), ((pin.text, pin.origin) for pin in it.pins))
    journal = _table(("time", "what happened"), ((_time(at), text) for at, text in it.journal))
    title = f"<p><b>{escape(one.model)}</b>: {one.turns} turns, {one.compactions} compactions</p>"
    return title + gauge + summaries + pins + journal
