"""The audit's subject for questions with several answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masquerade.accounting.audit_subject import (
    Answers,
    Claim,
    Law,
    Subject,
    Vector,
    chosen_inputs,
    vectors_of,
)
from masquerade.accounting.audit_views import Drawn
from masquerade.accounting.exact_loss import ExactLoss, of_numbers, of_table
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import BitwiseResponse

_LARGEST_TABLE = 1 << 16


class OfSets(Subject):
    """`BitwiseResponse`: answers are sets of options, compared as rows of bits.

    `rng`: chooses the answers to compare where there are more than `MOST_INPUTS`.
    """

    independent = True

    def __init__(
        self, mechanism: BitwiseResponse, answers: int, rng: np.random.Generator | None = None
    ) -> None:
        self.name, self.claim = str(mechanism), Claim.of(mechanism, answers)
        self._mechanism, self._answers, self._rng = mechanism, answers, rng
        self._sets = mechanism.answers()
        self.inputs = len(self._sets)
        self._inputs = [self._sets[place] for place in chosen_inputs(self.inputs, rng)]
        self.compared = len(self._inputs)
        self._small = self.inputs * mechanism.symbols <= _LARGEST_TABLE

    def vectors(self) -> list[Answers]:
        """Return the answers of persons to compare; see `Subject.vectors`."""
        return vectors_of(self._inputs, self._answers, [self._named(one) for one in self._inputs])

    def together(self, answers: int) -> Subject | None:
        """Return the same mechanism with more answers of a person; see `Subject.together`."""
        return OfSets(self._mechanism, answers, self._rng)

    def draw(self, vector: Vector, persons: int, rng: np.random.Generator) -> Drawn:
        """Return reports; see `Subject.draw`."""
        every = np.tile(vector.astype(np.int64), persons)
        who = np.arange(persons, dtype=np.int64).repeat(len(vector))
        reports = self._mechanism.mask(every, who, SimulatedCoins(rng))
        return Drawn.of(reports.reshape(persons, len(vector)))

    def exact(self) -> ExactLoss | None:
        """Return the loss by the whole table, or, where it is too large, by that of one bit."""
        mechanism, answers = self._mechanism, self._answers
        if self._small:
            return of_table(
                mechanism.channel().table,
                inputs=[self._named(one) for one in self._sets],
                reports=[self._named(one) for one in range(mechanism.symbols)],
                answers=answers,
            )
        other, total = mechanism.bit.grid
        one, all_bits = (
            of_numbers(other, other, total, 2, mechanism.changes * count) for count in (1, answers)
        )
        assert one is not None
        assert all_bits is not None
        return replace(all_bits, event=one.user)

    def laws(self, vector: Vector, drawn: Drawn) -> list[tuple[Law, NDArray[np.int64]]]:
        """Return claimed laws and drawn reports: of each bit, and of rows where they are few."""
        mechanism = self._mechanism
        flip = float(mechanism.bit.flip_probability)
        found: list[tuple[Law, NDArray[np.int64]]] = []
        reports = np.arange(mechanism.symbols) if self._small else None
        for place, answer in enumerate(vector.tolist()):
            column = drawn.reports[:, place]
            for bit in range(mechanism.bits):
                held = answer >> bit & 1
                law = np.array([1 - flip, flip] if held == 0 else [flip, 1 - flip])
                found.append(((np.arange(2), law), column >> bit & 1))
            if reports is not None:
                moved = ((reports ^ answer)[:, None] >> np.arange(mechanism.bits) & 1).sum(axis=1)
                row = flip**moved * (1 - flip) ** (mechanism.bits - moved)
                found.append(((reports, row), column))
        return found

    def _named(self, row: int) -> str:
        mechanism = self._mechanism
        if mechanism.null and row == 1 << mechanism.options:
            return "'no answer'"
        held = [str(bit + 1) for bit in range(mechanism.bits) if row >> bit & 1]
        return "{" + " ".join(held) + "}"
