"""The engines `claims`, `source` and `wiener`: what they tell of neighbours, and their errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from scipy.stats import beta

from masquerade.errors import ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.exact.noise import scale_rounded_up
from masquerade.release import (
    Domain,
    Engine,
    GroupedClaims,
    Histogram,
    Mixtures,
    PosteriorHistogram,
    SourceHistogram,
    WienerHistogram,
    bandwidths,
    guarantee_sentence,
    histogram,
    ise,
    parse_engine,
    simulate,
    synthesize,
)
from masquerade.release.finish import NoisyHistograms, finish

Grouped = Callable[..., GroupedClaims]
Cells = list[tuple[str, str, float]]  # object, user, value

FALSE_ALARM = 1e-6


def table(cells: Cells) -> dict[str, Any]:
    """Return a table of claims."""
    return dict(zip(("task", "worker", "value"), map(list, zip(*cells, strict=True)), strict=True))


class Recorder:
    """Noise of 0, and the scale that each count would have had."""

    def __init__(self) -> None:
        self.scales: list[Fraction] = []

    def __call__(self, source: Any, scale: Fraction, size: int) -> Any:
        """Return zeros; all of these counts get noise of one scale."""
        self.scales += [scale] * size
        return np.zeros(size, dtype=np.int64)


def counted(
    engine: PosteriorHistogram, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> tuple[np.ndarray, list[Fraction]]:
    """Return the exact counts of an engine's bins, and the noise's scale on each."""
    record = Recorder()
    monkeypatch.setattr(histogram, "discrete_laplace", record)
    coins = SimulatedCoins(np.random.default_rng(0))
    if cells:
        claims = engine.within_cap(GroupedClaims.of(table(cells)), coins)
    else:
        claims = GroupedClaims.none(engine.objects or ())
    noisy = engine.noisy(claims, engine.plan(claims), coins)
    assert len(set(record.scales)) == 1  # so that the order of draws does not matter here
    return noisy.counts, record.scales


def loss(here: tuple[np.ndarray, list[Fraction]], there: tuple[np.ndarray, list[Fraction]]) -> Any:
    """Return the worst log-ratio: distances of counts over the scales of their noise."""
    assert here[1] == there[1]  # the noise may not depend on values
    pairs = zip((here[0] - there[0]).tolist(), here[1], strict=True)
    return sum((Fraction(abs(gap)) / scale for gap, scale in pairs), Fraction(0))


@pytest.mark.parametrize("kind", [PosteriorHistogram, WienerHistogram])
@pytest.mark.parametrize("weights", [None, {"u0": 13 / 256, "u1": 0.25, "u2": 1.0}])
def test_exact_a_replaced_value_costs_epsilon_and_never_more(
    kind: type[PosteriorHistogram],
    weights: dict[str, float] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All tables of three values on five answers and all replacements: epsilon, in fractions.

    With public weights of 13, 64 and 256 parts the noise follows the largest, and it is reached.
    """
    engine = kind(epsilon=30, domain=Domain(0, 4, step=1), reliability=weights, bins=5)
    worlds = {
        values: counted(
            engine, [("a", f"u{i}", float(v)) for i, v in enumerate(values)], monkeypatch
        )
        for values in itertools.product(range(5), repeat=3)
    }
    worst = max(
        loss(worlds[values], worlds[(*values[:i], other, *values[i + 1 :])])
        for values in worlds
        for i in range(3)
        for other in range(5)
    )
    assert worst == engine.exact_epsilon == 30
    assert guarantee_sentence(engine.guarantee()).count("epsilon = 30") == 1


@pytest.mark.parametrize("epsilon", ["1", "7/3"])
def test_exact_a_replaced_user_costs_epsilon_and_never_more(
    epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All values of a user about two objects are replaced: epsilon, in fractions, is reached."""
    engine = PosteriorHistogram(
        epsilon=epsilon, domain=Domain(0, 2, step=1), unit="user", cap=2, bins=3
    )
    worlds = {
        pair: counted(
            engine,
            [("a", "u", pair[0]), ("b", "u", pair[1]), ("a", "v", 1.0), ("b", "v", 2.0)],
            monkeypatch,
        )
        for pair in itertools.product((0.0, 1.0, 2.0), repeat=2)
    }
    worst = max(loss(one, other) for one, other in itertools.product(worlds.values(), repeat=2))
    assert worst == Fraction(epsilon)


@pytest.mark.parametrize(("unit", "cap"), [("claim", 1), ("user", 2)])
def test_exact_with_a_list_of_objects_taking_part_costs_epsilon(
    unit: Any, cap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One claim, or one user with two claims, is added or removed: epsilon; a move costs twice.

    Claims about an object that is not listed change no count at all.
    """
    engine = PosteriorHistogram(
        epsilon=2,
        domain=Domain(0, 2, step=1),
        unit=unit,
        cap=cap,
        bins=3,
        objects=("a", "b"),
        expected=5,
    )
    others: Cells = [("a", "v", 1.0), ("b", "v", 2.0)]
    losses, moves = [], []
    for base in ([], others):
        before = counted(engine, base, monkeypatch)
        for pair in itertools.product((0.0, 1.0, 2.0), repeat=2):
            mine: Cells = [("a", "u", pair[0]), ("b", "u", pair[1])]
            after = counted(engine, base + (mine if unit == "user" else mine[:1]), monkeypatch)
            losses.append(loss(before, after))
            moved = counted(engine, [*base, mine[1]], monkeypatch)
            if unit == "claim":
                moves.append(loss(after, moved))
            stranger = counted(engine, [*base, ("z", "u", pair[0])], monkeypatch)
            assert loss(before, stranger) == 0
    assert set(losses) == {Fraction(2)}
    assert all(each == 4 for each in moves)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_exact_no_vector_of_noisy_counts_betrays_more_than_epsilon(epsilon: float) -> None:
    """Every vector on a box of three bins, one value moved from one bin to another: epsilon."""
    ratio = math.exp(-epsilon / 2)

    def log_law(counts: tuple[int, ...], seen: np.ndarray) -> Any:
        each = math.log((1 - ratio) / (1 + ratio)) - np.abs(seen - counts) * epsilon / 2
        return each.sum(axis=1)

    seen = np.array(list(itertools.product(range(-6, 10), repeat=3)))
    gap = np.abs(log_law((2, 1, 0), seen) - log_law((1, 1, 1), seen)).max()
    assert epsilon - 1e-9 <= gap <= epsilon + 1e-9


def densities_of(
    engine: PosteriorHistogram, cells: Cells, runs: int, seed: int
) -> tuple[np.ndarray, int]:
    """Return the released density at the middles of bins, one row a run of the whole engine.

    The counts of many equal objects get independent noise; each is then finished alone.
    """
    many = [(f"{i:05}{task}", f"{i:05}{user}", x) for i in range(runs) for task, user, x in cells]
    weights = engine.reliability
    named = (
        {}
        if weights is None
        else {f"{i:05}{user}": weight for i in range(runs) for user, weight in weights.items()}
    )
    wide = type(engine)(
        epsilon=engine.epsilon,
        domain=engine.domain,
        bins=engine.bins,
        reliability=named or None,
        objects=None if engine.objects is None else [f"{i:05}a" for i in range(runs)],
        expected=engine.expected,
    )
    coins = SimulatedCoins(np.random.default_rng(seed))
    claims = wide.within_cap(GroupedClaims.of(table(many)), coins)
    noisy = wide.noisy(claims, wide.plan(claims), coins)
    one = engine.within_cap(GroupedClaims.of(table(cells)), coins)
    plan = engine.plan(one)
    rows = noisy.counts.reshape(runs, -1)
    cache: dict[bytes, np.ndarray] = {}
    found = []
    for i, row in enumerate(rows):
        key = row.tobytes()
        if key not in cache:
            at = slice(i, i + 1)
            alone = NoisyHistograms(
                row, noisy.claims[at], noisy.total[at], noisy.sampling[at], noisy.scale[at]
            )
            cache[key] = finish(alone, plan, engine.target).density(0, plan.grid.centre)
        found.append(cache[key])
    return np.array(found), len(cache)


def most_telling(here: np.ndarray, there: np.ndarray) -> float:
    """Return the largest lower bound of the ratio of an event's probabilities in two worlds.

    Events: one bin is above another; 50 random half-spaces at 4 thresholds. Clopper-Pearson bounds,
    false alarm 1e-6 for each comparison.
    """
    bins, runs = here.shape[1], len(here)
    rng = np.random.default_rng(7)
    events = [(x[:, i] > x[:, j]) for x in (here, there) for i in range(bins) for j in range(bins)]
    flags = [events[: bins * bins], events[bins * bins :]]
    for direction in rng.normal(size=(50, bins)):
        scores = [x @ direction for x in (here, there)]
        for level in (0.02, 0.1, 0.5, 0.9):
            threshold = np.quantile(scores[0], level)
            for world in (0, 1):
                flags[world].append(scores[world] > threshold)
    hits = np.array([[flag.sum() for flag in world] for world in flags])
    lower = beta.ppf(FALSE_ALARM / 2, hits, runs - hits + 1)
    upper = beta.isf(FALSE_ALARM / 2, hits + 1, runs - hits)
    # an event that never happened has the lower bound 0; one that always did, the upper bound 1
    lower, upper = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    return float(max((lower[0] / upper[1]).max(), (lower[1] / upper[0]).max()))


WORLDS: dict[str, tuple[Engine, Cells, Cells]] = {
    **{
        name: (
            parse_engine(name, epsilon=1, domain=(0, 3), bins=3),
            [("a", "u", 0.5), ("a", "v", 0.5), ("a", "w", 0.5)],
            [("a", "u", 2.5), ("a", "v", 0.5), ("a", "w", 0.5)],
        )
        for name in ("claims", "source", "wiener")
    },
    "listed": (
        parse_engine("claims:expected=3", epsilon=1, domain=(0, 3), bins=3, objects=("a",)),
        [("a", "u", 0.5), ("a", "v", 0.5)],
        [("a", "v", 0.5)],
    ),
    "weighted": (
        WienerHistogram(
            epsilon=1,
            domain=(0, 3),
            bins=3,
            reliability={"u": 1.0} | {f"v{i}": 0.05 for i in range(70)},
        ),
        [("a", "u", 0.5), *(("a", f"v{i}", 1.5) for i in range(70))],
        [("a", "u", 2.5), *(("a", f"v{i}", 1.5) for i in range(70))],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(WORLDS))
def test_audit_no_event_of_a_whole_release_betrays_more_than_epsilon(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One object alone, 1,500 runs a world, 418 comparisons at 1e-6: below epsilon 1.

    The same audit finds noise of a third of the scale, so it is not blind.
    """
    engine, here, there = WORLDS[name]
    assert isinstance(engine, PosteriorHistogram)
    runs = 1_500
    bound = most_telling(
        *(densities_of(engine, w, runs, i)[0] for i, w in enumerate((here, there)))
    )
    assert 1.05 < bound <= math.e
    monkeypatch.setattr(histogram, "scale_rounded_up", lambda scale: scale_rounded_up(scale / 3))
    bound = most_telling(
        *(densities_of(engine, w, runs, i)[0] for i, w in enumerate((here, there)))
    )
    assert bound > math.e


@examples(max_examples=10, deadline=None)
@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=2), st.sampled_from(["claims", "source"])
)
def test_prop_values_change_nothing_that_noise_does_not_cover(
    values: list[float], name: str
) -> None:
    """Plans, settings, statuses and the guarantee are the same for every value in its place."""
    shown = []
    for value in values:
        rows = table([("a", "u", value), ("a", "v", 5.0), ("b", "u", 5.0)])
        release = synthesize(rows, engine=name, epsilon=1, domain=(0, 10), samples=3)
        shown.append((release.codebook(), release.offset.tolist()))
    assert shown[0] == shown[1]


def test_who_took_part_changes_nothing_that_noise_does_not_cover() -> None:
    """With a list of objects nothing shown follows the claims: not even that there are none."""
    words: dict[str, Any] = {
        "engine": "claims:expected=4",
        "epsilon": 1,
        "domain": (0, 10),
        "objects": ["b", "a"],
        "samples": 3,
    }
    tables = [
        {"task": [], "worker": [], "value": []},
        table([("a", "u", 1.0)]),
        table([("a", "u", 1.0), ("a", "v", 2.0), ("b", "v", 9.0), ("secret", "v", 3.0)]),
    ]
    releases = [synthesize(rows, **words) for rows in tables]
    assert all(each.codebook() == releases[0].codebook() for each in releases)
    assert all(each.status == ("ok", "ok") for each in releases)
    assert all(each.objects.to_pylist() == ["a", "b"] for each in releases)
    promise = releases[0].guarantee
    assert promise.neighbours == "one claim about a listed object is added or removed"
    assert not any("who claimed" in each for each in promise.assumptions)


def test_the_neighbours_stay_with_their_object_and_user() -> None:
    """The exact words of what is protected, for a claim and for a user."""
    made = [parse_engine("claims", epsilon=1, domain=(0, 1), unit=u) for u in ("claim", "user")]
    assert [engine.guarantee().neighbours for engine in made] == [
        "one value is replaced by any other value about the same object by the same user",
        "all values of one user, about at most 10 objects, are replaced, about the same objects",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"objects": ["a"]}, "go together"),
        ({"expected": 3}, "go together"),
        ({"objects": [], "expected": 3}, "empty"),
        ({"objects": ["a"], "expected": 3, "reliability": {"u": 1}}, "reliability"),
        ({"bandwidth": "own"}, "leave bandwidth=own out"),
        ({"spread": 0}, "spread"),
    ],
)
def test_parameters_that_would_leak_or_mean_nothing_are_refused(
    words: dict[str, Any], said: str
) -> None:
    """Each refusal says what to do instead."""
    with pytest.raises(ParameterError, match=said):
        PosteriorHistogram(epsilon=1, domain=(0, 1), **words)


def test_a_list_of_other_names_is_refused() -> None:
    """Objects named by numbers in the list and by texts in the table are not taken for others."""
    with pytest.raises(ParameterError, match="name as a text"):
        synthesize(
            table([("a", "u", 1.0)]),
            engine="claims:expected=4",
            epsilon=1,
            domain=(0, 10),
            objects=[1, 2],
        )


def test_source_is_refused_where_a_bin_is_one_answer(grouped: Grouped) -> None:
    """It would be far from the truth there; the message names `claims`."""
    engine = SourceHistogram(epsilon=1, domain=Domain(0, 4, step=1))
    with pytest.raises(ParameterError, match="use claims"):
        simulate(grouped([[1.0, 2.0]]), np.random.default_rng(0), engine=engine)


def crowds(rng: np.random.Generator, users: int) -> dict[str, np.ndarray]:
    """Return claims of users about 40 objects on 0 to 10, by the shape of their density."""
    centre, spread = rng.uniform(2, 8, (40, 1)), rng.uniform(0.4, 0.9, (40, 1))
    one = centre + spread * rng.standard_normal((40, users))
    second = rng.uniform(1.5, 5, (40, 1)) + 3.5 * (rng.random((40, users)) < 0.5)
    two = second + 0.5 * rng.standard_normal((40, users))
    skewed = rng.uniform(1, 6, (40, 1)) + rng.gamma(2, spread, (40, users))
    heavy = centre + spread * rng.standard_t(2, (40, users))
    made = {"one": one, "two": two, "skewed": skewed, "heavy": heavy}
    return {shape: rows.clip(0, 10) for shape, rows in made.items()}


@pytest.mark.parametrize("shape", ["one", "two"])
@pytest.mark.parametrize("users", [5, 20])
def test_claims_are_nearer_than_hist_and_more_epsilon_never_hurts(
    grouped: Grouped, shape: str, users: int
) -> None:
    """Error to the claims, robust bandwidth: at most that of `hist`, no worse at more epsilon."""
    claims = grouped(crowds(np.random.default_rng(users), users)[shape])
    epsilons = (1, 4, 16)
    ours, theirs = (errors_at(claims, kind, epsilons) for kind in (PosteriorHistogram, Histogram))
    assert all(one <= 1.05 * other for one, other in zip(ours, theirs, strict=True))
    assert worse_steps(ours) == 0


def errors_at(
    claims: GroupedClaims, kind: type[PosteriorHistogram | Histogram], epsilons: Sequence[float]
) -> list[float]:
    """Return an engine's error to the claims, each bump at least .15 wide, at each epsilon."""
    width = np.maximum(bandwidths(claims), 0.15)
    reference = Mixtures.of_points(claims.offset, claims.value, width)
    engines = (kind(epsilon=epsilon, domain=(0, 10)) for epsilon in epsilons)
    made = (simulate(claims, np.random.default_rng(1), engine=each, samples=1) for each in engines)
    return [ise(reference, each).rel_ise for each in made]


def worse_steps(errors: list[float]) -> int:
    """Return in how many steps to a larger epsilon the error rises by more than a twentieth."""
    return sum(more > 1.05 * less + 0.003 for less, more in itertools.pairwise(errors))


def test_of_forty_steps_to_a_larger_epsilon_at_most_two_make_it_worse(grouped: Grouped) -> None:
    """Four shapes, 5 and 20 claims, epsilon .5 to 16: `claims` at most 2, where `hist` has 8."""
    worse = {PosteriorHistogram: 0, Histogram: 0}
    for users in (5, 20):
        for rows in crowds(np.random.default_rng(users), users).values():
            claims = grouped(rows)
            for kind in worse:
                worse[kind] += worse_steps(errors_at(claims, kind, (0.5, 1, 2, 4, 8, 16)))
    assert worse[PosteriorHistogram] <= 2
    assert worse[Histogram] >= 8  # otherwise these shapes would show nothing


def test_public_weights_are_used_where_they_pay(grouped: Grouped) -> None:
    """From 70 claims times epsilon bad users lose their share; below, the codebook says 0."""
    rows = np.full((40, 30), 2.0)
    rows[:, :12] = 8.0
    claims = grouped(rows)
    weights = dict.fromkeys(claims.users.to_pylist()[:12], 0.05)
    for epsilon, weighted, most in ((4, 40, 0.15), (1, 0, 0.6)):
        engine = PosteriorHistogram(epsilon=epsilon, domain=(0, 10), reliability=weights)
        made = simulate(claims, np.random.default_rng(0), engine=engine, samples=100)
        assert made.parameters["objects_weighted"] == weighted
        assert (made.points > 5).mean() <= most


def test_kept_spread_moves_points_and_no_density(grouped: Grouped) -> None:
    """Points of 120 tight objects at a small epsilon come together; densities stay."""
    rng = np.random.default_rng(0)
    claims = grouped(rng.uniform(2, 8, (120, 1)) + 0.3 * rng.standard_normal((120, 20)))
    made = [
        simulate(
            claims,
            np.random.default_rng(0),
            engine=PosteriorHistogram(epsilon="0.5", domain=(0, 10), keep_spread=kept),
        )
        for kept in (False, True)
    ]
    assert made[0].densities.width.tolist() == made[1].densities.width.tolist()
    factor = made[1].parameters["points_drawn_together_by"]
    spread = [np.diff(release.points.reshape(120, 30)).std() for release in made]
    assert 0 < factor < 0.83
    assert spread[1] < 0.9 * spread[0]


def test_own_bandwidth_of_hist_is_wider_than_half_a_bin_where_bins_are_fine(
    grouped: Grouped,
) -> None:
    """`hist` and `hist2` take the bandwidth of their own shares; half a bin stays the least."""
    claims = grouped(np.random.default_rng(0).uniform(0, 10, (5, 20)))
    for name in ("hist", "hist2"):
        made = [
            simulate(
                claims,
                np.random.default_rng(0),
                engine=parse_engine(f"{name}:{text}", epsilon=64, domain=(0, 10)),
            )
            for text in ("bins=60", "bins=60,bandwidth=own")
        ]
        assert (made[1].densities.width >= made[0].densities.width).all()
        assert made[1].densities.width.max() > 2 * made[0].densities.width.max()
