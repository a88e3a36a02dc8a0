"""Counts of equal responses, taken while people are read, so that memory stays small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from masquerade.exact.arrays import Integers
from masquerade.results.reports import SurveyReports, crowd_digest, level_places, report_table
from masquerade.surveys.codebook import Codebook

#: Different texts of responses that are kept as texts.
MOST_TEXTS = 50_000


class ReportCounts:
    """The responses to a survey, counted piece by piece.

    A response is counted by its level and the text of its reports, which is parsed once however
    many people sent it. Where nearly every text is another, as with numbers behind noise, texts are
    packed into whole numbers of as few bytes as hold them.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> counts = ReportCounts(book)
    >>> counts.add([("p1", "medium", "[0,1]"), ("p2", "medium", "[0,1]")])
    >>> len(counts.reports())
    2
    """

    def __init__(self, codebook: Codebook) -> None:
        self._codebook = codebook
        self._texts: Counter[tuple[str, str]] = Counter()
        # Level, reports and people of texts that are no longer kept.
        self._packed: list[tuple[Integers, Integers, Integers]] = []
        self._crowd = bytes(32)

    def add(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Count people: pseudonym, level, and the JSON text of the reports of each."""
        if not rows:
            return
        names, levels, texts = zip(*rows, strict=True)
        self._crowd = crowd_digest(names, self._crowd)
        self._texts.update(zip(levels, texts, strict=True))
        if len(self._texts) > MOST_TEXTS:
            self._pack()

    def reports(self) -> SurveyReports:
        """Return all that was counted."""
        self._pack()
        level, report, people = (
            np.concatenate(column) for column in zip(*self._packed, strict=True)
        )
        self._packed.clear()
        return SurveyReports.from_counts(self._codebook, level, report, people, crowd=self._crowd)

    def _pack(self) -> None:
        n = len(self._texts)
        levels, texts = zip(*self._texts, strict=True) if n else ((), ())
        self._packed.append(
            (
                _packed(level_places(self._codebook, levels)),
                _packed(report_table(texts, n, len(self._codebook.questions))),
                _packed(np.fromiter(self._texts.values(), dtype=np.int64, count=n)),
            )
        )
        self._texts.clear()


def _packed(numbers: Integers) -> Integers:
    """Return whole numbers in as few bytes as hold them."""
    for kind in (np.int8, np.int16, np.int32):
        if not numbers.size or (
            -np.iinfo(kind).max <= numbers.min() <= numbers.max() <= np.iinfo(kind).max
        ):
            return numbers.astype(kind)
    return numbers.astype(np.int64)
