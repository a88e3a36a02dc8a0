"""Agreement: how much workers say the same of the same task, beyond chance."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from scipy import sparse

from masquerade.answers import Claims, Frame
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.truth.expectation_maximization import ClaimBlocks, VoteBlock
from masquerade.truth.votes import LabelVotes


def krippendorff_alpha(data: Claims | Frame) -> float:
    """Return Krippendorff's alpha: 1 for full agreement, 0 for none beyond chance.

    Nominal for categories; interval (squared distance) for numbers. "No answer" does not count.

    Parameters
    ----------
    data : Claims or table
        See `Claims.from_frame`.

    Returns
    -------
    float
        At most 1; below 0 where workers disagree systematically; NaN where all answers that can be
        compared are the same, for then chance agreement is certain too.

    Raises
    ------
    InputError
        No task has two answers, so nothing can be compared.

    Notes
    -----
    Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"],
    ...          "label": ["no", "no", "yes", "yes"]}
    >>> krippendorff_alpha(table)
    1.0
    """
    claims = Claims.of(data).answered()
    size = np.bincount(claims.task, minlength=claims.n_tasks)
    paired = size[claims.task] > 1
    if not paired.any():
        raise InputError("no task has two answers; agreement needs at least one that has.")
    task, value, each = claims.task[paired], claims.value[paired], size[size > 1]
    total = len(task)
    if claims.options is None:
        mean = np.bincount(task, value, len(size)) / np.maximum(size, 1)
        away = np.bincount(task, (value - mean[task]) ** 2, len(size))[size > 1]
        # Over pairs of m answers to a task, squared distances sum to 2 m times the sum of squares;
        # a task's pairs weigh 1 / (m - 1) each.
        observed = float((away * 2 * each / (each - 1)).sum()) / total
        # the same over all pairs of answers, of whatever tasks
        expected = 2 * float(value.var()) * total / (total - 1)
    else:
        # given[cell]: answers of one label to one task; only cells that have any
        of_task, _, given = _cells(claims.among(paired))
        # pairs of answers to a task that agree
        observed = 1 - float((given * (given - 1) / (size[of_task] - 1)).sum()) / total
        overall = np.bincount(value).astype(np.float64)
        expected = 1 - float((overall * (overall - 1)).sum()) / (total * (total - 1))
    return math.nan if expected == 0 else 1 - observed / expected


def fleiss_kappa(data: Claims | Frame) -> float:
    """Return Fleiss' kappa of categorical claims: 1 for full agreement, 0 for chance.

    Raises
    ------
    InputError
        Tasks have different numbers of answers, or only one; use `krippendorff_alpha`.
    ParameterError
        The claims are numbers.

    Notes
    -----
    Fleiss, "Measuring nominal scale agreement among many raters", 1971. NaN where all answers are
    the same.

    Examples
    --------
    >>> claims = {"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"]}
    >>> claims["label"] = ["no", "no", "yes", "no"]
    >>> round(fleiss_kappa(claims), 3)
    -0.333
    """
    claims = Claims.of(data).answered()
    if claims.options is None:
        raise ParameterError("Fleiss' kappa is for categories; use krippendorff_alpha for numbers.")
    size = np.bincount(claims.task, minlength=claims.n_tasks)
    n = int(size.max())
    if n < 2 or bool((size != n).any()):
        raise InputError(
            f"tasks have from {int(size.min())} to {n} answers; Fleiss' kappa needs the same "
            "number, at least 2, for all. Use krippendorff_alpha."
        )
    _, _, given = _cells(claims)
    # share of pairs of answers that agree, averaged over tasks (Fleiss, 1971)
    observed = (float((given**2).sum()) / claims.n_tasks - n) / (n * (n - 1))
    shares = np.bincount(claims.value) / len(claims)
    # chance agreement: two labels drawn from all (Fleiss, 1971)
    expected = float((shares**2).sum())
    return math.nan if expected == 1 else (observed - expected) / (1 - expected)


def _cells(claims: Claims) -> tuple[Integers, Integers, Floats]:
    """Return task and label of the pairs of these that were given, and how often."""
    key = claims.task.astype(np.int64) * claims.n_options + claims.value
    cells, given = np.unique(key, return_counts=True)
    task, label = np.divmod(cells, claims.n_options)
    return task, label, given.astype(np.float64)


def agreement_surplus(claims: ClaimBlocks) -> float:
    """Return by how many standard deviations workers agree more than without regard to tasks.

    Without regard to tasks, a worker gives labels at the worker's own rates. The standard
    deviation is that of agreements under such rates; 0 where nothing can vary.
    """
    return _surplus(claims.fold(_agreements, _rates(claims.fold(_labels))))


def _surplus(sums: Floats) -> float:
    surplus, variance = sums.tolist()
    return float(surplus / math.sqrt(variance)) if variance > 1e-12 else 0.0


def _labels(block: VoteBlock) -> Floats:
    """Return how often each worker gave each label."""
    votes = block.label_votes
    labels = np.asarray(votes.matrix.sum(axis=0), dtype=np.float64)
    return block.spread(labels.reshape(votes.n_workers, votes.n_options))


def _rates(labels: Floats) -> Floats:
    # Half a pseudo-answer for each label: nobody has a rate of 0 or 1.
    return np.asarray((labels + 0.5) / (labels.sum(axis=1, keepdims=True) + 0.5 * labels.shape[1]))


def _agreements(block: VoteBlock, rates: Floats) -> Floats:
    """Return agreements beyond those expected, and their variance, summed over a block's tasks."""
    votes, rate = block.label_votes, block.own(rates)
    s = votes.n_options
    # With r[vote, option] = indicator - rate, agreements of pairs are sums of products of r.
    expected = _per_task(votes, rate)
    left = block.sorted_votes.count() - expected
    square = (1 - 2 * rate) + (rate**2).sum(axis=1, keepdims=True)
    # A vote's product with itself is no pair.
    own = votes.matrix @ square.ravel()
    surplus = float(((left**2).sum(axis=1) - own).sum()) / 2
    # spread[worker, k, l]: covariance of the indicators of one vote
    spread = np.stack([(rate[:, k, None] * ((k == np.arange(s)) - rate)) for k in range(s)], axis=1)
    total = _per_task(votes, spread.reshape(votes.n_workers, s * s))
    alone = _per_task(votes, (spread**2).reshape(votes.n_workers, s * s))
    # Without regard to tasks votes are independent: variances of pairs add up, each pair once.
    variance = float(((total**2).sum() - alone.sum()) / 2)
    return np.array([surplus, variance])


def _per_task(votes_by_label: LabelVotes, of_worker: Floats) -> Floats:
    """Return the sum over a task's votes of the voters' rows."""
    table: Floats = votes_by_label.matrix @ np.repeat(of_worker, votes_by_label.n_options, axis=0)
    return table


def pairwise_agreement(data: Claims | Frame) -> pa.Table:
    """Return how often each two workers gave the same label where both answered.

    Parameters
    ----------
    data : Claims or table
        Of categories, one claim of a worker about a task. See `Claims.from_frame`.

    Returns
    -------
    pyarrow.Table
        ``first``, ``second``, ``tasks`` (that both answered), ``agreement`` (0 to 1); pairs without
        a common task are left out.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"],
    ...          "label": ["no", "no", "yes", "no"]}
    >>> pairwise_agreement(table).to_pylist()
    [{'first': 'x', 'second': 'y', 'tasks': 2, 'agreement': 0.5}]
    """
    claims = Claims.of(data).answered()
    if claims.options is None:
        raise ParameterError("the claims are numbers; pairs of workers agree on labels only.")
    ones = np.ones(len(claims), dtype=np.int64)
    shape = (claims.n_workers, claims.n_tasks)
    answered = sparse.csr_array((ones, (claims.worker, claims.task)), shape=shape)
    # Columns of the pairs of a task and a label that were given
    key = claims.task.astype(np.int64) * claims.n_options + claims.value
    cells, column = np.unique(key, return_inverse=True)
    shape = (claims.n_workers, len(cells))
    given = sparse.csr_array((ones, (claims.worker, column)), shape=shape)
    both = sparse.triu(answered @ answered.T, k=1).tocoo()
    same = (given @ given.T).tocsr()[both.row, both.col]
    return pa.table(
        {
            "first": claims.workers.take(pa.array(both.row)),
            "second": claims.workers.take(pa.array(both.col)),
            "tasks": both.data,
            "agreement": np.asarray(same).ravel() / both.data,
        }
    )
