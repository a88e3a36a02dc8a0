"""The Thurstone-Mosteller likelihood of choices that were turned round at random.

A choice with margin z is reported as made with probability ``c Phi(z) + (1 - c) / 2``, where the
contrast c is the probability of keeping it less that of turning it round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from masquerade.exact.arrays import Floats, Integers

_MOST_STEPS = 60
_LONGEST_STEP = 1.0
#: Of the fit that is published, and of the one that its errors are taken from.
TYPICAL_MARGIN, WIDE_MARGIN = 2.0, 6.0

FEW_VOTERS = 10  # fewer have too few scores to estimate a covariance from
_CLOSE = 1e-10  # length of a step, relative to the weights, at which the fit ends
_ROOT_TWO_PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class MaskedChoicesFit:
    """Weights learned from masked choices, and how far they may be off."""

    weights: Floats  # float array, shape (n_features,)
    # float array, shape (n_features, n_features). Covariance of the weights under masking the same
    # choices again.
    noise: Floats
    sampling: Floats  # float array, shape (n_features, n_features). What drawing other voters adds.
    # float array, shape (n_features, n_features). What the ridge may have taken from the weights,
    # as a mean square.
    shrinkage: Floats

    def of_strengths(self) -> MaskedChoicesFit:
        """Return the fit as one of strengths of named items, of which only differences count.

        Their mean is 0 by definition, so the ridge took nothing from it; without this the error of
        each would have the prior's whole width.
        """
        k = len(self.weights)
        contrasts = np.eye(k) - 1 / k
        return replace(self, shrinkage=contrasts @ self.shrinkage @ contrasts)


def fit_masked_choices(
    signs: Integers, differences: Floats, emphasis: Floats, contrast: Floats, *, voter: Integers
) -> MaskedChoicesFit:
    """Return the weights of the greatest likelihood, with their errors.

    `signs` (n_records,): masked choices, 1 or -1. `differences` (n_records, n_features): scaled
    differences, so oriented that 1 means that the first alternative was chosen. `emphasis`
    (n_records,): how often each record counts. `contrast` (n_records,): probability of keeping a
    choice less that of turning it round, above 0, at most 1. `voter` (n_records,): whose record it
    is; choices of one voter depend on one another.

    Notes
    -----
    Fisher scoring from zero, steps at most 1 long and halved where the likelihood would fall: with
    masked choices it is not concave. A ridge stands for the knowledge that margins are mostly
    within a few typical ones: their mean square is `TYPICAL_MARGIN` squared.

    Both covariances are sandwiches (Huber 1967) around the mean of the observed and the expected
    second derivatives; where masked choices say little, the first alone understates the noise and
    the second overstates it. Turning a choice round moves its part of the score by
    ``D / (P (1 - P))`` with ``D = c phi(z)``, whatever was chosen, so the noise in the score is
    ``q (1 - q)`` times its square a record, with q the probability of keeping a choice: this holds
    for any voters. The sum of both is estimated from the scores of whole voters, as for a pooled
    fit; it is computed from masked choices and costs nothing.

    Where masked choices say little the ridge shrinks the weights, and the information, largest at
    0, is overstated at weights that are too small: errors would be too small twice. So the error is
    that of a second fit with a ninth of the ridge (`WIDE_MARGIN`), plus the ridge's bias there
    under its own prior, plus the square of the gap between the two fits, which is the empirical
    part: measured to cover, not proven to. Of fewer than ten voters the scores say little; the
    expected information stands in for them.
    """
    choices = MaskedChoices(differences * signs[:, None], emphasis, contrast)
    # A ridge of mean |V|**2 / margin**2 is a prior under which the typical margin w . V has that
    # size. Weights are those of the narrow prior, errors those of the wide one (rule H of
    # the specification's page on intervals).
    typical = float((differences**2).sum(axis=1).mean()) if differences.any() else 1.0
    narrow = typical / TYPICAL_MARGIN**2 if differences.any() else 1.0
    wide = typical / WIDE_MARGIN**2 if differences.any() else 1.0
    weights = choices.fit(np.zeros(differences.shape[1]), narrow)
    bread = choices.bread(weights, narrow)
    # Sandwich: curvature^-1 . spread of the score . curvature^-1, of the masks alone.
    noise = bread @ choices.noise_of_score(weights) @ bread
    wider = choices.fit(weights, wide)
    bread = choices.bread(wider, wide)
    total = bread @ choices.spread_of_scores(wider, voter) @ bread
    gap = wider - weights
    # The total holds the noise; what is left is sampling. Shrinkage: the ridge's bias under its own
    # prior, ridge M M, plus the empirical gap between the two fits.
    return MaskedChoicesFit(
        weights, noise, at_least_zero(total - noise), wide * bread @ bread + np.outer(gap, gap)
    )


class Point(NamedTuple):
    """The likelihood's parts at some weights, one number a record."""

    margin: Floats  # z = w . V of what was reported.
    # probability, other: P of what was reported, ``c Phi(z) + (1 - c) / 2``, and of the opposite;
    # never quite 0.
    probability: Floats
    other: Floats
    density: Floats  # dP / dz = c phi(z)


@dataclass(frozen=True, slots=True, eq=False)
class MaskedChoices:
    """Masked choices, and the likelihood of weights that they give."""

    # float array, shape (n_records, n_features). Scaled differences, so turned that the reported
    # alternative comes first.
    oriented: Floats
    # emphasis, contrast: float array, shape (n_records,). See `fit_masked_choices`.
    emphasis: Floats
    contrast: Floats

    def at(self, weights: Floats) -> Point:
        """Return the likelihood's parts at some weights."""
        margin = self.oriented @ weights
        return self._point(margin, self._probability(margin))

    def _point(self, margin: Floats, probability: Floats) -> Point:
        density = self.contrast * np.exp(-(margin**2) / 2) / _ROOT_TWO_PI
        return Point(margin, probability, self._probability(-margin), density)

    def fit(self, start: Floats, ridge: float, *, steps: int = _MOST_STEPS) -> Floats:
        """Return the weights that maximise the likelihood less a ridge, from `start`.

        Fewer `steps` may end before the maximum, higher than the start.
        """
        weights = start
        margin = self.oriented @ weights
        probability = self._probability(margin)
        for _ in range(steps):
            point = self._point(margin, probability)
            # Fisher scoring: the score is a sum of e (D / P) V, the expected information one of
            # e D**2 / (P Q) V V', with e the emphasis of a record.
            score = (self.emphasis * point.density / point.probability) @ self.oriented
            information = self._products(
                self.emphasis * point.density**2 / (point.probability * point.other)
            )
            step = np.asarray(
                np.linalg.solve(information + ridge * np.eye(len(start)), score - ridge * weights),
                np.float64,
            )
            size = float(np.linalg.norm(step))
            # Not concave: a longer step could jump to where the likelihood is flat.
            step *= min(1.0, _LONGEST_STEP / max(size, 1e-300))
            value = self._log_likelihood(point.probability, weights, ridge)
            weights, margin, probability = self._next_weights(weights, step, ridge, value, point)
            if size < _CLOSE * (1 + float(np.linalg.norm(weights))):
                break
        return weights

    def bread(self, weights: Floats, ridge: float) -> Floats:
        """Return the inverse of the likelihood's curvature plus the ridge."""
        point = self.at(weights)
        score = point.density / point.probability
        # -(ln P)'' = s (s + z) for the score s = D / P; expected over reports: D**2 / (P Q).
        observed = score * (score + point.margin)
        expected = point.density**2 / (point.probability * point.other)
        bread = self._inverse(self.emphasis * (observed + expected) / 2, ridge)
        if bread is None:  # the likelihood is not concave here; its expected curvature always is
            bread = self._inverse(self.emphasis * expected, ridge)
            assert bread is not None
        return bread

    def noise_of_score(self, weights: Floats) -> Floats:
        """Return the covariance of the score under masking again."""
        point = self.at(weights)
        # Turning a choice round moves the score by D / (P Q); q (1 - q) = (1 - c**2) / 4.
        turned = self.emphasis * point.density / (point.probability * point.other)
        return self._products(turned**2 * (1 - self.contrast**2) / 4)

    def spread_of_scores(self, weights: Floats, voter: Integers) -> Floats:
        """Return the covariance of the score under other voters and masking."""
        point = self.at(weights)
        if len(np.unique(voter)) < FEW_VOTERS:
            # Too few to estimate a covariance from: the expected information stands in.
            rate = (self.emphasis * point.density) ** 2 / (point.probability * point.other)
            return self._products(rate)
        scores = np.zeros((int(voter.max(initial=0)) + 1, len(weights)))
        factor = self.emphasis * point.density / point.probability
        np.add.at(scores, voter, self.oriented * factor[:, None])
        # Clustered by voter, centred because the ridge keeps the sum from being 0; n / (n - 1).
        scores -= scores.mean(axis=0)
        return np.asarray(scores.T @ scores * (len(scores) / max(len(scores) - 1, 1)))

    def _probability(self, margin: Floats) -> Floats:
        probability: Floats = self.contrast * ndtr(margin) + (1 - self.contrast) / 2
        return np.maximum(probability, 1e-300)

    def _log_likelihood(self, probability: Floats, weights: Floats, ridge: float) -> float:
        return float(self.emphasis @ np.log(probability)) - ridge / 2 * float(weights @ weights)

    def _next_weights(
        self, weights: Floats, step: Floats, ridge: float, value: float, point: Point
    ) -> tuple[Floats, Floats, Floats]:
        """Return weights after the step, halved until the likelihood does not fall.

        With their margins and probabilities, which the next step begins with.
        """
        for _ in range(30):
            margin = self.oriented @ (weights + step)
            probability = self._probability(margin)
            after = self._log_likelihood(probability, weights + step, ridge)
            if after >= value - 1e-12 * (1 + abs(value)):
                return weights + step, margin, probability
            step = step / 2
        return weights, point.margin, point.probability

    def _products(self, rate: Floats) -> Floats:
        """Return the sum of ``rate V V'`` over records."""
        return np.asarray((self.oriented * rate[:, None]).T @ self.oriented)

    def _inverse(self, rate: Floats, ridge: float) -> Floats | None:
        """Return the inverse of such a sum plus a ridge; None if it is not positive."""
        values, axes = np.linalg.eigh(self._products(rate) + ridge * np.eye(self.oriented.shape[1]))
        return None if values[0] < ridge / 2 else np.asarray((axes / values) @ axes.T)


def at_least_zero(matrix: Floats) -> Floats:
    """Return a symmetric matrix with eigenvalues below 0 raised to 0."""
    # The nearest matrix without negative eigenvalues: an estimate may have some.
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.maximum(values, 0)) @ axes.T)
