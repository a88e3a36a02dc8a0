"""The audit of a mechanism's promise."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.representative import one_in

from masquerade.accounting import AuditReport, audit
from masquerade.accounting.audit_custom import Randomizer
from masquerade.accounting.audit_sampled import OWN_WORDS
from masquerade.errors import ParameterError
from masquerade.exact import NO_LOSS, Guarantee
from masquerade.exact.coins import WordSource
from masquerade.mechanisms import (
    ClassicalDesign,
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)
from masquerade.mechanisms.registry import MECHANISMS

KEPT = (
    "randomized-response:options=4,epsilon=1",
    "randomized-response:options=5,flip_probability=0.3,null=true",
    "two-layer:options=2,low=0,high=0.5379",
    "two-layer:options=3,low=0.2,high=0.7",
    "discrete-gaussian:low=1,high=5,sigma=6",
    "discrete-gaussian:low=0,high=1,step=0.1,sigma=0.7",
    "discrete-laplace:low=1,high=5,epsilon=1",
    "discrete-laplace:low=0,high=1,step=0.1,epsilon=1/3,null=true,fill=uniform",
    "quantised-response:low=-100,high=100,epsilon=2,null=true",
    "quantised-response:low=0,high=1,step=0.1,epsilon=1,levels=4",
    "subset-selection:options=5,size=2,epsilon=0.5",
    "masked-order:items=4,size=2,epsilon=1",
)


def run(mechanism: Any, *, answers: int = 1, samples: int = 20_000, seed: int = 1) -> AuditReport:
    """Return the audit with a fixed seed."""
    rng = np.random.default_rng(seed)
    return audit(mechanism, answers=answers, samples=samples, rng=rng)


@pytest.mark.parametrize(
    ("text", "answers"), [*((text, 1) for text in KEPT), *one_in(4, [(text, 3) for text in KEPT])]
)
def test_audit_every_mechanism_keeps_its_promise(text: str, answers: int) -> None:
    """Nothing speaks against a proven promise, and sampled <= exact <= claimed.

    20,000 reports of each answer; false alarm 1e-6 for each.
    """
    found = run(parse_mechanism(text), answers=answers)
    assert found.reasons == ()
    assert found.verdict == "holds"
    assert found.status == "proven"
    assert found.exact_epsilon is not None
    assert found.sampled_lower_bound <= found.exact_epsilon.epsilon
    assert found.exact_epsilon <= found.claimed_epsilon
    assert found.worst is not None


def test_every_mechanism_is_audited_here() -> None:
    """None is left out; several answers are tested apart."""
    designs = {n for n, kind in MECHANISMS.items() if issubclass(kind, ClassicalDesign)}
    apart = {"bitwise-response"} | designs  # by hand, and by the tests of their room
    assert {text.partition(":")[0] for text in KEPT} == set(MECHANISMS) - apart


@pytest.mark.parametrize("text", one_in(2, [KEPT[0], KEPT[2], KEPT[8], KEPT[6]]))
def test_audit_the_sampled_bound_never_exceeds_the_exact_loss(text: str) -> None:
    """Over 5 seeds no true promise is refuted; false alarm 1e-6 each, 5e-6 in all."""
    mechanism = parse_mechanism(text)
    found = [run(mechanism, samples=4_000, seed=seed) for seed in range(5)]
    assert {report.verdict for report in found} == {"holds"}
    exact = found[0].exact_epsilon
    assert exact is not None
    assert max(report.sampled_lower_bound for report in found) <= exact.epsilon


def test_the_same_seed_gives_the_same_report() -> None:
    """An audit can be repeated, and another seed draws other reports."""
    mechanism = parse_mechanism(KEPT[1])
    assert run(mechanism) == run(mechanism)
    assert run(mechanism) != run(mechanism, seed=2)


@pytest.mark.parametrize("text", KEPT[::3])
def test_a_report_is_json_ready(text: str) -> None:
    """The JSON form holds the promised keys and nothing that JSON cannot hold."""
    found = run(parse_mechanism(text), samples=4_000).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {"claimed_epsilon", "exact_epsilon", "sampled_lower_bound", "holds"} <= set(found)


class OffByOne(RandomizedResponse):
    """Counts the other options one short, and claims the epsilon of its definition."""

    def __init__(self, options: int, *, epsilon: int) -> None:
        short = RandomizedResponse(options - 1, epsilon=epsilon)
        super().__init__(options, flip_probability=short.flip_probability)
        self._asked = RandomizedResponse(options, epsilon=epsilon)

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the promise that would be right had the options been counted right."""
        return self._asked.guarantee(answers=answers)


@pytest.mark.parametrize("answers", [1, 2])
def test_an_off_by_one_in_randomized_response_is_caught_by_both_looks(answers: int) -> None:
    """Three options, two counted: the exact loss is epsilon + ln 2, and reports alone show it."""
    found = run(OffByOne(3, epsilon=1), answers=answers, samples=50_000)
    assert not found.holds
    assert found.exact_epsilon is not None
    assert found.exact_epsilon.epsilon == pytest.approx(answers * 1.693147, abs=2e-6)
    assert found.sampled_lower_bound > answers
    exact, sampled = found.reasons
    assert exact.startswith("the loss of one changed answer is 1.69314")
    assert sampled.startswith("reports alone show a loss of at least 1.")


class Forgetful(TwoLayer):
    """Claims the cost of randomized response with the mean flip probability."""

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the promise that was published (Li et al., 2018, Theorem 6.4)."""
        mean = RandomizedResponse(self.options, flip_probability=self.mean_flip_probability)
        return mean.guarantee(answers=answers)


def test_the_published_claim_of_two_layer_is_refuted_from_two_answers_on() -> None:
    """It is right for one report, and wrong for two: they share the flip probability."""
    assert run(Forgetful(2, low=0, high=1), answers=1).verdict == "not refuted"
    found = run(Forgetful(2, low=0, high=1), answers=2)
    assert not found.holds
    assert found.claimed_epsilon.epsilon == 0
    assert found.exact_epsilon is not None
    assert found.exact_epsilon.epsilon == pytest.approx(np.log(2), abs=1e-6)
    assert 0.5 < found.sampled_lower_bound <= np.log(2)


class Clipped(DiscreteLaplace):
    """Clips reports to the range, and so draws other values than its probabilities say."""

    def mask(self, answers: Any, persons: Any, source: WordSource) -> NDArray[np.int64]:
        """Return reports within the range."""
        return np.clip(super().mask(answers, persons, source), 0, self.lattice.points - 1)


class HalfTheNoise(DiscreteGaussian):
    """Halves the noise on its way out."""

    def mask(self, answers: Any, persons: Any, source: WordSource) -> NDArray[np.int64]:
        """Return reports with half of the noise."""
        noise = super().mask(answers, persons, source) - answers
        reports: NDArray[np.int64] = answers + noise // 2
        return reports


class Lazy(RandomizedResponse):
    """Draws one coin for all of a person's answers."""

    def mask(self, answers: Any, persons: Any, source: WordSource) -> NDArray[np.int32]:
        """Return reports that are all kept or all moved."""
        moved = super().mask(np.zeros(int(persons.max()) + 1, dtype=np.int32), persons, source)
        reports: NDArray[np.int32] = ((answers + moved[persons]) % self.symbols).astype(np.int32)
        return reports


@pytest.mark.parametrize(
    ("mechanism", "answers"),
    [
        (Clipped(1, 5, epsilon=1), 1),
        (HalfTheNoise(1, 5, sigma=6), 1),
        (HalfTheNoise(1, 5, sigma=1), 1),
        (Lazy(2, epsilon=1), 2),
    ],
)
def test_reports_that_do_not_follow_the_probabilities_are_caught(
    mechanism: Mechanism, answers: int
) -> None:
    """A mechanism with a right table and wrong draws does not hold."""
    found = run(mechanism, answers=answers)
    assert not found.holds
    assert any("do not follow" in reason or "reports alone" in reason for reason in found.reasons)


def unary(flip: Fraction, claimed: int) -> Randomizer:
    """Return an encoding of three options in three bits, each flipped with a probability."""

    def sampler(answer: int, size: int, rng: np.random.Generator) -> Any:
        return (np.arange(3) == answer) ^ (rng.random((size, 3)) < float(flip))

    def table(answer: int) -> dict[tuple[int, ...], Fraction]:
        law = {}
        for code in range(8):
            bits = tuple(code >> bit & 1 for bit in range(3))
            changed = sum(b != (place == answer) for place, b in enumerate(bits))
            law[bits] = flip**changed * (1 - flip) ** (3 - changed)
        return law

    return Randomizer(sampler, inputs=range(3), claimed_epsilon=claimed, table=table)


def test_a_unary_encoding_that_flips_each_bit_at_the_whole_epsilon_is_caught() -> None:
    """Two bits change with an answer: bits at epsilon 1 lose 2, shown by both looks."""
    flip = Fraction(268942, 10**6)  # above 1 / (1 + e) by less than a millionth
    found = run(unary(flip, claimed=1), samples=50_000)
    assert not found.holds
    assert found.exact_epsilon is not None
    assert found.exact_epsilon.epsilon == pytest.approx(2, abs=1e-4)
    assert found.sampled_lower_bound > 1.5
    assert run(unary(flip + Fraction(1, 1000), claimed=2)).verdict == "not refuted"


def test_an_encoding_that_never_sets_a_bit_by_chance_is_caught() -> None:
    """A bit that only one answer can set tells that answer: the loss is infinite."""

    def sampler(answer: int, size: int, rng: np.random.Generator) -> Any:
        return (np.arange(3) == answer) & (rng.random((size, 3)) < 0.5)

    def table(answer: int) -> dict[tuple[int, ...], Fraction]:
        bits = tuple(int(place == answer) for place in range(3))
        return {bits: Fraction(1, 2), (0, 0, 0): Fraction(1, 2)}

    own = Randomizer(sampler, inputs=range(3), claimed_epsilon=1, table=table)
    found = run(own)
    assert not found.holds
    assert found.to_json()["exact_epsilon"] == "inf"
    assert found.sampled_lower_bound > 5


class Coin:
    """A class of somebody's own: a coin kept with probability 3/4."""

    name = "coin"
    inputs = ("yes", "no")

    def __init__(self, claimed_epsilon: float, *, claimed_delta: float = 0) -> None:
        self.claimed_epsilon, self.claimed_delta = claimed_epsilon, claimed_delta

    def sample(self, answer: str, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return reports."""
        return np.where(rng.random(size) < 0.75, answer, "no" if answer == "yes" else "yes")

    def distribution(self, answer: str) -> dict[str, Fraction]:
        """Return the probability of each report."""
        return {option: Fraction(1 + 2 * (option == answer), 4) for option in self.inputs}


def test_the_class_in_the_documentation_is_audited() -> None:
    """The example on the page of checked guarantees runs, is exact, and is not refuted."""
    page = (Path(__file__).parents[2] / "docs/reference/checked-guarantees.md").read_text(
        encoding="utf-8"
    )
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    found = run(names["Coin"]())
    assert found.verdict == "not refuted"
    assert found.exact_epsilon is not None
    assert found.exact_epsilon.epsilon == 1.098613


@pytest.mark.parametrize(("claimed", "holds"), [(1.0986122886681098, None), (1.0986, False)])
def test_a_class_of_ones_own_is_audited_exactly(claimed: float, holds: bool | None) -> None:
    """A claim below ln 3 by a hundred-thousandth is refuted; ln 3 is not, by its own table."""
    found = run(Coin(claimed))
    assert found.holds is holds
    assert found.not_looked_at[0] == OWN_WORDS
    assert (found.status, found.mechanism) == ("claimed", "coin")
    assert found.exact_epsilon is not None
    assert found.exact_epsilon.epsilon == 1.098613


def test_a_delta_of_ones_own_is_looked_at() -> None:
    """With a delta of 1/4 the coin needs an epsilon of ln 2 only."""
    assert run(Coin(0.694, claimed_delta=0.25)).verdict == "not refuted"
    assert run(Coin(0.693, claimed_delta=0.25)).verdict == "refuted"


class LeakySeldom(RandomizedResponse):
    """Sends answers in clear from the 30,000th report of a call on, which no audit draws."""

    def mask(self, answers: Any, persons: Any, source: WordSource) -> NDArray[np.int32]:
        """Return reports, the last ones as they are."""
        reports: NDArray[np.int32] = super().mask(answers, persons, source)
        reports[30_000:] = answers[30_000:]
        return reports


def test_nothing_holds_by_what_a_mechanism_says_of_itself() -> None:
    """A class outside of the package holds never: its table is its own word, and so are draws."""
    found = run(LeakySeldom(2, epsilon=1))
    assert (found.verdict, found.reasons) == ("not refuted", ())
    assert OWN_WORDS in found.not_looked_at
    assert run(RandomizedResponse(2, epsilon=1)).verdict == "holds"


HALVES = {"r": Fraction(1, 2), "q": Fraction(1, 2)}


def halves(answer: Any, size: int, rng: np.random.Generator) -> Any:
    """Return reports that tell nothing."""
    return np.where(rng.random(size) < 0.5, "r", "q")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"r": Fraction(1, 2), "q": Fraction(1, 2) - Fraction(9, 10**10)}, r"to 0\.9999999991"),
        ({"r": 0.5, "q": 0.5 - 9e-10}, r"add to 0\.999999999"),
        ({"r": Fraction(3, 2), "q": Fraction(-1, 2)}, "none below 0"),
        ({"r": math.nan, "q": 0.5}, "no probability"),
        ({"r": math.inf, "q": 0.5}, "no probability"),
        ({"r": None, "q": 0.5}, "no probability"),
        ({}, "add to 0"),
    ],
)
def test_a_table_that_lacks_a_report_is_refused(row: dict[str, Any], message: str) -> None:
    """The rest may be an answer in clear: fractions add to 1, floats to a rounding."""
    own = Randomizer(halves, inputs=(0, 1), claimed_epsilon=1, table=lambda answer: row)
    with pytest.raises(ParameterError, match=message):
        run(own)


def test_a_table_of_floats_is_taken_as_proportions() -> None:
    """Ten tenths in floats add to 1 less a rounding, and lose nothing."""
    law = dict.fromkeys(range(10), 0.1)
    own = Randomizer(
        lambda answer, size, rng: rng.integers(0, 10, size),
        inputs=(0, 1),
        claimed_epsilon=0,
        table=lambda answer: law,
    )
    assert run(own).exact_epsilon == NO_LOSS


@pytest.mark.parametrize("inputs", [(0, 0), (0, 0.0), (1, True), ([1], (1,)), ("a", "b", "a")])
def test_an_answer_is_compared_with_others_only(inputs: tuple[Any, ...]) -> None:
    """The same answer twice among the inputs compares nothing, and is refused."""
    with pytest.raises(ParameterError, match="2 times, expected each answer once"):
        run(Randomizer(halves, inputs=inputs, claimed_epsilon=0, table=lambda answer: HALVES))


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (lambda answer, size, rng: 1, "gave 1 reports"),
        (lambda answer, size, rng: np.array(1), "gave 1 reports"),
        (lambda answer, size, rng: [object() for _ in range(size)], "shows no value"),
        (lambda answer, size, rng: [(1, object())] * size, "shows no value"),
    ],
)
def test_reports_are_values(sampler: Any, message: str) -> None:
    """A single report, and objects that show no value, are refused with the expected form."""
    with pytest.raises(ParameterError, match=message):
        run(Randomizer(sampler, inputs=(0, 1), claimed_epsilon=1))


def test_a_sampler_alone_is_audited_by_its_reports() -> None:
    """Without probabilities there is no exact figure, and reports can still refute."""
    own = Randomizer(Coin(1).sample, inputs=("yes", "no"), claimed_epsilon=2)
    found = run(own)
    assert (found.verdict, found.holds) == ("not refuted", None)
    assert (found.exact_epsilon, found.method) == (None, "reports alone")
    assert 0.95 < found.sampled_lower_bound < np.log(3)
    refuted = run(Randomizer(Coin(1).sample, inputs=("yes", "no"), claimed_epsilon=0.5))
    assert (refuted.verdict, refuted.holds) == ("refuted", False)


def test_draws_of_ones_own_must_follow_ones_own_table() -> None:
    """A table that is better than the draws is found out."""
    own = Randomizer(
        Coin(1).sample,
        inputs=("yes", "no"),
        claimed_epsilon=2,
        table=lambda answer: {o: Fraction(1 + (o == answer), 3) for o in ("yes", "no")},
    )
    assert "do not follow" in run(own).reasons[0]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (object(), "needs claimed_epsilon, inputs and sample"),
        (Coin(-1), "claimed_epsilon is -1, expected at least 0"),
        (Coin(float("nan")), "claimed_epsilon is nan, expected a number"),
        (Coin(1, claimed_delta=1), "claimed_delta is 1, expected at least 0 and below 1"),
        (Randomizer(Coin(1).sample, inputs=("yes",), claimed_epsilon=1), "inputs has 1 answers"),
        (
            Randomizer(lambda answer, size, rng: [answer], inputs=(0, 1), claimed_epsilon=1),
            "gave 1 reports, expected 20000",
        ),
        (
            Randomizer(
                Coin(1).sample, inputs=("yes", "no"), claimed_epsilon=1, table=lambda a: {a: 0.5}
            ),
            "for answer yes add to 0.5",
        ),
    ],
)
def test_objects_that_cannot_be_audited_say_why(own: Any, message: str) -> None:
    """The message names the part that is missing or wrong."""
    with pytest.raises(ParameterError, match=message):
        run(own)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rng": 1}, "pass numpy.random.default_rng"),
        ({"answers": 0}, "answers is 0"),
        ({"samples": 1_999}, "samples is 1999"),
        ({"false_alarm": 0}, "false_alarm is 0"),
    ],
)
def test_parameters_out_of_range_are_refused(changed: dict[str, Any], message: str) -> None:
    """The message names the parameter and its range."""
    words = {"rng": np.random.default_rng(1)} | changed
    with pytest.raises(ParameterError, match=message):
        audit(RandomizedResponse(2, epsilon=1), **words)


def test_ones_own_mechanism_masks_one_answer_at_a_time() -> None:
    """Several answers of a mechanism that nobody told how to combine are refused."""
    with pytest.raises(ParameterError, match="masks one answer at a time"):
        run(Coin(2), answers=2)
