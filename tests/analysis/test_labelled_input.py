"""Labelled input of regressions, preferences and releases is read by its labels.

Rows in another order with their index, columns in another order, categories, and another kind of
table give the same answers by label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from masquerade.analysis import regress
from masquerade.answers import Comparisons
from masquerade.estimation import estimate_shares
from masquerade.mechanisms import RandomizedResponse
from masquerade.preference import Leaderboard, SocialPreference, fit_rankings
from masquerade.release.grouped_claims import GroupedClaims

N = 60


def _categories(frame: pd.DataFrame) -> pd.DataFrame:
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(texts, "category"))


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "shuffled with its index": lambda frame: frame.sample(frac=1, random_state=1),
    "an index of texts": lambda frame: frame.set_index(frame.index.map("row {}".format)),
    "columns in another order": lambda frame: frame[list(frame)[::-1]],
    "categories": _categories,
    "categories, shuffled": lambda frame: _categories(frame.sample(frac=1, random_state=2)),
    "series of one index": lambda frame: dict(frame.sample(frac=1, random_state=3).items()),
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "arrow": lambda frame: pa.table(frame.to_dict("list")),
}
FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@FORM
def test_a_regression_reads_labels(form: Callable[[pd.DataFrame], Any]) -> None:
    """Each term has the same estimate and interval."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "said": rng.choice(["no", "yes"], 8 * N),
            "town": rng.choice(["north", "south", "west"], 8 * N),
            "age": rng.integers(20, 60, 8 * N),
        }
    )

    def terms(data: Any) -> dict[str, list[float | None]]:
        found = regress(
            data, "said ~ town + age", mechanisms={"said": "warner:p=0.8"}, model="logistic"
        )
        return {one.name: [one.estimate, one.low, one.high] for one in found.terms}

    expected, got = terms(frame), terms(form(frame))
    assert set(expected) == set(got)
    for name, values in expected.items():
        assert got[name] == pytest.approx(values, rel=1e-4, abs=1e-6)


@FORM
def test_a_leaderboard_reads_labels(form: Callable[[pd.DataFrame], Any]) -> None:
    """Each item has the same strength and interval."""
    rng = np.random.default_rng(5)
    names = ["alpha", "beta", "gamma", "delta"]
    pairs = [rng.choice(names, 2, replace=False) for _ in range(4 * N)]
    frame = pd.DataFrame(
        {
            "chosen": [max(pair) if rng.random() < 0.7 else min(pair) for pair in pairs],
            "voter": rng.integers(0, 20, 4 * N).astype(str),
        }
    )
    frame["rejected"] = [
        next(one for one in pair if one != won)
        for pair, won in zip(pairs, frame["chosen"], strict=True)
    ]

    def strengths(data: Any) -> dict[str, Any]:
        table = Leaderboard.fit(data).to_arrow()
        return {
            row["item"]: (row["strength"], row["low"], row["high"]) for row in table.to_pylist()
        }

    expected, got = strengths(frame), strengths(form(frame))
    assert set(got) == set(names)
    for name, values in expected.items():
        assert got[name] == pytest.approx(values, abs=1e-6)


@FORM
def test_rankings_read_labels(form: Callable[[pd.DataFrame], Any]) -> None:
    """Each item has the same Plackett-Luce strength."""
    rng = np.random.default_rng(5)
    names = np.array(["tea", "coffee", "milk"])
    frame = pd.DataFrame(
        [
            {"voter": f"v{voter}", "item": str(item), "rank": place}
            for voter in range(N)
            for place, item in enumerate(rng.permutation(names), start=1)
        ]
    )

    def strengths(data: Any) -> dict[str, float]:
        found = fit_rankings(data)
        return dict(zip(found.items, found.strengths.tolist(), strict=True))

    expected, got = strengths(frame), strengths(form(frame))
    assert set(got) == set(names)
    assert got == pytest.approx(expected, abs=1e-6)


@FORM
def test_weights_of_features_read_labels(form: Callable[[pd.DataFrame], Any]) -> None:
    """Each feature has the same weight, whatever order columns and ranges have."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"voter": [f"v{i % 15}" for i in range(N)]}
        | {name: rng.integers(-5, 6, N).astype(float) for name in ("price", "speed", "size")}
    )
    frame["price"] += 2
    ranges = {"price": (0, 12), "speed": (0, 10), "size": (0, 10)}

    def weights(data: Any, **how: Any) -> dict[str, float]:
        table = Comparisons.from_frame(data, features=["price", "speed", "size"], **how)
        found = SocialPreference.learn(table, mechanism="none")
        return dict(zip((one.name for one in found.features), found.weights.tolist(), strict=True))

    expected = weights(frame, ranges=ranges)
    got = weights(form(frame), ranges=dict(reversed(ranges.items())))
    assert got == pytest.approx(expected, abs=1e-6)


@FORM
def test_a_release_reads_labels(form: Callable[[pd.DataFrame], Any]) -> None:
    """Each object has the same numbers of the same people, before noise is added."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "task": [f"o{i % 3}" for i in range(N)],
            "worker": [f"p{i // 3}" for i in range(N)],
            "value": rng.integers(0, 10, N).astype(float),
        }
    )

    def rows(data: Any) -> list[tuple[Any, ...]]:
        found = GroupedClaims.of(data)
        objects, users = found.objects.to_pylist(), found.users.to_pylist()
        columns = zip(found.object.tolist(), found.user.tolist(), found.value.tolist(), strict=True)
        return [(objects[one], users[user], value) for one, user, value in columns]

    assert rows(form(frame)) == rows(frame)


def test_counts_of_a_counter_are_read_by_their_labels() -> None:
    """A Counter whose keys came in another order is that of the options."""
    mask = RandomizedResponse(3, epsilon=1)
    options = ("never", "often", "always")
    counted = Counter(["always"] * 30 + ["never"] * 50 + ["often"] * 20)
    assert list(counted) != list(options)
    shares = estimate_shares(counted, mask, options=options)
    assert shares.estimates == estimate_shares([50, 20, 30], mask).estimates
