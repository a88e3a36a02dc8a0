"""The reports of a survey as arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masquerade.errors import SchemaError
from masquerade.exact.arrays import Integers
from masquerade.surveys.codebook import Codebook


@dataclass(frozen=True, eq=False)
class SurveyReports:
    """All reports to one survey, people in the order of their pseudonyms.

    Build one with `from_rows`, which sorts, or read one with `read_reports`.

    Attributes
    ----------
    pseudonyms : str array, shape (n,)
    level : int array, shape (n,)
        Place of each person's level in the codebook.
    report : int array, shape (n, n_questions)
        Codes; of numbers, whole steps from the lowest; of several options, their bits.

    Examples
    --------
    >>> from masquerade.results import Codebook
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, people, ["medium"] * 40, sent)
    >>> len(reports.pseudonyms)
    40
    """

    codebook: Codebook
    pseudonyms: NDArray[np.str_]
    level: Integers
    report: Integers

    @classmethod
    def from_rows(
        cls,
        codebook: Codebook,
        pseudonyms: Sequence[str],
        levels: Sequence[str],
        reports: Sequence[Sequence[int]] | Sequence[str],
    ) -> SurveyReports:
        """Return the reports of people, one row each.

        Parameters
        ----------
        codebook : Codebook
        pseudonyms, levels : sequence of str
        reports : sequence of sequences of int, or of str
            As lists, or as the JSON texts of lists, which is quicker.

        Raises
        ------
        SchemaError
            A row has another number of reports than there are questions, a level is unknown, a
            pseudonym stands twice, or a report is none that its mask gives. It names the row.
        """
        n, questions = len(pseudonyms), len(codebook.questions)
        places = {name: place for place, name in enumerate(codebook.levels)}
        try:
            level = np.array([places[name] for name in levels], dtype=np.int64)
        except KeyError as error:
            raise SchemaError(
                f"level {error} is none of the survey's: {', '.join(places)}."
            ) from error
        return cls.from_arrays(
            codebook,
            np.array(pseudonyms, dtype=np.str_),
            level,
            _matrix(reports, n, questions),
        )

    @classmethod
    def from_arrays(
        cls, codebook: Codebook, names: NDArray[np.str_], level: Integers, table: Integers
    ) -> SurveyReports:
        """Return the reports of people given as arrays, in any order; see `from_rows`."""
        # By pseudonym, so that neither result nor digest depends on the order of arrival.
        order = np.argsort(names, kind="stable")
        names = names[order]
        twice = np.flatnonzero(names[1:] == names[:-1])
        if twice.size:
            raise SchemaError(f"pseudonym {names[twice[0]]!r} stands twice; one person, one row.")
        found = cls(codebook, names, level[order], table[order])
        found._check()
        return found

    def __len__(self) -> int:
        return len(self.pseudonyms)

    def at_level(self, name: str) -> Integers:
        """Return the reports of the people at one level, shape (n_people, n_questions)."""
        rows: Integers = self.report[self.level == list(self.codebook.levels).index(name)]
        return rows

    def counts(self) -> dict[str, int]:
        """Return how many people there are at each level."""
        found = np.bincount(self.level, minlength=len(self.codebook.levels)).tolist()
        return dict(zip(self.codebook.levels, found, strict=True))

    def digest(self) -> str:
        """Return the SHA-256 of everything that a result is computed from.

        Of the hash of the definition, then the pseudonyms in order, one a line, then the place of
        each one's level and the reports, as 64-bit little-endian integers.
        """
        found = hashlib.sha256(self.codebook.hash.encode())
        found.update(("\n" + "\n".join(self.pseudonyms.tolist()) + "\n").encode())
        for array in (self.level, self.report):
            # little-endian, so that the digest is the same on every machine
            found.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return found.hexdigest()

    def _check(self) -> None:
        for place, (name, mechanisms) in enumerate(self.codebook.levels.items()):
            rows = np.flatnonzero(self.level == place)
            if not rows.size:
                continue
            for number, mechanism in enumerate(mechanisms):
                # Noise on numbers has no bounds: every whole number is a possible report.
                if mechanism.kind == "numeric":
                    continue
                low, high = mechanism.possible_reports()
                sent = self.report[rows, number]
                bad = np.flatnonzero((sent < low) | (sent > high))
                if bad.size:
                    raise SchemaError(
                        f"person {self.pseudonyms[rows[bad[0]]]!r}, question "
                        f"{self.codebook.questions[number].id!r}: report {sent[bad[0]]} is none "
                        f"that {mechanism} gives at level {name!r}."
                    )


def _matrix(reports: Sequence[Sequence[int]] | Sequence[str], n: int, questions: int) -> Integers:
    if len(reports) != n:
        raise SchemaError(f"there are {len(reports)} rows of reports for {n} pseudonyms.")
    if n and isinstance(reports[0], str):
        bare = [str(row).strip("[] \n") for row in reports]
        # Counted by row: in one joined text a short row and a long one would cancel out.
        commas = np.fromiter((row.count(",") for row in bare), dtype=np.int64, count=n)
        odd = np.flatnonzero(commas != questions - 1)
        if odd.size:
            raise SchemaError(f"row {odd[0] + 1}: there are not {questions} reports.")
        try:
            cells = pc.split_pattern(pa.array(bare, pa.string()), ",").flatten()
            cells = pc.utf8_trim_whitespace(cells)
            values: Integers = cells.cast(pa.int64()).to_numpy().reshape(n, questions)
        except pa.ArrowInvalid as error:
            raise SchemaError("the reports are not all whole numbers.") from error
        return values
    lists: list[Sequence[int]] = list(reports)  # type: ignore[arg-type]
    for row, one in enumerate(lists, start=1):
        if len(one) != questions:
            raise SchemaError(f"row {row} has {len(one)} reports for {questions} questions.")
    return np.array(lists, dtype=np.int64).reshape(n, questions)
