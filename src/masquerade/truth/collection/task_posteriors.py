"""Posteriors of tasks while answers are collected, refitted from the votes after each batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.bayesian_combination import BayesianCombination
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.collection.fitted_crowd import FittedCrowd
from masquerade.truth.confusions import FIRST_ACCURACY, even_confusion
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.report_mechanisms import Masks, label_mechanism
from masquerade.truth.votes import UnsortedVotes

_ROUNDS = 10
# All but full trust: the gate that falls back to one coin is of no use with so few answers.
_TRUST = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class TaskPosteriors:
    """Posteriors of tasks and workers after a batch."""

    posterior: Floats  # float array, shape (n_tasks, n_options)
    votes: Floats  # float array, shape (n_tasks, n_options). Reports of each option.
    crowd: FittedCrowd
    swapped: bool  # whether the fit had swapped labels, so that plain votes stand in

    @classmethod
    def of(cls, claims: Claims, masks: Masks, gold: dict[Any, Any] | None) -> Self:
        """Return the posteriors by each worker's confusions, from the votes on.

        Fits are never continued from those of an earlier batch: labels that were swapped once would
        stay so.
        """
        votes = UnsortedVotes(claims.answered()).count()
        method = BayesianCombination(trust=(_TRUST,), max_iterations=_ROUNDS)
        posterior = method.fit(claims, mechanism=masks, gold=gold).solution_.posteriors
        # Known truths say which label is which; without any the votes do.
        swapped = not gold and labels_swapped(posterior, votes)
        if swapped:
            posterior = posteriors_of_votes(votes, masks)
        return cls(posterior, votes, FittedCrowd.judged(claims, posterior, masks), swapped)

    @classmethod
    def before(cls, claims: Claims) -> Self:
        """Return even posteriors, as before the first answer."""
        assert claims.options is not None
        n, s = claims.n_tasks, claims.n_options
        share = np.full(s, 1 / s)
        crowd = FittedCrowd(
            claims.options,
            claims.workers,
            (),
            np.zeros(0, dtype=np.int32),
            np.zeros((0, s, s)),
            even_confusion(FIRST_ACCURACY, s)[None],
            share,
        )
        return cls(np.tile(share, (n, 1)), np.zeros((n, s)), crowd, False)


def labels_swapped(posterior: Floats, votes: Floats) -> bool:
    """Return whether another naming of the labels would agree more with the plain votes.

    Examples
    --------
    >>> votes = np.array([[3.0, 0.0], [0.0, 3.0], [2.0, 1.0]])
    >>> posterior = np.array([[0.1, 0.9], [0.9, 0.1], [0.2, 0.8]])
    >>> labels_swapped(posterior, votes), labels_swapped(1 - posterior, votes)
    (True, False)
    """
    from scipy.optimize import linear_sum_assignment  # dear to load

    top = np.sort(votes, axis=1)
    clear = top[:, -1] > (top[:, -2] if votes.shape[1] > 1 else 0)
    # table[leader of the votes, leader of the posterior], over tasks with one leader
    table = np.zeros((votes.shape[1], votes.shape[1]))
    np.add.at(table, (votes[clear].argmax(axis=1), posterior[clear].argmax(axis=1)), 1.0)
    # The naming that agrees most; the trace is that of the labels as they are.
    row, column = linear_sum_assignment(-table)
    return bool(table[row, column].sum() > np.trace(table))


def posteriors_of_votes(votes: Floats, masks: Masks) -> Floats:
    """Return posteriors if everybody were right as often, with the mask in the reports."""
    s = votes.shape[1]
    channels = _mean_channel(None, s)
    if masks is not None:
        # The mask of a report drawn at random from all of them.
        each = [_mean_channel(label_mechanism(mask), s) for mask in masks.mechanisms]
        channels = np.tensordot(masks.shares(), np.stack(each), 1)
    # P(label | truth): an answer as accurate as is assumed at first, then the mask.
    return row_softmax(votes @ np.log(even_confusion(FIRST_ACCURACY, s) @ channels).T)


def _mean_channel(mechanism: CategoricalMechanism | None, n_options: int) -> Floats:
    view = OptionChannel.of(mechanism, n_options=n_options, null_share=0.0)
    return np.asarray(np.tensordot(view.weight, view.channels(), 1))
