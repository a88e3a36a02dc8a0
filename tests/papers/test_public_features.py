"""Features come from a public seed, in whole numbers, the same everywhere."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade_papers.sparse_ldp.factorization import (
    MOST_FEATURES,
    ONE,
    public_features,
    read_seed,
)

SEED = hashlib.sha256(b"a survey").digest()
GOLDEN = [[209084505, 864657318], [875004576, 198737247], [343650396, 730091427]]
GOLDEN_SIGNED = [[582591442, -491150381], [1066104036, -7637787], [357127812, -716614011]]
GOLDEN_DIGEST = "9b8a43d37f523ecca470238c809e08ecf9df7d02e0e6315779b12dc5cd96be62"


def test_golden_features_of_a_seed() -> None:
    """These numbers are for ever: devices and servers of all versions must agree on them."""
    rows = public_features(SEED, tasks=3, dimension=2)
    signed = public_features(SEED, tasks=3, dimension=2, distribution="signed")
    assert rows.tolist() == GOLDEN
    assert signed.tolist() == GOLDEN_SIGNED
    big = public_features(SEED, tasks=1000, dimension=7)
    assert hashlib.sha256(big.astype("<i8").tobytes()).hexdigest() == GOLDEN_DIGEST


@given(
    seed=st.binary(min_size=32, max_size=32),
    tasks=st.integers(1, 50),
    dimension=st.integers(1, 64),
    distribution=st.sampled_from(["uniform", "signed"]),
)
def test_prop_absolute_features_of_a_task_never_add_to_more_than_one(
    seed: bytes, tasks: int, dimension: int, distribution: str
) -> None:
    """The L1 norm of every row is at most 1, exactly, and nearly 1, and no row is empty."""
    rows = public_features(seed, tasks=tasks, dimension=dimension, distribution=distribution)
    size = np.abs(rows).sum(axis=1)
    assert rows.shape == (tasks, dimension)
    assert size.max() <= ONE
    assert size.min() > ONE - dimension
    assert (rows.min() < 0) <= (distribution == "signed")


@pytest.mark.parametrize("change", ["seed", "tasks", "dimension", "distribution"])
def test_everything_that_is_named_changes_the_features(change: str) -> None:
    """Another seed, size or distribution gives features unrelated to the first."""
    base = {"seed": SEED, "tasks": 20, "dimension": 4, "distribution": "uniform"}
    other = base | {
        change: {"seed": bytes(32), "tasks": 21, "dimension": 5, "distribution": "signed"}[change]
    }
    one, two = (
        public_features(
            given["seed"],  # type: ignore[arg-type]
            tasks=given["tasks"],  # type: ignore[arg-type]
            dimension=given["dimension"],  # type: ignore[arg-type]
            distribution=given["distribution"],  # type: ignore[arg-type]
        )
        for given in (base, other)
    )
    assert np.abs(one[:5, :2]).tolist() != np.abs(two[:5, :2]).tolist()


def test_a_seed_is_bytes_or_hexadecimal_digits() -> None:
    """Both forms are the same seed."""
    assert read_seed(SEED) == read_seed(SEED.hex()) == read_seed(SEED.hex().upper()) == SEED


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (b"short", "seed has 5 bytes, expected 32"),
        ("00" * 31, "seed has 31 bytes"),
        ("0" * 63, "expected 64 hexadecimal digits"),
        ("x" * 64, "expected 64 hexadecimal digits"),
        (7, "seed is 7, expected bytes"),
        (None, "seed is None"),
    ],
)
def test_other_seeds_are_refused(seed: object, said: str) -> None:
    """A seed of another length or kind is an error that names the expected one."""
    with pytest.raises(ParameterError, match=re.escape(said)):
        read_seed(seed)  # type: ignore[arg-type]


def test_too_many_features_and_unknown_distributions_are_refused() -> None:
    """The size is bounded, and there are two distributions."""
    with pytest.raises(ParameterError, match="expected at most"):
        public_features(SEED, tasks=MOST_FEATURES, dimension=2)
    with pytest.raises(ParameterError, match="distribution is 'normal'"):
        public_features(SEED, tasks=2, dimension=2, distribution="normal")


def test_audit_features_have_the_distribution_that_they_name() -> None:
    """Of 20,000 rows of two, ratios are those of uniform entries (false alarm below 1e-6)."""
    rows = public_features(SEED, tasks=20_000, dimension=2, distribution="signed")
    share = np.abs(rows[:, 0]) / ONE
    # P(a / (a + b) <= x) = x / (2 (1 - x)) for x <= 1/2, a and b uniform.
    x = np.array([0.1, 0.25, 0.5])
    found = (share[:, None] <= x).mean(axis=0)
    assert np.abs(found - x / (2 * (1 - x))).max() < 5 * 0.5 / np.sqrt(20_000)
    assert abs((rows[:, 0] < 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(20_000)
