"""Who can be told from whom, and by what report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Witness:
    """A report that shows a loss, and the two answers between which it does.

    Attributes
    ----------
    report : str
        A report, or a set of reports, in words.
    answers : (str, str)
        The report is more likely by the first answer than by the second.
    """

    report: str
    answers: tuple[str, str]

    def __str__(self) -> str:
        return f"report {self.report}: answer {self.answers[0]} against {self.answers[1]}"
