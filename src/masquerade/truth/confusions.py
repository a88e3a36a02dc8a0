"""Expectation-maximization of models in which each worker has a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade.exact.arrays import Codes, Floats
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    FixedPoint,
    Model,
    Posterior,
    SufficientStatistics,
    VoteBlock,
    largest_change,
    vote_shares,
)
from masquerade.truth.votes import LabelVotes, Votes, row_max

#: Probabilities below are raised to it before logs are taken.
LEAST = 1e-10

#: Accuracy of the crowd, before any claim is looked at.
FIRST_ACCURACY = 0.65
_FIRST_STRENGTH = 2.0  # answers of the crowd's that are added to each worker's own


@dataclass(frozen=True, slots=True, eq=False)
class LabelWeights:
    """The parameters of a model with confusions, as its E-step needs them."""

    # float array, shape (n_workers, n_truths, n_options). Log probability that a worker reports a
    # label where a truth holds.
    log_confusion: Floats
    log_prior: Floats  # float array, shape (n_truths,)

    @classmethod
    def of(cls, log_confusion: Floats, prior: Floats) -> LabelWeights:
        """Return the message of confusions and of how often each truth holds."""
        return cls(log_confusion, np.log(np.maximum(prior, LEAST)))

    def mean_log_ratio(self, truth_share: Floats) -> Floats:
        """Return the mean log ratio of a true vote to a vote for another option, by worker."""
        # table[worker, truth, label]; a miss is the mean over the other labels
        table, s = self.log_confusion, self.log_confusion.shape[1]
        hit = np.einsum("waa->wa", table)
        miss = (table.sum(axis=2) - hit) / max(s - 1, 1)
        return np.asarray((hit - miss) @ truth_share)


class ConfusionModel(Model):
    """Base of the models in which each worker has a confusion matrix.

    Messages are `LabelWeights`; None stands for the shares of plain votes, freed from the mask.
    """

    channel: OptionChannel

    def begin(self, claims: ClaimBlocks) -> None:
        """Take workers' confusions on known truths for the start, where there are any."""
        self.starts = (first_weights(claims, self.channel),)

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return the posteriors, from plain votes at the start."""
        if message is None:
            first = initial_posterior(block, self.channel, None)
            return Posterior(first, first)
        shares, likelihood = label_posterior(
            block.label_votes, block.own(message.log_confusion), message.log_prior, block.gold
        )
        return Posterior(shares, shares, likelihood)

    def statistics(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior | None
    ) -> SufficientStatistics:
        """Return expected counts of labels by worker and truth, and of truths."""
        change = np.inf
        if self.compares and earlier is not None:
            change = largest_change(posterior.shares, earlier.shares)
        return SufficientStatistics(
            block.spread(block.label_votes.counts(posterior.shares)),
            posterior.shares.sum(axis=0),
            posterior.log_likelihood,
            change=change,
        )


def even_confusion(accuracy: Floats | float, n_options: int) -> Floats:
    """Return confusion matrices of these accuracies, errors even over the other options.

    Of the shape of `accuracy`, which broadcasts over truths in the last axis, and one axis more.
    """
    s, right = n_options, np.asarray(accuracy if n_options > 1 else np.ones_like(accuracy))
    right = np.broadcast_to(right, (*right.shape[:-1], s))[..., None]
    return np.where(np.eye(s, dtype=bool), right, (1 - right) / max(s - 1, 1))


def label_posterior(
    votes: LabelVotes, log_confusion: Floats, log_prior: Floats, gold: Codes
) -> tuple[Floats, float]:
    """Return ``posterior[task, truth]`` of a block, and the log-likelihood of its votes.

    Dawid and Skene (1979), in logs. The arrays are ``log_confusion[worker, truth,
    label]``, ``log_prior[truth]`` and ``gold[task]``, -1 where the truth is unknown.
    """
    # ln p(truth) + sum over votes of ln P(label | truth)
    scores = votes.score(log_confusion)
    scores += log_prior
    known = np.flatnonzero(gold >= 0)
    if len(known):
        # Truths may have several subtypes each, side by side; those of other truths are impossible.
        of_truth = np.arange(scores.shape[1]) // (scores.shape[1] // votes.n_options)
        scores[known] = np.where(of_truth == gold[known][:, None], scores[known], -np.inf)
    # In place from here on: a table of tasks is the largest array there is.
    top = row_max(scores)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    total = np.einsum("ta->t", scores)
    scores /= total[:, None]
    # The marginal likelihood of a task's votes is the normalizing sum.
    return scores, float((np.log(total) + top).sum())


def allowing_for_doubt(variance: Floats, votes: Votes, posterior: Floats) -> Floats:
    """Return variances of accuracies where the tasks' truths are not known for certain either."""
    return Doubt.of(votes, posterior).variance(variance)


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """Doubt that posteriors leave about each worker's agreements; blocks add up.

    Float arrays of shape (n_workers,).
    """

    agreed: Floats  # expected number of right votes
    doubt: Floats  # variance of how many of the worker's votes are right, by unknown truths
    answers: Floats  # number of votes

    @classmethod
    def of(cls, votes: Votes, posterior: Floats) -> Doubt:
        """Return the doubt that posteriors of some votes leave."""
        return cls(
            votes.agreement(posterior),
            votes.agreement(posterior * (1 - posterior)),
            votes.of_worker,
        )

    def __add__(self, other: Doubt) -> Doubt:
        return Doubt(
            self.agreed + other.agreed, self.doubt + other.doubt, self.answers + other.answers
        )

    def variance(self, variance: Floats) -> Floats:
        """Return variances of accuracies, from those with the truths taken for known.

        Mean field takes expected agreements for known: this adds what is missing (Louis, 1982).
        """
        hit = np.clip(self.agreed / np.maximum(self.answers, 1), 0.01, 0.99)
        missing = self.doubt / np.maximum(self.answers * hit * (1 - hit), 1e-9)
        return np.asarray(np.minimum(variance / (1 - np.minimum(missing, 0.8)), 0.08))


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A fitted model as one voice among several, and its posterior where all tasks are here."""

    model: Model
    message: Any
    posterior: Posterior | None = None

    @classmethod
    def of(cls, model: Model, fit: FixedPoint) -> Member:
        """Return a model with the fixed point that it came to."""
        return cls(model, fit.message, fit.posterior)

    def on(self, block: VoteBlock) -> Posterior:
        """Return the posterior of a block."""
        return self.posterior or self.model.posterior(block, self.message)


def mean_shares(members: Sequence[Member], block: VoteBlock) -> Floats:
    """Return the mean of the members' posteriors of a block."""
    return np.asarray(np.mean([member.on(block).shares for member in members], axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A prediction of unseen claims by fitted models.

    Cells are truths, or pairs of a truth and a subtype.
    """

    members: tuple[Member, ...]  # whose mean posterior of cells it is
    confusion: Floats  # ``confusion[worker, cell, label]``, posterior means of P(label | cell)

    def log_probability(self, block: VoteBlock) -> Floats:
        """Return the log predictive probability of each of the block's unseen claims."""
        unseen = block.unseen
        assert unseen is not None
        label = block.own(self.confusion)[unseen.worker, :, unseen.value]
        cells = mean_shares(self.members, block)[unseen.task]
        # P(label) = sum over cells of P(cell) P(label | cell)
        each = np.einsum("nc,nc->n", cells, label)
        return np.asarray(np.log(np.maximum(each, 1e-300)))


def first_weights(claims: ClaimBlocks, channel: OptionChannel) -> LabelWeights | None:
    """Return the message to start from; None, which is plain votes, without known truths.

    With them: each worker's confusions as counted on the tasks of known truth, next to two answers
    of the crowd's own, so that a crowd that is mostly wrong is turned around.
    """
    if not claims.has_known:
        return None
    counts = claims.fold(_known_counts)  # counts[worker, truth, label]
    s = channel.n_options
    # The guess is of answers; the mean channel makes it one of reports, as the counts are.
    reports = even_confusion(FIRST_ACCURACY, s) @ np.tensordot(
        channel.mean_weight, channel.channels(), 1
    )
    crowd = counts.sum(axis=0) + _FIRST_STRENGTH * reports
    crowd /= crowd.sum(axis=1, keepdims=True)
    table = counts + _FIRST_STRENGTH * crowd
    table /= table.sum(axis=2, keepdims=True)
    return LabelWeights(np.log(np.maximum(table, LEAST)), np.zeros(s))


def _known_counts(block: VoteBlock) -> Floats:
    # On tasks of known truth alone: all other shares are 0.
    votes = block.sorted_votes
    known = block.anchored(np.zeros((votes.n_tasks, votes.n_options)))
    return block.spread(block.label_votes.counts(known))


def initial_posterior(
    block: VoteBlock, channel: OptionChannel, first: LabelWeights | None
) -> Floats:
    """Return ``posterior[task, option]`` that iteration starts from; see `first_weights`."""
    if first is None:
        return channel.unmasked(vote_shares(block.sorted_votes.count()))
    own = block.own(first.log_confusion)
    return label_posterior(block.label_votes, own, first.log_prior, block.gold)[0]
