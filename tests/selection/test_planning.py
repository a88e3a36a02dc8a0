"""How many people give an interval of a wanted width."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.mechanisms import parse_mechanism
from masquerade.selection import participants_needed


@pytest.mark.parametrize(
    "text",
    [
        "randomized-response:options=2,epsilon=1",
        "randomized-response:options=5,epsilon=2",
        "two-layer:options=2,low=0,high=0.5",
        "discrete-gaussian:low=1,high=5,step=1,sigma=6",
        "quantised-response:low=0,high=10,step=1,epsilon=2,levels=3",
    ],
)
def test_the_planned_number_gives_the_planned_interval(text: str) -> None:
    """The formula, inverted: the half width at this number is the margin, one fewer is more."""
    mechanism = parse_mechanism(text)
    margin = 0.05 if mechanism.kind == "categorical" else 0.5
    n = participants_needed(mechanism, margin=margin)
    assert participants_needed(mechanism, margin=margin * np.sqrt(n / (4 * n))) == pytest.approx(
        4 * n, abs=4
    )


def test_without_a_mask_it_is_the_textbook_number() -> None:
    """385 for five points at 95 %, half the people on either side."""
    clear = parse_mechanism("randomized-response:options=2,flip_probability=0")
    assert participants_needed(clear, margin=0.05) == 385


def test_simulated_surveys_of_that_size_have_that_error() -> None:
    """Two standard errors of 4,000 simulated shares are the margin, within 5 %."""
    mechanism = parse_mechanism("randomized-response:options=2,epsilon=1")
    n = participants_needed(mechanism, margin=0.1, confidence=0.9545)
    keep = 1 / (1 + np.exp(-1))
    seen = 2 * keep - 1
    counts = np.random.default_rng(1).binomial(n, 0.5, 4_000)
    shares = (counts / n - (1 - keep)) / seen
    assert 2 * shares.std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("text", "change", "said"),
    [
        (
            "randomized-response:options=2,epsilon=1",
            {"margin": 0},
            "margin is 0, expected above 0.$",
        ),
        ("randomized-response:options=2,epsilon=1", {"confidence": 1.0}, "confidence is 1"),
        ("randomized-response:options=2,flip_probability=0.5", {}, "say nothing"),
        ("question-sampling:options=2,epsilon=4", {}, "planning needs"),
        ("discrete-gaussian:low=1,high=5,step=1,sigma=6", {"spread": -1.0}, "spread is -1"),
    ],
)
def test_what_cannot_be_planned_is_an_error(text: str, change: dict[str, float], said: str) -> None:
    """Each message says why."""
    with pytest.raises(ParameterError, match=said):
        participants_needed(parse_mechanism(text), **{"margin": 0.05, **change})


def test_faint_reports_are_counted_exactly() -> None:
    """With an epsilon of 1e-15 reports differ by 5e-16, and not by what floats make of it."""
    faint = participants_needed(
        parse_mechanism("randomized-response:options=2,epsilon=1e-15"), margin=0.05
    )
    clearer = participants_needed(
        parse_mechanism("randomized-response:options=2,epsilon=1e-3"), margin=0.05
    )
    assert faint / clearer == pytest.approx(1e24, rel=2e-3)  # the grid of probabilities is coarser


def test_many_options_are_planned_without_a_table() -> None:
    """A hundred thousand options take no table of as many rows."""
    mechanism = parse_mechanism("randomized-response:options=100000,epsilon=12")
    assert 500 < participants_needed(mechanism, margin=0.05) < 1000


@pytest.mark.parametrize(
    "spec", ["randomized-response:options=2,epsilon=1", "discrete-laplace:low=1,high=5,epsilon=1"]
)
def test_a_margin_beyond_counting_is_refused(spec: str) -> None:
    """A margin whose square vanishes is named instead of dividing by zero."""
    with pytest.raises(ParameterError, match="the margin is so small"):
        participants_needed(parse_mechanism(spec), margin=1e-200)


def test_a_text_is_no_mechanism() -> None:
    """The text form is read first, and the error says so."""
    with pytest.raises(ParameterError, match=r"is no Mechanism; .* parse_mechanism"):
        participants_needed("two-layer:options=2,low=0,high=1", margin=0.1)  # type: ignore[arg-type]
