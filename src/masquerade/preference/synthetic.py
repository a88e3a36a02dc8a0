"""Made-up voters with known true weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range, one_of

FeatureKind = Literal["normal", "correlated", "scaled", "binary", "count"]

_AUTOREGRESSION = 0.85


@dataclass(frozen=True, slots=True, eq=False)
class MadeUpVoters:
    """Voters with the truth behind their choices.

    Attributes
    ----------
    weights : float array, shape (n_voters, n_features)
        Each voter's true weights; their mean is reference r1.
    population : float array, shape (n_features,)
        Mean of the population that voters were drawn from: reference r2.
    kind : {"normal", "correlated", "scaled", "binary", "count"}
        How alternatives are made; see `made_up_voters`.

    Examples
    --------
    >>> from masquerade.preference import made_up_voters
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> made_up_voters(rng, voters=20, features=3).choose(rng, records=5)
    Comparisons(100 records of 20 voters, 3 features)
    """

    weights: Floats
    population: Floats
    kind: FeatureKind = "normal"

    @property
    def mean_weights(self) -> Floats:
        """Mean of the voters' true weights (reference r1), shape (n_features,)."""
        mean: Floats = self.weights.mean(axis=0)
        return mean

    def choose(self, rng: np.random.Generator, records: int) -> Comparisons:
        """Return the choices of every voter on `records` pairs of alternatives.

        Features are named ``f0``, ``f1``, ... and have no declared ranges. The utility of an
        alternative is normal around ``weights . features`` with variance 1/2; the larger is chosen.
        """
        in_range(records, "records", low=1)
        voters, features = self.weights.shape
        pairs = _alternatives(rng, (voters * records, 2, features), self.kind)
        voter = np.repeat(np.arange(voters), records)
        utility = np.einsum("kad,kd->ka", pairs, self.weights[voter])
        # Variance 1/2 each, so that the difference of two has variance 1 and P = Phi(w . v).
        utility += rng.normal(scale=np.sqrt(0.5), size=utility.shape)
        first = utility[:, 0] >= utility[:, 1]
        rows = np.arange(len(pairs))
        return Comparisons.from_pairs(
            pairs[rows, np.where(first, 0, 1)],
            pairs[rows, np.where(first, 1, 0)],
            voter,
            features=[f"f{k}" for k in range(features)],
        )


def made_up_voters(
    rng: np.random.Generator, *, voters: int = 100, features: int = 10, kind: FeatureKind = "normal"
) -> MadeUpVoters:
    """Make up voters: a population mean uniform on [-1, 1], and weights normal around it.

    Parameters
    ----------
    rng : numpy.random.Generator
        Makes the voters reproducible.
    voters, features : int
        At least 1.
    kind : {"normal", "correlated", "scaled", "binary", "count"}
        Features of alternatives: independent standard normal; autoregressive with correlation 0.85;
        standard normal times scales from 0.1 to 3; 0 or 1 evenly; Poisson counts with mean 0.5.

    References
    ----------
    Wang et al. (2019), section 5.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> made_up_voters(rng, voters=20, features=3).choose(rng, records=5)
    Comparisons(100 records of 20 voters, 3 features)
    """
    in_range(voters, "voters", low=1)
    in_range(features, "features", low=1)
    one_of(kind, "kind", get_args(FeatureKind))
    mean = rng.uniform(-1, 1, features)
    return MadeUpVoters(mean + rng.normal(size=(voters, features)), mean, kind)


def _alternatives(
    rng: np.random.Generator, shape: tuple[int, int, int], kind: FeatureKind
) -> Floats:
    if kind == "binary":
        return rng.integers(0, 2, size=shape).astype(np.float64)
    if kind == "count":
        return rng.poisson(0.5, size=shape).astype(np.float64)
    values = rng.normal(size=shape)
    if kind == "correlated":
        # AR(1): correlation .85 to the power of the distance of two features.
        d = shape[2]
        covariance = _AUTOREGRESSION ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
        return values @ np.linalg.cholesky(covariance).T
    if kind == "scaled":
        return values * np.geomspace(0.1, 3, shape[2])
    return values
