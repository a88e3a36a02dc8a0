"""Attacks on tables of two to four questions between two parties."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from tests.aggregate.test_prio3 import CONTEXT, check, seeds, total

from masquerade.aggregate import FIELD_128, Prio3, SumNoise, SurveyCircuit, prio3_survey
from masquerade.errors import InvalidReport
from masquerade.surveys import Choice, ShowIf
from masquerade.surveys.two_party_encoding import Encoding

P = FIELD_128.modulus
FALSE_ALARM = 1e-7
IDS = ("a", "b", "c", "d")
ASKED = tuple(Choice(one, f"Question {one}?", ("Yes", "No")) for one in IDS)
#: Every table of two to four of the questions: eleven.
TABLES = tuple(table for size in (2, 3, 4) for table in combinations(IDS, size))
ENCODING = Encoding(ASKED, cross=TABLES)


class Forged(SurveyCircuit):
    """The circuit of a device that encodes another vector than its answers give."""

    def __init__(self, vector: list[int]) -> None:
        super().__init__(ENCODING.blocks)
        self.vector = vector

    def encode(self, measurement: Any) -> list[int]:
        """Return the forged vector."""
        return self.vector


def answers(*given: int) -> dict[str, str]:
    """Return answers to the four questions: 0 is yes."""
    return {one: ("Yes", "No")[code] for one, code in zip(IDS, given, strict=True)}


def sent(vector: list[int], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Check a response with a vector of the device's own; return both parties' parts."""
    honest = prio3_survey(ENCODING.blocks)
    liar: Prio3[Any, Any] = Prio3(honest.algorithm, Forged(vector))
    return check(honest, liar.simulate(None, context=CONTEXT, seeds=seeds(rng, liar)))


@pytest.mark.parametrize("table", [("a", "b"), ("a", "b", "c"), IDS])
@pytest.mark.parametrize("kind", ["two cells", "none", "2 and -1", "a half and a half"])
def test_a_participant_counts_once_in_a_table(table: tuple[str, ...], kind: str) -> None:
    """Two cells, none, cells that add up to 1, fractions of the field: each is refused."""
    rng = np.random.default_rng(37)
    vector = list(SurveyCircuit(ENCODING.blocks).encode(ENCODING.measurement(answers(0, 1, 0, 1))))
    place = ENCODING.tables_from + TABLES.index(table)
    start = sum(block.bits for block in ENCODING.blocks[:place])
    cells = range(start, start + ENCODING.blocks[place].bits)
    own = next(cell for cell in cells if vector[cell])
    other = next(cell for cell in cells if not vector[cell])
    half = (P + 1) // 2
    changes = {
        "two cells": (1, 1),
        "none": (0, 0),
        "2 and -1": (2, P - 1),
        "a half and a half": (half, half),
    }
    vector[own], vector[other] = changes[kind]
    with pytest.raises(InvalidReport, match="does not hold"):
        sent(vector, rng)


def test_a_participant_can_contradict_themselves_by_one_person() -> None:
    """A table's cell that does not fit the other answers is counted: as one person, no more.

    Nobody can tell it from a false answer. It moves two cells by one, and no other sum.
    """
    rng = np.random.default_rng(38)
    circuit, told = SurveyCircuit(ENCODING.blocks), ENCODING.measurement(answers(0, 0, 0, 0))
    place = ENCODING.tables_from
    lie = [*told[:place], 3, *told[place + 1 :]]  # no and no, where both said yes
    outputs = [sum(pair) % P for pair in zip(*sent(list(circuit.encode(lie)), rng), strict=True)]
    honest = circuit.truncate(circuit.encode(told))
    changed = [(one - other) % P for one, other in zip(outputs, honest, strict=True)]
    assert sorted(one for one in changed if one) == [1, P - 1]
    start = sum(block.outputs for block in ENCODING.blocks[:place])
    assert [at - start for at, one in enumerate(changed) if one] == [0, 3]


@pytest.mark.parametrize("shown", [None, ShowIf("a", ("Yes",))])
def test_exact_tables_are_paid_for(shown: ShowIf | None) -> None:
    """Of all pairs of responses none changes the published sums by more than is charged.

    Enumerated with all eleven tables, so that whoever combines a count with the tables in which it
    stands again and again, however weighted, learns no more of a person than the stated rho. The
    charge is reached by the pair that differs in every answer.
    """
    conditions = () if shown is None else (None, shown, None, None)
    asked = (ASKED[0], replace(ASKED[1], allow_skip=shown is not None), *ASKED[2:])
    encoding = Encoding(asked, conditions, TABLES)
    noise = SumNoise.of_rho(encoding.blocks, Fraction(1, 2))
    circuit = SurveyCircuit(encoding.blocks)
    vectors = []
    for given in product((0, 1), repeat=4):
        told = answers(*given)
        if shown is not None and told["a"] == "No":
            del told["b"]
        vectors.append(circuit.truncate(circuit.encode(encoding.measurement(told))))
    outputs = [block.outputs for block in encoding.blocks]
    variances = np.repeat([float(one) for one in noise.variances], outputs)
    array = np.array(vectors, dtype=float)
    change = array[:, None, :] - array[None, :, :]
    # Loss of the Gaussian mechanism between two responses, block by block.
    rho = (change**2 / (2 * variances)).sum(axis=2)
    assert rho.max() <= float(noise.rho) + 1e-9
    assert rho.max() >= float(noise.rho) - 1e-9


def test_audit_a_reader_of_all_tables_guesses_as_rho_allows() -> None:
    """The best guess whether one person said yes or no to all, from every table at once.

    n = 4,000 surveys of 30 others known to the reader, at rho 1/2 by one party's noise: right in
    at most Phi(sqrt(2 rho) / 2) of them, 69 %; false alarm 1e-7. It is near that, so that the
    attack is the best there is.
    """
    rng, simulations = np.random.default_rng(39), 4000
    noise = SumNoise.of_rho(ENCODING.blocks, Fraction(1, 2))
    circuit = SurveyCircuit(ENCODING.blocks)
    yes, no = (
        np.array(circuit.truncate(circuit.encode(ENCODING.measurement(answers(*given)))))
        for given in ((0, 0, 0, 0), (1, 1, 1, 1))
    )
    outputs = [block.outputs for block in ENCODING.blocks]
    sigma = np.sqrt(np.repeat([float(one) for one in noise.variances], outputs))
    said = rng.integers(2, size=simulations).astype(bool)
    published = np.where(said[:, None], yes, no) + np.rint(
        rng.normal(size=(simulations, len(sigma))) * sigma
    )
    score = ((published - (yes + no) / 2) * (yes - no) / sigma**2).sum(axis=1)
    right = int(((score > 0) == said).sum())
    bound = float(norm.cdf(sqrt(2 * 0.5) / 2))
    assert binom.sf(right - 1, simulations, bound) > FALSE_ALARM
    assert binom.cdf(right, simulations, bound - 0.05) > FALSE_ALARM
    assert right > simulations * (bound - 0.05)


def test_one_partys_part_of_a_table_is_the_same_whatever_was_answered() -> None:
    """With the same coins the helper's share has the same bytes for every answer.

    The leader's differs from it by the vector, so it is as random as the helper's is to the leader.
    """
    honest, shares = prio3_survey(ENCODING.blocks), set()
    for given in product((0, 1), repeat=4):
        report = honest.simulate(
            ENCODING.measurement(answers(*given)),
            context=CONTEXT,
            seeds=seeds(np.random.default_rng(40), honest),
        )
        shares.add(report.input_shares[1])
    assert len(shares) == 1


def test_what_a_table_tells_fits_the_questions_it_has() -> None:
    """Without noise and lies, a table's margins are the counts of its questions."""
    honest = prio3_survey(ENCODING.blocks)
    people = [answers(0, 1, 0, 1), answers(1, 1, 0, 0), answers(0, 0, 0, 1)]
    sums = total(honest, [ENCODING.measurement(one) for one in people])
    for place, table in enumerate(TABLES):
        counts = np.array(sums[ENCODING.tables_from + place]).reshape(ENCODING.shape(table))
        for axis, name in enumerate(table):
            others = tuple(one for one in range(len(table)) if one != axis)
            assert list(counts.sum(axis=others)) == list(sums[ENCODING.place(name)])
