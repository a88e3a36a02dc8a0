"""The block of votes on pairs of a list: its sums, its largest change, its checks."""

from __future__ import annotations

import itertools

import pytest

from masquerade.aggregate import GivenSeeds, SumNoise, verification_key
from masquerade.aggregate.item_blocks import Matching
from masquerade.aggregate.survey_circuit import SurveyCircuit, prio3_survey
from masquerade.aggregate.vdaf_configuration import configuration_of, prio3_of
from masquerade.errors import ParameterError

SHAPES = [(2, 1), (3, 1), (4, 1), (4, 2), (5, 2)]


def answers_of(block: Matching) -> list[tuple[list[int], list[int]]]:
    """Return all answers: each choice of winners and losers of pairs without a common item."""
    fewest = 0 if block.ties else block.pairs
    return [
        (list(won), list(lost))
        for decided in range(fewest, block.pairs + 1)
        for won in itertools.combinations(range(block.items), decided)
        for lost in itertools.combinations(sorted(set(range(block.items)) - set(won)), decided)
    ]


def distance(one: list[int], other: list[int]) -> int:
    """Return the squared Euclidean distance."""
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("items", "pairs"), SHAPES)
def test_exact_the_largest_change_is_that_of_all_neighbours(
    items: int, pairs: int, ties: bool
) -> None:
    """By brute force over all bit vectors that pass the check: never above D, and D is attained.

    So it holds against a device that lies, and honest people reach it too.
    """
    block = Matching(items, pairs, ties)
    honest = [block.truncate(block.encode(one)) for one in answers_of(block)]
    assert max(map(distance, *zip(*itertools.product(honest, honest), strict=True))) == 4 * pairs
    passing = {
        tuple(block.truncate(bits))
        for bits in itertools.product((0, 1), repeat=block.bits)
        if not any(block.all_checks(bits, 0, 1))
    }
    assert set(map(tuple, honest)) <= passing
    worst = max(distance(list(x), list(y)) for x, y in itertools.combinations(passing, 2))
    assert worst == block.sensitivity_squared == 4 * pairs
    # Nobody adds more than one to a sum, or wins where nobody loses.
    assert all(sum(one[:items]) == sum(one[items:]) <= pairs for one in passing)


def test_the_cost_of_votes_is_that_of_the_noise() -> None:
    """Ten pairs of 300 items at rho 1/2: noise of variance 40 on each sum of a party, exactly."""
    noise = SumNoise.of_rho((Matching(300, 10, ties=True),), "0.5")
    assert noise.rho == noise.terms.rho
    assert [float(one) for one in noise.variances] == [40.0]


@pytest.mark.parametrize("ties", [False, True])
def test_forged_votes_are_refused(ties: bool) -> None:
    """A win without a loss, an item too many, a pair too few, a number of ties that is wrong."""
    block = Matching(6, 2, ties)
    vdaf = prio3_survey([block])
    assert isinstance(vdaf.circuit, SurveyCircuit)
    good = block.encode(([0, 3], [1, 2]))
    assert not any(vdaf.circuit.checks(good, [], 1))
    for place in range(block.bits):
        bad = list(good)
        bad[place] ^= 1
        assert any(vdaf.circuit.checks(bad, [], 1)), place
    three = [1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1] + [0] * (2 if ties else 0)
    assert any(vdaf.circuit.checks(three, [], 1))
    none = [0] * block.bits
    assert any(vdaf.circuit.checks(none, [], 1))


def test_two_parties_add_up_votes() -> None:
    """Shares of three people, checked and added up: wins and losses of each item."""
    vdaf = prio3_survey([Matching(5, 2, ties=True)])
    key = verification_key(bytes(32), bytes(32))
    sums = [vdaf.aggregate([]), vdaf.aggregate([])]
    for place, votes in enumerate([([0, 1], [2, 3]), ([0], [4]), ([], [])]):
        seeds = GivenSeeds.of_bytes(bytes([place]) * 16, bytes([place]) * 128)
        split = vdaf.simulate([votes], context=b"", seeds=seeds)
        begun = [
            vdaf.verify_init(key, b"", party, split.nonce, split.public_share, share)
            for party, share in enumerate(split.input_shares)
        ]
        message = vdaf.verifier_message(b"", [verifier for _, verifier in begun])
        for party, (state, _) in enumerate(begun):
            sums[party] = vdaf.aggregate([sums[party], vdaf.verify_next(state, message)])
    assert vdaf.unshard(sums, count=3) == [[2, 1, 0, 0, 0, 0, 0, 1, 1, 1]]


@pytest.mark.parametrize(
    "answer",
    [([0], [1]), ([0, 1], [2]), ([0, 0], [1, 2]), ([0, 1], [1, 2]), ([0, 6], [1, 2]), ([], [])],
)
def test_answers_that_are_no_votes_are_not_encoded(answer: tuple[list[int], list[int]]) -> None:
    """Too few, an item twice or none that there is: an error."""
    with pytest.raises(ParameterError):
        Matching(6, 2).encode(answer)


def test_more_pairs_than_items_allow_are_refused() -> None:
    """The message says how many can be asked."""
    with pytest.raises(ParameterError, match="at most 2 pairs"):
        Matching(5, 3)


def test_the_block_has_a_form_in_a_task() -> None:
    """The configuration of a task names the block, and leads back to it."""
    for ties in (False, True):
        vdaf = prio3_survey([Matching(7, 3, ties)])
        again = prio3_of(*configuration_of(vdaf))
        assert again.circuit.blocks == vdaf.circuit.blocks  # type: ignore[attr-defined]
