"""Values are points of a lattice, exactly, or an error that names the row."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Claims
from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Lattice,
    LatticeMechanism,
    Presence,
    QuantisedResponse,
    parse_mechanism,
)

MECHANISMS = (
    "discrete-gaussian:low=1,high=5,step=1,sigma=3",
    "discrete-gaussian:low=0,high=1,step=1/3,sigma=0.5",
    "discrete-laplace:low=1,high=5,step=1,epsilon=1",
    "discrete-laplace:low=1,high=5,step=1,epsilon=1,null=true,fill=midpoint",
    "discrete-laplace:low=1,high=5,step=0.5,epsilon=0.3,null=true,fill=uniform",
    "discrete-laplace:low=1,high=5,step=1,epsilon=1,null=true,fill=5",
    "discrete-laplace:low=1,high=5,step=1,epsilon=1,scale_rule=paper",
    "quantised-response:low=-100,high=100,step=1,epsilon=2,levels=5,null=true",
    "quantised-response:low=0,high=1,step=0.1,epsilon=0.5,levels=3",
)


def ratings(*values: float, null: bool = False) -> Claims:
    """Return claims of one worker."""
    return Claims.from_frame(
        {"task": np.arange(len(values)), "worker": ["w"] * len(values), "value": list(values)},
        null=null,
    )


@given(
    low=st.fractions(-1000, 1000, max_denominator=1000),
    step=st.fractions("1/1000", 1000, max_denominator=1000),
    points=st.integers(2, 5000),
    data=st.data(),
)
def test_prop_value_and_index_are_inverse(
    low: Fraction, step: Fraction, points: int, data: st.DataObject
) -> None:
    """Each index has the float nearest to its fraction, and that float has the index."""
    lattice = Lattice(low, low + step * (points - 1), step)
    assert lattice.points == points
    indices = np.array(data.draw(st.lists(st.integers(0, points - 1), min_size=1, max_size=20)))
    values = lattice.values(indices)
    assert values.tolist() == [float(low + step * i) for i in indices.tolist()]
    assert np.array_equal(lattice.indices(values), indices)
    outside = lattice.values(np.array([-points, 7 * points]))
    assert outside.tolist() == [float(low - step * points), float(low + step * 7 * points)]


def test_exact_every_tenth_is_found() -> None:
    """0.1, 0.2, ..., as people write them, are points; 0.1 + 0.2 in floats is not."""
    lattice = Lattice(0, 1, 0.1)
    written = np.array([float(f"0.{k}") for k in range(10)])
    assert lattice.indices(written).tolist() == list(range(10))
    with pytest.raises(UnknownLabel, match=r"row 1: 0.30000000000000004 is not 0 plus"):
        lattice.indices(np.array([0.1 + 0.2]))


def test_values_far_from_the_range_are_still_nearest_floats() -> None:
    """Reports with more digits than a float holds are rounded once."""
    lattice = Lattice(0, 1, Fraction(1, 3))
    far = np.array([10**17, -(10**17)])
    assert lattice.values(far).tolist() == [float(Fraction(10**17, 3)), -float(Fraction(10**17, 3))]
    assert lattice.values(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([3.0, 6.0], r"row 2: 6.0 is outside 1 to 5"),
        ([0.0], "row 1: 0.0 is outside"),
        ([1.0, 2.0, 2.5], r"row 3: 2.5 is not 1 plus a whole number of steps of 1"),
        ([math.nextafter(5, 6)], "is outside"),
        ([math.nextafter(3, 4)], "is not 1 plus"),
    ],
)
def test_a_value_off_the_lattice_is_named_with_its_row(values: list[float], message: str) -> None:
    """Outside the range and between points are errors with row, value and advice."""
    with pytest.raises(UnknownLabel, match=message):
        Lattice(1, 5).indices(np.array(values))
    with pytest.raises(UnknownLabel, match=message):
        DiscreteGaussian(1, 5, sigma=3).randomize(ratings(*values))


def test_no_answer_is_the_code_after_the_last_point() -> None:
    """NaN has the index `points`."""
    assert Lattice(1, 5).indices(np.array([math.nan, 5.0])).tolist() == [5, 4]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((1, 1), "low is 1 and high is 1, expected low below high"),
        ((5, 1), "expected low below high"),
        ((0, 1, 0), "step is 0, expected above 0"),
        ((0, 1, -1), "step is -1"),
        ((0, 1, "0.3"), r"low 0 plus whole steps of 0.3 never is high 1"),
        ((0, 1, 2), "never is high"),
        ((0, 1 << 32, 1), r"more than 2\*\*32 points"),
        ((math.nan, 1), "low is nan"),
        ((0, math.inf), "high is inf"),
        ((0, 1, "x"), "step is 'x'"),
        ((None, 1), "low is None"),
    ],
)
def test_a_bad_lattice_is_refused(parameters: tuple[object, ...], message: str) -> None:
    """One point, a range the step does not fit, too many points and no numbers are errors."""
    with pytest.raises(ParameterError, match=message):
        Lattice(*parameters)  # type: ignore[arg-type]
    assert Lattice(0, (1 << 32) - 1).points == 1 << 32


def test_a_lattice_finer_than_floats_is_refused() -> None:
    """Points that floats cannot tell apart are an error of the mechanism."""
    with pytest.raises(ParameterError, match="more digits than a float can hold"):
        DiscreteGaussian(1, 1 + Fraction(4, 10**17), Fraction(1, 10**17), sigma=Fraction(1, 10**17))


def test_a_lattice_is_a_value() -> None:
    """Equal lattices are equal and hash alike; none can be changed."""
    assert Lattice(0, 1, "0.1") == Lattice(0, 1, 0.1)
    assert len({Lattice(0, 1), Lattice("0", 1.0)}) == 1
    with pytest.raises(AttributeError):
        Lattice(0, 1).low = Fraction(1)  # type: ignore[misc]


@pytest.mark.parametrize("text", MECHANISMS)
def test_text_and_mechanism_are_inverse(text: str) -> None:
    """The text form comes back letter for letter, and as JSON with its parameters."""
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, LatticeMechanism)
    assert str(mechanism) == text
    assert parse_mechanism(str(mechanism)) == mechanism
    assert mechanism.to_json()["mechanism"] == text
    assert mechanism.to_json()["name"] == mechanism.name
    assert mechanism.kind == "numeric"


@pytest.mark.parametrize("text", MECHANISMS)
def test_claims_go_in_and_reports_come_out(text: str) -> None:
    """Reports keep tasks, workers and rows; the input is not changed; seeds repeat."""
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, LatticeMechanism)
    points = mechanism.lattice.values(np.arange(3))
    claims = ratings(*np.resize(points, 300))
    before = claims.value.copy()
    presence: Presence | None = "assigned" if mechanism.null else None
    one, two, other = (
        mechanism.simulate(claims, np.random.default_rng(seed), presence=presence)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one.value, two.value, equal_nan=True)
    assert not np.array_equal(one.value, other.value, equal_nan=True)
    assert np.array_equal(claims.value, before)
    assert np.array_equal(one.task, claims.task)
    assert one.kind == "numeric"
    assert one.value.dtype == np.float64
    real = mechanism.randomize(claims, presence=presence)
    assert not np.array_equal(real.value, one.value, equal_nan=True)


@pytest.mark.parametrize("text", MECHANISMS)
def test_what_is_drawn_does_not_depend_on_the_answers(text: str) -> None:
    """For any answers, given or not, the same words are taken."""
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, LatticeMechanism)
    last = mechanism.lattice.points - 1 + mechanism.null
    persons = np.zeros(50, dtype=np.int32)
    taken = []
    for answers in (np.zeros(50, np.int64), np.full(50, last), np.arange(50) % (last + 1)):
        counter = Counting(7)
        mechanism.mask(answers, persons, counter)
        taken.append(counter.sizes)
    assert taken[0] == taken[1] == taken[2]


class Counting:
    """A seeded source that notes how many words are taken at a time."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.sizes: list[int] = []

    def words(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        self.sizes.append(size)
        return self.rng.integers(0, 1 << 64, size=size, dtype=np.uint64)


def test_claims_that_do_not_fit_are_refused() -> None:
    """Categories, and missing answers that cannot be masked, are errors that give advice."""
    labels = Claims.from_frame({"task": ["a"], "worker": ["x"], "label": ["3"]})
    for mechanism in (DiscreteGaussian(1, 5, sigma=3), DiscreteLaplace(1, 5, epsilon=1)):
        with pytest.raises(ParameterError, match=r"masks numbers.*kind='numeric'"):
            mechanism.randomize(labels)
        with pytest.raises(MissingValue, match=r"row 2: no answer was given"):
            mechanism.randomize(ratings(1.0, math.nan, null=True))
        mechanism.check(ratings(1.0, 5.0))


def test_hidden_presence_reports_on_every_task() -> None:
    """With null, every worker can report on every task, answered or not."""
    claims = Claims.from_frame(
        {"task": ["a", "b", "c"], "worker": ["x", "x", "y"], "value": [1.0, 2.0, 5.0]},
        tasks=["a", "b", "c"],
        workers=["x", "y"],
    )
    for mechanism in (
        DiscreteLaplace(1, 5, epsilon=1, null=True),
        QuantisedResponse(1, 5, epsilon=1, null=True),
    ):
        assert len(mechanism.randomize(claims, presence="hidden")) == 6
        with pytest.raises(ParameterError, match="presence='assigned'"):
            mechanism.randomize(claims)
    with pytest.raises(ParameterError, match="cannot hide"):
        DiscreteGaussian(1, 5, sigma=3).randomize(claims, presence="hidden")


@pytest.mark.parametrize("kind", [DiscreteLaplace, QuantisedResponse])
def test_null_is_true_or_false(kind: type[DiscreteLaplace] | type[QuantisedResponse]) -> None:
    """A text is no truth value."""
    with pytest.raises(ParameterError, match="null is 'true'"):
        kind(1, 5, epsilon=1, null="true")  # type: ignore[arg-type]


def test_infinity_never_reaches_a_mechanism() -> None:
    """An infinite value is refused when claims are read, with its row."""
    with pytest.raises(ValueError, match="row 2: inf is not finite"):
        ratings(1.0, math.inf)
