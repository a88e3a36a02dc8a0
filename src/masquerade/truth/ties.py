"""Ties: which options share the best score, which is picked, and the numbers that names give."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.truth.votes import row_blocks, row_count, row_max

Ties = Literal["random", "first", "abstain"]

#: Scores this close (relative to 1 + |best|) are equal: sums of weights depend on their order.
_CLOSE = 1e-9


def check_ties(ties: object, seed: object) -> None:
    """Raise `ParameterError` unless `ties` is a known rule and `seed` a whole number."""
    if ties not in get_args(Ties):
        raise ParameterError(
            f"ties is {ties!r}, expected one of {', '.join(map(repr, get_args(Ties)))}."
        )
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not (whole and 0 <= int(seed) < 1 << 64):  # type: ignore[call-overload]
        raise ParameterError(f"seed is {seed!r}, expected a whole number from 0 to 2**64 - 1.")


def best(scores: Floats) -> Flags:
    """Return which options have the best score of their task, ``best[task, option]``."""
    leaders = np.empty(scores.shape, dtype=np.bool_)
    for rows in row_blocks(scores):
        top = row_max(scores[rows])
        top -= _CLOSE * (1 + np.abs(top))
        np.greater_equal(scores[rows], top[:, None], out=leaders[rows])
    return leaders


def winners(scores: Floats, undecided: Flags) -> Flags:
    """Return which options share the best score of a task; none where nobody voted."""
    leaders = best(scores)
    leaders[undecided] = False
    return leaders


def known_winners(leaders: Flags, gold: Codes) -> Flags:
    """Return the leaders, in place, with known truths for those of their tasks; -1 is none."""
    known = np.flatnonzero(gold >= 0)
    # A known truth wins, whatever the votes say.
    leaders[known] = False
    leaders[known, gold[known]] = True
    return leaders


def pick(candidates: Flags, claims: Claims, *, ties: Ties, seed: int) -> Codes:
    """Return one candidate of every task, shape (n_tasks,); -1 where there is none.

    ``candidates[task, option]`` are the options that share the best score. At random, every pair of
    a task and an option has one priority for the whole run, computed from their names in `claims`
    and `seed`: it depends neither on the order of the rows nor on the order of the options.
    """
    assert claims.options is not None
    return pick_among(candidates, claims.tasks, claims.options, None, ties=ties, seed=seed)


def pick_among(
    candidates: Flags,
    tasks: pa.Array,
    options: pa.Array,
    label: Codes | None,
    *,
    ties: Ties,
    seed: int,
) -> Codes:
    """Return one candidate's column of every task; ``label[task, column]`` are codes of options.

    Without `label` the columns are the options; see `pick`.
    """
    count = row_count(candidates)
    picked: Codes = candidates.argmax(axis=1).astype(np.int32)
    picked[count == 0] = -1
    tied = np.flatnonzero(count > 1)
    if ties == "abstain":
        picked[tied] = -1
    elif ties == "random" and tied.size:
        task = scattered(
            digest(tasks.take(pa.array(tied))) + scattered(np.array([seed], dtype=np.uint64))
        )
        words = digest(options)
        priority = scattered(
            task[:, None] ^ (words[None, :] if label is None else words[label[tied]])
        )
        picked[tied] = np.where(candidates[tied], priority, np.uint64(0)).argmax(axis=1)
    return picked


def chances(candidates: Flags, *, ties: Ties, sizes: Floats | None = None) -> Floats:
    """Return the probability with which `pick` takes each option; rows sum to 1 or 0.

    With `sizes`, the numbers of labels of columns: of each of a column's labels, of random ties.
    """
    count: Any = row_count(candidates)[:, None]
    if sizes is not None:
        count = (candidates * sizes).sum(axis=1, keepdims=True)
    if ties == "first":
        first = np.zeros(candidates.shape)
        first[np.arange(len(first)), candidates.argmax(axis=1)] = count[:, 0] > 0
        return first
    share: Floats = candidates.astype(np.float64)
    tied = np.flatnonzero(count[:, 0] > 1)
    share[tied] = 0 if ties == "abstain" else share[tied] / count[tied]
    return share


def scattered(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64-bit words as if drawn anew (splitmix64's finalizer: Steele, Lea, Flood, 2014)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def digest(names: pa.Array) -> NDArray[np.uint64]:
    """Return a 64-bit digest of every name as text: the sum of scattered (place, byte) pairs."""
    texts: Any = names.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    # A slice of an array keeps the whole buffer: only its own part counts.
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
    place = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], np.diff(ends))
    pairs = scattered(letters + (place.astype(np.uint64) << np.uint64(8)))
    # Sums wrap around at 2**64, and their differences are right all the same.
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(pairs, dtype=np.uint64)])
    return scattered(running[ends[1:] - ends[0]] - running[ends[:-1] - ends[0]])


def uniform_by_claim(claims: Claims, seed: int) -> Floats:
    """Return a number from 0 to 1 for each claim; see `uniform_by_names`."""
    return uniform_by_names(claims.tasks, claims.workers, claims.task, claims.worker, seed)


def uniform_by_names(
    tasks: pa.Array, workers: pa.Array, task: NDArray[Any], worker: NDArray[Any], seed: int
) -> Floats:
    """Return a number from 0 to 1 for each claim, from its names and `seed` alone.

    Repeated claims of a worker on a task have the same one, so they are never split. `task` and
    `worker` are places among the names.
    """
    by_task = scattered(digest(tasks) + np.uint64(seed))[task]
    return np.asarray(scattered(by_task ^ digest(workers)[worker]) / 2.0**64)
