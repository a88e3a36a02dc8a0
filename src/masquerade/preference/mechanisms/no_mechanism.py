"""The mechanism that protects nobody: the baseline of private results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from masquerade.answers import Comparisons, Frame
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import Coins
from masquerade.exact.number import one_of, whole
from masquerade.preference.battle_counts import CountedBattles
from masquerade.preference.composition import Unit
from masquerade.preference.item_menus import largest_menu
from masquerade.preference.masked_choices import MaskedChoices
from masquerade.preference.mechanism import NEIGHBOURS, Release, register
from masquerade.preference.mechanisms.linear import fit_linear
from masquerade.preference.pair_ranking import PRIOR
from masquerade.preference.pooled_fit import fit_pooled
from masquerade.preference.strength_fit import (
    FEWEST_VOTERS,
    clustered_covariance,
    fit_strengths,
    larger_covariance,
    voter_scatter,
)
from masquerade.preference.thurstone import fit_voters
from masquerade.preference.tie_models import HALVES
from masquerade.preference.voter_groups import MOST_GROUPS, find_voter_groups

Fit = Literal["pooled", "average", "linear"]

_DEFAULT_BOUND: dict[str, float] = {"pooled": 1000.0, "average": 2.0, "linear": math.inf}


@register
@dataclass(frozen=True, slots=True)
class NoMechanism:
    """Learn weights from the raw choices, without any privacy.

    Parameters
    ----------
    epsilon : float
        Infinite, and cannot be anything else.
    unit : {"voter", "record", "choice"}
        Has no effect.
    fit : {"pooled", "average", "linear"}
        ``"pooled"``: one maximum-likelihood fit over all records. ``"average"``: the mean of the
        voters' own fits under an L1 bound, as in Wang et al. (2019). ``"linear"``: the direction of
        the linear statistic. They estimate different things; see Notes.
    bound : float, optional
        L1 bound on the scaled weights. Default: 2 for ``"average"``, 1000 for ``"pooled"``.
    voters_count_equally : bool
        For ``"pooled"``: see `fit_pooled`.
    groups : int
        For ``"pooled"``: most groups of voters to tell apart, 1 to 8; see `find_voter_groups`.

    Notes
    -----
    A pooled fit gives a voter with twice the records twice the say; an average gives every voter
    one vote but shrinks voters with strong views to the bound, and the ball of the bound depends on
    how features are scaled. On features spread evenly the three agree closely.

    Examples
    --------
    >>> NoMechanism().fit
    'pooled'
    """

    name: ClassVar[str] = "none"
    units: ClassVar[tuple[Unit, ...]] = ("voter", "record", "choice")

    epsilon: float = math.inf
    unit: Unit = "voter"
    fit: Fit = "pooled"
    bound: float | None = None
    voters_count_equally: bool = False
    groups: int = 1

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            raise ParameterError(
                f"epsilon is {self.epsilon!r} for the mechanism 'none', which adds no noise; leave "
                "epsilon out, or choose a mechanism that keeps it."
            )
        one_of(self.fit, "fit", _DEFAULT_BOUND)
        groups = whole(self.groups, "groups", low=1, high=MOST_GROUPS)
        object.__setattr__(self, "groups", groups)
        if groups > 1 and self.fit != "pooled":
            raise ParameterError("groups of voters are told apart by fit=pooled alone.")

    def release(self, comparisons: Comparisons | Frame, *, coins: Coins | None = None) -> Release:
        """Return the weights; there is no noise, so `coins` is not used."""
        del coins
        return self._learn(Comparisons.of(comparisons))

    def simulate(self, comparisons: Comparisons | Frame, rng: np.random.Generator) -> Release:
        """Return the weights; there is no noise, so `rng` is not used."""
        del rng
        return self._learn(Comparisons.of(comparisons))

    def __str__(self) -> str:
        return f"{self.name}:fit={self.fit}"

    def _learn(self, comparisons: Comparisons) -> Release:
        if comparisons.items is not None and largest_menu(comparisons.difference) > 2:
            raise ParameterError(
                f"records are choices from menus, and {self.name} fits pairs; fit_menus "
                "(masquerade menus --mechanism none) fits menus without privacy."
            )
        weights, covariance, details = self._fitted(comparisons)
        return Release(
            weights=weights,
            noise_covariance=np.zeros((len(weights), len(weights))),
            guarantee=Guarantee(
                *(INFINITE_LOSS, INFINITE_LOSS, INFINITE_LOSS),
                answers=1,
                assumptions=(),
                unit=self.unit,
                trust="everyone",
                status="none",
                neighbours=NEIGHBOURS[self.unit],
            ),
            mechanism=str(self),
            sampling_covariance=covariance,
            direction_only=self.fit == "linear",
            details=details,
        )

    def _of_items(self, comparisons: Comparisons) -> tuple[Floats, Floats, dict[str, object]]:
        """Return strengths of named items, with errors clustered by voter.

        The prior has a standard deviation of 2 in log-odds: an item that won everything has a
        finite strength with an error, and one that nobody saw has the prior's own width.
        """
        counted = CountedBattles.of_comparisons(comparisons)
        fit = fit_strengths(counted.counts, HALVES, ridge=PRIOR)
        own, remarks = fit.inverse(), []
        scatter, voters = voter_scatter(fit, counted)
        if voters < FEWEST_VOTERS:
            errors = own
            remarks.append("there are fewer than 10 voters, too few to see whether they differ")
        else:
            errors = larger_covariance(own, clustered_covariance(fit, scatter))
        details: dict[str, object] = {"model": "bradley-terry", "ridge": PRIOR, "converged": True}
        if not counted.counts.groups().main.all():
            remarks.append(
                "results link some items to the others one way only, or not at all: the prior "
                "alone keeps their strengths finite (masquerade rank names them)"
            )
        if remarks:
            details["remark"] = "; ".join(remarks)
        return fit.strengths, errors, details

    def _fitted(self, comparisons: Comparisons) -> tuple[Floats, Floats | None, dict[str, Any]]:
        if comparisons.items is not None and self.fit == "pooled" and self.bound is None:
            return self._of_items(comparisons)
        bound = _DEFAULT_BOUND[self.fit] if self.bound is None else self.bound
        if self.fit == "linear":
            linear = fit_linear(comparisons)
            return linear.weights, linear.covariance, {}
        if self.fit == "average":
            fits = fit_voters(comparisons, bound=bound)
            n = comparisons.n_voters
            # centred[voter, feature]: how far a voter's own fit is from the mean
            centred = fits.weights - fits.weights.mean(axis=0)
            # Covariance of a mean of voters; one voter has none.
            spread = centred.T @ centred / max(n - 1, 1) / n
            details = {
                "converged": bool(fits.converged.all()),
                "largest_gap": float(fits.gap.max()),
                "voters_on_bound": int(
                    np.count_nonzero(np.abs(fits.weights).sum(axis=1) >= bound * (1 - 1e-9))
                ),
            }
            return fits.weights.mean(axis=0), spread if n > 1 else None, details
        pooled = fit_pooled(
            comparisons, bound=bound, voters_count_equally=self.voters_count_equally
        )
        return (
            pooled.weights,
            pooled.covariance,
            self._groups(comparisons)
            | {
                "model": "probit",
                "converged": pooled.converged,
                "gap": pooled.gap,
                "identified": pooled.identified,
                "on_bound": pooled.on_bound,
            },
        )

    def _groups(self, comparisons: Comparisons) -> dict[str, object]:
        if self.groups == 1:
            return {}
        every = np.ones(len(comparisons))  # each choice counts once, and none is masked
        choices = MaskedChoices(comparisons.scaled(), every, every)
        return {"groups": find_voter_groups(choices, comparisons.voter, most=self.groups).to_json()}
