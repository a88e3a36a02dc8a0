"""The published formulas for the error of masked numbers, and why they are labelled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade_papers.sparse_ldp.published_mae import published_laplace_mae, published_response_mae

SIMPLE: dict[str, Any] = {"epsilon": 1, "answered_share": 0.1, "deviation": 1}


def test_the_golden_values_are_met() -> None:
    """The worked examples of both theorems, with densities at integers and normalised ones."""
    laplace = published_laplace_mae(range(1, 11), [1], **SIMPLE)
    assert float(laplace) == pytest.approx(14.1298, abs=5e-5)
    response = published_response_mae(range(10), [0], **SIMPLE)
    assert float(response) == pytest.approx(3.4368, abs=5e-5)
    normalised = published_response_mae(range(10), [0], normalised=True, **SIMPLE)
    assert float(normalised) == pytest.approx(3.5452, abs=5e-5)
    for formula in (laplace, response, normalised):
        assert not formula.is_bound
        assert "published as a bound" in formula.note


def test_the_formulas_are_the_sums_they_say() -> None:
    """Loops over workers, tasks and symbols as printed give the same, with uneven workers."""
    values, truths = [0.0, 1.0, 3.0], [0.0, 3.0, 1.0, 1.0]
    share, spread, q = [0.2, 0.9], [0.5, 2.0], [3.0, 1.0]
    epsilon, size = 1.3, 3
    total, keep = math.exp(epsilon) + size, math.exp(epsilon)
    laplace = response = 0.0
    for mu in truths:
        for s, sigma, weight in zip(share, spread, q, strict=True):
            noise = size / epsilon
            laplace += weight * (
                (1 - s) * (abs(mu - 4 / 3) + noise) + s * (sigma * math.sqrt(2 / math.pi) + noise)
            )
            mean = sum(
                math.exp(-0.5 * ((x - mu) / sigma) ** 2)
                / (sigma * math.sqrt(2 * math.pi))
                * y
                * (keep if x == y else 1)
                / total
                for x in values
                for y in values
            )
            response += weight * ((1 - s) * abs(mu - sum(values) / total) + s * abs(mu - mean))
    given: dict[str, Any] = {
        "epsilon": epsilon,
        "answered_share": share,
        "deviation": spread,
        "weight": q,
    }
    parts = 4 * len(truths)
    assert float(published_laplace_mae(values, truths, **given)) == pytest.approx(laplace / parts)
    assert float(published_response_mae(values, truths, **given)) == pytest.approx(response / parts)


def test_the_response_formula_depends_on_the_origin() -> None:
    """Adding a constant to all values changes it: it counts "no answer" as the number 0."""
    moved = [
        float(published_response_mae(np.arange(10) + shift, [shift], **SIMPLE))
        for shift in (0, 100)
    ]
    assert abs(moved[0] - moved[1]) > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"answered_share": 1.1}, "answered_share holds 1.1"),
        ({"deviation": -1}, "deviation must be"),
        ({"deviation": 0}, "deviation holds 0"),
        ({"weight": [0, 0]}, "weight must be"),
        ({"weight": [1, 2], "deviation": [1, 2, 3]}, "one number for each worker"),
    ],
)
def test_bad_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    """Each parameter out of range is named."""
    with pytest.raises(ParameterError, match=message):
        published_response_mae([0, 1], [0], **(SIMPLE | change))


@pytest.mark.parametrize("values", [[1], [2, 1], [0, math.inf]])
def test_a_domain_is_ascending_and_finite(values: list[float]) -> None:
    """The domain has two finite values at least, in order; truths are finite and some."""
    with pytest.raises(ParameterError, match="ascending"):
        published_laplace_mae(values, [0], **SIMPLE)
    with pytest.raises(ParameterError, match="truths"):
        published_laplace_mae([0, 1], [], **SIMPLE)
