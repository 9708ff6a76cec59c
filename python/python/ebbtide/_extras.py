"""The import of what an extra brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["needs"]


@contextmanager
def needs(extra: str, *packages: str) -> Iterator[None]:
    """Says how to install the extra where one of its packages is missing. Other errors pass."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        why = f"no module named {error.name!r}; it comes with: pip install 'ebbtide[{extra}]'"
        raise ModuleNotFoundError(why, name=error.name) from None
