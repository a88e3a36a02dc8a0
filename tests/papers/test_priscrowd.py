"""The published loop: the fate of each object, in every corner case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.release import GroupedClaims, guarantee_json, guarantee_sentence
from masquerade_papers.priscrowd.density import fit_density
from masquerade_papers.priscrowd.engine import PrisCrowd, UniformPrisCrowd
from masquerade_papers.priscrowd.engines import Engine
from masquerade_papers.priscrowd.proven_test import ProvenTest
from masquerade_papers.priscrowd.simulation import simulate, synthesize

Grouped = Callable[..., GroupedClaims]
TIGHT = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]


def run(claims: GroupedClaims, engine: PrisCrowd, samples: int = 30) -> Any:
    """Return a release of a fixed seed."""
    return simulate(claims, np.random.default_rng(0), engine=engine, samples=samples)


def test_objects_with_fewer_claims_than_k_are_left_out(grouped: Grouped) -> None:
    """Fewer than k: too_few; exactly k: tried; and with ``small='try'`` all are."""
    claims = grouped([TIGHT[:1], TIGHT[:4], TIGHT[:5], TIGHT])
    assert run(claims, PrisCrowd()).status == ("too_few", "too_few", "ok", "ok")
    tried = run(claims, PrisCrowd(small="try"))
    assert tried.status == ("ok",) * 4
    assert tried.statuses == {"ok": 4}
    assert np.diff(tried.offset).tolist() == [30] * 4


def test_what_does_not_pass_ends_short_in_bounded_time(grouped: Grouped) -> None:
    """Gamma near 1 or k above n: attempts end, passed objects are kept, and k is not lowered."""
    claims = grouped([TIGHT])
    for engine in (
        PrisCrowd(gamma=1 + 1e-9, k=7, test_epsilon=5.0, max_attempts=200),
        PrisCrowd(k=50, small="try", max_attempts=200),
    ):
        release = run(claims, engine)
        assert release.status == ("short",)
        assert release.collector["attempts"] == 200
        assert len(release.points) == release.offset[-1] < 30


def test_a_tiny_test_epsilon_passes_half_of_all(grouped: Grouped) -> None:
    """Huge noise passes about half for all companions, 5 standard errors of 4,000."""
    engine = PrisCrowd(test_epsilon=1e-9, k=40, small="try", max_attempts=4000)
    release = run(grouped([TIGHT]), engine, samples=4000)
    assert abs(len(release.points) - 2000) < 5 * 4000**0.5 / 2


def test_equal_claims_and_far_claims_are_released(grouped: Grouped) -> None:
    """Equal claims get the floor as bandwidth; a claim at 1e12 is not drawn from."""
    equal = run(grouped([[5.0] * 6]), PrisCrowd())
    assert np.abs(equal.points - 5).max() < 0.05
    far = run(grouped([[*TIGHT, 1e12]]), PrisCrowd())
    assert np.abs(far.points).max() < 100


def test_uniform_weights_draw_from_all(grouped: Grouped) -> None:
    """The baseline has the weights 1 / n, and a model that is given is used as it is."""
    claims = grouped([[0.0] * 5 + [100.0] * 5])
    points = run(claims, UniformPrisCrowd(), samples=400).points
    assert 0.3 < (points > 50).mean() < 0.7
    model = fit_density(claims, weights="uniform", bandwidth=0.5)
    release = simulate(model, np.random.default_rng(0), engine=PrisCrowd())
    assert release.densities.width.tolist() == [0.5] * 30


@pytest.mark.parametrize(
    "words",
    [
        {"k": 0},
        {"gamma": 1.0},
        {"gamma": float("nan")},
        {"test_epsilon": 0.0},
        {"max_attempts": 0},
        {"small": "maybe"},
    ],
)
def test_bad_parameters_are_refused(words: dict[str, Any]) -> None:
    """Each parameter has its range."""
    with pytest.raises(ParameterError):
        PrisCrowd(**words)


def test_attempts_must_be_enough_for_the_samples(grouped: Grouped) -> None:
    """Fewer attempts than samples cannot do."""
    with pytest.raises(ParameterError, match="max_attempts"):
        run(grouped([TIGHT]), PrisCrowd(max_attempts=10))
    with pytest.raises(ParameterError, match="samples"):
        run(grouped([TIGHT]), PrisCrowd(), samples=0)


HONEST = ProvenTest(epsilon=2, domain=(0, 10), bandwidth=1)


@pytest.mark.parametrize("engine", [PrisCrowd(), UniformPrisCrowd(), HONEST], ids=str)
def test_what_promises_nothing_that_adds_up_is_never_charged(
    engine: Engine, grouped: Grouped
) -> None:
    """A ledger refuses the published test, its baseline, and an epsilon at a delta."""
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps())
    with pytest.raises(NoGuarantee):
        synthesize(grouped([TIGHT]), engine=engine, ledger=book)
    assert book.statistics().entries == 0


def test_a_release_without_a_promise_says_why(grouped: Grouped) -> None:
    """The guarantee of `test-paper` is none, with reasons, and never the published epsilon."""
    guarantee = synthesize(grouped([TIGHT]), engine=PrisCrowd()).guarantee
    found = guarantee_json(guarantee)
    assert (found["status"], found["epsilon"], found["neighbours"]) == ("none", "inf", None)
    assert len(found["reasons"]) == 5
    assert "no privacy guarantee" in guarantee_sentence(guarantee)
    assert "epsilon =" not in guarantee_sentence(guarantee)


def test_the_honest_test_names_its_delta() -> None:
    """An epsilon at a delta stands in the sentence and in the JSON form."""
    assert "delta = 0.01" in guarantee_sentence(HONEST.guarantee())
    assert HONEST.guarantee().to_json()["delta"] == 0.01
