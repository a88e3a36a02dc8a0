"""Splitting, checking and adding up: honest reports come out, all others are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.aggregate.standard_circuits import (
    prio3_count,
    prio3_histogram,
    prio3_multihot_count_vec,
    prio3_sum,
    prio3_sum_vec,
    prio3_sum_vec_with_multiproof,
)

from masquerade.aggregate import (
    FIELD_128,
    GivenSeeds,
    One,
    Prio3,
    SimulatedSplitReport,
    Some,
    SplitReport,
    SurveyCircuit,
    Vector,
    Whole,
    prio3_survey,
)
from masquerade.errors import InsecureRandomness, InvalidReport, ParameterError
from masquerade.exact import Coins, SimulatedCoins

KEY, CONTEXT = bytes(range(32)), b"task of a test"
BLOCKS = (One(5), Some(4, 2), Some(3), Whole(10), Vector(3, 8), Vector(2, 3, ball=False))
VALID: list[Any] = [
    2,
    [True, False, True, False],
    [True, True, True],
    7,
    [3, -7, 2],
    [-3, 3],
]


def seeds(rng: np.random.Generator, vdaf: Prio3[Any, Any]) -> GivenSeeds:
    """Return reproducible seeds."""
    return GivenSeeds(rng.bytes(16), tuple(rng.bytes(32) for _ in range(vdaf.seeds_needed)))


def check(
    vdaf: Prio3[Any, Any], report: SplitReport | SimulatedSplitReport
) -> list[tuple[int, ...]]:
    """Return all output shares of a report; raise where it is refused."""
    begun = [
        vdaf.verify_init(KEY, CONTEXT, party, report.nonce, report.public_share, share)
        for party, share in enumerate(report.input_shares)
    ]
    message = vdaf.verifier_message(CONTEXT, [share for _, share in begun])
    return [vdaf.verify_next(state, message) for state, _ in begun]


def total(vdaf: Prio3[Any, Any], measurements: Sequence[Any]) -> Any:
    """Return the result of splitting, checking and adding up measurements."""
    outputs = [check(vdaf, vdaf.shard(one, context=CONTEXT)) for one in measurements]
    sums = [vdaf.aggregate(shares) for shares in zip(*outputs, strict=True)]
    encoded = [vdaf.encode_aggregate(one) for one in sums]
    return vdaf.unshard([vdaf.decode_aggregate(one) for one in encoded], count=len(measurements))


@given(st.data())
def test_prop_every_honest_measurement_is_counted(data: st.DataObject) -> None:
    """For each circuit and 2 to 4 parties, the sums of random measurements come out exactly."""
    shares = data.draw(st.integers(2, 4))
    number = data.draw(st.integers(1, 4))

    def several(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(strategy, min_size=number, max_size=number))

    ones = several(st.integers(0, 1))
    assert total(prio3_count(shares=shares), ones) == sum(ones)
    largest = data.draw(st.integers(1, 1000))
    numbers = several(st.integers(0, largest))
    assert total(prio3_sum(largest, shares=shares), numbers) == sum(numbers)
    length, chunk = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    vectors = several(st.lists(st.integers(0, largest), min_size=length, max_size=length))
    for make in (prio3_sum_vec, prio3_sum_vec_with_multiproof):
        vdaf = make(length=length, largest=largest, chunk=chunk, shares=shares)
        assert total(vdaf, vectors) == np.sum(vectors, axis=0).tolist()
    places = several(st.integers(0, length - 1))
    histogram = prio3_histogram(length=length, chunk=chunk, shares=shares)
    assert total(histogram, places) == np.bincount(places, minlength=length).tolist()
    flags = several(st.lists(st.booleans(), min_size=length, max_size=length))
    multihot = prio3_multihot_count_vec(length=length, most=length, chunk=chunk, shares=shares)
    assert total(multihot, flags) == np.sum(flags, axis=0).tolist()


@st.composite
def answers(draw: st.DrawFn) -> list[Any]:
    """Draw a response that fits `BLOCKS`."""
    picked = draw(st.sets(st.integers(0, 3), max_size=2))
    length = draw(st.integers(0, 8))
    axis = draw(st.integers(0, 2))
    return [
        draw(st.integers(0, 4)),
        [place in picked for place in range(4)],
        draw(st.lists(st.booleans(), min_size=3, max_size=3)),
        draw(st.integers(0, 10)),
        [draw(st.sampled_from([-length, length])) if i == axis else 0 for i in range(3)],
        draw(st.lists(st.integers(-3, 3), min_size=2, max_size=2)),
    ]


@given(st.lists(answers(), min_size=1, max_size=3), st.integers(1, 12))
def test_prop_a_whole_response_is_counted_block_by_block(
    responses: list[list[Any]], chunk: int
) -> None:
    """Sums of all kinds of blocks come out exactly, for every chunk."""
    result = total(prio3_survey(BLOCKS, chunk=chunk), responses)
    first = np.bincount([one[0] for one in responses], minlength=5).tolist()
    others = [np.sum([one[i] for one in responses], axis=0) for i in range(1, 6)]
    assert result == [first, *(np.atleast_1d(one).tolist() for one in others)]


@settings(max_examples=150)
@given(st.data())
def test_prop_one_changed_bit_anywhere_is_refused(data: st.DataObject) -> None:
    """A flipped bit in a nonce, a share, a verifier share or the message is never accepted."""
    vdaf = prio3_survey(BLOCKS)
    report = vdaf.shard(VALID, context=CONTEXT)
    sent = [report.nonce, report.public_share, *report.input_shares]
    place = data.draw(st.integers(0, 6))

    def flipped(message: bytes) -> bytes:
        bit = data.draw(st.integers(0, 8 * len(message) - 1))
        return (int.from_bytes(message) ^ 1 << bit).to_bytes(len(message))

    if place < 4:
        sent[place] = flipped(sent[place])

    def run() -> None:
        begun = [
            vdaf.verify_init(KEY, CONTEXT, party, sent[0], sent[1], sent[2 + party])
            for party in range(2)
        ]
        shares = [share for _, share in begun]
        if 4 <= place < 6:
            shares[place - 4] = flipped(shares[place - 4])
        message = vdaf.verifier_message(CONTEXT, shares)
        if place == 6:
            message = flipped(message)
        for state, _ in begun:
            vdaf.verify_next(state, message)

    with pytest.raises(InvalidReport):
        run()


class Forged(SurveyCircuit):
    """The circuit of a device that encodes arbitrary values."""

    def __init__(self, vector: list[int]) -> None:
        super().__init__(BLOCKS)
        self.vector = vector

    def encode(self, measurement: Any) -> list[int]:
        """Return the forged vector."""
        return self.vector


def forged_vectors(rng: np.random.Generator) -> list[list[int]]:
    """Return vectors that are not well-formed, of every kind there is."""
    honest = SurveyCircuit(BLOCKS)
    good, p = honest.encode(VALID), FIELD_128.modulus
    two_ones, nothing, swapped = list(good), list(good), list(good)
    two_ones[0] = 1
    nothing[2] = 0
    swapped[0], swapped[1] = 2, p - 1  # 2 - 1 + 0: adds up to 1 with the true one gone
    swapped[2] = 0
    three = list(good)
    three[5:9] = [1, 1, 1, 0]
    outside = list(good)
    start = 5 + 6 + 3 + 4
    outside[start : start + 15] = Vector(3, 8, ball=False).encode([8, 8, 8])
    bad_bit = list(good)
    bad_bit[14] = 3
    result = [two_ones, nothing, swapped, three, outside, bad_bit]
    for _ in range(300):
        changed = list(good)
        place = int(rng.integers(len(good)))
        kind = rng.integers(3)
        large = int.from_bytes(rng.bytes(16)) % p
        changed[place] = p - 1 if kind == 0 else 2 if kind == 1 else large
        result.append(changed)
    return result


def test_what_is_not_well_formed_is_refused() -> None:
    """Two ones, none, 2 and -1, too many, outside the ball, any number: 306 of 306 are refused.

    False alarm below 2**-110: one would have to be accepted by chance.
    """
    rng, honest = np.random.default_rng(4), prio3_survey(BLOCKS)
    for vector in forged_vectors(rng):
        liar: Prio3[Any, Any] = Prio3(honest.algorithm, Forged(vector))
        report = liar.simulate(None, context=CONTEXT, seeds=seeds(rng, liar))
        with pytest.raises(InvalidReport, match="proof of a report does not hold"):
            check(honest, report)


def test_parties_that_disagree_on_the_task_refuse() -> None:
    """Another context, key, nonce or circuit at one party is a refusal, not a wrong sum."""
    vdaf = prio3_survey(BLOCKS)
    report = vdaf.shard(VALID, context=CONTEXT)
    parts = [(KEY, CONTEXT, report.nonce)] * 2
    for changed in (
        (bytes(32), CONTEXT, report.nonce),
        (KEY, b"another task", report.nonce),
        (KEY, CONTEXT, bytes(16)),
    ):
        given_parts = [parts[0], changed]
        begun = [
            vdaf.verify_init(key, context, party, nonce, report.public_share, share)
            for party, ((key, context, nonce), share) in enumerate(
                zip(given_parts, report.input_shares, strict=True)
            )
        ]
        with pytest.raises(InvalidReport, match="does not hold"):
            vdaf.verifier_message(CONTEXT, [share for _, share in begun])


def test_messages_of_a_wrong_length_are_refused() -> None:
    """Each part has one length, the same for every response."""
    vdaf = prio3_survey(BLOCKS)
    report = vdaf.shard(VALID, context=CONTEXT)
    leader, helper = report.input_shares
    for nonce, public, party, share, what in (
        (report.nonce[1:], report.public_share, 0, leader, "nonce"),
        (report.nonce, report.public_share + b"0", 0, leader, "public share"),
        (report.nonce, report.public_share, 0, leader[1:], "input share"),
        (report.nonce, report.public_share, 1, leader, "input share"),
        (report.nonce, report.public_share, 0, helper, "input share"),
    ):
        with pytest.raises(InvalidReport, match=f"the {what} has"):
            vdaf.verify_init(KEY, CONTEXT, party, nonce, public, share)
    with pytest.raises(InvalidReport, match="one for each"):
        vdaf.verifier_message(CONTEXT, [b""])
    with pytest.raises(InvalidReport, match="the verifier share has"):
        vdaf.verifier_message(CONTEXT, [b"", b""])
    with pytest.raises(InvalidReport, match="the aggregate share has"):
        vdaf.decode_aggregate(b"")
    with pytest.raises(ParameterError, match="verification key of 3 bytes"):
        vdaf.verify_init(b"key", CONTEXT, 0, report.nonce, report.public_share, leader)
    with pytest.raises(ParameterError, match="one for each"):
        vdaf.unshard([], count=1)


def test_every_response_has_the_same_length() -> None:
    """Lengths tell nothing of the answers: they are those of the survey."""
    vdaf = prio3_survey([One(5)] * 10)
    for answer in (0, 4):
        report = vdaf.shard([answer] * 10, context=CONTEXT)
        lengths = [len(part) for part in (report.nonce, report.public_share, *report.input_shares)]
        assert lengths == [16, 64, 1328, 64]


def test_a_seed_never_reaches_a_real_report() -> None:
    """Splitting takes the operating system's coins alone; given seeds make another type."""
    vdaf, rng = prio3_survey(BLOCKS), np.random.default_rng(1)
    given_seeds = seeds(rng, vdaf)
    for wrong in (SimulatedCoins(rng), given_seeds, rng):
        with pytest.raises(InsecureRandomness):
            vdaf.shard(VALID, context=CONTEXT, coins=wrong)  # type: ignore[arg-type]
    simulated: object = vdaf.simulate(VALID, context=CONTEXT, seeds=given_seeds)
    assert type(simulated) is SimulatedSplitReport
    assert not issubclass(SimulatedSplitReport, SplitReport)
    assert simulated == vdaf.simulate(VALID, context=CONTEXT, seeds=given_seeds)
    first, second = (vdaf.shard(VALID, context=CONTEXT, coins=Coins()) for _ in range(2))
    assert isinstance(first, SplitReport)
    own, other = ((r.nonce, r.public_share, *r.input_shares) for r in (first, second))
    assert all(a != b for a, b in zip(own, other, strict=True))
    with pytest.raises(ParameterError, match="3 seeds were given, expected 4"):
        vdaf.simulate(VALID, context=CONTEXT, seeds=GivenSeeds(bytes(16), (bytes(32),) * 3))
    with pytest.raises(ParameterError, match="nonce of 2 bytes"):
        GivenSeeds(b"12", ())


def test_audit_the_share_of_one_party_is_uniform() -> None:
    """The top bytes of the leader's shares of 0 and of 1 fit uniform ones.

    n = 2 x 400 x 5 bytes in 16 cells; chi-square, false alarm 1e-6 each.
    """
    vdaf, rng = prio3_survey([One(5)]), np.random.default_rng(2)
    for answer in (0, 3):
        tops: list[int] = []
        for _ in range(400):
            report = vdaf.simulate([answer], context=CONTEXT, seeds=seeds(rng, vdaf))
            tops += report.input_shares[0][15:80:16]
        counts = np.bincount(np.array(tops) // 16, minlength=16)
        wanted = len(tops) / 16
        assert ((counts - wanted) ** 2 / wanted).sum() < stats.chi2.isf(1e-6, 15)


def test_measurements_that_do_not_fit_are_refused_on_the_device() -> None:
    """The device's own encoder refuses all that the parties would refuse later."""
    cases: list[tuple[Prio3[Any, Any], Any]] = [
        (prio3_count(), 2),
        (prio3_sum(10), 11),
        (prio3_sum(10), -1),
        (prio3_histogram(length=3, chunk=1), 3),
        (prio3_sum_vec(length=2, largest=3, chunk=1), [1]),
        (prio3_multihot_count_vec(length=3, most=1, chunk=1), [True, True, False]),
        (prio3_survey([One(3)]), [3]),
        (prio3_survey([Some(3)]), [[True]]),
        (prio3_survey([Vector(2, 3)]), [[3, 3]]),
        (prio3_survey([Vector(2, 3)]), [[4, 0]]),
        (prio3_survey([Whole(3)]), [1.5]),
        (prio3_survey([One(2)]), [0, 0]),
    ]
    for vdaf, wrong in cases:
        with pytest.raises(ParameterError, match="measurement"):
            vdaf.shard(wrong, context=CONTEXT)
