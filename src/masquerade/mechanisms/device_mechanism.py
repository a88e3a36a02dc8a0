"""Mechanisms that a device runs on one person's answers, and the domains of answers they mask."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from masquerade.exact.coins import WordSource
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
class Scale:
    """A number on a lattice; `null`: or "no answer"."""

    lattice: Lattice
    null: bool
    labels: ClassVar[int] = 0


#: What a mechanism masks; a question whose answers have the same domain can be masked by it.
Domain = Labels | Sets | Scale


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
