"""Splits of claims to judge methods by, the same whatever the order of rows."""

from __future__ import annotations

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.ties import digest, scattered


def uniform_by_claim(claims: Claims, seed: int) -> Floats:
    """Return a number from 0 to 1 for each claim, from its names and `seed` alone.

    Repeated claims of a worker on a task have the same one, so they are never split.
    """
    task = scattered(digest(claims.tasks) + np.uint64(seed))[claims.task]
    return np.asarray(scattered(task ^ digest(claims.workers)[claims.worker]) / 2.0**64)


def fold(claims: Claims, number: int, *, folds: int, least: int) -> Flags:
    """Return one of several disjoint folds of the claims on tasks of `least` claims or more."""
    of_task = np.bincount(claims.task, minlength=claims.n_tasks)
    place = (uniform_by_claim(claims, 0) * folds).astype(np.int64)
    return np.asarray((of_task[claims.task] >= least) & (place == number))


def held_out_sparing(claims: Claims, seed: int, *, share: float) -> Flags:
    """Return which claims to hold out, where two of each task stay (one where it has two)."""
    chance = uniform_by_claim(claims, seed)
    of_task = np.bincount(claims.task, minlength=claims.n_tasks)
    most = np.where(of_task == 2, 1, np.maximum(of_task - 2, 0))
    order = np.lexsort((claims.value, chance, claims.task))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(of_task) - of_task, of_task)
    return np.asarray((chance < share) & (rank < most[claims.task]))


def halves_by_worker(claims: Claims, seed: int, *, least: int) -> tuple[Flags, Flags]:
    """Return which claims are of a random half of the workers, and which of the other.

    Claims on tasks of fewer than `least` claims are in neither.
    """
    enough = np.bincount(claims.task, minlength=claims.n_tasks)[claims.task] >= least
    words = scattered(digest(claims.workers) + np.uint64(seed))
    first = (words >= np.uint64(1 << 63))[claims.worker]
    return enough & first, enough & ~first
