"""Matrix factorization as published: its computation, and its lack of a promise."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate

from masquerade.answers import Claims
from masquerade.errors import (
    DuplicateClaim,
    InsecureRandomness,
    ParameterError,
    UnknownLabel,
)
from masquerade.exact import INFINITE_LOSS, Coins, Micro, SimulatedCoins
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import Presence
from masquerade_papers.sparse_ldp.factorization import ONE, UnderdeterminedProfile
from masquerade_papers.sparse_ldp.matrix_factorization import MatrixFactorization
from masquerade_papers.sparse_ldp.matrix_factorization_ridge import MatrixFactorizationRidge

SEED = bytes(range(32))
Build = Callable[..., MatrixFactorization | MatrixFactorizationRidge]
BOTH = pytest.mark.parametrize("build", [MatrixFactorization, MatrixFactorizationRidge])


def published(tasks: int, dimension: int, **more: Any) -> MatrixFactorization:
    """Return the published form for answers 1 to 5 at epsilon 1."""
    given = {"low": 1, "high": 5, "epsilon": 1, "seed": SEED, **more}
    return MatrixFactorization(tasks=tasks, dimension=dimension, **given)


def crowd(workers: int, tasks: int, *, null: bool = False) -> Claims:
    """Return answers of workers to all tasks; with `null`, a third of them missing."""
    rng = np.random.default_rng(workers * 1000 + tasks)
    task, worker = (grid.ravel() for grid in np.meshgrid(np.arange(tasks), np.arange(workers)))
    value = rng.integers(1, 6, len(task)).astype(float)
    if null:
        value[rng.random(len(task)) < 1 / 3] = math.nan
    frame = {"task": task, "worker": worker, "value": value}
    return Claims.from_frame(
        frame, kind="numeric", null=null, tasks=list(range(tasks)), workers=list(range(workers))
    )


def losses(mechanism: Any, answers: Floats, cell: int, size: int, seed: int) -> Floats:
    """Return exact losses at drawn profiles when one answer becomes "no answer"; [direction, n]."""
    rng = np.random.default_rng(seed)
    other = answers.copy()
    other[cell] = math.nan
    found = []
    for own, neighbour in ((answers, other), (other, answers)):
        drawn = mechanism.draw(own, size, rng)
        found.append(mechanism.log_density(drawn, own) - mechanism.log_density(drawn, neighbour))
    return np.array(found)


def test_a_profile_is_the_minimiser_of_the_published_objective(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without noise it is least squares; noise shifts it by -G^-1 eta."""
    mechanism = published(9, 3)
    answers = np.array([1, 5, math.nan, 2, 3, 3, math.nan, 4, 1.0])
    told = np.isfinite(answers)
    x = mechanism.features[told]
    noise = np.array([[0, 0, 0], [ONE, -2 * ONE, 5 * ONE]])
    monkeypatch.setitem(vars(mechanism), "_noise", lambda source, size: noise[:size])
    plain, shifted = mechanism.draw(answers, 2, np.random.default_rng(0))
    expected = np.linalg.lstsq(x, answers[told], rcond=None)[0]
    assert plain == pytest.approx(expected, rel=1e-9)
    assert shifted - plain == pytest.approx(-np.linalg.solve(x.T @ x, noise[1] / ONE), rel=1e-9)


def test_one_feature_sends_the_mean_and_its_spread_tells_how_many_answers() -> None:
    """The smallest counterexample: d = 1, noise of scale K / (k epsilon) around the mean.

    n = 50,000 draws each; false alarm below 1e-6.
    """
    mechanism = published(40, 1)
    rng = np.random.default_rng(3)
    for k in (1, 2, 10, 40):
        answers = np.full(40, math.nan)
        answers[:k] = np.resize([2.0, 4.0], k)
        drawn = mechanism.draw(answers, 50_000, rng)[:, 0]
        scale = 5 / k
        assert abs(np.median(drawn) - np.nanmean(answers)) < 5 * scale / math.sqrt(50_000)
        assert np.abs(drawn - np.nanmean(answers)).mean() == pytest.approx(scale, rel=0.025)


def test_the_published_epsilon_is_exceeded_by_far() -> None:
    """With 6 answers and 5 features, "no answer" is told by more than 10 epsilon, nearly always.

    The worst of the six cells and both directions, for ten seeds of the features.
    """
    for seed in range(10):
        mechanism = published(30, 5, seed=bytes([seed]) * 32)
        rng = np.random.default_rng(seed)
        answers = np.full(30, math.nan)
        answers[rng.permutation(30)[:6]] = rng.integers(1, 6, 6)
        cells = np.flatnonzero(np.isfinite(answers)).tolist()
        shares = [
            (losses(mechanism, answers, cell, 2_000, seed) > 10).mean(axis=1).max()
            for cell in cells
        ]
        assert max(shares) > 0.9


def test_the_table_of_losses_has_the_measured_shape() -> None:
    """Reference values at d = 1, k = 2 (with all features), and the trend in d and k.

    n = 100,000: share of losses above 1 is .184, 99 % quantile 3.93.
    """
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for d, k in ((1, 2), (2, 3), (5, 6), (5, 10), (5, 50), (10, 11), (10, 50)):
        size = 100_000 if d == 1 else 20_000
        mechanism = published(k, d)
        answers = np.resize([1.0, 2.0, 5.0, 3.0, 4.0], k)
        both = losses(mechanism, answers, 0, size, 7)
        found[d, k] = max(((one > 1).mean(), np.quantile(one, 0.99)) for one in both)
    assert found[1, 2][0] == pytest.approx(0.184, abs=0.03)
    assert found[1, 2][1] == pytest.approx(3.93, abs=0.3)
    assert min(found[5, 6][0], found[10, 11][0]) > 0.8
    assert found[5, 6][0] > found[5, 10][0] > found[5, 50][0]
    assert found[10, 11][0] > found[10, 50][0]
    assert found[5, 50][1] < 5


def test_the_loss_grows_without_bound_with_the_profile() -> None:
    """Along a line of profiles the log ratio grows in proportion: no epsilon bounds it."""
    mechanism = published(8, 2)
    answers = np.array([3.0, 2, 5, 1, 4, 2, 3, 1])
    other = answers.copy()
    other[0] = math.nan
    far = np.outer([1e3, 1e6, 1e9], [1.0, 1.0])
    ratio = np.abs(mechanism.log_density(far, answers) - mechanism.log_density(far, other))
    assert ratio[0] > 10
    assert ratio[1:] / ratio[:-1] == pytest.approx([1e3, 1e3], rel=0.05)


@pytest.mark.parametrize("k", [1, 3])
def test_the_density_of_one_feature_adds_to_one(k: int) -> None:
    """Integrated over all profiles it is 1."""
    mechanism = published(3, 1)
    answers = np.full(3, math.nan)
    answers[:k] = [4.0, 1.0, 2.0][:k]
    total, _ = integrate.quad(
        lambda u: float(np.exp(mechanism.log_density(np.array([[u]]), answers))[0]),
        -400,
        400,
        points=[float(np.nanmean(answers))],
        limit=500,
    )
    assert total == pytest.approx(1, abs=1e-8)


def test_audit_draws_follow_the_density() -> None:
    """Of 100,000 profiles of two features, the noise recovered is Laplace (alarm 1e-6)."""
    mechanism = published(6, 2)
    answers = np.array([1.0, 2, 3, 4, 5, 1])
    x = mechanism.features
    drawn = mechanism.draw(answers, 100_000, np.random.default_rng(5))
    noise = x.T @ answers - drawn @ (x.T @ x)
    quantiles = np.array([0.1, 0.5, 0.9])
    points = np.array([5 * math.log(0.2), 0.0, -5 * math.log(0.2)])
    found = (noise[:, :, None] <= points).mean(axis=0)
    assert np.abs(found - quantiles).max() < 5 * 0.5 / math.sqrt(100_000)


def test_exact_with_public_tasks_one_answer_costs_what_is_promised() -> None:
    """Every change of one answer, in whole noise units: the worst is the promise, in fractions.

    Noise of n units has probability proportional to exp(-n / scale), so the loss of a shift is the
    sum of its absolute coordinates over the scale.
    """
    mechanism = published(12, 3, high=4)
    features = mechanism._features
    shifts = [
        Fraction(steps * int(np.abs(row).sum()), mechanism._scale)
        for row in features
        for steps in range(1, 4)
    ]
    promise = mechanism.guarantee(answers=12, presence="assigned", all_answered=True)
    assert promise.status == "proven"
    assert promise.epsilon_event == Micro.of_amount(max(shifts))
    assert promise.epsilon_user == Micro.of_amount(max(shifts) * 12)
    assert float(max(shifts)) == pytest.approx(3 / 4, rel=1e-6)  # epsilon width / K
    assert promise.epsilon_single == promise.epsilon_event


def test_steps_above_one_lose_more_than_the_published_epsilon_even_then() -> None:
    """Answers 0, 10, ..., 100: K = 11 is less than the width 100, so one answer costs 9.1."""
    mechanism = published(4, 1, low=0, high=100, step=10)
    promise = mechanism.guarantee(presence="assigned", all_answered=True)
    assert promise.epsilon_event.epsilon == pytest.approx(100 / 11, abs=2e-6)


@pytest.mark.parametrize(
    "case",
    [{}, {"presence": "hidden"}, {"presence": "assigned"}, {"all_answered": True}],
    ids=str,
)
def test_there_is_no_guarantee_where_presence_must_be_hidden(case: dict[str, Any]) -> None:
    """The status is none, the amounts infinite, so that no budget ever takes it."""
    promise = published(9, 3).guarantee(answers=4, **case)
    assert promise.status == "none"
    assert promise.epsilon_event == promise.epsilon_user == INFINITE_LOSS
    assert promise.assumptions
    assert published(9, 3).published_loss(answers=4) == Micro(4_000_000)


def test_nothing_is_masked_without_acknowledging_that_there_is_no_guarantee() -> None:
    """Both ways to mask refuse, and name another way."""
    mechanism, claims = published(6, 2), crowd(3, 6)
    for mask in (
        lambda: mechanism.randomize(claims, presence="assigned"),
        lambda: mechanism.simulate(claims, np.random.default_rng(0), presence="hidden"),
        lambda: mechanism.profiles(claims, presence="assigned"),
    ):
        with pytest.raises(ParameterError, match="matrix-factorization-ridge"):
            mask()
    willing = published(6, 2, acknowledge_no_guarantee=True)
    assert len(willing.randomize(claims, presence="assigned")) == 18


def test_too_few_answers_are_an_error_that_names_the_worker() -> None:
    """Fewer answers than features determine no profile; nothing is sent for anybody."""
    claims = Claims.from_frame(
        {"task": list("abcab"), "worker": list("xxxyy"), "value": [1.0, 2, 3, 4, 5]}
    )
    mechanism = published(3, 3, acknowledge_no_guarantee=True)
    with pytest.raises(UnderdeterminedProfile, match=r"worker 'y': 2 answers do not determine"):
        mechanism.randomize(claims, presence="assigned")


def test_noise_alone_can_be_sent_where_answers_are_too_few() -> None:
    """With on_underdetermined=prior the profile is noise, for all answers."""
    mechanism = published(6, 4, on_underdetermined="prior")
    drawn = [
        mechanism.draw(np.array([value, *[math.nan] * 5]), 3, np.random.default_rng(4))
        for value in (1.0, 5.0, math.nan)
    ]
    assert np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[0], drawn[2])


@BOTH
def test_the_text_form_names_every_parameter(build: Build) -> None:
    """Every parameter that is not a default is in the text."""
    common: dict[str, Any] = {
        "low": 0,
        "high": 1,
        "step": "0.25",
        "tasks": 20,
        "dimension": 3,
        "epsilon": "0.5",
    }
    more: dict[str, Any] = {"split": "0.5"}
    if build is MatrixFactorization:
        more = {"on_underdetermined": "prior", "acknowledge_no_guarantee": True}
    text = str(build(**common, seed=SEED, distribution="signed", **more))
    assert text.startswith("matrix-factorization")
    for key, value in {**common, "seed": SEED.hex(), "distribution": "signed", **more}.items():
        assert f"{key}={'true' if value is True else value}" in text


@BOTH
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"low": 5, "high": 5}, "expected low below high"),
        ({"step": 3}, "never is high"),
        ({"step": 0}, "step is 0"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"epsilon": "nan"}, "epsilon is 'nan'"),
        ({"epsilon": "inf"}, "epsilon is 'inf'"),
        ({"dimension": 0}, "dimension is 0"),
        ({"dimension": 7}, "dimension is 7, expected 1 to 6"),
        ({"tasks": 0}, "tasks is 0"),
        ({"tasks": 1000, "dimension": 65}, "dimension is 65, expected 1 to 64"),
        ({"tasks": 100, "high": 1 << 31}, "too many"),
        ({"seed": bytes(31)}, "seed has 31 bytes"),
        ({"distribution": "normal"}, "distribution is 'normal'"),
        ({"low": "1.00000000000000000001", "high": "2.00000000000000000001"}, "digits"),
    ],
    ids=str,
)
def test_each_bad_parameter_is_named(build: Build, change: dict[str, Any], said: str) -> None:
    """A parameter out of range is an error that names it and the expected range."""
    given = {"low": 1, "high": 5, "tasks": 6, "dimension": 2, "epsilon": 1, "seed": SEED}
    with pytest.raises(ParameterError, match=re.escape(said)):
        build(**(given | change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"on_underdetermined": "pinv"}, "expected one of 'error', 'prior'"),
        ({"acknowledge_no_guarantee": "yes"}, "acknowledge_no_guarantee is 'yes'"),
        ({"epsilon": "1e-9"}, "too small"),
    ],
)
def test_a_pseudo_inverse_and_other_bad_choices_are_refused(
    change: dict[str, Any], said: str
) -> None:
    """There are two ways to treat too few answers, and a pseudo-inverse is neither."""
    with pytest.raises(ParameterError, match=said):
        published(6, 2, **change)


@BOTH
def test_features_are_derived_and_others_are_refused(build: Build) -> None:
    """No parameter takes features; sent ones are compared, and a weakened task is named."""
    mechanism = build(low=1, high=5, tasks=6, dimension=2, epsilon=1, seed=SEED)
    again = build(low=1, high=5, tasks=6, dimension=2, epsilon=1, seed=SEED.hex())
    assert np.array_equal(mechanism.features, again.features)
    mechanism.check_features(again.features)
    scaled = mechanism.features.copy()
    scaled[4] *= 1e6
    with pytest.raises(ParameterError, match="task 4 add to 1e\\+06"):
        mechanism.check_features(scaled)
    other = mechanism.features.copy()
    other[4] = other[4][::-1]
    with pytest.raises(ParameterError, match="not those of the public seed"):
        mechanism.check_features(other)
    with pytest.raises(ParameterError, match="NaN"):
        mechanism.check_features(np.full((6, 2), math.nan))
    with pytest.raises(ParameterError, match="shape"):
        mechanism.check_features(np.zeros((6, 3)))
    with pytest.raises(TypeError):
        build(low=1, high=5, tasks=6, dimension=2, epsilon=1, seed=SEED, features=scaled)
    with pytest.raises(ValueError, match="read-only"):
        mechanism._features[0, 0] = 1


@BOTH
def test_features_stay_read_only_in_copies_and_in_other_processes(build: Build) -> None:
    """The masks of a copy or an unpickled mechanism cannot be changed either."""
    mechanism = build(low=1, high=5, tasks=6, dimension=2, epsilon=1, seed=SEED)
    for again in (copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
        assert again == mechanism
        assert np.array_equal(again.features, mechanism.features)
        with pytest.raises(ValueError, match="read-only"):
            again._features[0, 0] = 1


@BOTH
def test_reports_are_on_all_tasks_or_on_those_assigned(build: Build) -> None:
    """Hidden: every worker on every task, no gap; assigned: the rows there are."""
    more = {"acknowledge_no_guarantee": True} if build is MatrixFactorization else {}
    mechanism = build(low=1, high=5, tasks=12, dimension=2, epsilon=1, seed=SEED, **more)
    claims = crowd(4, 12, null=True)
    shown = claims.with_values(claims.value)
    cases: tuple[tuple[Presence, int], ...] = (("hidden", 48), ("assigned", len(shown)))
    for presence, rows in cases:
        reports = mechanism.randomize(claims, presence=presence)
        assert len(reports) == rows
        assert np.isfinite(reports.value).all()
        assert reports.kind == "numeric"
        assert not reports.null
    with pytest.raises(ParameterError, match="say presence="):
        mechanism.randomize(claims)


@BOTH
def test_profiles_are_what_the_reports_are_made_of(build: Build) -> None:
    """From the same randomness, reconstructed profiles are the reports, by worker and task."""
    more = {"acknowledge_no_guarantee": True} if build is MatrixFactorization else {}
    mechanism = build(low=1, high=5, tasks=12, dimension=2, epsilon=1, seed=SEED, **more)
    claims = crowd(4, 12)
    reports = mechanism.simulate(claims, np.random.default_rng(2), presence="hidden")
    profiles = mechanism._profiles(claims, SimulatedCoins(np.random.default_rng(2)))
    rebuilt = mechanism.reconstruct(profiles)
    assert profiles.shape == (4, 2)
    assert reports.value.reshape(4, 12) == pytest.approx(rebuilt)
    real = mechanism.profiles(claims, presence="assigned", coins=Coins())
    assert real.shape == (4, 2)
    assert not np.array_equal(real, mechanism.profiles(claims, presence="assigned"))
    with pytest.raises(InsecureRandomness):
        mechanism.profiles(claims, presence="assigned", coins=np.random.default_rng(0))  # type: ignore[arg-type]


@BOTH
@pytest.mark.parametrize("bad", [np.zeros((3, 3)), np.zeros(2), np.full((1, 2), math.nan)])
def test_profiles_of_another_shape_are_refused(build: Build, bad: Floats) -> None:
    """A server never rebuilds answers from a value that is no profile."""
    mechanism = build(low=1, high=5, tasks=12, dimension=2, epsilon=1, seed=SEED)
    with pytest.raises(ParameterError, match="profiles have shape"):
        mechanism.reconstruct(bad)


@BOTH
def test_the_order_of_rows_and_the_names_of_tasks_do_not_matter(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task has the features of its place in sorted order, wherever its rows stand."""
    more = {"acknowledge_no_guarantee": True} if build is MatrixFactorization else {}
    mechanism = build(low=1, high=5, tasks=6, dimension=2, epsilon=1, seed=SEED, **more)
    monkeypatch.setitem(
        vars(mechanism), "_noise", lambda source, size: np.zeros((size, 2), np.int64)
    )
    names, values = list("fbdace"), [1.0, 5, 2, 4, 3, 1]
    rows = list(zip(names, values, strict=True))
    found = []
    for order in (rows, rows[::-1], sorted(rows)):
        frame = {"task": [r[0] for r in order], "worker": ["w"] * 6, "value": [r[1] for r in order]}
        found.append(mechanism.profiles(Claims.from_frame(frame), presence="assigned")[0])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0] == pytest.approx(found[2], rel=1e-12)
    in_order = np.array([value for _, value in sorted(rows)])
    assert found[0] == pytest.approx(mechanism.draw(in_order, 1, np.random.default_rng(0))[0])


@BOTH
def test_bad_claims_are_refused_with_their_row(build: Build) -> None:
    """Answers off the domain, categories, missing tasks and duplicates are each an error."""
    more = {"acknowledge_no_guarantee": True} if build is MatrixFactorization else {}
    mechanism = build(low=1, high=5, tasks=2, dimension=1, epsilon=1, seed=SEED, **more)
    base = {"task": ["a", "b", "a"], "worker": ["x", "x", "y"]}

    def mask(values: list[Any], **how: Any) -> None:
        claims = Claims.from_frame({**base, "value": values}, **how)
        mechanism.randomize(claims, presence="assigned")

    with pytest.raises(UnknownLabel, match=r"row 2: 5\.5 is outside"):
        mask([1.0, 5.5, 2.0])
    with pytest.raises(UnknownLabel, match=r"row 3: 2.5 is not 1 plus"):
        mask([1.0, 5.0, 2.5])
    with pytest.raises(ParameterError, match="the claims are categories"):
        mask(["u", "v", "u"], kind="categorical")
    one = Claims.from_frame({"task": ["a"], "worker": ["x"], "value": [1.0]})
    with pytest.raises(ParameterError, match="is for 2 tasks, the claims have 1"):
        mechanism.randomize(one, presence="assigned")
    twice = {"task": ["a", "b", "a"], "worker": ["x"] * 3, "value": [1.0, 2, 3]}
    with pytest.raises(DuplicateClaim):
        mechanism.randomize(Claims.from_frame(twice, duplicates="all"), presence="assigned")
    with pytest.raises(ParameterError, match="expected one for each of 2 tasks"):
        mechanism.draw(np.ones(3), 1, np.random.default_rng(0))
    with pytest.raises(UnknownLabel):
        mechanism.draw(np.array([1.0, math.inf]), 1, np.random.default_rng(0))


class Counting:
    """A seeded source that remembers how many words were asked for, call by call."""

    def __init__(self) -> None:
        self.source = SimulatedCoins(np.random.default_rng(1))
        self.asked: list[int] = []

    def words(self, size: int) -> NDArray[np.uint64]:
        """Draw words."""
        self.asked.append(size)
        return self.source.words(size)


@BOTH
def test_what_is_drawn_does_not_depend_on_the_answers(build: Build) -> None:
    """The same words are asked for, call by call, for all answers and for none."""
    more = {"acknowledge_no_guarantee": True} if build is MatrixFactorization else {}
    mechanism = build(low=1, high=5, tasks=12, dimension=2, epsilon=1, seed=SEED, **more)
    asked = []
    for claims in (crowd(4, 12), crowd(4, 12, null=True)):
        source = Counting()
        mechanism._profiles(claims, source)
        asked.append(source.asked)
    assert asked[0] == asked[1]


@given(
    low=st.integers(-20, 20),
    steps=st.integers(1, 30),
    step=st.sampled_from(["0.1", "1", "2.5", "1/4"]),
    dimension=st.integers(1, 5),
    epsilon=st.sampled_from(["0.01", "0.3", "1", "7"]),
)
def test_prop_the_promise_for_public_tasks_is_epsilon_times_width_over_k(
    low: int, steps: int, step: str, dimension: int, epsilon: str
) -> None:
    """For any domain it is epsilon width / K times the largest feature row, never rounded down."""
    high = low + steps * Fraction(step)
    mechanism = MatrixFactorization(
        low=low, high=high, step=step, tasks=7, dimension=dimension, epsilon=epsilon, seed=SEED
    )
    one = mechanism.guarantee(presence="assigned", all_answered=True).epsilon_event.epsilon
    bound = float(Fraction(epsilon) * steps * Fraction(step) / (steps + 1))
    assert bound * (1 - 1e-6) <= one <= bound + 1.000001e-6
    assert mechanism.fewest_answers() == dimension
    assert mechanism.variance() == math.inf
