"""The block of a ranking between two parties: its sums, its largest change, its checks."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from masquerade.aggregate.item_blocks import Order
from masquerade.aggregate.survey_circuit import SurveyCircuit, prio3_survey
from masquerade.aggregate.vdaf_configuration import configuration_of, prio3_of
from masquerade.errors import ParameterError


@pytest.mark.parametrize(
    ("items", "ranked"), [(m, k) for m in range(2, 6) for k in range(1, m + 1)] + [(6, 1), (6, 2)]
)
def test_exact_the_largest_change_is_that_of_all_pairs_of_rankings(items: int, ranked: int) -> None:
    """By brute force over all pairs of answers, no answer too: D and the change of one output."""
    for optional in (False, True):
        block = Order(items, ranked, optional)
        answers = [list(one) for one in itertools.permutations(range(items), ranked)]
        outputs = [block.truncate(block.encode(one)) for one in [*answers, *([[]] * optional)]]
        first = outputs[0]
        # Items can be renamed, so the first ranking stands for all; no answer is compared as well.
        pairs = [(first, one) for one in outputs] + [(outputs[-1], one) for one in outputs]
        found = max(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x, y in pairs)
        assert found == block.sensitivity_squared
        largest = max(abs(a - b) for x, y in pairs for a, b in zip(x, y, strict=True))
        assert largest**2 <= block.largest_change_squared


@pytest.mark.parametrize(
    ("items", "ranked", "relative"),
    [(5, 5, Fraction(9, 2)), (10, 10, 2 + Fraction(330, 81)), (10, 3, 2 + Fraction(154, 81))],
)
def test_the_cost_of_a_ranking_is_golden(items: int, ranked: int, relative: Fraction) -> None:
    """D in squared units is that of the formula, for whole rankings and for the first few."""
    block = Order(items, ranked)
    assert Fraction(block.sensitivity_squared, block.unit**2) == relative


def test_what_is_added_up_is_first_choices_and_ranks() -> None:
    """Of items 2, 0 ranked before 1 and 3: item 2 first, ranks from the middle, the rest shared."""
    block = Order(4, 2)
    sums = block.truncate(block.encode([2, 0]))
    assert sums == [0, 0, 6, 0, 2 - 3, 2, -3, 2]
    assert sum(sums[4:]) == 0


@pytest.mark.parametrize("optional", [False, True])
def test_a_vector_that_is_no_ranking_is_refused(optional: bool) -> None:
    """A doubled place, a missing one, an item twice, and no answer where one is needed: refused."""
    block = Order(3, 3, optional)
    vdaf = prio3_survey([block])
    assert isinstance(vdaf.circuit, SurveyCircuit)
    good = block.encode([2, 0, 1])
    assert not any(vdaf.circuit.checks(good, [], 1))
    for place in range(9):
        bad = list(good)
        bad[place] ^= 1
        assert any(vdaf.circuit.checks(bad, [], 1)), place
    doubled = [1, 0, 0, 1, 0, 0, 0, 0, 1] + [1] * optional
    assert any(vdaf.circuit.checks(doubled, [], 1))
    empty = [0] * block.bits
    assert any(vdaf.circuit.checks(empty, [], 1)) != optional
    twice = [2, 0, 0, 0, 1, 0, 0, 0, 1]
    assert any(vdaf.circuit.checks([*twice, *[1] * optional], [], 1))


def test_answers_that_are_no_rankings_are_not_encoded() -> None:
    """An item twice, too few, too many or none that there is: an error."""
    block = Order(3, 2)
    for wrong in ([0, 0], [0], [0, 1, 2], [0, 3], []):
        with pytest.raises(ParameterError):
            block.encode(wrong)
    for items, ranked in ((1, 1), (13, 2), (4, 5)):
        with pytest.raises(ParameterError):
            Order(items, ranked)


def test_the_block_has_a_form_in_a_task() -> None:
    """The configuration of a task names the block, and leads back to it."""
    vdaf = prio3_survey([Order(5, 3, optional=True)])
    algorithm, content = configuration_of(vdaf)
    again = prio3_of(algorithm, content)
    assert again.circuit.blocks == vdaf.circuit.blocks  # type: ignore[attr-defined]
