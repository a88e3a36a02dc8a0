"""The Thurstone-Mosteller likelihood of choices that were turned round at random.

A choice with margin z is reported as made with probability ``c Phi(z) + (1 - c) / 2``, where the
contrast c is the probability of keeping it less that of turning it round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from masquerade.exact.arrays import Floats, Integers

_MOST_STEPS = 60
_LONGEST_STEP = 1.0
TYPICAL_MARGIN, WIDE_MARGIN = 2.0, 6.0
"""Of the fit that is published, and of the one that its errors are taken from."""

_FEW_VOTERS = 10
_CLOSE = 1e-10
_ROOT_TWO_PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class MaskedChoicesFit:
    """Weights learned from masked choices, and how far they may be off.

    Attributes
    ----------
    weights : float array, shape (n_features,)
    noise : float array, shape (n_features, n_features)
        Covariance of the weights under masking the same choices again.
    sampling : float array, shape (n_features, n_features)
        What drawing other voters adds.
    shrinkage : float array, shape (n_features, n_features)
        What the ridge may have taken from the weights, as a mean square.
    """

    weights: Floats
    noise: Floats
    sampling: Floats
    shrinkage: Floats


def fit_masked_choices(
    signs: Integers, shown: Floats, emphasis: Floats, contrast: Floats, *, voter: Integers
) -> MaskedChoicesFit:
    """Return the weights of the greatest likelihood, with their errors.

    Parameters
    ----------
    signs : int64 array, shape (n_records,)
        Masked choices, 1 or -1.
    shown : float array, shape (n_records, n_features)
        Scaled differences, so oriented that 1 means that the first alternative was chosen.
    emphasis : float array, shape (n_records,)
        How often each record counts.
    contrast : float array, shape (n_records,)
        Probability of keeping a choice less that of turning it round, above 0, at most 1.
    voter : int64 array, shape (n_records,)
        Whose record it is; choices of one voter depend on one another.

    Notes
    -----
    Fisher scoring from zero, steps at most 1 long and halved where the likelihood would fall: with
    masked choices it is not concave. A ridge stands for the knowledge that margins are mostly
    within a few typical ones: their mean square is `TYPICAL_MARGIN` squared.

    Both covariances are sandwiches (Huber 1967) around the mean of the observed and the expected
    second derivatives; where masked choices say little, the first alone understates the noise and
    the second overstates it. Turning a choice
    round moves its part of the score by ``D = c phi(z) / (P (1 - P))``, whatever was chosen, so the
    noise in the score is ``q (1 - q) D**2`` a record, with q the probability of keeping a choice:
    this holds for any voters. The sum of both is estimated from the scores of whole voters, as for
    a pooled fit; it is computed from masked choices and costs nothing.

    Where masked choices say little the ridge shrinks the weights, and the information, largest at
    0, is overstated at weights that are too small: errors would be too small twice. So the error is
    that of a second fit with a ninth of the ridge (`WIDE_MARGIN`), plus the ridge's bias there
    under its own prior, plus the square of the gap between the two fits, which is the empirical
    part: measured to cover, not proven to. Of fewer than ten voters the scores say little; the
    expected information stands in for them.
    """
    oriented = shown * signs[:, None]
    typical = float((shown**2).sum(axis=1).mean()) if shown.any() else 1.0
    zero = np.zeros(shown.shape[1])
    narrow = typical / TYPICAL_MARGIN**2 if shown.any() else 1.0
    wide = typical / WIDE_MARGIN**2 if shown.any() else 1.0
    weights = _fitted(oriented, zero, emphasis, contrast, narrow)
    bread = _bread(oriented, weights, emphasis, contrast, narrow)
    noise = bread @ _noise_in_score(oriented, weights, emphasis, contrast) @ bread
    wider = _fitted(oriented, weights, emphasis, contrast, wide)
    bread = _bread(oriented, wider, emphasis, contrast, wide)
    total = bread @ _spread_of_scores(oriented, wider, emphasis, contrast, voter) @ bread
    gap = wider - weights
    return MaskedChoicesFit(
        weights,
        noise,
        _at_least_zero(total - noise),
        wide * bread @ bread + np.outer(gap, gap),
    )


def _fitted(
    oriented: Floats, start: Floats, emphasis: Floats, contrast: Floats, ridge: float
) -> Floats:
    """Return the weights that maximise the likelihood less a ridge, from `start`."""
    weights = start
    for _ in range(_MOST_STEPS):
        score, information, new_value = _score(oriented, weights, emphasis, contrast)
        step = np.asarray(
            np.linalg.solve(information + ridge * np.eye(len(start)), score - ridge * weights),
            np.float64,
        )
        size = float(np.linalg.norm(step))
        step *= min(1.0, _LONGEST_STEP / max(size, 1e-300))
        value = new_value - ridge / 2 * float(weights @ weights)
        weights = weights + _shortened(oriented, weights, step, emphasis, contrast, ridge, value)
        if size < _CLOSE * (1 + float(np.linalg.norm(weights))):
            break
    return weights


def _probabilities(margin: Floats, contrast: Floats) -> Floats:
    """Return the probability of each masked choice, never quite 0."""
    probability: Floats = contrast * ndtr(margin) + (1 - contrast) / 2
    return np.maximum(probability, 1e-300)


def _score(
    oriented: Floats, weights: Floats, emphasis: Floats, contrast: Floats
) -> tuple[Floats, Floats, float]:
    margin = oriented @ weights
    seen = _probabilities(margin, contrast)
    density = contrast * np.exp(-(margin**2) / 2) / _ROOT_TWO_PI
    score = (emphasis * density / seen) @ oriented
    other = _probabilities(-margin, contrast)
    expected = (oriented * (emphasis * density**2 / (seen * other))[:, None]).T @ oriented
    return score, expected, float(emphasis @ np.log(seen))


def _shortened(
    oriented: Floats,
    weights: Floats,
    step: Floats,
    emphasis: Floats,
    contrast: Floats,
    ridge: float,
    value: float,
) -> Floats:
    """Return the step, halved until the likelihood does not fall."""
    for _ in range(30):
        moved = weights + step
        after = float(emphasis @ np.log(_probabilities(oriented @ moved, contrast)))
        if after - ridge / 2 * float(moved @ moved) >= value - 1e-12 * (1 + abs(value)):
            return step
        step = step / 2
    return np.zeros_like(step)


def _bread(
    oriented: Floats, weights: Floats, emphasis: Floats, contrast: Floats, ridge: float
) -> Floats:
    """Return the inverse of the likelihood's curvature plus the ridge."""
    margin = oriented @ weights
    seen, other = _probabilities(margin, contrast), _probabilities(-margin, contrast)
    density = contrast * np.exp(-(margin**2) / 2) / _ROOT_TWO_PI
    score = density / seen
    observed, expected = score * (score + margin), density**2 / (seen * other)
    bread = _inverse(oriented, emphasis * (observed + expected) / 2, ridge)
    if bread is None:  # the likelihood is not concave here; its expected curvature always is
        bread = _inverse(oriented, emphasis * expected, ridge)
        assert bread is not None
    return bread


def _noise_in_score(
    oriented: Floats, weights: Floats, emphasis: Floats, contrast: Floats
) -> Floats:
    """Return the covariance of the score under masking again."""
    margin = oriented @ weights
    seen, other = _probabilities(margin, contrast), _probabilities(-margin, contrast)
    density = contrast * np.exp(-(margin**2) / 2) / _ROOT_TWO_PI
    turned = emphasis * density / (seen * other)
    rate = turned**2 * (1 - contrast**2) / 4
    return np.asarray((oriented * rate[:, None]).T @ oriented)


def _spread_of_scores(
    oriented: Floats, weights: Floats, emphasis: Floats, contrast: Floats, voter: Integers
) -> Floats:
    """Return the covariance of the score under other voters and masking."""
    margin = oriented @ weights
    seen, other = _probabilities(margin, contrast), _probabilities(-margin, contrast)
    density = contrast * np.exp(-(margin**2) / 2) / _ROOT_TWO_PI
    voters = len(np.unique(voter))
    if voters < _FEW_VOTERS:
        rate = (emphasis * density) ** 2 / (seen * other)
        return np.asarray((oriented * rate[:, None]).T @ oriented)
    scores = np.zeros((int(voter.max(initial=0)) + 1, len(weights)))
    np.add.at(scores, voter, oriented * (emphasis * density / seen)[:, None])
    scores -= scores.mean(axis=0)
    return np.asarray(scores.T @ scores * (len(scores) / max(len(scores) - 1, 1)))


def _inverse(oriented: Floats, curvature: Floats, ridge: float) -> Floats | None:
    """Return the inverse of a sum of outer products plus a ridge; None if it is not positive."""
    d = oriented.shape[1]
    values, axes = np.linalg.eigh((oriented * curvature[:, None]).T @ oriented + ridge * np.eye(d))
    return None if values[0] < ridge / 2 else np.asarray((axes / values) @ axes.T)


def _at_least_zero(matrix: Floats) -> Floats:
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.maximum(values, 0)) @ axes.T)
