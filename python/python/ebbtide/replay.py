"""Replays of recorded sessions as a data frame, with plots.

The program `ebbtide` replays; it comes with the wheel `ebbtide-bin`, or from a checkout. pandas and matplotlib
are imported when they are used.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebbtide._extras import needs

__all__ = ["Replays", "run"]

# The errors of files and of what stands in them.
_UNREADABLE = re.compile(r"error\[(E0[01]\d\d)\]: (.*)")
_FATES = ["shown", "summarised", "cleared", "dropped"]
_COLUMNS = [
    *("session", "format", "model", "turns", "requests", "strategy", "compactions", "peak_pressure", "overflows"),
    *("constraints_said", "constraints_kept", *_FATES, "stalls", "stalled_seconds", "cost_usd"),
]


@dataclass(frozen=True)
class Replays:
    """The reports of replayed sessions, as the program prints them."""

    comparisons: list[dict[str, Any]]
    skipped: list[dict[str, Any]]

    def frame(self) -> Any:
        """Returns a pandas data frame with a row for each session and strategy."""
        with needs("replay", "pandas"):
            import pandas

        rows = [_row(session, one) for session, one in self._each()]
        return pandas.DataFrame(rows, columns=_COLUMNS)

    def pressures(self) -> Any:
        """Returns a pandas data frame with a row for each request: how full the window was."""
        with needs("replay", "pandas"):
            import pandas

        rows = (
            {"session": session["title"], "strategy": one["strategy"], "request": at, "pressure": pressure}
            for session, one in self._each()
            for at, pressure in enumerate(one["pressure"], start=1)
        )
        return pandas.DataFrame(rows, columns=["session", "strategy", "request", "pressure"])

    def plot_pressure(self, axes: Any = None) -> Any:
        """Draws how full the window was at each request, with matplotlib. Returns the axes."""
        axes = axes or _axes()
        for (session, strategy), one in self.pressures().groupby(["session", "strategy"]):
            axes.plot(one["request"], one["pressure"], drawstyle="steps-post", label=f"{session[:12]} {strategy}")
        axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
        axes.set(xlabel="request", ylabel="share of the window", title="Pressure")
        _legend(axes)
        return axes

    def plot_loss(self, axes: Any = None) -> Any:
        """Draws which share of the turns each strategy no longer shows at the end. Returns the axes."""
        axes = axes or _axes()
        sums = self.frame().groupby("strategy")[_FATES].sum()
        shares = sums.div(sums.sum(axis=1), axis=0)
        left = [0.0] * len(shares)
        for fate in shares.columns:
            axes.barh(list(shares.index), shares[fate], left=left, label=fate)
            left = [before + more for before, more in zip(left, shares[fate])]
        axes.set(xlabel="share of all turns", title="What became of the turns")
        _legend(axes)
        return axes

    def _each(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for comparison in self.comparisons:
            for one in comparison["strategies"]:
                yield comparison["session"], one

    def _repr_html_(self) -> str:
        html: str = self.frame().to_html(index=False, escape=True)
        return html


def _row(session: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    simulated = one["simulated"]
    return {
        "session": session["title"],
        "format": session["format"],
        "model": session["model"],
        "turns": session["turns"],
        "requests": session["requests"],
        "strategy": one["strategy"],
        "compactions": len(one["compactions"]),
        "peak_pressure": one["peak_pressure"],
        "overflows": one["overflows"]["requests"],
        "constraints_said": one["constraints"]["said"],
        "constraints_kept": one["constraints"]["kept"],
        **one["fate"],
        "stalls": simulated["stalls"]["count"],
        "stalled_seconds": simulated["stalls"]["total_seconds"],
        "cost_usd": simulated["cost_usd"],
    }


def _legend(axes: Any) -> None:
    # matplotlib warns of a legend of nothing, and a long one hides the lines.
    if 0 < len(axes.get_legend_handles_labels()[0]) <= 12:
        axes.legend(fontsize="small")


def _axes() -> Any:
    with needs("replay", "matplotlib"):
        from matplotlib import pyplot

    return pyplot.subplots()[1]


def run(
    sessions: str | Path | Iterable[str | Path],
    *,
    strategies: str | Sequence[str] = ("prepared",),
    window: int | None = None,
    program: str | None = None,
    progress: bool | None = None,
) -> Replays:
    """Replays sessions: a file, a folder to search, or several of them. A bar shows the progress on a terminal.

    `window` is in tokens. `program` is the path of `ebbtide`, otherwise looked for in the path.
    """
    if window is not None and window < 1:
        raise ValueError(f"window is {window} tokens; give at least one, or None for the model's own window")
    found = program or shutil.which("ebbtide")
    if found is None:
        raise FileNotFoundError("the program `ebbtide` is missing; `pip install ebbtide-bin` brings it")
    # A text would be read as a list of its characters.
    given = [sessions] if isinstance(sessions, (str, Path)) else list(sessions)
    for one in given:
        if not isinstance(one, (str, Path)):
            raise TypeError(f"a session is {one!r}; give the path of a file or of a folder")
    paths = [str(path) for path in given]
    names = strategies if isinstance(strategies, str) else ",".join(strategies)
    options = ["--strategy", names, "--json", *(["--window", str(window)] if window else [])]
    comparisons, skipped, unread = [], [], []
    shows = sys.stderr.isatty() if progress is None else progress
    for number, path in enumerate(paths):
        if shows:
            _bar(number, len(paths))
        report, why = _report([found, "replay", *options, "--", path])
        unreadable = _UNREADABLE.match(why)
        if report is not None:
            comparisons += report["comparisons"]
            skipped += report["skipped"]
        elif unreadable and len(paths) > 1:
            # The program skips such a path among others, too.
            unread.append(why)
            skipped.append({"path": path, "code": unreadable[1], "message": unreadable[2]})
        else:
            raise RuntimeError(why)
    if unread and not comparisons:
        raise RuntimeError("; ".join(unread))
    if shows:
        _bar(len(paths), len(paths))
    return Replays(comparisons, skipped)


def _report(command: list[str]) -> tuple[dict[str, Any] | None, str]:
    """The program's report, and what it says beside. It also fails where it skipped a file, with a report."""
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout), done.stderr.strip()
    except ValueError:
        return None, done.stderr.strip()


def _bar(done: int, total: int) -> None:
    width = 30
    full = width * done // max(total, 1)
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * full}{'.' * (width - full)}] {done} of {total} paths{end}")
    sys.stderr.flush()
