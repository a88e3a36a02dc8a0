"""Mechanisms that a device runs on one person's answers: their domains, and a whole response."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.coins import Coins, WordSource, require_coins
from masquerade.exact.number import whole
from masquerade.mechanisms.mechanism import Mechanism

if TYPE_CHECKING:
    from masquerade.mechanisms.lattice import Lattice


@dataclass(frozen=True, slots=True)
class Labels:
    """One of so many labels, "no answer" counted where it is masked."""

    labels: int


@dataclass(frozen=True, slots=True)
class Sets:
    """Any set of at most `most` of so many options; `null`: or "no answer"."""

    options: int
    most: int | None
    null: bool
    labels: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Orders:
    """Rankings of the first `ranked` of so many items; `null`: or "no answer"."""

    items: int
    ranked: int
    null: bool
    labels: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """A number on a lattice; `null`: or "no answer"."""

    lattice: Lattice
    null: bool
    labels: ClassVar[int] = 0


#: What a mechanism masks; a question whose answers have the same domain can be masked by it.
Domain = Labels | Sets | Orders | Scale


class DeviceMechanism(Mechanism):
    """A local randomizer of whole numbers that stand for answers, as devices run it.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mechanism = RandomizedResponse(2, epsilon=1)
    >>> mechanism.domain, mechanism.codes, mechanism.possible_reports()
    (Labels(labels=2), 2, (0, 1))
    """

    #: Whether surveys use it; the others mask tables of claims.
    in_surveys: ClassVar[bool] = False

    #: Of the whole numbers that stand for answers, in arrays.
    code_type: ClassVar[type[np.signedinteger[Any]]] = np.int64

    @property
    def as_device(self) -> DeviceMechanism:
        """The mechanism itself."""
        return self

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The answers that it masks."""

    @property
    @abstractmethod
    def codes(self) -> int:
        """Number of whole numbers that can stand for an answer; the first is 0."""

    def masks(self, answer: int) -> bool:
        """Return whether a whole number stands for an answer."""
        return 0 <= answer < self.codes

    @abstractmethod
    def possible_reports(self) -> tuple[int, int]:
        """Return the least and the largest report that is accepted."""

    @abstractmethod
    def device_form(self) -> dict[str, Any]:
        """Return the whole numbers that a device draws from, as JSON-ready values."""

    @abstractmethod
    def mask(self, answers: Any, persons: Any, source: WordSource) -> Any:
        """Return an array with a report for each answer; `persons` are codes from 0."""

    def mask_for_one(self, answers: Sequence[int], source: WordSource) -> list[int]:
        """Return the reports of one person, with at most one private number for all."""
        codes = np.array(answers, dtype=self.code_type)
        person = np.zeros(len(answers), dtype=np.int32)
        return [int(report) for report in self.mask(codes, person, source)]


def mask_response(
    answers: Sequence[int], mechanisms: Sequence[DeviceMechanism], *, coins: Coins | None = None
) -> list[int]:
    """Return one person's reports, in the order of the answers.

    Answers whose mechanisms have the same text form are masked together, so that a two-layer
    mechanism draws its flip probability once for all of them; groups are masked in the order of
    their first answer. The device's half is ``maskResponse`` in ``web/static/mechanisms/mask.js``.

    Parameters
    ----------
    answers : sequence of int, Python's or numpy's
        One code for each question; of a number, the index of its lattice point; of several
        options, their bits.
    mechanisms : sequence of DeviceMechanism
        One for each question.
    coins : Coins, optional
        Operating-system entropy; nothing else is accepted.

    Returns
    -------
    list of int
        Codes; of numbers, whole lattice steps from the lowest, which may lie outside the range, or
        the number of a level of `QuantisedResponse`; rows of bits of `BitwiseResponse`.

    Raises
    ------
    ParameterError
        An answer is no code of its mechanism.

    Privacy
    -------
    Protects the person as `masquerade.accounting.compose` of `mechanisms` says.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> masks = [RandomizedResponse(2, epsilon=1), RandomizedResponse(3, epsilon=1)]
    >>> reports = mask_response([0, 1], masks)
    >>> reports[0] in (0, 1) and reports[1] in (0, 1, 2)
    True
    """
    if len(answers) != len(mechanisms):
        raise ParameterError(f"{len(answers)} answers for {len(mechanisms)} mechanisms.")
    # all answers are checked before a word is drawn: a refusal leaves no draw to repeat
    codes = [
        whole(answer, f"answer {number}", low=0, high=mechanism.codes - 1)
        for number, (answer, mechanism) in enumerate(zip(answers, mechanisms, strict=True), start=1)
    ]
    for number, (code, mechanism) in enumerate(zip(codes, mechanisms, strict=True), start=1):
        # a set larger than `most` would lose more than was promised
        if not mechanism.masks(code):
            raise ParameterError(f"answer {number} is no answer that {mechanism} masks.")
    source = require_coins(coins)
    reports = [0] * len(answers)
    # in the order of the first answers, as the device's half does: both read the same words
    for mechanism in dict.fromkeys(mechanisms):
        places = [i for i, other in enumerate(mechanisms) if other == mechanism]
        masked = mechanism.mask_for_one([codes[i] for i in places], source)
        for place, report in zip(places, masked, strict=True):
            reports[place] = report
    return reports
