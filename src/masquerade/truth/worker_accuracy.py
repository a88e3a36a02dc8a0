"""How often each worker's answer is the truth, and how sure that is: by belief propagation.

What a method concludes of a task rests on the worker's own vote too, and through co-workers on
votes that were judged by it. Judging workers by such conclusions counts votes twice. And rows of
confusions with a prior of their own take a worker's rows for independent: the more options, the
more alike workers seem. So for intervals one number a worker is inferred anew. Messages say of each
vote how probable it is that it is right by all *other* votes of its task, and how often the worker
is right by all *other* tasks; a Beta prior of accuracies is integrated out with its parameters.

Liu, Peng and Ihler, "Variational inference for crowdsourcing", NIPS 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from masquerade.exact.arrays import Codes, Floats
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.problem import Problem
from masquerade.truth.votes import blocks

_LOGITS = np.linspace(-10, 10, 41)  # of how probable it is, by other votes, that a vote is right
_STEP = float(_LOGITS[1] - _LOGITS[0])
_ACCURACIES = (np.arange(64) + 0.5) / 64
_CELLS = 1 << 20  # votes times options that are looked at together
_WORKERS = 1 << 11  # workers whose tables are worked out together
_ROUNDS = 60  # at most; about a dozen is the rule
_STILL = 1e-3  # change of a vote's log odds
_DAMPING = 0.5  # share of a message that stays, so that messages do not swing
_SURE = 1e3  # log odds of a known truth

_CROWD_MEANS = (np.arange(24) + 0.5) / 24
# Spread of a crowd: the accuracies' standard deviation over its bound, 1 / sqrt(a + b + 1) of a
# Beta distribution, even from .02 to 1 / sqrt(3) (Gelman 2006 on priors of a spread). Beyond that
# of evenly spread accuracies, most workers would be nearly always right or nearly always wrong.
_CROWD_SPREADS = (np.arange(16) + 0.5) / 16 * (3**-0.5 - 0.02) + 0.02
# Where two workers agree, each one's votes judge the other's: likelihoods of all workers together
# hold every agreement twice, and would make us twice as sure of the crowd.
_EVIDENCE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class AccuracyPrior:
    """Beta distributions of workers' accuracies, and how probable each is beforehand."""

    log_weight: Floats  # float array, shape (n,)
    density: Floats  # float array, shape (n, 64). Probability of each accuracy.

    @classmethod
    def beta(cls, a: float, b: float) -> AccuracyPrior:
        """Return one Beta distribution, given and not learnt."""
        return cls(np.zeros(1), _beta(np.array([a]), np.array([b])))

    @classmethod
    def crowds(cls, accuracy: float, strength: float) -> AccuracyPrior:
        """Return those of crowds with mean `accuracy` in `strength` answers seen before."""
        mean, spread = (axis.ravel() for axis in np.meshgrid(_CROWD_MEANS, _CROWD_SPREADS))
        size = 1 / spread**2 - 1
        a, b = accuracy * strength, (1 - accuracy) * strength
        log_weight = (a - 1) * np.log(mean) + (b - 1) * np.log1p(-mean)
        return cls(log_weight - logsumexp(log_weight), _beta(mean * size, (1 - mean) * size))

    def learnt(self, likelihood: Floats) -> Floats:
        """Return each worker's prior times a constant, ``[worker, accuracy]``, from all workers.

        ``likelihood[worker, accuracy]`` is of the worker's votes.
        """
        evidence = likelihood @ self.density.T
        # P(prior | all workers), by Bayes; a worker's posterior is the mixture over priors.
        log_share = self.log_weight + _EVIDENCE * np.log(evidence).sum(axis=0)
        share = np.exp(log_share - logsumexp(log_share))
        return np.asarray((share / evidence) @ self.density)


def _beta(a: Floats, b: Floats) -> Floats:
    log_density = np.outer(a - 1, np.log(_ACCURACIES)) + np.outer(b - 1, np.log1p(-_ACCURACIES))
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return np.asarray(density / density.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Estimates of workers in one round; a source is a worker with one of the mechanisms."""

    mean: Floats  # mean, variance: float array, shape (n_workers,). Of the accuracy.
    variance: Floats
    # odds[source, place]: log odds that a vote counts, by the worker's other votes, where the
    # vote's own log odds are `_LOGITS[place]`.
    odds: Floats


def accuracy_posterior(
    problem: Problem, prior: AccuracyPrior, worker_of: Codes, n_workers: int
) -> tuple[Floats, Floats]:
    """Return mean and variance of each worker's accuracy.

    `worker_of` says whose each source of the problem's votes is.
    """
    votes, channel = problem.votes, problem.crowd.channel
    s, of_source = votes.n_options, votes.matrix.indices
    task, option = votes.cells()
    cell = task * s + option
    known = np.flatnonzero(problem.gold >= 0)
    seen = np.zeros((votes.n_workers, len(_LOGITS)))  # number of votes, by log odds
    found = _judged(seen, channel, prior, worker_of, n_workers)
    message = found.odds[of_source, len(_LOGITS) // 2]
    for _ in range(_ROUNDS):
        scores = np.bincount(cell, message, votes.n_tasks * s).reshape(votes.n_tasks, s)
        scores[known] = -_SURE
        scores[known, problem.gold[known]] = _SURE
        place = np.empty(len(task))
        for rows in blocks(len(task), max(_CELLS // s, 1)):
            others = scores[task[rows]]
            at = np.arange(len(others)), option[rows]
            right = others[at] - message[rows]
            others[at] = -np.inf
            logit = right - logsumexp(others, axis=1)
            place[rows] = (np.clip(logit, _LOGITS[0], _LOGITS[-1]) - _LOGITS[0]) / _STEP
        # A vote between two nodes counts for both in part.
        lower = np.minimum(place.astype(np.int64), len(_LOGITS) - 2)
        upper = place - lower
        index = of_source.astype(np.int64) * len(_LOGITS) + lower
        both = np.zeros(seen.size)
        both += np.bincount(index, 1 - upper, seen.size)
        both += np.bincount(index + 1, upper, seen.size)
        found = _judged(both.reshape(seen.shape), channel, prior, worker_of, n_workers)
        odds = (1 - upper) * found.odds[of_source, lower] + upper * found.odds[of_source, lower + 1]
        change = np.abs(odds - message).max(initial=0.0)
        message = _DAMPING * message + (1 - _DAMPING) * odds
        if change < _STILL:
            break
    return found.mean, found.variance


def _judged(
    seen: Floats, channel: OptionChannel, prior: AccuracyPrior, worker_of: Codes, n_workers: int
) -> Judgement:
    """Return estimates of workers from votes; ``seen[source, place]`` counts them by log odds."""
    s, keep = channel.n_options, channel.signal()
    right = 1 / (1 + np.exp(-_LOGITS))[:, None, None]
    # hit[flip, accuracy] = P(a report is the truth)
    hit = keep[:, None] * _ACCURACIES + ((1 - keep) / s)[:, None]
    hit = np.clip(hit, 1e-9, 1 - 1e-9)
    # P(report) = P(truth) hit + P(another truth) (1 - hit) / (s - 1), [place, flip, accuracy]
    each = right * hit + (1 - right) * (1 - hit) / (s - 1)
    with np.errstate(divide="ignore"):  # a flip that a source cannot have
        weight = np.log(np.broadcast_to(np.atleast_2d(channel.weight), (len(seen), len(keep))))
    log_each = np.log(each).reshape(len(_LOGITS), -1)

    def by_flip(rows: slice) -> Floats:
        table = (seen[rows] @ log_each).reshape(-1, *hit.shape) + weight[rows, :, None]
        return np.asarray(table)

    of_sources = np.empty((len(seen), len(_ACCURACIES)))
    for rows in blocks(len(seen), _WORKERS):
        of_sources[rows] = np.logaddexp.reduce(by_flip(rows), axis=1)
    joint = np.zeros((n_workers, len(_ACCURACIES)))
    np.add.at(joint, worker_of, of_sources)
    likelihood = np.exp(joint - joint.max(axis=1, keepdims=True))
    after = prior.learnt(likelihood) * likelihood
    after /= after.sum(axis=1, keepdims=True)
    mean = after @ _ACCURACIES
    variance = np.maximum(after @ _ACCURACIES**2 - mean**2, 0)
    odds = np.empty(seen.shape)
    hits, without = (x.reshape(len(_LOGITS), -1).T for x in (hit / each, 1 / each))
    for rows in blocks(len(seen), _WORKERS):
        flips = np.exp(by_flip(rows) - of_sources[rows, None]) * after[worker_of[rows], None]
        flat = flips.reshape(len(flips), -1)
        # E[hit] of the posterior from which one vote is taken out
        mean_hit = (flat @ hits) / (flat @ without)
        odds[rows] = np.log(mean_hit) - np.log1p(-mean_hit) + np.log(s - 1)
    return Judgement(mean, variance, odds)
