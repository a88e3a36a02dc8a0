"""What a newcomer waits for: installing, importing, the first page.

Run with ``python benchmarks/first_minutes.py``. Installs the project into a fresh virtual
environment in a temporary folder, then measures there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = 7


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--no-compile", str(ROOT)], check=True)
        print(f"install, virtual environment included: {time.perf_counter() - started:.1f} s")
        time_of_import(python, "numpy")
        time_of_import(python, "masquerade")
        time_of_import(python, "masquerade.truth, masquerade.mechanisms, masquerade.accounting")
        time_to_first_page(python)
        files = [p for p in (python.parents[1] / "lib").rglob("*") if p.is_file()]
        size = sum(p.stat().st_size for p in files if not p.is_symlink())
        print(f"installed size, pip and what ran so far included: {size / 1e6:.0f} MB")


def time_of_import(python: Path, names: str) -> None:
    """Print the best of several imports in new processes, over an empty process."""
    best = {}
    for code in ("pass", f"import {names}"):
        times = []
        for _ in range(IMPORTS):
            started = time.perf_counter()
            subprocess.run([python, "-c", code], check=True)
            times.append(time.perf_counter() - started)
        best[code] = min(times[1:])
    print(f"import {names}, warm: {best[f'import {names}'] - best['pass']:.3f} s")


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
        found = re.search(r"http://\S+", demo.stdout.readline())
        assert found is not None
        with urllib.request.urlopen(found.group()) as page:
            page.read()
        print(f"demo, {turn} start to first page: {time.perf_counter() - started:.2f} s")
        demo.terminate()
        demo.communicate()


if __name__ == "__main__":
    main()
