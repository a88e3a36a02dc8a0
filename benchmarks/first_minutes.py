"""The waits of a newcomer: installing, importing, the first page.

Run with ``python benchmarks/first_minutes.py``. At full size it installs the project into a fresh
virtual environment in a temporary folder, which needs the network, and measures there; else it
measures where it runs.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from card import FULL, Cards, sized

CARDS = Cards(__file__)
ROOT = Path(__file__).resolve().parents[1]
IMPORTS = sized(3, 7)


def main() -> None:
    """Measure and print."""
    if FULL:
        measure_installed()
    else:
        measure(Path(sys.executable))


def measure_installed() -> None:
    """Install into a new environment and measure there."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--no-compile", f"{ROOT}[server]"], check=True)
        CARDS.add("install, virtual environment included", time.perf_counter() - started, "s")
        measure(python)
        files = [p for p in (python.parents[1] / "lib").rglob("*") if p.is_file()]
        size = sum(p.stat().st_size for p in files if not p.is_symlink())
        CARDS.add("installed size, pip and what ran so far included", size / 1e6, "MB")


def measure(python: Path) -> None:
    """Measure imports and the first page."""
    numpy = time_of_import(python, "numpy")
    for names in ("masquerade", "masquerade.truth, masquerade.mechanisms, masquerade.accounting"):
        seconds = time_of_import(python, names)
        CARDS.add(
            f"import {names}, warm",
            seconds,
            "s of processor",
            peer="import numpy",
            peer_value=numpy,
        )
    time_to_first_page(python)


def time_of_import(python: Path, names: str) -> float:
    """Return the least processor time of several imports, over that of an empty process."""
    best = {}
    for code in ("pass", f"import {names}"):
        times = []
        for _ in range(IMPORTS):
            before = of_children()
            subprocess.run([python, "-c", code], check=True)
            times.append(of_children() - before)
        best[code] = min(times[1:])
    return best[f"import {names}"] - best["pass"]


def of_children() -> float:
    """Return the processor time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_to_first_page(python: Path) -> None:
    """Print how long the demonstration takes from its start to its first page."""
    for turn in ("first", "second"):
        started = time.perf_counter()
        demo = subprocess.Popen(
            [python, "-m", "masquerade", "demo", "--no-browser", "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert demo.stdout is not None
        found = next(filter(None, (re.search(r"http://\S+", line) for line in demo.stdout)))
        with urllib.request.urlopen(found.group()) as page:
            page.read()
        CARDS.add(f"demo, {turn} start to first page", time.perf_counter() - started, "s")
        demo.terminate()
        demo.communicate()


if __name__ == "__main__":
    main()
