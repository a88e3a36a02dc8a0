"""The mean of bounded fits, with noise that all voters draw together and none of them knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact.coins import Coins, Words, WordSource, require_coins
from masquerade.exact.noise import laplace_variance
from masquerade.exact.number import Number, whole
from masquerade.preference.fit_report import (
    ALONE,
    DEFAULT_BOUND,
    SENSITIVITY,
    fits_on_grid,
    read_bound,
)
from masquerade.preference.l1_ball import STEPS
from masquerade.preference.mechanism import Release, Unit
from masquerade.preference.polya_noise import polya_share
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.secure_sum import SecureSum, SimulatedSecureSum, from_words, to_words
from masquerade.preference.vector_noise import LaplaceNoise

SIMULATED_SUM = "the secure sum was simulated: whoever ran this process could see each voter's fit"


@dataclass(frozen=True)
class SecureLaplace(PrivateMechanism):
    """The accuracy of `CentralLaplace` without an aggregator that sees anybody's preference.

    Each voter adds a share of the noise to a bounded fit, and a secure sum shows only the total.

    Parameters
    ----------
    epsilon : number
    unit : {"voter", "record"}
    bound : number
        Largest sum of a voter's absolute weights.
    honest : int, optional
        How many voters, at least, draw their share honestly and stay until the end. Shares are
        sized for that many, so if fewer do the promise is broken, and if more do the noise is
        larger than needed. Default: two thirds of the voters.
    secure_sum : SecureSum
        Default: a simulation in this process, which the guarantee then says.

    Privacy
    -------
    Protects each voter, with all records, from everybody, provided that at least `honest` voters
    are honest and that the secure sum shows nothing but the total modulo 2**64. The shares of
    `honest` voters add to exactly the noise of `CentralLaplace`; what others add is independent of
    it and cannot make it less.
    """

    unit: Unit = "voter"
    bound: Number = DEFAULT_BOUND
    honest: int | None = None
    secure_sum: SecureSum = field(default_factory=SimulatedSecureSum, compare=False, repr=False)

    name = "secure-laplace"
    units = ("voter", "record")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bound", read_bound(self.bound))
        if self.honest is not None:
            object.__setattr__(self, "honest", whole(self.honest, "honest", low=1))
        if not isinstance(self.secure_sum, SecureSum):
            raise ParameterError("secure_sum is no SecureSum; leave it out for a simulation.")

    def shares(self, voters: int) -> int:
        """Return for how many honest voters the noise is sized.

        Raises
        ------
        ParameterError
            There is one voter, whose sum would be that voter's fit, or fewer than `honest`.
        """
        if voters < 2:
            raise ParameterError(
                "a secure sum over one voter shows that voter's fit; use local-laplace."
            )
        sized = 2 * voters // 3 if self.honest is None else self.honest
        if sized > voters:
            raise ParameterError(
                f"honest is {sized} and there are {voters} voters; lower it, which adds noise."
            )
        return sized

    def vectors(self, records: Comparisons, *, voters: int, coins: Coins | None = None) -> Words:
        """Return what each voter puts into the secure sum, shape (n_voters, n_features).

        A voter's device calls this with its own records and the public number of voters.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`.
        """
        source = require_coins(coins)
        self.check(records)
        return self._vectors(records, voters, source)

    def _vectors(self, records: Comparisons, voters: int, source: WordSource) -> Words:
        assert isinstance(self.epsilon, Fraction)
        fits = fits_on_grid(records, read_bound(self.bound))
        scale = LaplaceNoise.of(self.epsilon, SENSITIVITY).scale
        noise = polya_share(source, scale, self.shares(voters), fits.size)
        return to_words(fits + noise.reshape(fits.shape))

    def combine(self, total: Words | Sequence[int], *, voters: int) -> Release:
        """Return weights from the total that the secure sum shows."""
        assert isinstance(self.epsilon, Fraction)
        sized = self.shares(voters)
        noise = LaplaceNoise.of(self.epsilon, SENSITIVITY)
        steps = from_words(np.asarray(total, dtype=np.uint64))
        step = float(read_bound(self.bound)) / STEPS / voters
        loss = noise.loss(1)
        assumed: tuple[str, ...] = (
            ALONE,
            f"at least {sized} of the {voters} voters draw their share honestly and stay",
            "the secure sum shows its total and nothing else",
        )
        if not self.secure_sum.protects:
            assumed = (*assumed, SIMULATED_SUM)
        return Release(
            weights=(steps * step).astype(np.float64),
            noise_covariance=np.eye(len(steps))
            * (laplace_variance(noise.scale) * voters / sized * step**2),
            guarantee=self._guarantee(
                "secure-sum" if self.secure_sum.protects else "aggregator", loss, loss, assumed
            ),
            mechanism=str(self),
            details={
                "bound": float(read_bound(self.bound)),
                "honest": sized,
                "secure_sum": type(self.secure_sum).__name__,
            },
        )

    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        voters = comparisons.n_voters
        vectors = self._vectors(comparisons, voters, source)
        return self.combine(self.secure_sum.total(vectors), voters=voters)

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        return {key: text for key, text in super().fields().items() if key != "secure_sum"}
