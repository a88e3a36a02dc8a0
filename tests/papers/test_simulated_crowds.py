"""Simulated crowds have the published sizes and accuracies."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.truth import MajorityVote, accuracy
from masquerade_papers.simulated_crowds import (
    TruthShape,
    duchenne_smile,
    indoor_floorplan,
    lecturer_ratings,
    movie_ratings,
    peer_grading,
    population,
    stock,
    web_ratings,
)


def test_peer_grading_has_the_published_size_and_accuracy() -> None:
    """26 questions, 72 students, 360 answers; the majority is right in about 73 %."""
    claims, truths = peer_grading(np.random.default_rng(1))
    assert (claims.n_tasks, claims.n_workers, len(claims), len(truths)) == (26, 72, 360, 26)
    assert abs(accuracy(MajorityVote().fit(claims), truths) - 0.7308) <= 0.025


def test_duchenne_smile_has_the_published_size_and_accuracy() -> None:
    """2,134 questions, 64 workers, 17,729 answers, 159 truths; the majority is right in 76 %."""
    claims, truths = duchenne_smile(np.random.default_rng(1))
    assert (claims.n_tasks, claims.n_workers, len(claims), len(truths)) == (2134, 64, 17729, 159)
    assert abs(accuracy(MajorityVote().fit(claims), truths) - 0.76) <= 0.025


@pytest.mark.parametrize("truths", ["uniform", "concentrated", "equal"])
def test_web_ratings_have_the_published_sparsity(truths: TruthShape) -> None:
    """34 workers, 177 tasks, ten answers a task; the truths fit the tasks."""
    claims, truth = web_ratings(np.random.default_rng(2), truths=truths)
    assert 1 - len(claims) / (34 * 177) == pytest.approx(0.705882, abs=5e-7)
    means = np.bincount(claims.task, claims.value) / 10
    assert np.abs(means - truth).mean() < 0.5
    with pytest.raises(ParameterError, match="expected one of"):
        web_ratings(np.random.default_rng(2), truths="odd")  # type: ignore[arg-type]


def test_numeric_crowds_have_the_published_sizes() -> None:
    """Users and objects are the paper's, and claims lie around the densities' centres."""
    rng = np.random.default_rng(3)
    for made, users, objects in (
        (population(rng), 2344, 1124),
        (stock(rng), 55, 5521),
        (stock(rng, objects=50, mistakes="scattered"), 55, 50),
        (indoor_floorplan(rng), 247, 129),
    ):
        assert (made.claims.n_users, made.claims.n_objects) == (users, objects)
        some = range(min(objects, 200))
        medians = [np.median(made.claims.value[made.claims.rows_of(i)]) for i in some]
        near = np.abs(medians - made.densities.location[:200]) < 3 * made.densities.width[:200]
        assert near.mean() > 0.75


def test_ratings_are_from_one_to_five() -> None:
    """Made-up ratings keep their scale, and lecturers have the published numbers."""
    films = movie_ratings(np.random.default_rng(4), people=80, past=20, coming=5)
    assert set(np.unique(films.rating)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert int(films.past.sum()) == 20
    lecturers = lecturer_ratings(np.random.default_rng(4))
    assert int(lecturers.person.max()) == 130
    assert np.bincount(lecturers.question).min() == 50
