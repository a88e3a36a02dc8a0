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
