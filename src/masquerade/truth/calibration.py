"""Calibration: whether a posterior of 0.8 is right eight times in ten."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from masquerade.answers import Truths
from masquerade.errors import InputError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import whole
from masquerade.truth.categorical import CategoricalEstimator


def expected_calibration_error(
    fit: CategoricalEstimator, truths: Truths, *, bins: int = 10
) -> float:
    """Return the mean distance between how sure labels are and how often they are right.

    Parameters
    ----------
    fit : CategoricalEstimator
        Fitted. Tied labels count as their chance to be picked.
    truths : Truths
        Tasks without a truth, or without a label, do not count.
    bins : int
        Equal parts of the range 0 to 1 of posteriors, at least 1.

    Returns
    -------
    float
        0 (calibrated) to 1; biased upwards where few tasks are scored, for chance alone makes
        shares differ from probabilities.

    Raises
    ------
    InputError
        No task has both a label and a truth.

    Notes
    -----
    Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.
    """
    table = calibration_table(fit, truths, bins=bins)
    tasks, sure, right = (
        table[name].to_numpy() for name in ("tasks", "mean_posterior", "accuracy")
    )
    return float((tasks * np.abs(sure - right)).sum() / tasks.sum())


def calibration_table(fit: CategoricalEstimator, truths: Truths, *, bins: int = 10) -> pa.Table:
    """Return a row for each range of posteriors that labels have: how many are right.

    Returns
    -------
    pyarrow.Table
        ``low``, ``high`` (the range), ``tasks``, ``mean_posterior``, ``accuracy``.
    """
    bins = whole(bins, "bins", low=1)
    sure, right = _scored(fit, truths)
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = np.flatnonzero(count)
    return pa.table(
        {
            "low": some / bins,
            "high": (some + 1) / bins,
            "tasks": count[some],
            "mean_posterior": np.bincount(place, sure, bins)[some] / count[some],
            "accuracy": np.bincount(place, right, bins)[some] / count[some],
        }
    )


def _scored(fit: CategoricalEstimator, truths: Truths) -> tuple[Floats, Floats]:
    """Return for every task scored its label's posterior, and the chance that it is right."""
    code, chances = truths.codes(fit.claims_), fit.chances_
    counted = np.flatnonzero((code != -1) & (chances.sum(axis=1) > 0))
    if len(counted) == 0:
        raise InputError(
            "no task has both a label and a truth; check that the two tables name tasks alike."
        )
    posterior = fit.solution_.posteriors[counted]
    sure = np.clip((posterior * chances[counted]).sum(axis=1), 0, 1)
    right = chances[counted, np.maximum(code[counted], 0)] * (code[counted] >= 0)
    return sure, right
