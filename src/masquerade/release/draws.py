"""Floating-point draws from uniform words, for what is computed from a private result anyway."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from masquerade.exact.coins import WordSource
from masquerade.release.mixture import Mixtures
from masquerade.release.objects import Floats, Integers


def uniforms(source: WordSource, size: int) -> Floats:
    """Return numbers above 0 and below 1, multiples of 2**-54."""
    words = source.words(size) >> np.uint64(11)
    # The largest word would round up to 1.
    return np.minimum((words.astype(np.float64) + 0.5) * 2.0**-53, 1 - 2.0**-53)


def normals(source: WordSource, size: int) -> Floats:
    """Return standard normal numbers."""
    return np.asarray(ndtri(uniforms(source, size)))


def points_of(mixtures: Mixtures, samples: Integers, source: WordSource) -> Floats:
    """Return points drawn from each object's mixture, object by object.

    Parameters
    ----------
    mixtures : Mixtures
    samples : int array, shape (n_objects,)
        How many of each; 0 where a mixture has no bumps.
    source : WordSource
    """
    of = np.repeat(np.arange(mixtures.n_objects), samples)
    upto = np.concatenate(([0.0], np.cumsum(mixtures.weight)))
    first, last = upto[mixtures.offset[of]], upto[mixtures.offset[of + 1]]
    target = first + uniforms(source, len(of)) * (last - first)
    chosen = np.searchsorted(upto, target, side="right") - 1
    chosen = np.clip(chosen, mixtures.offset[of], mixtures.offset[of + 1] - 1)
    return np.asarray(mixtures.location[chosen] + mixtures.width[chosen] * normals(source, len(of)))
