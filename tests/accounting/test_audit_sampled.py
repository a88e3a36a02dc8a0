"""The audit's sampled look: proofs from reports alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from masquerade.accounting import AuditReport, audit
from masquerade.accounting.audit_custom import Randomizer
from masquerade.accounting.audit_sampled import key_of

Laws = tuple[Sequence[float], Sequence[float]]
LAWS: Laws = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
TRUE_EPSILON = math.log(2.5)


def of_laws(laws: Laws, claimed: float = 9, *, delta: float = 0) -> Randomizer:
    """Return a sampler of whole numbers with a law for each of two answers."""

    def sampler(answer: int, size: int, rng: np.random.Generator) -> Any:
        return rng.choice(len(laws[answer]), size=size, p=laws[answer])

    return Randomizer(sampler, inputs=(0, 1), claimed_epsilon=claimed, claimed_delta=delta)


def coin_of(reports: Sequence[Any], claimed: float) -> Randomizer:
    """Return a coin of two reports of any kind, kept with the probability of epsilon 1."""

    def sampler(answer: int, size: int, rng: np.random.Generator) -> Any:
        kept = rng.random(size) < 1 / (1 + math.exp(-1))
        return [reports[answer if keep else 1 - answer] for keep in kept.tolist()]

    return Randomizer(sampler, inputs=(0, 1), claimed_epsilon=claimed)


def run(own: Any, *, samples: int, seed: int, false_alarm: float = 1e-6) -> AuditReport:
    """Return the audit with a seed."""
    rng = np.random.default_rng(seed)
    return audit(own, samples=samples, rng=rng, false_alarm=false_alarm)


def test_audit_the_bound_stays_below_the_truth_over_many_seeds() -> None:
    """Over 300 seeds of 4,000 reports each, no bound exceeds the true epsilon.

    False alarm at most 1e-6 for each seed, 3e-4 for all.
    """
    found = [run(of_laws(LAWS), samples=4_000, seed=seed) for seed in range(300)]
    bounds = [one.sampled_lower_bound for one in found]
    assert max(bounds) <= TRUE_EPSILON
    assert min(bounds) > 0.5 * TRUE_EPSILON


def test_audit_the_false_alarm_rate_is_honest() -> None:
    """At a false alarm of 10 %, at most that share of 1,000 sound claims is refuted.

    With equally likely laws (true epsilon 0), where the choice of a set of reports would overfit
    most if it were tested on the reports that it was chosen by. The number of alarms may exceed 100
    by what a binomial does with probability 1e-6.
    """
    equal = of_laws(([0.1] * 10, [0.1] * 10), claimed=0)
    alarms = sum(
        run(equal, samples=2_000, seed=seed, false_alarm=0.1).verdict == "refuted"
        for seed in range(1_000)
    )
    assert alarms <= stats.binom.ppf(1 - 1e-6, 1_000, 0.1)


def test_audit_the_bound_comes_near_the_truth() -> None:
    """From 200,000 reports of each answer, the bound is within 5 % of the true epsilon."""
    found = run(of_laws(LAWS), samples=200_000, seed=1)
    assert 0.95 * TRUE_EPSILON < found.sampled_lower_bound <= TRUE_EPSILON
    assert found.worst is not None
    assert found.worst.report.startswith(("0 (", "2 ("))


MIXED: list[Sequence[Any]] = [
    ["yes", None],
    [1, 0.5],
    [1, "none"],
    [True, 0],
    [(1,), (0, 0)],
    [b"a", b"a\0"],
    ["a", "a\0"],
    [0.0, -0.0],
    [math.nan, None],
]


@pytest.mark.parametrize("reports", MIXED, ids=repr)
def test_audit_a_sound_coin_of_any_two_reports_is_never_refuted(reports: Sequence[Any]) -> None:
    """40 seeds for each pair of reports, of several types and lengths: no alarm.

    False alarm 1e-6 for each run, 4e-5 for a pair of reports.
    """
    for seed in range(40):
        found = run(coin_of(reports, 1.0001), samples=2_000, seed=seed)
        assert found.verdict == "not refuted", found.reasons


@pytest.mark.parametrize("reports", MIXED, ids=repr)
def test_audit_a_coin_of_any_two_reports_is_refuted_where_it_tells_too_much(
    reports: Sequence[Any],
) -> None:
    """Epsilon 1 with a claim of 0.8 is refuted from 50,000 reports of any kind."""
    found = run(coin_of(reports, 0.8), samples=50_000, seed=1)
    assert found.verdict == "refuted"
    assert 0.9 < found.sampled_lower_bound <= 1


def test_audit_what_differs_in_a_trailing_nul_alone_is_seen() -> None:
    """A text in clear is refuted although arrays of texts would cut the difference off."""
    clear = Randomizer(
        lambda answer, size, rng: ["a" + "\0" * answer] * size, inputs=(0, 1), claimed_epsilon=1
    )
    assert run(clear, samples=2_000, seed=1).verdict == "refuted"


def test_a_key_is_of_one_report_alone() -> None:
    """Types and values tell keys apart; numpy's scalars are those of Python."""
    different = [1, True, 1.0, "1", b"1", None, "None", (1,), (1, 1), (True,), 0.0, -0.0]
    assert len({key_of(one) for one in different}) == len(different)
    assert key_of(np.int32(1)) == key_of(np.int64(1)) == key_of(1)
    assert key_of(np.str_("a")) == key_of("a")
    assert key_of(np.array([1, 2])) == key_of((1, 2)) == key_of([1, 2])
    assert key_of(math.nan) == key_of(np.float64("nan"))


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    """For one telling set of reports, the bound is the ratio of two binomial interval ends."""
    one, other = np.array([1] * 3_600 + [0] * 400), np.array([0] * 3_600 + [1] * 400)
    rng = np.random.default_rng(3)
    rng.shuffle(one)
    rng.shuffle(other)
    own = Randomizer(
        lambda answer, size, rng: (one, other)[answer], inputs=(0, 1), claimed_epsilon=9
    )
    found = run(own, samples=4_000, seed=1, false_alarm=0.08)
    candidates = []
    for kind, (a, b) in ((1, (one, other)), (0, (other, one))):
        k, k_other = int((a[2_000:] == kind).sum()), int((b[2_000:] == kind).sum())
        low = stats.beta.ppf(0.01, k, 2_000 - k + 1)
        high = stats.beta.ppf(0.99, k_other + 1, 2_000 - k_other)
        candidates.append(math.log(low / high))
    assert found.sampled_lower_bound == pytest.approx(max(candidates), rel=1e-9)


def test_a_claimed_delta_is_taken_off() -> None:
    """Reports that show nothing beyond delta prove nothing."""
    laws = ([0.99, 0.0, 0.01], [0.99, 0.01, 0.0])
    assert run(of_laws(laws), samples=100_000, seed=2).sampled_lower_bound > 3
    leaky = of_laws(laws, delta=0.01)
    assert run(leaky, samples=100_000, seed=2).sampled_lower_bound == 0


def test_equal_reports_prove_nothing() -> None:
    """Where every report is the same, epsilon 0 is all that is shown, and nothing is named."""
    found = run(of_laws(([1.0], [1.0])), samples=2_000, seed=1)
    assert (found.sampled_lower_bound, found.worst) == (0.0, None)


def test_numbers_that_hardly_repeat_are_put_into_ranges() -> None:
    """Reports of which none comes twice still tell answers apart, "no answer" among them."""

    def sampler(answer: int, size: int, rng: np.random.Generator) -> Any:
        reports = rng.normal(3 * answer, 1, size)
        reports[:100] = math.nan
        return reports

    own = Randomizer(sampler, inputs=(0, 1), claimed_epsilon=1)
    assert run(own, samples=20_000, seed=4).sampled_lower_bound > 4


def test_audit_reports_of_a_table_seldom_seem_strange_and_others_do() -> None:
    """Over 300 seeds no table of the truth is refuted, and one that is off by .05 each time.

    False alarm 3e-4 for all seeds together.
    """

    def own(first: int) -> Randomizer:
        law = (first, 801 - first, 198, 1)
        return Randomizer(
            of_laws(([0.5, 0.301, 0.198, 0.001],) * 2).sampler,
            inputs=(0, 1),
            claimed_epsilon=1,
            table=lambda answer: {report: Fraction(x, 1_000) for report, x in enumerate(law)},
        )

    assert {run(own(500), samples=2_000, seed=seed).verdict for seed in range(300)} == {
        "not refuted"
    }
    for seed in range(5):
        found = run(own(450), samples=10_000, seed=seed)
        assert "do not follow" in found.reasons[0]


def test_a_report_of_probability_zero_refutes_a_table() -> None:
    """A report that the table does not have is a contradiction, seen once."""

    def sampler(answer: int, size: int, rng: np.random.Generator) -> Any:
        return ["odd", *["even"] * (size - 1)]

    own = Randomizer(
        sampler, inputs=(0, 1), claimed_epsilon=1, table=lambda answer: {"even": Fraction(1)}
    )
    assert "do not follow" in run(own, samples=2_000, seed=1).reasons[0]
