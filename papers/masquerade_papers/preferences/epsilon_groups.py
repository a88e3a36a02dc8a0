"""The paper's crowd: conservative, moderate and liberal voters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import finite, text_of


@dataclass(frozen=True, slots=True)
class EpsilonGroups:
    """A made-up crowd of conservative, moderate and liberal voters.

    Attributes
    ----------
    conservative, moderate : float
        Shares of voters; the rest is liberal.
    low, middle, high : Fraction
        A conservative voter's epsilon is uniform from low to middle, a moderate one's from middle
        to high, a liberal one's is high.

    References
    ----------
    Wang et al. (2019), section 5.1, after Jorgensen, Yu and Cormode (2015).

    Examples
    --------
    >>> EpsilonGroups().low
    Fraction(1, 100)
    """

    conservative: float = 0.54
    moderate: float = 0.36
    low: Fraction = Fraction(1, 100)
    middle: Fraction = Fraction(1, 5)
    high: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        shares = (self.conservative, self.moderate, 1 - self.conservative - self.moderate)
        if not all(-1e-12 <= share <= 1 for share in shares):
            raise ParameterError(
                f"conservative {self.conservative} and moderate {self.moderate} are no shares of "
                "voters; expected at least 0 and together at most 1."
            )
        for name in ("low", "middle", "high"):
            object.__setattr__(self, name, finite(getattr(self, name), name))
        if not Fraction(1, 200) <= self.low <= self.middle <= self.high:
            raise ParameterError(
                f"low, middle and high are {text_of(self.low)}, {text_of(self.middle)} and "
                f"{text_of(self.high)}, expected ascending and at least 0.005, for epsilons are "
                "rounded to hundredths."
            )

    def draw(self, voters: int, rng: np.random.Generator) -> tuple[Fraction, ...]:
        """Return an epsilon for each voter, rounded to hundredths and never below a hundredth."""
        group = rng.choice(
            3,
            size=voters,
            p=[self.conservative, self.moderate, max(1 - self.conservative - self.moderate, 0)],
        )
        ends = np.array([float(self.low), float(self.middle), float(self.high), float(self.high)])
        uniform: Floats = rng.uniform(ends[group], ends[group + 1])
        hundredths = np.maximum(np.rint(uniform * 100).astype(np.int64), 1)
        return tuple(Fraction(int(each), 100) for each in hundredths)
