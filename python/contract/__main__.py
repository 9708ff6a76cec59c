"""Runs LangChain's own tests of agents and middleware with `EbbtideMiddleware` in every agent.

The tests come from LangChain's source package, whose hash `requirements/newest.txt` has. They run three times:
as they are, with the middleware first in each agent's list, and with it last. The same tests have to pass.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "target" / "python" / "contract"
TESTS = "tests/unit_tests/agents"
# Needs the package langchain-openai.
LEFT_OUT = f"{TESTS}/middleware/implementations/test_model_fallback.py"
# Far fewer would mean that the tests were not found.
FEWEST = 1_000


def pinned() -> str:
    """The line of LangChain in the requirements, with its hashes."""
    text = (HERE.parent / "requirements" / "newest.txt").read_text()
    found = re.search(r"^langchain==.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit("requirements/newest.txt does not pin langchain")
    lines = [line for line in found[0].splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(lines) + "\n"


def source() -> Path:
    """The unpacked source package of LangChain."""
    line = pinned()
    name = line.split(" ", 1)[0].replace("==", "-")
    if not (FOLDER / name).is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        wanted = FOLDER / "langchain.txt"
        wanted.write_text(line)
        download = ["pip", "download", "--quiet", "--no-deps", "--no-binary", "langchain", "--require-hashes"]
        options = ["--requirement", str(wanted), "--dest", str(FOLDER)]
        subprocess.run([sys.executable, "-m", *download, *options], check=True)
        with tarfile.open(FOLDER / f"{name}.tar.gz") as archive:
            archive.extractall(FOLDER, filter="data")
    return FOLDER / name


def outcome(folder: Path, place: str | None) -> tuple[set[str], int]:
    """The tests that fail, and the number of those that pass."""
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    if place is not None:
        environment["EBBTIDE_AT"] = place
    options = ["-q", "-o", "addopts=", "-p", "everywhere", "-p", "no:cacheprovider", "--ignore", LEFT_OUT]
    ran = subprocess.run(
        # The tests are a package in the folder, which Python's safe path would leave out.
        [sys.executable, "-c", "import sys, pytest; sys.path.insert(0, ''); sys.exit(pytest.main())", *options, TESTS],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    failed = set(re.findall(r"^FAILED (\S+)", ran.stdout, re.MULTILINE))
    passed = re.search(r"(\d+) passed", ran.stdout)
    if passed is None or int(passed[1]) < FEWEST:
        sys.exit(f"LangChain's tests did not run:\n{ran.stdout[-4_000:]}\n{ran.stderr[-4_000:]}")
    return failed, int(passed[1])


def main() -> None:
    folder = source()
    places = [None, "first", "last"]
    with ThreadPoolExecutor() as pool:
        plain, *others = pool.map(lambda place: outcome(folder, place), places)
    for place, (failed, passed) in zip(places[1:], others):
        more = sorted(failed - plain[0])
        if more:
            sys.exit(f"with the middleware {place}, these of LangChain's tests fail too:\n" + "\n".join(more))
        print(f"LangChain's tests, the middleware {place}: {passed} pass, {plain[1]} without it")


main()
