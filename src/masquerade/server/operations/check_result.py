"""Results of checks."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARNING, PROBLEM, SKIPPED = "ok", "warning", "problem", "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A result of one check."""

    check: str  # what was checked
    # ``ok``, ``warning`` (works, and should be known), ``problem`` (must be put right) or
    # ``skipped`` (could not be checked).
    status: str
    detail: str  # what was found and what to do

    def to_json(self) -> dict[str, str]:
        """Return the finding as JSON."""
        return {"check": self.check, "status": self.status, "detail": self.detail}


def ok(check: str, detail: str) -> CheckResult:
    """Return that all is well."""
    return CheckResult(check, OK, detail)


def warning(check: str, detail: str) -> CheckResult:
    """Return that something works, and should be known."""
    return CheckResult(check, WARNING, detail)


def problem(check: str, detail: str) -> CheckResult:
    """Return that something must be put right."""
    return CheckResult(check, PROBLEM, detail)


def skipped(check: str, detail: str) -> CheckResult:
    """Return that something could not be checked."""
    return CheckResult(check, SKIPPED, detail)
