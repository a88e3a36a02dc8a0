"""The prior of a worker's confusions, learnt from all workers (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from masquerade.exact.arrays import Floats
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.confusions import even_confusion
from masquerade.truth.votes import blocks

_STEP = 1.5  # factor by which a concentration may grow or shrink in one step
_LEAST, _MOST = 0.5, 500.0  # of a concentration
_CLOSER = 2.0  # factor of concentrations around workers' own accuracies
_LOOSEST = 1e7  # more pseudo-counts than this say nothing new


@dataclass(frozen=True, slots=True, eq=False)
class WorkerPrior:
    """A prior over workers' confusion matrices, and the channel between answers and reports.

    With truth a, a worker's answers follow a distribution drawn from
    ``Dirichlet(concentration[a] * pooled[a])``; reports are answers through the worker's own
    channel. The distribution of *reports* is taken as the Dirichlet of the same mean and total
    variance, so that everything below is a sum of gamma functions.
    """

    # float array, shape (n_truths, n_options), and an axis of workers before where each has a prior
    # of the worker's own. ``pooled[truth, answer]`` of the crowd; rows sum to 1.
    pooled: Floats
    # float array, shape (n_options,). How alike workers are, by truth: the larger, the more alike.
    concentration: Floats
    centre: Floats  # float array, shape (n_options, n_options). What `pooled` is drawn towards.
    strength: float  # by this many answers
    channel: OptionChannel

    @classmethod
    def start(cls, channel: OptionChannel, *, accuracy: float, strength: float) -> WorkerPrior:
        """Return the prior before anything is learnt: answers are true with `accuracy`."""
        s = channel.n_options
        centre = even_confusion(accuracy, s)
        return cls(centre, np.full(s, 5.0), centre, strength, channel)

    def reports(self) -> Floats:
        """Return the pooled ``report[node, truth, label]``."""
        keep = self.channel.signal()
        even = (1 - keep) / self.channel.n_options
        # A row of `pooled` times the channel, which keeps an answer or spreads it evenly.
        kept = np.multiply.outer(keep, self.pooled)
        return np.asarray(kept + even.reshape(-1, *[1] * self.pooled.ndim))

    def pseudo_counts(self) -> Floats:
        """Return the Dirichlet parameters ``alpha[node, truth, label]`` of reports."""
        return self._pseudo_counts(self.concentration[None])[:, 0]

    def _pseudo_counts(self, concentrations: Floats) -> Floats:
        """Return ``alpha[node, candidate, truth, label]`` for ``concentrations[candidate, truth]``.

        An axis of workers is before that of truths where each has a prior of the worker's own.
        """
        # A Dirichlet of mean m has total variance (1 - sum m^2) / (A + 1): solved for A, so that
        # reports vary as much as answers that went through the channel do.
        mean = self.reports()
        alike = concentrations if self.pooled.ndim == 2 else concentrations[:, None]
        spread = (1 - (self.pooled**2).sum(axis=-1)) / (alike + 1)
        variance = np.multiply.outer(self.channel.signal() ** 2, spread)
        total = (1 - (mean**2).sum(axis=-1))[:, None] / np.maximum(variance, 1e-12) - 1
        return np.asarray(np.clip(total, 1e-2, _LOOSEST)[..., None] * mean[:, None])

    def log_evidence(self, counts: Floats) -> Floats:
        """Return log P(a worker's reports | node), by truth: ``[worker, node, truth]``."""
        return _log_evidence(counts, self.pseudo_counts())

    def nodes(self, counts: Floats) -> tuple[Floats, float]:
        """Return ``share[worker, node]``, and the log evidence of all workers' reports."""
        # A node of weight 0 has log -inf, and so no share.
        with np.errstate(divide="ignore"):
            joint = self.log_evidence(counts).sum(axis=2) + np.log(self.channel.weight)
        # Not scipy's logsumexp: its checks take several times as long as a small crowd.
        top = joint.max(axis=1, keepdims=True)
        odds = np.exp(joint - top)
        total = odds.sum(axis=1, keepdims=True)
        return odds / total, float((np.log(total) + top).sum())

    def shares(self, counts: Floats) -> Floats:
        """Return how probable each node is of each worker, ``share[worker, node]``."""
        if len(self.channel.flip) == 1:
            return np.ones((len(counts), 1))
        return self.nodes(counts)[0]

    def learn(self, counts: Floats) -> WorkerPrior:
        """Return the prior after one step of empirical Bayes.

        The pooled confusions take a fixed-point step (Minka, "Estimating a Dirichlet
        distribution", 2000), where reports are credited to the answers they may come from; each
        concentration stays, or grows or shrinks by half, whichever explains more.
        """
        share = self.shares(counts)
        alpha, mean, keep = self.pseudo_counts(), self.reports(), self.channel.signal()
        # Minka's fixed point: alpha (digamma(n + alpha) - digamma(alpha)), summed over workers.
        steps = np.zeros((len(alpha), alpha[0].size))
        for rows, after, before in _by_block(counts, alpha):
            each = digamma(after) - digamma(before)
            by_worker = each.reshape(len(alpha), -1, alpha[0].size)
            steps += (share[rows].T[:, None] @ by_worker)[:, 0]
        tables = alpha * steps.reshape(alpha.shape)
        # Bayes: a report y at truth t counts H[t, x] P(y | x) / P(y | t) for answer x.
        ratio = tables / np.maximum(mean, 1e-300)
        even = (1 - keep) / self.channel.n_options
        through = keep[:, None, None] * ratio
        through += even[:, None, None] * ratio.sum(axis=2, keepdims=True)
        pooled = self.pooled * through.sum(axis=0) + self.strength * self.centre
        better = replace(self, pooled=pooled / pooled.sum(axis=1, keepdims=True))
        options = np.multiply.outer((1 / _STEP, 1.0, _STEP), self.concentration)
        # All candidates at once: crowds are small, and calls would take longer than their work.
        candidates = better._pseudo_counts(options)
        evidence = _log_evidence(counts, candidates.reshape(-1, *candidates.shape[2:]))
        evidence = evidence.reshape(len(counts), len(alpha), *options.shape)
        # An Exponential(1/2) prior of the concentration, in its logarithm, keeps it finite.
        scores = np.einsum("wj,wjca->ca", share, evidence) + np.log(options) - options / 2
        # Rounded, so that the order of summation cannot decide.
        chosen = np.choose(np.round(scores, 9).argmax(axis=0), options)
        return replace(better, concentration=np.clip(chosen, _LEAST, _MOST))

    def towards_own(self, counts: Floats, truth_share: Floats) -> WorkerPrior:
        """Return the prior with rows for each worker: own accuracy, the crowd's errors.

        So what is known of a worker's other truths tells all rows, which pays where options are
        many and claims few. Workers differ less from that than from the crowd: `_CLOSER` times.
        """
        share = self.shares(counts)
        unit = np.eye(self.channel.n_options)
        # One coin: right answers of all truths together, drawn to the crowd's as rows are.
        crowd = float(np.diag(self.pooled) @ truth_share)
        strength = float(self.concentration @ truth_share)
        hits, answers = np.einsum("waa->w", counts), counts.sum(axis=(1, 2))
        accuracy = np.zeros(len(counts))
        for node, keep in enumerate(self.channel.signal()):
            even = (1 - keep) / self.channel.n_options
            reported = (hits + strength * (keep * crowd + even)) / (answers + strength)
            own = (reported - even) / keep if abs(keep) > 1e-6 else np.full(len(counts), crowd)
            accuracy += share[:, node] * np.clip(own, 0.01, 0.99)
        errors = self.pooled * (1 - unit)
        errors /= np.maximum(errors.sum(axis=1, keepdims=True), 1e-300)
        right = accuracy[:, None, None]
        own = right * unit + (1 - right) * errors
        return replace(self, pooled=own, concentration=_CLOSER * self.concentration)

    def mean_confusion(self, counts: Floats) -> Floats:
        """Return the posterior mean of ``P(label | truth)`` of each worker's reports."""
        share = self.shares(counts)
        table = np.zeros_like(counts)
        for node, alpha in enumerate(self.pseudo_counts()):
            after = counts + alpha
            table += share[:, node, None, None] * after / after.sum(axis=2, keepdims=True)
        return table

    def answer_confusion(self, counts: Floats) -> Floats:
        """Return the posterior mean of ``P(label | truth)`` of each worker's answers."""
        share, keep = self.shares(counts), self.channel.signal()
        table = np.zeros_like(counts)
        for node, alpha in enumerate(self.pseudo_counts()):
            after = counts + alpha
            if abs(keep[node]) < 1e-6:  # reports tell nothing: the prior stays
                answers = np.broadcast_to(self.pooled, counts.shape)
            else:
                # The channel solved for answers, cut at 0 as a share is.
                even = (1 - keep[node]) / self.channel.n_options
                reports = after / after.sum(axis=2, keepdims=True)
                answers = np.maximum((reports - even) / keep[node], 0)
                answers = answers / answers.sum(axis=2, keepdims=True)
            table += share[:, node, None, None] * answers
        return table

    def log_confusion(self, counts: Floats) -> Floats:
        """Return the expected ``log P(label | truth)`` of each worker's reports."""
        share = self.shares(counts)
        table = np.zeros_like(counts)
        for rows, after, _ in _by_block(counts, self.pseudo_counts()):
            # E[ln p_k] of a Dirichlet: digamma(a_k) - digamma(sum a)
            each = digamma(after) - digamma(np.einsum("jwal->jwa", after))[..., None]
            each *= share[rows].T[:, :, None, None]
            table[rows] = each.sum(axis=0)
        return table

    def log_variances(self, counts: Floats, move: Floats) -> Floats:
        """Return the variance of sums of log confusions, ``[worker, which sum, truth]``.

        ``move[worker, which sum, label]`` is what a label's log confusion counts in a sum.
        """
        share = self.shares(counts)
        after = counts + sum(
            share[:, node, None, None] * alpha for node, alpha in enumerate(self.pseudo_counts())
        )
        # Cov[ln p_k, ln p_l] = trigamma(a_k) [k = l] - trigamma(sum a)
        each = np.einsum("wsx,wax->wsa", move**2, polygamma(1, after))
        common = move.sum(axis=2)[:, :, None] ** 2 * polygamma(1, after.sum(axis=2))[:, None, :]
        return np.asarray(np.maximum(each - common, 0))

    def accuracies(self, counts: Floats, truth_share: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of the probability that a worker's answer is the truth."""
        share = self.shares(counts)
        keep = self.channel.signal()
        means, squares = np.zeros(len(counts)), np.zeros(len(counts))
        # Rows may be of several subtypes of a truth, side by side.
        rows, s = self.pooled.shape[-2:]
        right = np.repeat(np.arange(s), rows // s)
        before = self.pooled[..., np.arange(rows), right] @ truth_share
        for node, alpha in enumerate(self.pseudo_counts()):
            after = counts + alpha
            total = after.sum(axis=2)
            hit = after[:, np.arange(rows), right] / total
            if abs(keep[node]) < 1e-6:  # reports tell nothing: the prior stays
                mean, variance = np.full(len(counts), before), np.full(len(counts), 0.04)
            else:
                even = (1 - keep[node]) / self.channel.n_options
                mean = np.clip((hit - even) / keep[node], 0, 1) @ truth_share
                variance = (hit * (1 - hit) / (total + 1)) @ truth_share**2 / keep[node] ** 2
            variance = np.minimum(variance, mean * (1 - mean))
            means += share[:, node] * mean
            # total variance over the flip probabilities: E[x**2] - E[x]**2 below
            squares += share[:, node] * (variance + mean**2)
        return means, np.maximum(squares - means**2, 0)


def _by_block(counts: Floats, alpha: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield some workers, their ``counts + alpha`` and `alpha`, ``[node, worker, truth, label]``.

    Nodes go together, and so many workers at a time as stay in the cache with them: numpy is called
    seldom for small crowds, and large ones take no more memory than for one node.
    """
    # One prior for all workers is the same for each of them.
    before = alpha if alpha.ndim == 4 else alpha[:, None]
    each = max(len(alpha) * counts[0].size if len(counts) else 1, 1)
    for rows in blocks(len(counts), max((1 << 16) // each, 1)):
        own = before[:, rows] if alpha.ndim == 4 else before
        yield rows, counts[rows] + own, own


def _log_evidence(counts: Floats, alpha: Floats) -> Floats:
    """Return log P(a worker's reports | node) for ``alpha[node, truth, label]``, by truth."""
    answers = np.einsum("wal->wa", counts)
    out = np.empty((len(alpha), *answers.shape))
    for rows, after, before in _by_block(counts, alpha):
        # Dirichlet-multinomial: ln G(A) - ln G(n + A) + sum ln G(n_k + a_k) - ln G(a_k)
        total = before.sum(axis=-1)
        out[:, rows] = gammaln(total) - gammaln(answers[rows] + total)
        # einsum: several times as fast as a sum over short rows, in the loop's hottest line
        out[:, rows] += np.einsum("jwal->jwa", gammaln(after) - gammaln(before))
    return out.transpose(1, 0, 2)


def log_evidence_without_truth(answers: Floats) -> float:
    """Return log P(reports) if they had nothing to do with tasks: the best of a few such models.

    Every worker gives labels at a rate of the worker's own, drawn around the crowd's;
    ``answers[worker, label]`` counts them.
    """
    mean = (answers.sum(axis=0) + 1) / (answers.sum() + answers.shape[1])
    best = -np.inf
    for total in (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
        # Dirichlet-multinomial of each worker's labels; `total` says how alike workers are
        alpha = total * mean
        each = gammaln(total) - gammaln(answers.sum(axis=1) + total)
        best = max(
            best, float((each + (gammaln(answers + alpha) - gammaln(alpha)).sum(axis=1)).sum())
        )
    return best
