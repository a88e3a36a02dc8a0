"""The audit of a mechanism's guarantee.

Three looks, none of which believes the claim: at a table enumerated from the whole numbers that a
device draws from; at reports drawn in number (a lower confidence bound on epsilon); and at whether
these have the probabilities of the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from masquerade.accounting.audit_custom import Auditable, OfAuditable
from masquerade.accounting.audit_forms import Form, read_form
from masquerade.accounting.audit_sampled import (
    OWN_WORDS,
    RARE,
    Answers,
    Claim,
    Look,
    SampledLoss,
    Subject,
    Vector,
    chosen_inputs,
    look_at_reports,
    vectors_of,
)
from masquerade.accounting.audit_table import ROUNDING, TableLoss, Witness
from masquerade.answers.result import Result
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import MICRO, Micro
from masquerade.exact.coins import SimulatedCoins, require_generator
from masquerade.exact.loss import ORDERS, Loss, pure_loss
from masquerade.exact.number import in_range, whole
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.mechanisms.registry import MECHANISMS, parse_mechanism

DEFAULT_SAMPLES = 100_000
DEFAULT_FALSE_ALARM = 1e-6

FEWEST_REPORTS = 2_000
_MOST_CODES = 1 << 16


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

    def to_json(self) -> dict[str, object]:
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


def audit(
    mechanism: Mechanism | Auditable | str,
    *,
    answers: int = 1,
    samples: int = DEFAULT_SAMPLES,
    rng: np.random.Generator,
    false_alarm: float = DEFAULT_FALSE_ALARM,
) -> AuditReport:
    """Return proven bounds on the loss of a mechanism, beside its claim.

    Parameters
    ----------
    mechanism : Mechanism, Randomizer or an object of your own
        See `Auditable` for what it needs.
    answers : int
        At least 1.
    samples : int
        How many reports to draw for each answer that is compared, at least 2,000.
    rng : numpy.random.Generator
        The audit is reproducible, so it draws no report of a person.
    false_alarm : float
        At most the probability with which sampling refutes a claim that is true. It is shared among
        all sets of reports, pairs of answers and tests that are made.

    Raises
    ------
    ParameterError
        A parameter is out of range, or nothing can be drawn from the object.

    Notes
    -----
    Exact: the table follows from `DeviceMechanism.device_form` alone. Responses, and answers that
    share a private number, are enumerated in fractions; Laplace noise is told by its exponents;
    Gaussian noise is summed over a window of reports. Pure epsilon, delta and the Renyi divergences
    that accounts count are compared with the claim. Sampled: half of the reports choose the most
    telling set of reports, the other half bounds its probabilities.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> found = audit(RandomizedResponse(2, epsilon=1), samples=2_000, rng=np.random.default_rng(1))
    >>> found.holds, str(found.exact_epsilon)
    (True, '1')
    """
    require_generator(rng)
    answers = whole(answers, "answers", low=1)
    samples = whole(samples, "samples", low=FEWEST_REPORTS)
    in_range(false_alarm, "false_alarm", above=0, below=1)
    if isinstance(mechanism, str):
        mechanism = parse_mechanism(mechanism)
    subject = _subject_of(mechanism, answers, rng)
    table, claim = subject.table(), subject.claim
    look = look_at_reports(subject, samples=samples, rng=rng, false_alarm=false_alarm)
    reasons = _of_status(claim) + subject.faults()
    reasons += [] if table is None else _of_table(claim, table)
    reasons += _of_reports(claim, look, false_alarm)
    gaps = ["probabilities: there are none to enumerate, or too many"]
    if table is not None:
        gaps = [*table.gaps, *_of_orders(claim, table)]
    complete = subject.compared == subject.inputs
    best = max(look.event, look.user, key=lambda found: found.epsilon)
    return AuditReport(
        mechanism=subject.name,
        answers=answers,
        status=claim.status,
        claimed_epsilon=claim.user,
        claimed_delta=float(claim.delta),
        exact_epsilon=None if table is None else table.user,
        exact_delta=None if table is None else table.delta,
        method="reports alone" if table is None else table.method,
        worst=best.worst if table is None else table.worst,
        sampled_lower_bound=best.epsilon,
        confidence=1 - false_alarm,
        samples=look.reports * look.vectors,
        proven=not gaps and complete and claim.status != "none",
        tried={
            "inputs": subject.inputs,
            "inputs_drawn": subject.compared,
            "vectors": look.vectors,
            "pairs": look.pairs,
            "reports": look.reports * look.vectors,
            "reports_of_each": look.reports,
            "smallest_probability_seen": RARE / look.reports,
        },
        not_looked_at=(*gaps, *_unseen(subject, look, answers)),
        reasons=tuple(reasons),
        details=_details(claim, table, look),
    )


def _subject_of(
    mechanism: Mechanism | Auditable, answers: int, rng: np.random.Generator
) -> Subject:
    if isinstance(mechanism, Mechanism):
        device = mechanism.as_device
        if device is None:
            raise ParameterError(
                f"{mechanism} cannot be audited as it is: say which answers to compare, and how "
                "reports are drawn, with Randomizer."
            )
        return OfMechanism(device, answers, rng)
    if not isinstance(mechanism, Auditable):
        raise ParameterError(
            f"{type(mechanism).__name__} cannot be audited: it needs claimed_epsilon, inputs and "
            "sample(answer, size, rng); or wrap a function in Randomizer."
        )
    if answers > 1:
        raise ParameterError(
            f"answers is {answers}, but a mechanism of your own masks one answer at a time; audit "
            "one, or derive its class from CategoricalMechanism."
        )
    return OfAuditable(mechanism, rng)


class OfMechanism(Subject):
    """A mechanism through the numbers that its devices draw from, and through their draws."""

    def __init__(self, mechanism: DeviceMechanism, answers: int, rng: np.random.Generator) -> None:
        self.name, self._mechanism, self._answers = str(mechanism), mechanism, answers
        self.claim = _claim_of(mechanism, answers)
        self._form: Form | None = read_form(mechanism.device_form())
        places = range(mechanism.codes)
        if mechanism.codes <= _MOST_CODES:
            allowed = [code for code in places if mechanism.masks(code)]
        else:  # too many to ask for each: a larger sample, of which those that are answers count
            some = rng.integers(0, mechanism.codes, 1 << 12).tolist()
            allowed = sorted({code for code in [0, 1, *some] if mechanism.masks(code)})
        self.inputs = len(allowed) if mechanism.codes <= _MOST_CODES else mechanism.codes
        self._places = [allowed[place] for place in chosen_inputs(len(allowed), rng)]
        self.compared = len(self._places)
        self._allowed = allowed

    def vectors(self) -> list[Answers]:
        """Return the answers of persons to compare; see `Subject.vectors`."""
        return vectors_of(self._places, self._answers, [self._named(one) for one in self._places])

    def _named(self, code: int) -> str:
        return str(code) if self._form is None else self._form.named(code)

    def draw(self, places: Vector, persons: int, rng: np.random.Generator) -> Any:
        """Return the whole numbers that devices report; see `Subject.draw`."""
        who = np.arange(persons, dtype=np.int32).repeat(len(places))
        every = np.tile(places, persons).astype(self._mechanism.code_type)
        reports = np.asarray(self._mechanism.mask(every, who, SimulatedCoins(rng)))
        return reports if len(places) == 1 else reports.reshape(persons, len(places))

    def table(self) -> TableLoss | None:
        """Return the loss by the device form; see `Subject.table`."""
        if self._form is None:
            return None
        found = self._form.loss(self._answers, claimed=self.claim.user, delta=self.claim.delta)
        # What a class elsewhere says of its numbers is its own word; devices draw by those of ours.
        ours = MECHANISMS.get(self._mechanism.name) is type(self._mechanism)
        return found if found is None or ours else replace(found, gaps=(*found.gaps, OWN_WORDS))

    def law(self, places: Vector, place: int) -> Mapping[Any, float] | None:
        """Return the probabilities of one report by the device form; see `Subject.law`."""
        row = None if self._form is None else self._form.row(int(places[place]))
        return None if row is None else dict(zip(row[0], row[1].tolist(), strict=True))

    def faults(self) -> list[str]:
        """Return the masked values that are no answers of the device form."""
        if self._form is None:
            return []
        beyond = [code for code in self._allowed if not self._form.allows(code)]
        if not beyond:
            return []
        return [f"it masks the answer {beyond[0]}, which its device form does not have"]


def _claim_of(mechanism: DeviceMechanism, answers: int) -> Claim:
    promise = mechanism.guarantee(answers=answers)
    loss: Loss | None = None
    with suppress(NoGuarantee):  # the status of the promise says so too
        loss = mechanism.loss(answers=answers)
    return Claim(
        promise.epsilon_event,
        promise.epsilon_user,
        promise.delta,
        promise.status,
        promise.rho_user,
        loss,
    )


def _details(claim: Claim, table: TableLoss | None, look: Look) -> dict[str, object]:
    best = max(look.event, look.user, key=lambda found: found.epsilon)
    rho = None if table is None or claim.rho is None else _rho(table)
    return {
        "claimed_event": claim.event.to_json(),
        "exact_event": None if table is None else table.event.to_json(),
        "sampled_event": look.event.epsilon,
        "sampled_worst": None if best.worst is None else str(best.worst),
        "fit_p_value": look.fit,
        "claimed_rho": None if claim.rho is None else claim.rho.to_json(),
        "exact_rho": rho,
    }


def _rho(table: TableLoss) -> float | None:
    if table.orders is None:
        return None
    return max(amount / a for a, amount in zip(ORDERS, table.orders, strict=True))


def _of_status(claim: Claim) -> list[str]:
    if claim.status != "none":
        return []
    return [f"the mechanism has no guarantee; an epsilon of {claim.user} was published"]


def _of_table(claim: Claim, table: TableLoss) -> list[str]:
    reasons = []
    if table.event > claim.event:
        reasons.append(
            f"the loss of one changed answer is {table.event}, above the claimed {claim.event}"
            + (f": {table.worst}" if table.event == table.user else "")
        )
    elif table.user > claim.user:
        reasons.append(
            f"the loss of all changed answers is {table.user}, above the claimed {claim.user}: "
            f"{table.worst}"
        )
    rho = _rho(table)
    # found in floats: their rounding must refute nobody
    if claim.rho is not None and rho is not None and _above(rho, claim.rho.epsilon):
        reasons.append(f"rho is {rho:.9g}, above the claimed {claim.rho}")
    if not reasons and claim.loss is not None and table.orders is not None:
        for a, found, charged in zip(ORDERS, table.orders, claim.loss.orders, strict=True):
            if _above(found, charged / MICRO):
                reasons.append(
                    f"the Renyi divergence of order {a} is {found:.9g}, above the "
                    f"{charged / MICRO:.9g} that an account is charged"
                )
                break
    return reasons


def _above(found: float, claimed: float) -> bool:
    return found > claimed + ROUNDING * (1 + claimed) if math.isfinite(claimed) else False


def _of_orders(claim: Claim, table: TableLoss) -> list[str]:
    """Return the gaps that the table leaves in the divergences of an account."""
    if claim.loss is None or table.orders is not None:
        return []
    # whatever has this pure epsilon diverges by no more than this
    enough = pure_loss(table.user).orders
    if all(a >= b for a, b in zip(claim.loss.orders, enough, strict=True)):
        return []
    return ["Renyi divergences of several answers that share a number"]


def _of_reports(claim: Claim, look: Look, false_alarm: float) -> list[str]:
    reasons: list[str] = []
    bounds: list[tuple[SampledLoss, Micro, str]] = [
        (look.event, claim.event, "one changed answer"),
        (look.user, claim.user, "all changed answers"),
    ]
    for found, claimed, changed in bounds:
        if not reasons and found.epsilon > claimed.epsilon:
            reasons.append(
                f"reports alone show a loss of at least {found.epsilon:.6f} for {changed}, above "
                f"the claimed {claimed}: {found.worst}"
            )
    if look.fit is not None and look.fit < false_alarm / 2:
        reasons.append(
            f"reports do not follow the probabilities of the table (p-value {look.fit:.1g})"
        )
    return reasons


def _unseen(subject: Subject, look: Look, answers: int) -> list[str]:
    """Return the faults that no audit of drawn reports sees."""
    n = look.reports
    gaps = [
        f"events of a probability below about {RARE / n:.1g}: too few reports were drawn",
        f"probabilities that are off by less than about {5 / math.sqrt(n):.1g}",
        "dependence between the reports of different persons or calls, and on batch size, time, "
        "seeds and earlier answers",
        "what reports that are seldom drawn twice have in common: parity, residues, bits, length",
        "reports after they were changed on the way, such as texts that were normalised or numbers "
        "of another width",
        "whatever else leaves a device: number, order, time and length of messages, errors",
    ]
    if subject.compared < subject.inputs:
        gaps.append(f"reports of {subject.inputs - subject.compared} of {subject.inputs} answers")
    if look.fit is None:
        gaps.append("whether reports follow a table of probabilities")
    if answers > 1:
        gaps.append(f"answers of a person other than {look.vectors} vectors")
    else:
        gaps.append("several answers of one person together")
    return gaps
