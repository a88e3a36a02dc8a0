"""The reports of a survey: the number of people for each response, and no names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masquerade.errors import InvalidReport, ParameterError, SchemaError
from masquerade.exact.arrays import Integers
from masquerade.exact.number import quantity
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.surveys.codebook import Codebook
from masquerade.surveys.drawn_blocks import NOT_DRAWN
from masquerade.surveys.pair_votes import unfolded

#: Below so many combinations a key of whole rows fits 64 bits.
_MOST_KEYS = 1 << 62
#: Rows that are worked on at once.
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class SentReports:
    """The reports to one question at one level.

    Attributes
    ----------
    code : int array, shape (n_distinct,)
        Each report that was sent, ascending.
    people : int array, shape (n_distinct,)
        Number of people who sent it.
    mask : DeviceMechanism
    """

    code: Integers
    people: Integers
    mask: DeviceMechanism

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.people.sum())

    @property
    def each(self) -> Integers:
        """The report of each person, ascending."""
        rows: Integers = np.repeat(self.code, self.people)
        return rows


@dataclass(frozen=True, eq=False)
class SurveyReports:
    """All reports to one survey: each response that was sent, and the number of its people.

    The same responses give the same object, in whatever order and form they come. Build one with
    `from_rows` or `from_counts`, or read one with `read_reports`.

    Attributes
    ----------
    level : int array, shape (n_distinct,)
        Place of a response's level in the codebook.
    report : int array, shape (n_distinct, n_questions)
        Codes; of numbers, whole steps from the lowest; of several options, their bits.
    people : int array, shape (n_distinct,)
        Number of people who sent this response.
    crowd : bytes
        `crowd_digest` of their pseudonyms.
    pairs : int array, shape (n_distinct, n_questions), optional
        Of votes on a list of n items the pair (a, b) that was shown, as ``a n + b``, else -1; None
        where the survey has no lists.

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
    >>> len(reports), reports.people.tolist()
    (40, [20, 20])
    """

    codebook: Codebook
    level: Integers
    report: Integers
    people: Integers
    crowd: bytes
    pairs: Integers | None = None

    def __repr__(self) -> str:
        return f"SurveyReports({int(self.people.sum())} people, {self.codebook!r})"

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
        return PersonRows.of(codebook, pseudonyms, levels, reports).counted(codebook)

    @classmethod
    def from_counts(
        cls,
        codebook: Codebook,
        level: Integers,
        report: Integers,
        people: Integers,
        *,
        crowd: bytes,
    ) -> SurveyReports:
        """Return the reports of people who are counted already, rows in any order.

        A response may stand in several rows. `ReportCounts` counts people while they are read.

        Raises
        ------
        SchemaError
            A report is none that its mask gives.
        """
        level, report, people = _distinct(level, report, people)
        impossible = _first_impossible(codebook, level, report)
        if impossible is not None:
            raise SchemaError(f"a person, {impossible[1]}")
        report, pairs = unfolded(codebook.questions, report)
        return cls(codebook, level, report, people, crowd, pairs)

    def __len__(self) -> int:
        return int(self.people.sum())

    def counted(self, name: str, *places: int) -> tuple[Integers, Integers]:
        """Return the responses at one level, and their people.

        Of shape (n_distinct, n_questions): of the questions at some `places`, or of all.
        """
        here = self.level == list(self.codebook.levels).index(name)
        sent = self.report[:, places][here] if places else self.report[here]
        return sent.astype(np.int64), self.people[here]

    def asked_of(self, *names: str) -> SurveyReports:
        """Return the reports of the people who were asked all of these questions.

        Raises `ParameterError`: each person was asked some of the questions alone, and these were
        drawn one without the other.
        """
        draw = self.codebook.survey.draw
        if draw is None:
            return self
        ids = [one.id for one in self.codebook.questions]
        places = [ids.index(name) for name in names]
        block = next(one for one in draw.blocks if places[0] in one)
        apart = next((ids[place] for place in places if place not in block), None)
        if apart is not None:
            raise ParameterError(
                f"each person was asked some of the questions alone, so that too few answered both "
                f"{names[0]!r} and {apart!r}. Ask everybody all, or say before the survey opens "
                "that the two are asked together."
            )
        here = self.report[:, places[0]] != NOT_DRAWN
        return replace(
            self,
            level=self.level[here],
            report=self.report[here],
            people=self.people[here],
            pairs=None if self.pairs is None else self.pairs[here],
        )

    @property
    def kept(self) -> Integers:
        """The reports as files have them: of a vote on a list the pair and the masked vote."""
        if self.pairs is None:
            return self.report
        counts = np.array([one.answer_count for one in self.codebook.questions])
        kept: Integers = self.report + np.maximum(self.pairs, 0) * counts
        return kept

    def at_level(self, name: str) -> Integers:
        """Return the reports of the people at one level, shape (n_people, n_questions)."""
        rows, people = self.counted(name)
        each: Integers = np.repeat(rows, people, axis=0)
        return each

    def sent(self, name: str, question: int) -> SentReports:
        """Return the reports to one question at one level."""
        here = self.level == list(self.codebook.levels).index(name)
        if self.codebook.survey.asked is not None:
            here &= self.report[:, question] != NOT_DRAWN
        code, place = np.unique(self.report[here, question], return_inverse=True)
        people = _added(place, self.people[here], len(code))
        mask = self.codebook.levels[name][question]
        return SentReports(code.astype(np.int64), people, mask)

    def counts(self) -> dict[str, int]:
        """Return how many people there are at each level."""
        found = _added(self.level, self.people, len(self.codebook.levels)).tolist()
        return dict(zip(self.codebook.levels, found, strict=True))

    def digest(self) -> str:
        """Return the SHA-256 of everything that a result is computed from.

        Of the hash of the definition, of `crowd`, so that nobody finds out by trying what people
        sent, and of each response with the place of its level and the number of its people, as
        64-bit little-endian integers.
        """
        found = hashlib.sha256(self.codebook.hash.encode() + b"\n" + self.crowd)
        for array in (self.level, self.kept, self.people):
            # In pieces, as 64 bits a number are many times what it is kept in; little-endian, so
            # that the digest is the same on every machine.
            for start in range(0, len(array), _PIECE):
                piece = np.ascontiguousarray(array[start : start + _PIECE], dtype="<i8")
                found.update(piece.tobytes())
        return found.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class PersonRows:
    """The rows of single people, by pseudonym, so that their order tells nothing of arrival.

    Attributes
    ----------
    pseudonyms : str array, shape (n,)
    level : int array, shape (n,)
    report : int array, shape (n, n_questions)
    """

    pseudonyms: NDArray[np.str_]
    level: Integers
    report: Integers

    def __repr__(self) -> str:
        return f"PersonRows({len(self.level)} people)"

    @classmethod
    def of(
        cls,
        codebook: Codebook,
        pseudonyms: Sequence[str],
        levels: Sequence[str],
        reports: Sequence[Sequence[int]] | Sequence[str],
    ) -> PersonRows:
        """Return the rows of people; see `SurveyReports.from_rows`."""
        level = level_places(codebook, levels)
        report = report_table(reports, len(pseudonyms), len(codebook.questions))
        return cls.from_arrays(codebook, np.array(pseudonyms, dtype=np.str_), level, report)

    @classmethod
    def from_arrays(
        cls, codebook: Codebook, names: NDArray[np.str_], level: Integers, table: Integers
    ) -> PersonRows:
        """Return the rows of people given as arrays, in any order."""
        order = np.argsort(names, kind="stable")
        names, level, table = names[order], level[order], table[order]
        twice = np.flatnonzero(names[1:] == names[:-1])
        if twice.size:
            raise SchemaError(f"pseudonym {names[twice[0]]!r} stands twice; one person, one row.")
        impossible = _first_impossible(codebook, level, table)
        if impossible is not None:
            row, what = impossible
            raise SchemaError(f"person {names[row]!r}, {what}")
        return cls(names, level, table)

    def counted(self, codebook: Codebook) -> SurveyReports:
        """Return the reports without the people."""
        each = np.ones(len(self.level), dtype=np.int64)
        crowd = crowd_digest(self.pseudonyms.tolist())
        return SurveyReports.from_counts(codebook, self.level, self.report, each, crowd=crowd)


def crowd_digest(pseudonyms: Sequence[str], before: bytes = bytes(32)) -> bytes:
    """Return a digest of people that does not depend on their order, 32 bytes.

    The sum of the SHA-256 of their pseudonyms, each of four 64-bit words by itself. `before`: that
    of other people, who are added.
    """
    digests = b"".join([hashlib.sha256(name.encode()).digest() for name in pseudonyms])
    words = np.frombuffer(before + digests, dtype="<u8").reshape(-1, 4)
    total: bytes = words.sum(axis=0, dtype=np.uint64).astype("<u8").tobytes()
    return total


def level_places(codebook: Codebook, levels: Sequence[str]) -> Integers:
    """Return the places of levels in the codebook, by their names."""
    places = {name: place for place, name in enumerate(codebook.levels)}
    try:
        return np.array([places[name] for name in levels], dtype=np.int64)
    except KeyError as error:
        raise SchemaError(f"level {error} is none of the survey's: {', '.join(places)}.") from error


def report_table(
    reports: Sequence[Sequence[int]] | Sequence[str], n: int, questions: int
) -> Integers:
    """Return the reports of people as a table, a row each."""
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
            # From bytes to bytes: pyarrow's conversions load pandas where it is, which is dear.
            text = ",".join(bare).encode()
            ends = np.array([0, len(text)], dtype=np.int64)
            whole = pa.LargeStringArray.from_buffers(1, pa.py_buffer(ends), pa.py_buffer(text))
            cells = pc.utf8_trim_whitespace(pc.split_pattern(whole, ",").flatten())
            numbers = cells.cast(pa.int64()).buffers()[1]
            values: Integers = np.frombuffer(numbers, np.int64, n * questions).reshape(n, questions)
        except pa.ArrowInvalid as error:
            raise SchemaError("the reports are not all whole numbers.") from error
        return values
    lists: list[Sequence[int]] = list(reports)  # type: ignore[arg-type]
    for row, one in enumerate(lists, start=1):
        if len(one) != questions:
            raise SchemaError(
                f"row {row} has {quantity(len(one), 'report')} for {questions} questions."
            )
    return np.array(lists, dtype=np.int64).reshape(n, questions)


def _first_impossible(
    codebook: Codebook, level: Integers, table: Integers
) -> tuple[int, str] | None:
    """Return the first row with a report that its mask never gives, and its fault."""
    try:
        table, _ = unfolded(codebook.questions, table)
    except InvalidReport as error:
        raise SchemaError(str(error)) from error
    for place, (name, mechanisms) in enumerate(codebook.levels.items()):
        rows = np.flatnonzero(level == place)
        if not rows.size:
            continue
        for number, mechanism in enumerate(mechanisms):
            # Noise on numbers has no bounds: every whole number is a possible report.
            if mechanism.kind == "numeric":
                continue
            low, high = mechanism.possible_reports()
            sent = table[rows, number]
            if codebook.survey.asked is not None:
                sent = sent[sent != NOT_DRAWN]
            bad = np.flatnonzero((sent < low) | (sent > high))
            if bad.size:
                return int(rows[bad[0]]), (
                    f"question {codebook.questions[number].id!r}: report {sent[bad[0]]} is none "
                    f"that {mechanism} gives at level {name!r}."
                )
    return None


def _distinct(
    level: Integers, report: Integers, people: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return each response once, ascending by level and reports, and the number of its people.

    Cost: beside the rows some five numbers of 64 bits a row.
    """
    if not len(level):
        return level, report, people.astype(np.int64)
    key, size = np.zeros(len(level), dtype=np.int64), 1
    for column in (level, *report.T):
        low, high = int(column.min()), int(column.max())
        if size * (high - low + 1) >= _MOST_KEYS:
            key, size = _ranks(key)
            if size * (high - low + 1) >= _MOST_KEYS:
                # At most one value a row: with one more column it fits again.
                column, high = _ranks(column)
                low, high = 0, high - 1
        key *= high - low + 1
        key += column
        key -= low
        size *= high - low + 1
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    del key
    first = order[starts]
    return level[first], report[first], np.add.reduceat(people[order], starts, dtype=np.int64)


def _ranks(numbers: Integers) -> tuple[Integers, int]:
    """Return the rank of each number among those that occur, and how many these are."""
    values, place = np.unique(numbers, return_inverse=True)
    return place.astype(np.int64), len(values)


def _added(place: Integers, people: Integers, size: int) -> Integers:
    # exact: sums of floats are, below 2**53 people
    total = np.bincount(place, weights=people, minlength=size)
    found: Integers = total.astype(np.int64)
    return found
