"""From noisy counts to densities: what is computed here costs nothing, for it sees no value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.fft import dct, idct
from scipy.special import gammaln, xlogy

from masquerade.answers import Progress
from masquerade.exact.arrays import Flags, Floats, Integers, on_simplex
from masquerade.release.bandwidth import own_bandwidth
from masquerade.release.counts_given_total import counts_given_total
from masquerade.release.families import Reading, readings
from masquerade.release.grid import Grid
from masquerade.release.mixtures import Mixtures
from masquerade.release.planner import MOST_READ, Plan
from masquerade.release.templates import PARTS_OF_BIN, SMOOTH_FAMILIES

#: What densities should resemble: the claims that were made, or what they are drawn from.
Target = Literal["claims", "source"]

#: With fewer objects the variance of a coefficient over objects says too little.
LEAST_OBJECTS = 8

#: Of the rough families: an object's shares differ from the mean of all as those of a Dirichlet
#: distribution with this sum of parameters.
CONCENTRATIONS = (1.0, 3.0, 10.0)

#: Objects from which the spread within objects is estimated well enough to be kept.
LEAST_OBJECTS_TO_KEEP_SPREAD = 100

#: Points are drawn together only where their spread is too wide by more than this.
_CLOSE_ENOUGH = 0.83


@dataclass(frozen=True, slots=True, eq=False)
class NoisyHistograms:
    """Noisy counts, and what is public about them."""

    counts: Integers  # int array, shape (n_bins,). Of claims, or sums of whole weights.
    # float arrays, shape (n_objects,). Claims about each object; the weight of all of them (the
    # same without weights); sum of their squared weights over the squared sum; noise's scale.
    claims: Integers
    total: Floats
    sampling: Floats
    scale: Floats

    def shares(self, grid: Grid) -> Floats:
        """Return the noisy share of each bin, unclamped, shape (n_bins,)."""
        return np.asarray(self.counts / np.maximum(self.total, 1.0)[grid.object])

    def noise(self) -> Floats:
        """Return the variance of the noise on a share, shape (n_objects,)."""
        # 2 a / (1 - a)^2 with a = exp(-1 / scale), over the squared total
        ratio = np.exp(-1 / self.scale)
        return np.asarray(2 * ratio / (1 - ratio) ** 2 / np.maximum(self.total, 1.0) ** 2)


def finish(
    noisy: NoisyHistograms,
    plan: Plan,
    target: Target,
    bandwidth: float | None = None,
    progress: Progress | None = None,
) -> Mixtures:
    """Return a density of each object from its noisy counts; none where it has no claims.

    `target`: what densities should resemble. `bandwidth`: public width of bumps, where half a bin
    is less; default: that of the shares themselves.

    Privacy
    -------
    Post-processing: a function of noisy counts, of the numbers of claims and of the plan, all of
    them published or public. It is given no claim, so that whatever is chosen here (families,
    bandwidths, how far objects are read in each other's light) costs nothing.
    """
    grid = plan.grid
    # parts[object]: a bin, or quarters of it where a template stands finer than a bin
    known = noisy.claims > 0
    shrunk = known & (plan.shrunk | (noisy.claims > MOST_READ))
    parts = np.where((target == "source") & ~shrunk, PARTS_OF_BIN, 1)
    fine = Grid(
        grid.bins * parts,
        grid.low,
        grid.width / parts,
        np.concatenate(([0], np.cumsum(grid.bins * parts))),
    )
    share = np.zeros(int(fine.offset[-1]))
    least = np.maximum(fine.width / 2, np.maximum(plan.half_step, bandwidth or 0.0))
    # one answer a bin: a wider bump would lay an answer's share on its neighbours
    fixed = plan.answers if bandwidth is None else np.ones_like(plan.answers)
    width = least.copy()
    blended = known & ~shrunk & plan.answers
    wiener = np.zeros(len(noisy.counts))
    for of, at in _by_bins(grid, shrunk) + _by_bins(grid, blended):
        some = noisy.shares(grid)[at], noisy.noise()[of], noisy.sampling[of]
        wiener[at] = wiener_shares(*some, target)
    for of, at in _by_bins(grid, shrunk):
        share[fine.offset[of, None] + np.arange(at.shape[1])] = wiener[at]
        own = own_bandwidth(wiener[at], grid.width[of], 1 / noisy.sampling[of])
        width[of] = np.where(fixed[of], least[of], np.maximum(least[of], own))
    done = int(shrunk.sum())
    for reading in _readings(noisy, plan, known & ~shrunk):
        of = reading.group.objects
        inside = fine.offset[of, None] + np.arange(int(fine.bins[of[0]]))
        if target == "source":
            share[inside] = _source_shares(reading)
        else:
            made = _claim_shares(reading)
            own = _bandwidths(reading, made, grid.width[of])
            coarse = grid.offset[of, None] + np.arange(made.shape[1])
            answers = plan.answers[of]
            share[inside] = np.where(answers[:, None], (made + wiener[coarse]) / 2, made)
            width[of] = np.where(fixed[of], least[of], np.maximum(least[of], own))
        done += len(of)
        if progress is not None:
            progress(done, int(known.sum()))
    return fine.mixtures(share, width)


def spread_factor(noisy: NoisyHistograms, grid: Grid, densities: Mixtures) -> float:
    """Return the factor by which points move towards their object's mean, at most 1.

    The root of the ratio of two mean variances within objects, in units of the widths of their
    grids: that of the claims, estimated from the noisy counts, and that of the densities.
    """
    known = noisy.claims > 0
    if known.sum() < LEAST_OBJECTS_TO_KEEP_SPREAD:
        return 1.0
    # an estimate below a quarter of a bin is noise
    least = float((1 / grid.bins[known] / 4).mean() ** 2)
    estimate = max(float(variances_within(noisy, grid)[known].mean()), least)
    variance = moments(densities)[1] / (grid.width * grid.bins) ** 2
    # Ratio of standard deviations: of claims within objects, over that of the densities.
    rho = math.sqrt(estimate / float(variance[known].mean()))
    return rho if rho < _CLOSE_ENOUGH else 1.0


def variances_within(noisy: NoisyHistograms, grid: Grid) -> Floats:
    """Return each object's variance, without bias, in units of its grid, shape (n_objects,).

    ``sum_b y x**2 / n - (sum_b y x / n)**2 + v sum_b x**2``, with x the middle of a bin less that
    of the grid and v the variance of the noise on a share.
    """
    of, objects = grid.object, len(grid.bins)
    extent = grid.width * grid.bins
    x = (grid.centre - (grid.low + extent / 2)[of]) / extent[of]
    share = noisy.shares(grid)
    mean = np.bincount(of, share * x, objects)
    # E mean**2 holds the noise's variance, which is given back
    back = noisy.noise() * np.bincount(of, x**2, objects)
    return np.asarray(np.bincount(of, share * x**2, objects) - mean**2 + back)


def moments(densities: Mixtures) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each density, shape (n_objects,) each."""
    count = np.diff(densities.offset)
    of = np.repeat(np.arange(len(count)), count)
    mean = np.bincount(of, densities.weight * densities.location, len(count))
    apart = (densities.location - mean[of]) ** 2 + densities.width**2
    variance = np.bincount(of, densities.weight * apart, len(count))
    return mean.astype(np.float64), variance.astype(np.float64)


def drawn_together(densities: Mixtures, factor: float) -> Mixtures:
    """Return densities of which each point has moved towards the mean by a factor."""
    of = np.repeat(np.arange(densities.n_objects), np.diff(densities.offset))
    mean = moments(densities)[0][of]
    location = mean + factor * (densities.location - mean)
    return Mixtures(densities.offset, location, densities.weight, factor * densities.width)


def _by_bins(grid: Grid, chosen: Flags) -> list[tuple[Integers, Integers]]:
    """Return the chosen objects with equally many bins, and their bins, shape (n, bins)."""
    found = []
    for bins in np.unique(grid.bins[chosen]).tolist():
        of = np.flatnonzero(chosen & (grid.bins == bins))
        found.append((of, grid.offset[of, None] + np.arange(bins)))
    return found


def _readings(noisy: NoisyHistograms, plan: Plan, chosen: Flags) -> list[Reading]:
    of = np.flatnonzero(chosen)
    if not of.size:
        return []
    # these counts are unweighted, so that their noise has one scale
    scale = float(noisy.scale[of[0]])
    return list(readings(noisy.counts, noisy.claims, plan.grid, of, scale, CONCENTRATIONS))


def _claim_shares(reading: Reading) -> Floats:
    """Return the posterior mean share of each bin among the claims, shape (n_rows, bins)."""
    smooth = reading.family[:, :SMOOTH_FAMILIES].sum(axis=1, keepdims=True)
    # A mixture over families, each weighted by its posterior.
    counts = smooth * _smooth_counts(reading)
    for i, rough in enumerate(_rough_counts(reading)):
        counts += reading.family[:, SMOOTH_FAMILIES + i, None] * rough
    return np.asarray(counts / reading.group.count)


def _source_shares(reading: Reading) -> Floats:
    """Return the posterior mean share of each part of a bin in what claims are drawn from."""
    n, places = reading.group.count, reading.group.places
    smooth = reading.family[:, :SMOOTH_FAMILIES].sum(axis=1, keepdims=True)
    shares = smooth * reading.fine
    for i, counts in enumerate(_rough_counts(reading)):
        alpha = CONCENTRATIONS[i]
        # E[p | counts] of a Dirichlet distribution, even within the bin
        source = (counts + alpha * places) / (n + alpha)
        part = np.repeat(source / PARTS_OF_BIN, PARTS_OF_BIN, axis=1)
        shares += reading.family[:, SMOOTH_FAMILIES + i, None] * part
    return np.asarray(shares)


def _smooth_counts(reading: Reading) -> Floats:
    """Return E[counts | a smooth family]: multinomial with its posterior mean shares."""
    group = reading.group
    if not reading.family[:, :SMOOTH_FAMILIES].any():
        return np.zeros(group.noisy.shape)
    k = np.arange(group.count + 1.0)
    log_prior = xlogy(k, np.maximum(reading.share, 1e-300)[:, :, None]) - gammaln(k + 1)
    return counts_given_total(log_prior, group.noisy, group.count, group.scale)


def _rough_counts(reading: Reading) -> list[Floats]:
    """Return E[counts | a rough family], for each: Dirichlet-multinomial around the mean of all."""
    group = reading.group
    k = np.arange(group.count + 1.0)
    found = []
    for alpha in CONCENTRATIONS:
        # Gamma(k + a) / (k! Gamma(a)); the last is the same for every k
        log_prior = gammaln(k + alpha * group.places[:, None]) - gammaln(k + 1)
        found.append(counts_given_total(log_prior[None], group.noisy, group.count, group.scale))
    return found


def _bandwidths(reading: Reading, share: Floats, width: Floats) -> Floats:
    """Return the bandwidth of the released shares, shape (n_rows,).

    The geometric mean of the robust bandwidth and of that with the widths of the templates, so that
    two bumps far apart are not smeared; never above the robust one.
    """
    n = np.full(len(share), float(reading.group.count))
    robust = own_bandwidth(share, width, n)
    smooth = reading.family[:, :SMOOTH_FAMILIES].sum(axis=1)
    bump = width * share.shape[1] * np.exp(reading.log_width)
    narrow = smooth * 1.06 * bump * n**-0.2 + (1 - smooth) * robust
    return np.asarray(np.sqrt(robust * np.minimum(robust, narrow)))


def wiener_shares(
    noisy: Floats,
    noise: Floats,
    sampling: Floats,
    target: Target = "claims",
    least_objects: int = LEAST_OBJECTS,
) -> Floats:
    """Return the shares of objects with equally many bins, each shrunk towards the mean of all.

    Wiener shrinkage: smooth parts of a histogram are kept, rough ones are noise.

    Shapes: `noisy` (n_objects, bins): noisy shares, unclamped. `noise` (n_objects,): variance of
    the noise on a share. `sampling` (n_objects,): 1 over the number of claims, or the sum of their
    squared weights over the squared sum.
    """
    objects, bins = noisy.shape
    if objects < least_objects:
        return on_simplex(noisy)
    # an orthonormal transform leaves the noise's variance as it is in every coefficient
    coefficient = dct(noisy, axis=1, norm="ortho")
    mean = coefficient.mean(axis=0)
    power = coefficient.var(axis=0, ddof=1)
    # E sum_b share**2, the noise taken off; at least that of even shares
    squares = max(float((noisy**2).sum(axis=1).mean() - bins * noise.mean()), 1 / bins)
    drawn = max(1 - squares, 0.0) * sampling / bins
    signal = np.maximum(power - noise.mean() - drawn.mean(), 0.0)
    signal[0] = 0.0  # the shares of every object sum to 1
    padded = np.concatenate((signal[1:2], signal[1:], signal[-1:]))
    # the spectrum of a density falls: binomial smoothing, then the running minimum
    smooth = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
    signal[1:] = np.minimum.accumulate(smooth)
    # E[wanted | noisy] = mean + S / (S + noise) (noisy - mean); claims vary by sampling too
    wanted = signal + (drawn[:, None] if target == "claims" else 0.0)
    everything = signal + (drawn + noise)[:, None]
    kept = np.where(everything > 0, wanted / np.where(everything > 0, everything, 1.0), 1.0)
    shrunk = mean + kept * (coefficient - mean)
    return on_simplex(idct(shrunk, axis=1, norm="ortho"))
