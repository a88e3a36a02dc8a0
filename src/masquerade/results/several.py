"""Shares of people behind each option of a question with several answers.

Bits are masked independently, so each option is a question of two answers by itself; what tests
find is corrected for their number (Bonferroni), for options of one person depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from masquerade.exact.arrays import Floats, Integers
from masquerade.mechanisms import BitwiseResponse, Mechanism, RandomizedResponse
from masquerade.truth import (
    Estimate,
    Heterogeneity,
    LevelShares,
    Plausibility,
    level_shares,
    share_plausibility,
)

_TICKED = 1  # the second answer of an option's own question: not ticked, ticked


@dataclass(frozen=True)
class OptionShares:
    """Shares of people with each option ticked, "no answer" last where there is one.

    `groups`: for each option, how many people at each level report it unticked and ticked, and the
    mask of one bit.
    `pool` (mapping of str to int, or None): as in `level_shares`.
    """

    groups: tuple[dict[str, tuple[list[int], RandomizedResponse]], ...]
    pool: Mapping[str, int] | None
    confidence: float

    @classmethod
    def of(
        cls,
        sent: Mapping[str, tuple[Integers, Mechanism]],
        pool: Mapping[str, int] | None,
        *,
        confidence: float,
    ) -> OptionShares:
        """Return the shares behind the reports at each level."""
        counted: dict[str, tuple[int, list[int], RandomizedResponse]] = {}
        for name, (reports, mechanism) in sent.items():
            assert isinstance(mechanism, BitwiseResponse)
            ticked = (reports[:, None] >> np.arange(mechanism.bits) & 1).sum(axis=0)
            counted[name] = (len(reports), ticked.tolist(), mechanism.bit)
        bits = len(next(iter(counted.values()))[1])
        groups = tuple(
            {name: ([n - held[bit], held[bit]], mask) for name, (n, held, mask) in counted.items()}
            for bit in range(bits)
        )
        return cls(groups, pool, confidence)

    @cached_property
    def _shares(self) -> list[LevelShares]:
        return [
            level_shares(one, pool=self.pool, confidence=self.confidence) for one in self.groups
        ]

    @cached_property
    def _together(self) -> list[LevelShares]:
        # Bonferroni over the options: all intervals hold together with the confidence
        confidence = 1 - (1 - self.confidence) / len(self.groups)
        return [level_shares(one, pool=self.pool, confidence=confidence) for one in self.groups]

    @property
    def reported(self) -> Floats:
        """Raw share of reports in which each option is ticked."""
        return np.array([float(one.reported[_TICKED]) for one in self._shares])

    def estimates(self, estimator: str, *, simultaneous: bool = False) -> tuple[Estimate, ...]:
        """Return the share of people with each option ticked; see `LevelShares.estimates`."""
        used = self._together if simultaneous else self._shares
        return tuple(one.estimates(estimator)[_TICKED] for one in used)

    def sensitivity(self) -> tuple[Estimate, ...]:
        """Return the ``eb`` shares where levels may differ twice as much as was allowed for."""
        return tuple(one.sensitivity()[_TICKED] for one in self._shares)

    def likeliest(self) -> Floats:
        """Return the maximum-likelihood share of each option by itself."""
        return np.array([float(one.likeliest()[_TICKED]) for one in self._shares])

    @property
    def heterogeneity(self) -> Heterogeneity:
        """Whether levels differ, by the option that tells most."""
        # Bonferroni: the least of the probabilities, times the number of options.
        telling = min((one.heterogeneity for one in self._shares), key=lambda one: one.probability)
        return replace(telling, probability=min(1.0, telling.probability * len(self._shares)))

    def plausibility(self) -> Plausibility:
        """Return whether honest devices send such reports, by the oddest option."""
        found = [share_plausibility(one) for one in self.groups]
        return Plausibility.of([(one.probability, one.reason) for one in found])
