"""A sum of many voters' vectors of which nobody sees a part, with noise that they draw together."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import Coins, Words, WordSource
from masquerade.exact.noise import laplace_variance
from masquerade.exact.number import whole
from masquerade.preference.composition import Composition, Epsilons, Reports, TrustName
from masquerade.preference.polya_noise import polya_share
from masquerade.preference.trust import ALONE
from masquerade.preference.vector_noise import LaplaceNoise

SIMULATED_SUM = "the secure sum was simulated: whoever ran this process could see each voter's fit"


@runtime_checkable
class SecureSum(Protocol):
    """A protocol that adds vectors modulo 2**64 and shows only their sum.

    Examples
    --------
    >>> from masquerade.preference import SimulatedSecureSum
    >>> isinstance(SimulatedSecureSum(), SecureSum)
    True
    """

    #: Whether whoever runs it is kept from seeing a single vector.
    protects: bool

    def total(self, vectors: Words) -> Words:
        """Return the sum modulo 2**64 of the rows, shape (dimension,).

        Parameters
        ----------
        vectors : uint64 array, shape (n_voters, dimension)
        """
        ...


class SimulatedSecureSum:
    """Goes through the motions of a secure sum in this process, which sees everything.

    Each row is hidden behind random words that add to zero, then the hidden rows are added. It
    shows what a real protocol would carry, and protects nobody from whoever runs the process.

    Examples
    --------
    >>> SimulatedSecureSum().total(np.array([[1, 2], [2**64 - 3, 4]], dtype=np.uint64))
    array([18446744073709551614,                    6], dtype=uint64)
    """

    protects = False

    def total(self, vectors: Words) -> Words:
        """Return the sum modulo 2**64 of the rows, shape (dimension,)."""
        total: Words = self.hide(vectors).sum(axis=0, dtype=np.uint64)
        return total

    def hide(self, vectors: Words) -> Words:
        """Return rows of which each by itself is uniformly random, with the same sum."""
        voters, dimension = vectors.shape
        if voters < 2:
            raise ParameterError("a sum of one vector hides nothing; at least two voters.")
        # All masks but the first are random; the first makes them add to 0 modulo 2**64.
        masks = np.empty_like(vectors)
        masks[1:] = Coins().words((voters - 1) * dimension).reshape(voters - 1, dimension)
        masks[0] = np.uint64(0) - masks[1:].sum(axis=0, dtype=np.uint64)
        return vectors + masks


def to_words(vectors: Integers) -> Words:
    """Return integers modulo 2**64."""
    # Two's complement: sums modulo 2**64 are those of the integers, numbers below 0 included.
    return vectors.astype(np.int64).view(np.uint64)


def from_words(words: Words) -> Integers:
    """Return words as integers between -2**63 and 2**63 - 1."""
    return words.view(np.int64)


@dataclass(frozen=True, slots=True)
class SecureTrust:
    """Each voter masks a row with a share of the noise, and a secure sum shows the total alone.

    `honest`: how many voters, at least, draw their share honestly and stay until the end. Default:
    two thirds of the voters. `secure_sum`: by default a simulation in this process.
    """

    honest: int | None = None
    secure_sum: SecureSum = field(default_factory=SimulatedSecureSum)

    one_epsilon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.honest is not None:
            object.__setattr__(self, "honest", whole(self.honest, "honest", low=1))
        if not isinstance(self.secure_sum, SecureSum):
            raise ParameterError("secure_sum is no SecureSum; leave it out for a simulation.")

    @property
    def name(self) -> TrustName:
        """``"secure-sum"``, or ``"aggregator"`` where it is a simulation."""
        return "secure-sum" if self.secure_sum.protects else "aggregator"

    def shares(self, voters: int) -> int:
        """Return for how many honest voters the noise is sized."""
        if voters < 2:
            raise ParameterError(
                "a secure sum over one voter shows that voter's fit; use local-laplace."
            )
        # Rounded down: fewer shares to rely on, and so more noise.
        honest = 2 * voters // 3 if self.honest is None else self.honest
        if honest > voters:
            raise ParameterError(
                f"honest is {honest} and there are {voters} voters; lower it, which adds noise."
            )
        return honest

    def vectors(
        self,
        parts: Composition,
        records: Comparisons,
        epsilon: Fraction,
        source: WordSource,
        *,
        voters: int,
    ) -> Words:
        """Return each voter's row with a share of the noise, modulo 2**64."""
        rows = parts.statistic.rows(records)
        # Shares for `honest` voters add to the noise of an aggregator; sized for all voters, they
        # would add to too little as soon as one stays away (the specification, 5.6).
        scale = LaplaceNoise.of(epsilon, parts.statistic.sensitivity(records.n_features)).scale
        noise = polya_share(source, scale, self.shares(voters), rows.size)
        return to_words(rows + noise.reshape(rows.shape))

    def report(
        self, parts: Composition, total: Words, epsilon: Fraction, *, voters: int
    ) -> Reports:
        """Return what reaches the aggregator: the total, shape (size,), and its noise.

        Shares of all voters are in it, those beyond the number that it is sized for too.
        """
        honest = self.shares(voters)
        features = len(total)
        # Each share has 1 / honest of the noise's variance, and there are `voters` of them.
        noise = LaplaceNoise.of(epsilon, parts.statistic.sensitivity(features))
        return Reports(
            from_words(total)[None],
            np.array([laplace_variance(noise.scale) * voters / honest]),
            records=np.zeros(1, dtype=np.int64),
            features=features,
            voters=voters,
            assumptions=(
                ALONE,
                f"at least {honest} of the {voters} voters draw their share honestly and stay",
                "the secure sum shows its total and nothing else",
                *(() if self.secure_sum.protects else (SIMULATED_SUM,)),
            ),
            details={"honest": honest, "secure_sum": type(self.secure_sum).__name__},
        )

    def collect(
        self, parts: Composition, comparisons: Comparisons, epsilons: Epsilons, source: WordSource
    ) -> Reports:
        """Return the total of all voters' vectors."""
        voters = comparisons.n_voters
        vectors = self.vectors(parts, comparisons, epsilons[0], source, voters=voters)
        return self.report(parts, self.secure_sum.total(vectors), epsilons[0], voters=voters)
