"""Is what a mechanism promises true.

Three looks, none of which believes the claim: at its probabilities (exact, or exact densities at
drawn reports and a bound); at reports drawn in number (a lower confidence bound on epsilon); and at
whether these follow the probabilities.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.accounting.audit_own import Auditable, OfAuditable
from masquerade.accounting.audit_report import AuditReport
from masquerade.accounting.audit_subject import Claim, Law, OfMechanism, Subject, Vector
from masquerade.accounting.density_loss import HasDensity, bound_of, exceeds, of_density
from masquerade.accounting.exact_loss import ROUNDING, ExactLoss
from masquerade.accounting.sampled_loss import Pair, fit_p_value, lower_bound
from masquerade.errors import ParameterError
from masquerade.mechanisms import INFINITE_LOSS, Loss, MatrixFactorizationRidge, Mechanism
from masquerade.mechanisms.coins import require_generator
from masquerade.mechanisms.mechanism import require_mechanism
from masquerade.mechanisms.number import whole

DEFAULT_SAMPLES = 100_000
DEFAULT_FALSE_ALARM = 1e-6

_FEWEST_PERSONS = 2_000
_COARSE = 20
_NEARLY_NOTHING = 1e-12


def audit(
    mechanism: Mechanism | Auditable,
    *,
    answers: int = 1,
    samples: int = DEFAULT_SAMPLES,
    rng: np.random.Generator,
    false_alarm: float = DEFAULT_FALSE_ALARM,
) -> AuditReport:
    """Return what can be proved of a mechanism, beside what it claims.

    Parameters
    ----------
    mechanism : Mechanism, Randomizer or an object of your own
        See `Auditable` for what it needs.
    answers : int
        At least 1. Of a mechanism that hides which tasks were answered by one profile: in how many
        tasks two workers differ.
    samples : int
        How many reports to draw for each answer that is compared; of mechanisms that are audited by
        densities, in all. At least 2,000.
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
    Exact: where there is a table, it is enumerated in fractions; answers that share a private flip
    probability are joined exactly (`pattern_counts`); Laplace noise is told by its exponents;
    Gaussian noise is summed over a window of reports, for an epsilon at the claimed delta and for
    rho; profiles have a bound, and exact densities at drawn points. Sampled: half of the reports
    choose the most telling set of reports, the other half bounds its probabilities. What is
    implied: that a report is drawn as `mechanism` draws it, and that answers are what is reported.
    """
    require_generator(rng)
    answers = whole(answers, "answers", low=1)
    samples = whole(samples, "samples", low=_FEWEST_PERSONS)
    if not 0 < false_alarm < 1:
        raise ParameterError(f"false_alarm is {false_alarm}, expected above 0 and below 1.")
    if isinstance(mechanism, Mechanism):
        if isinstance(mechanism, HasDensity):
            name, claim = str(mechanism), Claim.of(mechanism, answers)
            return _audit_density(mechanism, name, claim, answers, samples, rng, false_alarm)
        return _audit_reports(OfMechanism(mechanism, answers), answers, samples, rng, false_alarm)
    if isinstance(mechanism, str):
        require_mechanism(mechanism)
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
    return _audit_reports(OfAuditable(mechanism), answers, samples, rng, false_alarm)


def _audit_reports(
    subject: Subject, answers: int, samples: int, rng: np.random.Generator, false_alarm: float
) -> AuditReport:
    claim, exact, vectors = subject.claim, subject.exact(), subject.vectors()
    persons = max(_FEWEST_PERSONS, samples // answers)
    drawn = [subject.draw(vector, persons, rng) for _, vector in vectors]
    single, several = _pairs(vectors, drawn)
    delta = float(claim.delta)
    share = false_alarm / (3 if several else 2)  # the last share is for the fit
    event = lower_bound(single, delta=delta, false_alarm=share)
    user = lower_bound(several, delta=delta, false_alarm=share) if several else event
    best = max(event, user, key=lambda found: found.epsilon)
    p_value = _fit(subject, vectors, drawn)
    reasons = _of_status(claim)
    if exact is not None:
        reasons += _of_exact(claim, exact)
    for changed, claimed, sampled in (
        ("one changed answer", claim.event, event),
        (f"{answers} changed answers", claim.user, user),
    ):
        if sampled.epsilon > claimed.epsilon:
            reasons.append(
                f"reports alone show a loss of at least {sampled.epsilon:.6g} for {changed}, "
                f"above the claimed {claimed}: {sampled.worst}"
            )
            break
    if p_value is not None and p_value < share:
        reasons.append(
            f"reports do not follow the mechanism's own probabilities (p-value {p_value:.2g})"
        )
    return AuditReport(
        mechanism=subject.name,
        answers=answers,
        status=claim.status,
        claimed_epsilon=claim.user,
        claimed_delta=delta,
        exact_epsilon=None if exact is None else exact.user,
        exact_delta=None if exact is None else exact.delta,
        method="reports alone" if exact is None else exact.method,
        worst=best.worst if exact is None else exact.worst,
        sampled_lower_bound=best.epsilon,
        confidence=1 - false_alarm,
        samples=persons * len(vectors) * answers,
        reasons=tuple(reasons),
        details={
            "claimed_event": claim.event.to_json(),
            "exact_event": None if exact is None else exact.event.to_json(),
            "sampled_event": event.epsilon,
            "sampled_worst": None if best.worst is None else str(best.worst),
            "fit_p_value": p_value,
            "claimed_rho": None if claim.rho is None else claim.rho.to_json(),
            "exact_rho": None if exact is None else exact.rho,
        },
    )


def _audit_density(
    mechanism: HasDensity,
    name: str,
    claim: Claim,
    answers: int,
    samples: int,
    rng: np.random.Generator,
    false_alarm: float,
) -> AuditReport:
    tasks = getattr(mechanism, "tasks", answers)
    if answers > tasks:
        raise ParameterError(f"answers is {answers}, expected at most {tasks}, one for each task.")
    found = of_density(mechanism, cells=answers, claimed=claim.user, samples=samples, rng=rng)
    sampled = lower_bound(found.pairs, delta=float(claim.delta), false_alarm=false_alarm)
    method, worst = "exact densities at drawn reports and far from them", found.worst
    exact: Loss | None = None
    reasons = _of_status(claim)
    if isinstance(mechanism, MatrixFactorizationRidge):
        method = f"bound from features, noise and ridge; {method}"
        exact = bound_of(mechanism, cells=answers)
        if exact > claim.user:
            reasons.append(f"the loss is only bounded by {exact}, above the claimed {claim.user}")
    if found.grows is not None:
        exact, worst = INFINITE_LOSS, found.grows
        reasons.append(f"the loss grows without bound with the report, {found.grows}")
    if exceeds(found, claim.user):
        reasons.append(
            f"the loss is at least {found.largest:.6g}, above the claimed {claim.user}: "
            f"{found.worst}"
        )
    if sampled.epsilon > claim.user.epsilon:
        reasons.append(
            f"reports alone show a loss of at least {sampled.epsilon:.6g}, above the claimed "
            f"{claim.user}: {sampled.worst}"
        )
    return AuditReport(
        mechanism=name,
        answers=answers,
        status=claim.status,
        claimed_epsilon=claim.user,
        claimed_delta=float(claim.delta),
        exact_epsilon=exact,
        exact_delta=None,
        method=method,
        worst=worst,
        sampled_lower_bound=sampled.epsilon,
        confidence=1 - false_alarm,
        samples=found.drawn,
        reasons=tuple(reasons),
        details={
            "largest_log_ratio": found.largest,
            "share_above_claim": found.share_above,
        },
    )


def _pairs(
    vectors: list[tuple[str, Vector]], drawn: list[NDArray[Any]]
) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs of answers that differ in one place, and in more."""
    single: list[Pair] = []
    several: list[Pair] = []
    for i, j in itertools.combinations(range(len(vectors)), 2):
        (name, a), (other_name, b) = vectors[i], vectors[j]
        one, other = (_key(reports, a, b) for reports in (drawn[i], drawn[j]))
        pair = Pair((name, other_name), one, other, named=len(a) == 1)
        (single if (a != b).sum() == 1 else several).append(pair)
    return single, several


def _key(reports: NDArray[Any], a: Vector, b: Vector) -> NDArray[Any]:
    """Return one value a person that tells reports of a from reports of b."""
    if len(a) == 1:
        return reports[:, 0]
    changed = a != b
    if np.issubdtype(reports.dtype, np.floating):
        total: NDArray[Any] = np.nan_to_num(reports[:, changed]).sum(axis=1)
        return total
    near_a, near_b = (reports[:, changed] == vector[changed] for vector in (a, b))
    lean = near_a.sum(axis=1) - near_b.sum(axis=1) + int(changed.sum())
    kept = (reports[:, ~changed] == a[~changed]).sum(axis=1)
    step = max(1, len(a) // _COARSE)
    kinds: NDArray[Any] = (lean // step) * (len(a) + 1) + kept // step
    return kinds


def _fit(
    subject: Subject, vectors: list[tuple[str, Vector]], drawn: list[NDArray[Any]]
) -> float | None:
    """Return how likely the reports are by the mechanism's own probabilities, at most."""
    p_values = []
    for (_, vector), reports in zip(vectors, drawn, strict=True):
        law = subject.law(vector)
        if law is not None:
            seen = reports[:, 0] if len(vector) == 1 else (reports != vector).sum(axis=1)
            p_values.append(fit_p_value(*_counted(law, seen)))
    return min(1.0, min(p_values) * len(p_values)) if p_values else None


def _counted(law: Law, seen: NDArray[Any]) -> Law:
    """Return how often each report of a law was seen, and its probability; all others last."""
    kinds, probability = law
    order = np.argsort(kinds, kind="stable")
    place = np.minimum(np.searchsorted(kinds[order], seen), len(kinds) - 1)
    same = kinds[order][place] == seen
    if kinds.dtype.kind == "f":
        same |= np.isnan(kinds[order][place]) & np.isnan(seen)
    counts = np.bincount(np.where(same, order[place], len(kinds)), minlength=len(kinds) + 1)
    rest = max(0.0, 1 - float(probability.sum()))
    return counts, np.append(probability, rest + _NEARLY_NOTHING)


def _of_status(claim: Claim) -> list[str]:
    if claim.status != "none":
        return []
    return [f"the mechanism has no guarantee; an epsilon of {claim.user} was published"]


def _of_exact(claim: Claim, exact: ExactLoss) -> list[str]:
    reasons = list(exact.faults)
    if exact.event > claim.event:
        reasons.append(
            f"the loss of one changed answer is {exact.event}, above the claimed {claim.event}"
            + (f": {exact.worst}" if exact.event == exact.user else "")
        )
    elif exact.user > claim.user:
        reasons.append(
            f"the loss of all changed answers is {exact.user}, above the claimed {claim.user}: "
            f"{exact.worst}"
        )
    rho, found = claim.rho, exact.rho
    if rho is not None and found is not None and found > rho.epsilon + ROUNDING * (1 + found):
        reasons.append(f"rho is {found:.9g}, above the claimed {rho}")
    return reasons
