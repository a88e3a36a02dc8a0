"""Synthetic claims from a file or from a survey's reports, made while the browser waits."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, StringConstraints

from masquerade.errors import MasqueradeError, ParameterError, WrongState

if TYPE_CHECKING:
    from masquerade.release import Domain, Engine, GroupedClaims, Release
    from masquerade.release.guarantee import Unit
    from masquerade.results import SurveyReports

#: Engines that promise something: name on the page and what each does.
ENGINES: Final = {
    "claims": (
        "Like the claims",
        "Counts in public bins with exact noise, each read in the light of all others. The one to "
        "begin with.",
    ),
    "source": (
        "Like their source",
        "The same noise; stray claims are left out. For what the claims are about, where every "
        "number may be answered.",
    ),
    "wiener": (
        "Smoothed histogram",
        "The same noise; what is rough is taken for noise. For very many claims.",
    ),
    "hist": (
        "Histogram",
        "The noisy counts as they are. To compare with.",
    ),
    "pooled": (
        "Pooled histogram",
        "The same noise; each object is read in the light of all others. For many objects with few "
        "claims each.",
    ),
    "hist2": (
        "Two passes",
        "Weighs people by how well they agree with a first release. For people with many claims; "
        "protects people.",
    ),
}

#: Releases that one process computes at the same time.
MOST_AT_ONCE = 2

_HEARTBEAT_SECONDS = 15
# For each process: a release takes a processor and much memory.
_RUNNING = threading.BoundedSemaphore(MOST_AT_ONCE)


Typed = Annotated[str, StringConstraints(max_length=40, strip_whitespace=True)]
Count = Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    """The specification of a release, as it comes from a form."""

    engine: Typed = "claims"
    epsilon: Typed = "1"
    # low, high, step: the public range; empty where a survey has its own.
    low: Typed = ""
    high: Typed = ""
    step: Typed = ""
    unit: Typed = "claim"  # ``"claim"`` or ``"user"``
    cap: Count = 10
    samples: Count = 30

    def domain(self) -> Domain:
        """Return the public range."""
        from masquerade.release import Domain

        if not self.low or not self.high:
            raise ParameterError(
                "the public range has no low or no high end; it comes from what was asked, never "
                "from the claims."
            )
        return Domain(self.low, self.high, step=self.step or None)

    def made(self, domain: Domain) -> Engine:
        """Return the engine."""
        from masquerade.release import parse_engine

        if self.engine not in ENGINES:
            raise ParameterError(
                f"the engine is {self.engine!r}, expected one of {', '.join(ENGINES)}."
            )
        if self.unit not in ("claim", "user"):
            raise ParameterError(f"what is protected is {self.unit!r}, expected claim or user.")
        unit: Unit = "user" if self.engine == "hist2" or self.unit == "user" else "claim"
        return parse_engine(
            self.engine,
            epsilon=self.epsilon,
            domain=domain,
            unit=unit,
            cap=self.cap,
        )


def promise(specification: SynthesisRequest, domain: Domain) -> dict[str, Any]:
    """Return what a release would promise; no claim is looked at."""
    from masquerade.release import guarantee_json

    return guarantee_json(specification.made(domain).guarantee())


def from_file(data: bytes) -> GroupedClaims:
    """Return the claims in a CSV file."""
    from masquerade.answers import Claims
    from masquerade.answers.frames import read_csv_bytes
    from masquerade.release import GroupedClaims

    table = read_csv_bytes(data)
    return GroupedClaims.of(Claims.from_frame(table, kind="numeric", duplicates="all"))


def from_reports(reports: SurveyReports, level: str | None) -> GroupedClaims:
    """Return the numeric reports of a survey as claims."""
    from masquerade.release import GroupedClaims
    from masquerade.results import numeric_claims

    return GroupedClaims.of(numeric_claims(reports, level=level))


def released(
    specification: SynthesisRequest, claims: GroupedClaims, engine: Engine
) -> Iterator[bytes]:
    """Yield lines of JSON while a release is made: how far it is, and at last the release.

    Nothing is kept. Where nobody reads on, the work ends with the next object.

    `WrongState` where so many are being made that one more would slow all down.
    """
    # Refused at once: who waits here would hold a connection.
    if not _RUNNING.acquire(blocking=False):
        raise WrongState(f"{MOST_AT_ONCE} releases are being made here; try again in a minute.")
    # Lines pass through a queue, as the work runs in a thread of its own.
    lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
    gone = threading.Event()

    def tell(done: int, _total: int) -> None:
        # The only place at which the work can be stopped, between objects.
        if gone.is_set():
            raise _NobodyWaitsError
        lines.put({"done": done})

    def work() -> None:
        from masquerade.release import synthesize

        try:
            made = synthesize(claims, engine=engine, samples=specification.samples, progress=tell)
            lines.put({"release": _told(made)})
        except _NobodyWaitsError:
            pass
        except MasqueradeError as error:
            # Our own messages name parameters and no claim.
            lines.put({"problem": str(error)})
        except Exception:
            # The text of any other error could quote a claim.
            lines.put({"problem": "Something went wrong here; nothing was released."})
            raise
        finally:
            _RUNNING.release()
            # The end mark comes last, also after an error; without it the reader would wait for
            # ever.
            lines.put(None)

    threading.Thread(target=work, name="release", daemon=True).start()
    return _lines(lines, gone, {"of": claims.n_objects, "claims": len(claims.value)})


class _NobodyWaitsError(Exception):
    """Whoever asked for a release has gone."""


def _lines(
    lines: queue.Queue[dict[str, Any] | None], gone: threading.Event, first: dict[str, Any]
) -> Iterator[bytes]:
    try:
        yield _line(first)
        while True:
            try:
                told = lines.get(timeout=_HEARTBEAT_SECONDS)
            except queue.Empty:
                yield b"\n"  # still there; keeps proxies from hanging up
                continue
            if told is None:
                return
            yield _line(told)
    # Also where the reader has gone and the generator is closed.
    finally:
        gone.set()


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _told(made: Release) -> dict[str, Any]:
    from masquerade.release import guarantee_sentence

    return {
        "objects": len(made.objects),
        "points": len(made.points),
        "statuses": made.statuses,
        "sentence": guarantee_sentence(made.guarantee),
        "csv": made.csv().decode(),
        "codebook": made.codebook(),
    }
