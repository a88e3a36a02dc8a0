"""The audit covers its whole claim: broken mechanisms are refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.accounting.broken_mechanisms import BROKEN_MECHANISMS
from tests.accounting.broken_samplers import BROKEN_SAMPLERS, UNSEEN
from tests.accounting.sound_samplers import SOUND, Own

from masquerade.accounting import audit
from masquerade.accounting.audits import DEFAULT_SAMPLES
from masquerade.errors import ParameterError
from masquerade.mechanisms import parse_mechanism

REFUTED: dict[str, tuple[Callable[[], Any], int]] = BROKEN_MECHANISMS | {
    own.__name__: (own, 1) for own in BROKEN_SAMPLERS
}
"""Name: how to make it, and how many answers of a person are audited."""


def assert_refuted(name: str, samples: int) -> None:
    """Check that an audit with so many reports of each answer refutes a broken mechanism."""
    make, answers = REFUTED[name]
    found = audit(make(), answers=answers, samples=samples, rng=np.random.default_rng(5))
    assert (found.verdict, found.holds) == ("refuted", False)
    assert found.reasons


@pytest.mark.parametrize("name", REFUTED)
def test_audit_a_broken_mechanism_is_refuted(name: str) -> None:
    """Each is refuted by 20,000 reports of each answer; a sound one with probability 1e-6."""
    assert_refuted(name, DEFAULT_SAMPLES // 5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", REFUTED)
def test_audit_a_broken_mechanism_is_refuted_by_default_settings(name: str) -> None:
    """Each is refuted by 100,000 reports too: an audit that sees more does not see less."""
    assert_refuted(name, DEFAULT_SAMPLES)


@pytest.mark.parametrize("own", UNSEEN)
def test_what_an_audit_cannot_see_is_never_said_to_hold(own: Callable[[], Any]) -> None:
    """A leak in rare reports or in reports that never repeat passes, and is named as not seen."""
    found = audit(own(), samples=2_000, rng=np.random.default_rng(1))
    assert found.holds is None
    gaps = " ".join(found.not_looked_at)
    for part in ("below about 0.007", "seldom drawn twice", "dependence between", "seeds"):
        assert part in gaps


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("seed", range(5))
def test_audit_a_sound_sampler_is_not_refuted_and_not_said_to_hold(name: str, seed: int) -> None:
    """Without a table nothing is proven; false alarm 1e-6 for each of 5 seeds."""
    found = audit(SOUND[name](), samples=10_000, rng=np.random.default_rng(seed))
    assert (found.verdict, found.holds) == ("not refuted", None)
    assert any("probabilities" in gap for gap in found.not_looked_at)


def test_more_inputs_than_can_be_drawn_are_a_sample() -> None:
    """Of 3,000 options 256 are drawn: not refuted, and how many are missing is said."""
    found = audit(
        parse_mechanism("randomized-response:options=3000,epsilon=2"),
        samples=2_000,
        rng=np.random.default_rng(1),
    )
    assert (found.verdict, found.holds) == ("not refuted", None)
    assert (found.tried["inputs"], found.tried["inputs_drawn"]) == (3_000, 256)
    assert "reports of 2744 of 3000 answers" in found.not_looked_at


def test_an_input_that_cannot_be_masked_is_an_error_that_names_it() -> None:
    """An error tells the answer too, so that nothing is said to be private."""

    class Fails(Own):
        """Fails at one answer."""

        def sample(self, answer: int, size: int, rng: np.random.Generator) -> Any:
            """Raise."""
            if answer == 2:
                raise KeyError("nothing")
            return super().sample(answer, size, rng)

    with pytest.raises(ParameterError, match=r"sample\(2, 2000, rng\) raised KeyError"):
        audit(Fails(), samples=2_000, rng=np.random.default_rng(1))
