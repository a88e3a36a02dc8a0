"""The report of an audit, and the witnesses of a loss in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from masquerade.answers.result import Result
from masquerade.exact import Micro


@dataclass(frozen=True, slots=True)
class Witness:
    """A report that shows a loss, and the two answers between which it does.

    Attributes
    ----------
    report : str
        A report, or a set of reports, in words.
    answers : (str, str)
        The report is more likely by the first answer than by the second.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.accounting import audit
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> audit(RandomizedResponse(2, epsilon=1), samples=2_000, rng=np.random.default_rng(1)).worst
    Witness(report='0', answers=('0', '1'))
    """

    report: str
    answers: tuple[str, str]

    def __str__(self) -> str:
        return f"report {self.report}: answer {self.answers[0]} against {self.answers[1]}"


Verdict = Literal["holds", "not refuted", "refuted"]


@dataclass(frozen=True, slots=True)
class AuditReport(Result):
    """The result of an audit.

    Attributes
    ----------
    answers : int
        How many answers a person reports, or in how many two persons differ.
    status : str
        Of the claim: ``"proven"``, ``"none"``, or ``"claimed"`` for a mechanism of your own.
    claimed_epsilon : Micro
        For a person with all `answers` answers; where the status is ``"none"``, the published
        epsilon.
    exact_epsilon : Micro or None
        The same from the probabilities, rounded up to a millionth like every amount; of densities
        a proven bound. None where reports are all there is to look at, or there are too many.
    exact_delta : float or None
        Delta at the claimed epsilon, where a delta is claimed.
    method : str
        How `exact_epsilon` was found.
    worst : Witness or None
        Answers and a report that attain `exact_epsilon`; where that is None or a bound, those that
        lose most of all that were drawn.
    sampled_lower_bound : float
        The true epsilon is at least this, with `confidence`.
    confidence : float
        1 less the probability with which a true claim is refuted.
    samples : int
        How many reports were drawn.
    proven : bool
        Whether all probabilities were enumerated for this claim, and every answer was drawn for.
    tried : mapping
        What was looked at, in numbers; JSON-ready.
    not_looked_at : tuple of str
        What was not, and could be wrong all the same.
    reasons : tuple of str
        Why the claim does not hold.
    details : mapping
        JSON-ready.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.accounting import audit
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> found = audit(RandomizedResponse(2, epsilon=1), samples=2_000, rng=np.random.default_rng(1))
    >>> found.verdict, str(found.exact_epsilon)
    ('holds', '1')
    """

    mechanism: str
    answers: int
    status: str
    claimed_epsilon: Micro
    claimed_delta: float
    exact_epsilon: Micro | None
    exact_delta: float | None
    method: str
    worst: Witness | None
    sampled_lower_bound: float
    confidence: float
    samples: int
    proven: bool
    tried: Mapping[str, Any]
    not_looked_at: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """``"refuted"``, ``"holds"`` where it is proven by its probabilities, ``"not refuted"``.

        What holds is the claim of the probabilities that were enumerated. That reports are drawn by
        them is tested, never proven: see `not_looked_at`.
        """
        if self.reasons:
            return "refuted"
        return "holds" if self.proven else "not refuted"

    @property
    def holds(self) -> bool | None:
        """True and false by the verdict; None where the claim is neither proven nor refuted."""
        return {"holds": True, "refuted": False, "not refuted": None}[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        exact, worst = self.exact_epsilon, self.worst
        return {
            "mechanism": self.mechanism,
            "answers": self.answers,
            "status": self.status,
            "claimed_epsilon": self.claimed_epsilon.to_json(),
            "claimed_delta": self.claimed_delta,
            "exact_epsilon": None if exact is None else exact.to_json(),
            "exact_delta": self.exact_delta,
            "method": self.method,
            "worst_report": None if worst is None else worst.report,
            "worst_answers": None if worst is None else list(worst.answers),
            "sampled_lower_bound": self.sampled_lower_bound,
            "confidence": self.confidence,
            "samples": self.samples,
            "verdict": self.verdict,
            "holds": self.holds,
            "reasons": list(self.reasons),
            "tried": dict(self.tried),
            "not_looked_at": list(self.not_looked_at),
            "details": dict(self.details),
        }
