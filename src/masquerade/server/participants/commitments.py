"""Reports as a device sealed them: what binds it to them, and which reports can be at all."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence

from masquerade.errors import CommitmentMismatch, InvalidReport
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism
from masquerade.surveys.survey import OfferedLevel

# Noise reaches farther than so many sigmas with a probability of 2.3e-19 an answer: no honest
# report is refused in the life of a server. Estimates cut far nearer (`BoundedReport`).
_REACH = 9


def commitment_of(participation: str, reports: Sequence[int], salt: str) -> str:
    """Return what a device sends before it shows or sends its reports.

    Examples
    --------
    >>> commitment_of("0" * 32, [1, -4], "f" * 32)[:16]
    '66fc3097f8497255'
    """
    fields = {"participation": participation, "reports": list(reports), "salt": salt}
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def require_sealed(kept: str | None, commitment: str) -> None:
    """Raise where reports are not those whose commitment is kept.

    Raises
    ------
    CommitmentMismatch
    """
    if kept is None or not secrets.compare_digest(kept, commitment):
        raise CommitmentMismatch("these are not the reports that were sealed.")


def check_reports(level: OfferedLevel, reports: Sequence[int]) -> None:
    """Raise where reports are none that the masks of a level give.

    Raises
    ------
    InvalidReport
    """
    if len(reports) != len(level.mechanisms):
        raise InvalidReport(
            f"{len(reports)} reports for {len(level.mechanisms)} questions; send one each."
        )
    for number, (report, mechanism) in enumerate(
        zip(reports, level.mechanisms, strict=True), start=1
    ):
        low, high = possible_reports(mechanism)
        if not low <= report <= high:
            raise InvalidReport(f"report {number} is none that its mask gives: {low} to {high}.")


def possible_reports(mechanism: Mechanism) -> tuple[int, int]:
    """Return the least and the largest report that is accepted of a mask."""
    if isinstance(mechanism, CategoricalMechanism):
        return 0, mechanism.symbols - 1
    assert isinstance(mechanism, DiscreteGaussian)
    reach = int(_REACH * (mechanism.sigma / mechanism.lattice.step)) + 1
    return -reach, mechanism.lattice.points - 1 + reach
