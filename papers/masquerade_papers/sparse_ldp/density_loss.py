"""Losses of matrix factorization: a bound, and log ratios of densities at drawn profiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from masquerade.exact import Micro
from masquerade.exact.arrays import Floats
from masquerade_papers.sparse_ldp.matrix_factorization_ridge import MatrixFactorizationRidge

_FEWEST_DRAWS = 50
_FAR = (2.0**30, 2.0**31, 2.0**32)
_MARGIN = 1e-12  # share of a bound, far above the error of adding its terms: all are positive


class HasDensity(Protocol):
    """A mechanism with a density of its reports, for whole vectors of answers."""

    def neighbours(
        self, rng: np.random.Generator, *, cells: int = 1
    ) -> Iterator[tuple[str, Floats, Floats]]:
        """Yield pairs of answers that differ in `cells` places: words, one, the other."""
        ...

    def draw(self, answers: Floats, size: int, rng: np.random.Generator) -> Floats:
        """Return reports of one worker, shape (size, dimension)."""
        ...

    def log_density(self, profiles: Floats, answers: Floats) -> Floats:
        """Return the log density of each report."""
        ...


@dataclass(frozen=True, slots=True)
class DensityLoss:
    """Exact log ratios of densities, at reports that were drawn and far from them."""

    # The largest at a drawn report. Densities are continuous, so epsilon is at least this.
    largest: float
    worst: str | None  # where
    # The largest share, over pairs of answers and directions, of reports with a log ratio above the
    # claim.
    share_above: float
    grows: str | None  # where the log ratio grows without bound as reports move away from 0
    drawn: int


def of_density(
    mechanism: HasDensity,
    *,
    cells: int,
    claimed: Micro,
    samples: int,
    rng: np.random.Generator,
) -> DensityLoss:
    """Return exact density ratios at drawn reports of workers that differ in `cells` answers."""
    neighbours = list(mechanism.neighbours(rng, cells=cells))
    size = max(_FEWEST_DRAWS, samples // (2 * len(neighbours)))
    largest, worst, share, grows = 0.0, None, 0.0, None
    for words, one, other in neighbours:
        for answers in (one, other):
            reports = mechanism.draw(answers, size, rng)
            # score[report]: the log likelihood ratio, by which the best tests decide (Neyman and
            # Pearson)
            score = mechanism.log_density(reports, one) - mechanism.log_density(reports, other)
            share = max(share, float((np.abs(score) > claimed.epsilon).mean()))
            place = int(np.abs(score).argmax())
            report, found = reports[place], float(score[place])
            if abs(found) > largest:
                largest = abs(found)
                worst = f"{_shown(report)}: {words}"
            if grows is None and _grows(mechanism, report, (one, other)):
                grows = f"{_shown(report)} times a large number: {words}"
    return DensityLoss(largest, worst, share, grows, 2 * size * len(neighbours))


def bound_of(mechanism: MatrixFactorizationRidge, *, cells: int) -> Micro:
    """Return a proven bound on the loss of workers that differ in the answers to `cells` tasks.

    From features, noise and ridge alone. One answer moves the gradient, and so the noise that
    explains a profile, by at most the width times ``|v|_1``, and multiplies the determinant of the
    Jacobian by at most ``1 + |v|_2**2 / ridge``; for several, also by the inequality of arithmetic
    and geometric means. What grid, solver and rounding add is taken from the mechanism.
    """
    rows = mechanism.features
    d, width = mechanism.dimension, float(mechanism.width)
    noise = width * np.abs(rows).sum(axis=1) / mechanism.noise_scale
    share = (rows**2).sum(axis=1) / mechanism.ridge
    # One at a time: the largest of single tasks. Together: the tasks that are worst for each term.
    apart = np.sort(noise + np.log1p(share))[-cells:].sum()
    determinant = d * math.log1p(float(np.sort(share)[-cells:].sum()) / d)
    together = np.sort(noise)[-cells:].sum() + determinant
    bound = float(min(apart, together)) + mechanism.discretisation_loss
    return Micro.of_bound(bound, error=_MARGIN * bound)


def _grows(mechanism: HasDensity, report: Floats, answers: tuple[Floats, Floats]) -> bool:
    """Return whether the log ratio grows for ever on the ray through a report.

    Log densities of Laplace noise under a linear map are linear far out on every ray.
    """
    far = np.array(_FAR)[:, None] * report
    one, other = (mechanism.log_density(far, given) for given in answers)
    near, farther = np.diff(one - other)  # the second distance is twice the first
    return bool(abs(near) > 1 and abs(farther / near - 2) <= 1e-3)


def _shown(report: Floats) -> str:
    return "(" + ", ".join(f"{number:.4g}" for number in report) + ")"
