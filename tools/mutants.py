"""Break critical lines one at a time, and see that the test named beside each notices.

``python tools/mutants.py [WORD ...]`` reads ``tests/mutants.toml``: a file, a line of it, the
same line broken, and the test that must fail. Each is tried on a copy of the sources; WORDs choose
those whose file or test contains one of them. Exit code 1 if a broken line passes its test, or a
test fails without any broken line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests/mutants.toml"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A line of the sources, the same line broken, and the test that must notice."""

    file: str
    line: str
    broken: str
    test: str

    def source(self) -> str:
        """Return the text of the file as it stands."""
        return (ROOT / self.file).read_text(encoding="utf-8")

    def occurrences(self) -> int:
        """Return how often the line stands in its file; 1 is right."""
        return self.source().count(self.line)

    def noticed(self) -> bool:
        """Return whether the test fails where the line is broken."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "tree"
            shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.pyc"))
            target = copy / self.file
            target.write_text(self.source().replace(self.line, self.broken), encoding="utf-8")
            return not passes([self.test], copy / "src")


def mutants() -> list[Mutant]:
    """Return the list of broken lines."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**one) for one in listed]


def passes(tests: Sequence[str], sources: Path) -> bool:
    """Return whether tests pass with these sources."""
    paths = os.pathsep.join([str(sources), str(ROOT / "papers")])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "no:randomly", *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        names = ", ".join(tests)
        raise RuntimeError(f"{names} did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def main() -> int:
    """Try each broken line, print the outcome, and return the exit code."""
    words = sys.argv[1:]
    chosen = [one for one in mutants() if not words or any(w in one.file + one.test for w in words)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tests = sorted({one.test for one in chosen})
        # All at once, for a start of the interpreter takes longer than most tests do.
        failing = set()
        if tests and not passes(tests, ROOT / "src"):
            each = pool.map(lambda test: passes([test], ROOT / "src"), tests)
            failing = {test for test, sound in zip(tests, each, strict=True) if not sound}
        alive = 0
        for one, dead in zip(chosen, pool.map(Mutant.noticed, chosen), strict=True):
            noticed = "noticed" if dead else "NOT NOTICED"
            state = "FAILS ANYWAY" if one.test in failing else noticed
            alive += state != "noticed"
            print(f"{state:12}  {one.file}: {one.broken.strip()}  [{one.test}]", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} broken lines are noticed.")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
