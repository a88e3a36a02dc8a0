"""Unsorted votes: the same numbers as sorted ones give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from masquerade.simulate import crowd
from masquerade.truth import votes as module
from masquerade.truth.expectation_maximization import row_entropies, row_softmax
from masquerade.truth.votes import UnsortedVotes, Votes, row_blocks, row_max, row_sum


@pytest.mark.parametrize("at_once", [7, 1 << 16])
def test_unsorted_votes_give_what_sorted_ones_give(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, scores and agreements do not depend on the order of claims or on the blocks."""
    monkeypatch.setattr(module, "_BLOCK", at_once)
    rng = np.random.default_rng(3)
    claims, _ = crowd(rng, tasks=60, workers=20, options=3, answers_per_task=5)
    kept = rng.permutation(len(claims))[:250]  # repeated below: claims may stand twice
    rows = np.concatenate([kept, kept[:30]])
    rows = rows[claims.task[rows] != 5]
    claims = replace(
        claims, task=claims.task[rows], worker=claims.worker[rows], value=claims.value[rows]
    )
    unsorted, votes = UnsortedVotes(claims), Votes.of(claims)
    weight, share = rng.normal(size=20), rng.random((60, 3))
    assert (unsorted.count() == votes.count()).all()
    assert (unsorted.of_task == votes.of_task).all()
    assert (unsorted.of_worker == votes.of_worker).all()
    assert unsorted.undecided()[5]
    np.testing.assert_allclose(unsorted.score(weight), votes.score(weight), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        unsorted.agreement(share), votes.agreement(share), rtol=0, atol=1e-12
    )


def test_agreement_of_some_tasks_is_the_sum_over_them() -> None:
    """Shares of given tasks count as if all other shares were 0."""
    rng = np.random.default_rng(4)
    claims, _ = crowd(rng, tasks=40, workers=15, options=3, answers_per_task=5)
    votes, tasks, share = Votes.of(claims), np.array([3, 17, 38]), rng.random((3, 3))
    everywhere = np.zeros((40, 3))
    everywhere[tasks] = share
    np.testing.assert_allclose(
        votes.agreement(share, tasks=tasks), votes.agreement(everywhere), rtol=0, atol=1e-12
    )
    none = votes.agreement(np.zeros((0, 3)), tasks=np.zeros(0, dtype=np.int64))
    assert none.tolist() == [0] * 15


@pytest.mark.parametrize(("rows", "columns"), [(40_000, 3), (7, 1), (50, 9_000), (0, 4)])
def test_tables_of_any_width_are_reduced_alike(rows: int, columns: int) -> None:
    """Narrow tables column by column, wide ones row by row, in blocks: the same numbers."""
    table = np.random.default_rng(1).normal(size=(rows, columns))
    assert np.array_equal(row_max(table), table.max(axis=1))
    assert np.allclose(row_sum(table), table.sum(axis=1))
    shares = row_softmax(table)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(np.log(shares) - np.log(shares[:, :1]), table - table[:, :1])
    assert np.allclose(row_entropies(shares), -(shares * np.log(shares)).sum(axis=1))
    assert sum(block.stop - block.start for block in row_blocks(table)) == rows
