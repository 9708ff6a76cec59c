"""The engine's objects on one line, for a terminal and for logs. Long texts are cut."""

from __future__ import annotations

import reprlib

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlist = 3


def line(it: object, members: list[str]) -> str:
    """The class of an object and some of its members."""
    shown = (f"{name}={_SHORT.repr(getattr(it, name))}" for name in members)
    return f"{type(it).__name__}({', '.join(shown)})"
