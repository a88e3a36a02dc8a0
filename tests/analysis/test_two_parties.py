"""Relations from tables of two parties: golden values, errors with the noise in them, refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from masquerade.aggregate.noise import SumNoise
from masquerade.analysis import PairTables, declared_pairs, log_linear
from masquerade.errors import InputError, ParameterError
from masquerade.surveys import Choice, Rating
from masquerade.surveys.two_party_encoding import Encoding

COUNTS = [[40, 12, 3], [10, 30, 11], [2, 13, 29]]
SCORES = {"row": (0, 1, 2), "column": (0, 1, 2), "third": (0, 1)}
PAIRS = PairTables(150, 9.0, SCORES, {("row", "column"): COUNTS})


def test_a_correlation_of_a_noisy_table() -> None:
    """The value, and both parts of its error."""
    found = PAIRS.correlation("row", "column")
    assert found.value == pytest.approx(0.657678, abs=1e-6)
    assert found.sampling_error == pytest.approx(0.053465, abs=1e-6)
    assert found.mechanism_error == pytest.approx(0.077310, abs=1e-6)
    turned = PAIRS.correlation("column", "row")
    assert (turned.value, turned.low) == pytest.approx((found.value, found.low))


def test_least_squares_of_a_noisy_table() -> None:
    """The slope of columns on rows, and both parts of its error."""
    term = PAIRS.least_squares("column", ["row"]).term("row")
    assert term.estimate == pytest.approx(0.645054, abs=1e-6)
    assert term.sampling_error == pytest.approx(0.060326, abs=1e-6)
    assert term.mechanism_error == pytest.approx(0.078065, abs=1e-6)


def test_a_slope_that_is_told_from_0_has_a_sentence() -> None:
    """Relations between two parties are said in words, for any numbers of scores."""
    assert PAIRS.least_squares("column", ["row"]).sentence().startswith("People with more row have")
    scores = {"row": (0, 1, 2), "column": (0, 1000, 2000)}
    found = PairTables(150, 9.0, scores, {("row", "column"): COUNTS}).least_squares(
        "column", ["row"]
    )
    assert found.term("row").shown == pytest.approx(645.054, abs=1e-3)
    assert found.term("row").said
    fit = log_linear([[600, 250], [300, 450]], [[0], [1]], variance=9)
    assert [one.said for one in fit.terms] == [False, True]


def test_a_logistic_of_a_declared_table() -> None:
    """Coefficients, and both parts of their errors."""
    fit = log_linear([[60, 25], [30, 45]], [[0], [1]], variance=9)
    assert [one.estimate for one in fit.terms] == pytest.approx([-0.875469, 1.280934], abs=1e-6)
    assert [one.sampling_error for one in fit.terms] == pytest.approx(
        [0.238048, 0.334996], abs=1e-6
    )
    assert [one.mechanism_error for one in fit.terms] == pytest.approx(
        [0.130000, 0.177044], abs=1e-6
    )


def test_a_multinomial_of_a_declared_table_is_two_logistics_of_a_saturated_one() -> None:
    """With as many columns as cells, log-odds are those of the counts."""
    fit = log_linear([[60, 25, 15], [30, 45, 10]], [[0], [1]], variance=4, answers=("a", "b", "c"))
    values = {(one.name, one.answer): one.estimate for one in fit.terms}
    assert values[("(constant)", "b")] == pytest.approx(np.log(25 / 60))
    assert values[("x1", "c")] == pytest.approx(np.log(10 / 30) - np.log(15 / 60))


def test_a_pair_that_was_not_declared_is_named() -> None:
    """The error says which pair to declare, and which there are."""
    with pytest.raises(ParameterError, match="pair row with third was not declared") as found:
        PAIRS.correlation("row", "third")
    assert "row with column" in str(found.value)
    with pytest.raises(ParameterError, match="column with third"):
        PAIRS.least_squares("column", ["row", "third"])


def test_noise_that_hides_everything_is_no_number() -> None:
    """A table of noise alone has no coefficients, and a spread below 0 no correlation."""
    with pytest.raises(InputError, match="hides"):
        log_linear([[-3, 2], [4, -1]], [[0], [1]], variance=100)
    gone = PairTables(20, 900.0, SCORES, {("row", "column"): [[-9, 5, 3], [2, 9, 4], [5, -6, -2]]})
    assert gone.correlation("row", "column").value is None


def test_intervals_of_correlations_hold_in_95_of_100() -> None:
    """400 surveys of 300 people, noise of sd 5: 353 or fewer held has chance below 1e-6 at .95."""
    rng = np.random.default_rng(2)
    latent = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 400_000)
    cells = np.clip(np.round(latent + 2), 0, 4).astype(int)
    truth = np.corrcoef(cells.T)[0, 1]
    held = 0
    for _ in range(400):
        people = cells[rng.integers(0, len(cells), 300)]
        counts = np.zeros((5, 5))
        np.add.at(counts, tuple(people.T), 1)
        scores = {"a": range(5), "b": range(5)}
        noisy = counts + rng.normal(0, 5, (5, 5))
        found = PairTables(300, 25.0, scores, {("a", "b"): noisy}).correlation("a", "b")
        held += found.low <= truth <= found.high
    assert held > 353


def test_a_survey_reveals_the_pairs_that_it_declared() -> None:
    """Tables of the encoding, with the noise of both parties; another pair is named."""
    asked = (
        Rating("stress", "Stress?", 1, 3),
        Rating("sleep", "Sleep?", 1, 3),
        Choice("ill", "Ill?", ("No", "Yes")),
    )
    encoding = Encoding(asked, cross=(("stress", "ill"),))
    rng = np.random.default_rng(3)
    stress = rng.integers(0, 3, 2000)
    ill = (rng.random(2000) < 0.2 + 0.25 * stress).astype(int)
    table = np.zeros((3, 2))
    np.add.at(table, (stress, ill), 1)
    sums = [table.sum(axis=1), [700, 700, 600], table.sum(axis=0), table.ravel()]
    noise = SumNoise(encoding.blocks, tuple(Fraction(2) for _ in encoding.blocks))
    pairs = declared_pairs(encoding, [list(one) for one in sums], noise=noise, people=2000)
    assert pairs.variance == 4
    found = pairs.correlation("stress", "ill")
    assert found.value == pytest.approx(np.corrcoef(stress, ill)[0, 1], abs=1e-9)
    slope = pairs.least_squares("ill", ["stress"]).term("stress")
    assert (slope.low or 9) < 0.25 < (slope.high or -9)
    with pytest.raises(ParameterError, match="stress with sleep was not declared"):
        pairs.correlation("stress", "sleep")
