"""Run cards: measurements of a benchmark, printed for people and kept as one line of JSON.

`Cards.add` prints. Where the environment variable ``BENCH_CARDS`` names a folder, it also appends
to a file there, one for each benchmark, begun anew by each run; `make bench` names one.
``BENCH=full`` takes the sizes that the documentation quotes, anything else small ones that end in
minutes. ``BENCH_PEER`` names an interpreter that has crowd-kit, which is compared with there.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")

FULL = os.environ.get("BENCH") == "full"
PEER = os.environ.get("BENCH_PEER") or None
FOLDER = os.environ.get("BENCH_CARDS") or None
OURS = ("masquerade", "numpy", "scipy", "pyarrow")


def sized(small: T, full: T) -> T:
    """Return the small or the full size, as the run asks for."""
    return full if FULL else small


class Cards:
    """The cards of one benchmark.

    Parameters
    ----------
    script : str
        ``__file__`` of the benchmark; its name is the benchmark's.
    """

    def __init__(self, script: str) -> None:
        self.benchmark = Path(script).stem
        self._file = None if FOLDER is None else Path(FOLDER) / f"{self.benchmark}.jsonl"
        self._begun = False

    def add(
        self,
        what: str,
        value: float,
        unit: str,
        *,
        peer: str | None = None,
        peer_value: float | None = None,
        better: Literal["lower", "higher"] = "lower",
        at_least: float | None = None,
        at_most: float | None = None,
        libraries: Sequence[str] = (),
        note: str = "",
    ) -> None:
        """Print a measurement and keep its card.

        Parameters
        ----------
        what : str
            What was measured, with its size.
        value : float
        unit : str
            Of `value`; empty for shares and ratios.
        peer : str, optional
            What it is compared with, measured in the same run.
        peer_value : float, optional
            In the same unit; None where the peer is not installed.
        better : {"lower", "higher"}
            Which of two values is the better one. The ratio is above 1 where ours is.
        at_least, at_most : float, optional
            The target, of the ratio where there is a peer, else of the value.
        libraries : sequence of str
            Peers' distributions, whose versions belong on the card.
        note : str
        """
        ratio = None
        if peer_value is not None and value and peer_value:
            ratio = peer_value / value if better == "lower" else value / peer_value
        judged = ratio if peer is not None else value
        card: dict[str, Any] = {
            "benchmark": self.benchmark,
            "what": what,
            "value": significant(value),
            "unit": unit,
            "peer": peer,
            "peer_value": significant(peer_value),
            "ratio": significant(ratio),
            "target": target_in_words(at_least, at_most),
            "met": is_met(judged, at_least, at_most),
            "note": note,
            "size": "full" if FULL else "small",
            "machine": machine(),
            "versions": versions((*OURS, *libraries)),
            "date": datetime.now(UTC).date().isoformat(),
        }
        print(in_words(card), flush=True)
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Begun here: processes that a benchmark starts import it too, and keep nothing.
            with self._file.open("a" if self._begun else "w", encoding="utf-8") as file:
                file.write(json.dumps(card, ensure_ascii=False) + "\n")
            self._begun = True


def in_words(card: dict[str, Any]) -> str:
    """Return a card as one line for people."""
    line = f"{card['what']}: {card['value']:,g} {card['unit']}".rstrip()
    if card["peer"] is not None:
        theirs = card["peer_value"]
        line += f"; {card['peer']} " + ("is not installed" if theirs is None else f"{theirs:,g}")
    if card["ratio"] is not None:
        line += f", ratio {card['ratio']:g}"
    if card["target"]:
        verdict = {True: "met", False: "MISSED", None: "not judged"}[card["met"]]
        line += f" (wanted {card['target']}: {verdict})"
    return line + (f" [{card['note']}]" if card["note"] else "")


def significant(value: float | None) -> float | None:
    """Return a value to four significant digits."""
    return None if value is None else float(f"{float(value):.4g}")


def target_in_words(at_least: float | None, at_most: float | None) -> str:
    """Return a target in words, empty where there is none."""
    return " and ".join(
        f"{words} {bound:g}"
        for words, bound in (("at least", at_least), ("at most", at_most))
        if bound is not None
    )


def is_met(judged: float | None, at_least: float | None, at_most: float | None) -> bool | None:
    """Return whether the target is met; None where there is none, or nothing to judge."""
    if judged is None or (at_least is None and at_most is None):
        return None
    low = at_least is None or judged >= at_least
    return bool(low and (at_most is None or judged <= at_most))


@cache
def machine() -> str:
    """Return the machine in words, and how busy it is; without its name or address."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = platform.system()
    return (
        f"{cores} core{'s' if cores > 1 else ''} ({platform.machine()}), {memory:.0f} GiB of "
        f"memory, {system}, {os.getloadavg()[0]:.0f} programs wanting a core"
    )


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python and of those distributions that are installed."""
    found = {"python": platform.python_version()}
    for name in libraries:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if of_peer(name):
                found[name] = of_peer(name)
    return found


@cache
def of_peer(name: str) -> str:
    """Return the version of a distribution in the peer's interpreter, empty without either."""
    if PEER is None:
        return ""
    code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
    done = subprocess.run([PEER, "-c", code, name], capture_output=True, text=True)
    return done.stdout.strip()
