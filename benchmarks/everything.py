"""Run every benchmark of this folder, keep the run cards, and write the page of them.

    python benchmarks/everything.py [NAME ...]

Without a name all are run, one after the other; see `card` for the environment variables. A
benchmark that fails is named at the end, and the others still run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from page import write_page

HERE = Path(__file__).parent
#: Modules that benchmarks share, and programs that they call; none measures by itself.
NO_BENCHMARKS = {
    *("card", "everything", "page", "release_crowds"),
    *("crowd_kit_peer", "peers_of_python", "vdaf_reference_peer"),
}


def benchmarks() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted({path.stem for path in HERE.glob("*.py")} - NO_BENCHMARKS)


def main() -> int:
    """Run, and return how many failed."""
    names = sys.argv[1:] or benchmarks()
    environment = {"BENCH_CARDS": str(HERE / "cards")} | os.environ
    failed = []
    for place, name in enumerate(names, start=1):
        print(f"\n== {name} ({place} of {len(names)})", flush=True)
        started = time.perf_counter()
        done = subprocess.run([sys.executable, str(HERE / f"{name}.py")], env=environment)
        print(f"== {name}: {time.perf_counter() - started:.0f} s", flush=True)
        if done.returncode:
            failed.append(name)
    print(f"\n{write_page()} is written")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
