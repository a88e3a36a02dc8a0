"""The Thurstone-Mosteller likelihood of choices that were turned round at random.

A choice with margin z is reported as made with probability ``c Phi(z) + (1 - c) / 2``, where the
contrast c is the probability of keeping it less that of turning it round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_STEPS = 60
_LONGEST_STEP = 1.0
_TYPICAL_MARGIN = 2.0
_CLOSE = 1e-10
_ROOT_TWO_PI = float(np.sqrt(2 * np.pi))


def fit_masked_choices(
    signs: Integers, shown: Floats, emphasis: Floats, contrast: Floats, *, voter: Integers
) -> tuple[Floats, Floats, Floats]:
    """Return the weights of the greatest likelihood, the noise's covariance and the sampling's.

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

    Returns
    -------
    weights : float array, shape (n_features,)
    noise, sampling : float array, shape (n_features, n_features)
        Covariance of the weights under masking the same choices again, and what drawing other
        voters adds.

    Notes
    -----
    Fisher scoring from zero, steps at most 1 long and halved where the likelihood would fall: with
    masked choices it is not concave. A ridge stands for the knowledge that margins are mostly
    within a few typical ones; it matters only where masked choices say next to nothing.

    Both covariances are sandwiches (Huber 1967) around the mean of the observed and the expected
    second derivatives; where masked choices say little, the first alone understates the noise and
    the second overstates it. Turning a choice
    round moves its part of the score by ``D = c phi(z) / (P (1 - P))``, whatever was chosen, so the
    noise in the score is ``q (1 - q) D**2`` a record, with q the probability of keeping a choice:
    this holds for any voters. The sum of both is estimated from the scores of whole voters, as for
    a pooled fit; it is computed from masked choices and costs nothing.
    """
    oriented = shown * signs[:, None]
    d = shown.shape[1]
    ridge = float((shown**2).sum(axis=1).mean()) / _TYPICAL_MARGIN**2 if shown.any() else 1.0
    weights = np.zeros(d)
    for _ in range(_MOST_STEPS):
        score, information, new_value = _score(oriented, weights, emphasis, contrast)
        step = np.asarray(
            np.linalg.solve(information + ridge * np.eye(d), score - ridge * weights), np.float64
        )
        size = float(np.linalg.norm(step))
        step *= min(1.0, _LONGEST_STEP / max(size, 1e-300))
        value = new_value - ridge / 2 * float(weights @ weights)
        weights = weights + _shortened(oriented, weights, step, emphasis, contrast, ridge, value)
        if size < _CLOSE * (1 + float(np.linalg.norm(weights))):
            break
    return (weights, *_covariances(oriented, weights, emphasis, contrast, ridge, voter))


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


def _covariances(
    oriented: Floats,
    weights: Floats,
    emphasis: Floats,
    contrast: Floats,
    ridge: float,
    voter: Integers,
) -> tuple[Floats, Floats]:
    """Return the covariance of the noise, and what drawing other voters adds to it."""
    margin = oriented @ weights
    seen, other = _probabilities(margin, contrast), _probabilities(-margin, contrast)
    density = contrast * np.exp(-(margin**2) / 2) / _ROOT_TWO_PI
    score = density / seen
    observed, expected = score * (score + margin), density**2 / (seen * other)
    bread = _inverse(oriented, emphasis * (observed + expected) / 2, ridge)
    if bread is None:  # the likelihood is not concave here; its expected curvature always is
        bread = _inverse(oriented, emphasis * expected, ridge)
        assert bread is not None
    turned = emphasis * density / (seen * other)
    rate = turned**2 * (1 - contrast**2) / 4
    noise = bread @ ((oriented * rate[:, None]).T @ oriented) @ bread
    scores = np.zeros((int(voter.max(initial=0)) + 1, len(weights)))
    np.add.at(scores, voter, oriented * (emphasis * score)[:, None])
    scores -= scores.mean(axis=0)
    meat = scores.T @ scores * (len(scores) / max(len(scores) - 1, 1))
    return noise, _at_least_zero(bread @ meat @ bread - noise)


def _inverse(oriented: Floats, curvature: Floats, ridge: float) -> Floats | None:
    """Return the inverse of a sum of outer products plus a ridge; None if it is not positive."""
    d = oriented.shape[1]
    values, axes = np.linalg.eigh((oriented * curvature[:, None]).T @ oriented + ridge * np.eye(d))
    return None if values[0] < ridge / 2 else np.asarray((axes / values) @ axes.T)


def _at_least_zero(matrix: Floats) -> Floats:
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.maximum(values, 0)) @ axes.T)
