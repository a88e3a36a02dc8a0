"""What a server refuses, as the exceptions that the library raises itself."""

from __future__ import annotations

from typing import Any

from masquerade.errors import (
    AlreadyParticipated,
    ClearDisclosureRefused,
    CommitmentMismatch,
    ConfirmationNeeded,
    Forbidden,
    IdempotencyConflict,
    InsufficientBudget,
    InsufficientFunds,
    InvalidReport,
    LevelNotAllowed,
    MasqueradeError,
    NotFound,
    ParameterError,
    QuotaFull,
    StaleVersion,
    SurveyError,
    SurveyHashMismatch,
    TooManyAttempts,
    TooManyReservations,
    Unauthenticated,
    WrongState,
)

_CLASSES: dict[str, type[MasqueradeError]] = {
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "stale-version": StaleVersion,
    "not-found": NotFound,
    "already-participated": AlreadyParticipated,
    "budget-exhausted": QuotaFull,
    "invalid-report": InvalidReport,
    "level-not-allowed": LevelNotAllowed,
    "survey-hash-mismatch": SurveyHashMismatch,
    "commitment-mismatch": CommitmentMismatch,
    "idempotency-conflict": IdempotencyConflict,
    "confirmation-needed": ConfirmationNeeded,
    "too-many-reservations": TooManyReservations,
    "validation-error": ParameterError,
}


def error_of(status: int, problem: dict[str, Any]) -> MasqueradeError:
    """Return the exception that problem details stand for.

    Parameters
    ----------
    status : int
        Of the answer.
    problem : dict
        The JSON object of an ``application/problem+json`` answer, or an empty one.
    """
    slug = str(problem.get("type", "")).rpartition("/")[2]
    detail = str(problem.get("detail") or f"the server refused the request ({status}).")
    if slug == "wrong-state":
        state = problem.get("state")
        return WrongState(detail, state=state if isinstance(state, str) else None)
    if slug == "privacy-cap-exceeded":
        needed, residual = _amounts(problem)
        return InsufficientBudget(
            detail, needed=needed, residual=residual, unit=str(problem.get("unit", "epsilon"))
        )
    if slug == "clear-cap-exceeded":
        needed, residual = _amounts(problem)
        return ClearDisclosureRefused(detail, needed=int(needed), residual=int(residual))
    if slug == "too-many-attempts":
        return TooManyAttempts(detail, seconds=_whole(problem.get("seconds")))
    if slug == "insufficient-funds":
        needed, there = (_whole(problem.get(name)) for name in ("needed", "there"))
        currency = str(problem.get("currency", ""))
        return InsufficientFunds(detail, needed=needed, there=there, currency=currency)
    if slug == "validation-error" and isinstance(problem.get("errors"), list):
        wrong = "; ".join(f"{e.get('pointer')}: {e.get('detail')}" for e in problem["errors"])
        return ParameterError(f"{detail} {wrong}")
    return _CLASSES.get(slug, SurveyError)(detail)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _amounts(problem: dict[str, Any]) -> tuple[float, float]:
    needed, residual = problem.get("needed", 0), problem.get("residual", 0)
    return float(needed), float(residual)
