"""Starts the program that this package brings, so that `uvx ebbtide-bin serve` works."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig


def program() -> str:
    """Returns the path of the program."""
    name = "ebbtide.exe" if os.name == "nt" else "ebbtide"
    path = os.path.join(sysconfig.get_path("scripts"), name)
    if not os.path.exists(path):
        raise FileNotFoundError(path)
    return path


def main() -> None:
    """Runs the program with the arguments of this process."""
    if os.name == "nt":
        sys.exit(subprocess.call([program(), *sys.argv[1:]]))
    os.execv(program(), ["ebbtide", *sys.argv[1:]])
