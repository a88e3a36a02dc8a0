"""The audit of a mechanism's guarantee.

Three looks, none of which believes the claim: at its probabilities (exact); at reports drawn in
number (a lower confidence bound on epsilon); and at whether these follow the probabilities.
"""

from __future__ import annotations

import numpy as np

from masquerade.accounting.audit_custom import Auditable, OfAuditable
from masquerade.accounting.audit_report import AuditReport
from masquerade.accounting.audit_sampling import FEWEST_PERSONS, look_at_reports
from masquerade.accounting.audit_sets import OfSets
from masquerade.accounting.audit_subject import Claim, OfMechanism, Subject
from masquerade.accounting.exact_loss import ROUNDING, ExactLoss
from masquerade.errors import ParameterError
from masquerade.exact.coins import require_generator
from masquerade.exact.number import in_range, whole
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import parse_mechanism

DEFAULT_SAMPLES = 100_000
DEFAULT_FALSE_ALARM = 1e-6

_TOGETHER = 3  # answers of one person whose draws are looked at beside single ones


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
    Exact: where there is a table, it is enumerated in fractions; answers that share a private flip
    probability are joined exactly (`pattern_counts`); Laplace noise is told by its exponents;
    Gaussian noise is summed over a window of reports, for an epsilon at the claimed delta and for
    rho. Sampled: half of the reports choose the most telling set of reports, the other half bounds
    its probabilities. What is implied: that a report is drawn as `mechanism` draws it, and that
    answers are what is reported.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> found = audit(RandomizedResponse(2, epsilon=1), samples=2_000, rng=np.random.default_rng(1))
    >>> found.holds, str(found.exact_epsilon)
    (True, '1')
    """
    require_generator(rng)
    answers = whole(answers, "answers", low=1)
    samples = whole(samples, "samples", low=FEWEST_PERSONS)
    in_range(false_alarm, "false_alarm", above=0, below=1)
    if isinstance(mechanism, str):
        mechanism = parse_mechanism(mechanism)
    if isinstance(mechanism, Mechanism):
        subject: Subject
        if (sets := mechanism.as_sets) is not None:
            subject = OfSets(sets, answers, rng)
        else:
            subject = OfMechanism(mechanism, answers, rng)
        return _audit_reports(subject, answers, samples, rng, false_alarm)
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
    return _audit_reports(OfAuditable(mechanism, rng), answers, samples, rng, false_alarm)


def _audit_reports(
    subject: Subject, answers: int, samples: int, rng: np.random.Generator, false_alarm: float
) -> AuditReport:
    claim, exact = subject.claim, subject.exact()
    # exact faults first: once refuted, the long search for rare events is left out
    reasons = _of_status(claim)
    if exact is not None:
        reasons += _of_exact(claim, exact)
    look = look_at_reports(
        subject,
        subject.together(_TOGETHER) if answers == 1 else None,
        samples=samples,
        rng=rng,
        false_alarm=false_alarm,
        refuted=bool(reasons),
    )
    reasons += look.reasons
    gaps = [] if exact is None else list(exact.gaps)
    if exact is None:
        gaps.append("probabilities: there are none to enumerate, or too many")
    # nothing left out of the enumeration, reports of every answer drawn, and a claim to prove
    proven = exact is not None and not gaps and look.complete and claim.status != "none"
    # The largest loss that was shown, whichever change of answers shows it.
    best = max(look.event, look.user, key=lambda found: found.epsilon)
    return AuditReport(
        mechanism=subject.name,
        answers=answers,
        status=claim.status,
        claimed_epsilon=claim.user,
        claimed_delta=float(claim.delta),
        exact_epsilon=None if exact is None else exact.user,
        exact_delta=None if exact is None else exact.delta,
        method="reports alone" if exact is None else exact.method,
        worst=best.worst if exact is None else exact.worst,
        sampled_lower_bound=best.epsilon,
        confidence=1 - false_alarm,
        samples=look.tried["reports"],
        proven=proven,
        tried=look.tried,
        not_looked_at=(*gaps, *look.not_looked_at),
        reasons=tuple(reasons),
        details={
            "claimed_event": claim.event.to_json(),
            "exact_event": None if exact is None else exact.event.to_json(),
            "sampled_event": look.event.epsilon,
            "sampled_worst": None if best.worst is None else str(best.worst),
            "fit_p_value": look.fit,
            "dependence_p_value": look.dependence,
            "claimed_rho": None if claim.rho is None else claim.rho.to_json(),
            "exact_rho": None if exact is None else exact.rho,
        },
    )


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
    # found in floats: their rounding must refute nobody
    if rho is not None and found is not None and found > rho.epsilon + ROUNDING * (1 + found):
        reasons.append(f"rho is {found:.9g}, above the claimed {rho}")
    return reasons
