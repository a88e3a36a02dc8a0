"""The choice of a mechanism, by public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np

from masquerade.answers import Comparisons, Frame
from masquerade.errors import ParameterError
from masquerade.exact.coins import Coins
from masquerade.exact.number import one_of, whole
from masquerade.mechanisms.text import text_form
from masquerade.preference.composition import Unit
from masquerade.preference.item_menus import largest_menu
from masquerade.preference.mechanism import Release, register
from masquerade.preference.mechanisms.central_laplace import CentralLaplace
from masquerade.preference.mechanisms.choice_response import ChoiceResponse
from masquerade.preference.mechanisms.direction_selection import DirectionSelection
from masquerade.preference.mechanisms.linear import LinearKNorm, LinearLaplace
from masquerade.preference.mechanisms.noisy_item_wins import ItemNetWins, ItemVotes, ItemWins
from masquerade.preference.mechanisms.slope_and_moment import LinearMoment
from masquerade.preference.personal_epsilon import Epsilon, read_epsilon
from masquerade.preference.private_mechanism import PrivateMechanism, text_of_value
from masquerade.preference.vector_noise import MOST_DIMENSIONS

AutomaticTrust = Literal["local", "aggregator"]


@register
@dataclass(frozen=True)
class Automatic:
    """The mechanism that is most accurate for a unit, a trust and the size of the study.

    It looks at public numbers alone: whether alternatives are named items or have features, how
    many of these and how many voters there are, epsilon, and, where numbers of records are public,
    these. A choice by looking at results would itself tell something of the answers.

    Parameters
    ----------
    epsilon : number, or sequence of numbers
        Of one unit, in nats; one a voter where `trust` is ``"local"``.
    unit : {"record", "choice", "voter"}
        What is protected; see `masquerade.preference.mechanism.NEIGHBOURS`.
    trust : {"aggregator", "local"}
        Whoever computes the result sees the records, or nobody does.
    records : int, optional
        For the unit ``"voter"``: about how many records a voter has, from the design of the
        questions; it cannot be read off the records, which are protected with their number.

    Privacy
    -------
    That of the mechanism that is chosen, which the release names.

    Examples
    --------
    >>> items = Comparisons.from_frame(
    ...     {"voter": ["ann", "bob"], "chosen": ["tea", "milk"], "rejected": ["milk", "water"]},
    ...     items=["milk", "tea", "water"])
    >>> str(Automatic(1, unit="choice").choose(items.by_items()))
    'item-wins:epsilon=1'
    """

    epsilon: Epsilon
    unit: Unit = "record"
    trust: AutomaticTrust = "aggregator"
    records: int | None = None

    name: ClassVar[str] = "auto"
    units: ClassVar[tuple[Unit, ...]] = ("record", "choice", "voter")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon))
        one_of(self.unit, "unit", self.units)
        one_of(self.trust, "trust", get_args(AutomaticTrust))
        if self.records is not None:
            object.__setattr__(self, "records", whole(self.records, "records", low=1))

    def choose(self, comparisons: Comparisons) -> PrivateMechanism:
        """Return the mechanism for comparisons with features, or with items as features."""
        named = comparisons.items is not None
        if named and not comparisons.features:
            comparisons = comparisons.by_items()
        chosen = (self._for_items if named else self._for_features)[self.unit](self, comparisons)
        return replace(chosen, epsilon=self.epsilon)

    def release(
        self,
        comparisons: Comparisons | Frame,
        *,
        coins: Coins | None = None,
        public_menus: bool = False,
    ) -> Release:
        """Return the release of the chosen mechanism; see `PrivateMechanism.release`."""
        comparisons = Comparisons.of(comparisons)
        chosen = self.choose(comparisons)
        return chosen.release(comparisons, coins=coins, public_menus=public_menus)

    def simulate(self, comparisons: Comparisons | Frame, rng: np.random.Generator) -> Release:
        """Return the chosen mechanism's release with seeded noise; it protects nobody."""
        comparisons = Comparisons.of(comparisons)
        return self.choose(comparisons).simulate(comparisons, rng)

    def __str__(self) -> str:
        fields = {"epsilon": text_of_value(self.epsilon), "unit": self.unit, "trust": self.trust}
        return text_form(self.name, fields)

    @property
    def _smallest(self) -> Fraction:
        """The smallest epsilon of a voter."""
        own = read_epsilon(self.epsilon)
        return min(own) if isinstance(own, tuple) else own

    def _choices_of_items(self, comparisons: Comparisons) -> PrivateMechanism:
        epsilon = float(self._smallest)
        if self.trust == "local" and largest_menu(comparisons.difference) > 2:
            raise ParameterError(
                "where nobody is trusted, choices from menus are masked one by one: take "
                "MenuResponse(epsilon).learn(menus, public_menus=True), masquerade menus "
                "--mechanism menu-response on the command line."
            )
        # The variances of one voter's masked wins (the specification of items, 5): randomized
        # response of n choices among K items, or Laplace noise on their counts.
        each = len(comparisons) / max(comparisons.n_voters, 1)
        response = each / (2 * comparisons.n_features) * (1 / math.tanh(epsilon / 2) ** 2 - 1)
        if self.trust == "local" and response < 8 / epsilon**2:
            return ChoiceResponse(1, estimator="bradley-terry")
        return ItemWins(1, trust=self.trust)

    def _records_of_items(self, comparisons: Comparisons) -> PrivateMechanism:
        return ItemNetWins(1, trust=self.trust)

    def _voters_of_items(self, comparisons: Comparisons) -> PrivateMechanism:
        if self.trust == "local":  # two voters' net wins differ by too much to mask each alone
            return self._voters(comparisons)
        k, records = comparisons.n_features, self.records
        # Noise by length hides a cut vector with less noise where records are many.
        cut = records is not None and k <= MOST_DIMENSIONS and k + 1 < 1.78 * records
        return ItemVotes(1, trust=self.trust, records=records if cut else None)

    def _choices(self, comparisons: Comparisons) -> PrivateMechanism:
        return ChoiceResponse(1) if self.trust == "local" else self._sum(comparisons, "choice")

    def _records(self, comparisons: Comparisons) -> PrivateMechanism:
        # Where noise is small the second moment is worth its share (the specification of uneven
        # features, 7); a local one takes as many records times the root of the voters.
        d, epsilon = comparisons.n_features, float(self._smallest)
        needed = 10 * d**2.5
        if self.trust == "local":
            needed *= math.sqrt(max(comparisons.n_voters, 1))
        if len(comparisons) * epsilon > needed:
            return LinearMoment(1, trust=self.trust)
        return self._sum(comparisons, "record")

    def _voters(self, comparisons: Comparisons) -> PrivateMechanism:
        return DirectionSelection(1) if self.trust == "local" else CentralLaplace(1)

    def _sum(self, comparisons: Comparisons, unit: Unit) -> PrivateMechanism:
        kind = LinearKNorm if comparisons.n_features <= MOST_DIMENSIONS else LinearLaplace
        return kind(1, unit=unit, trust=self.trust)

    _for_items: ClassVar[dict[str, Callable[[Automatic, Comparisons], PrivateMechanism]]] = {
        "choice": _choices_of_items,
        "record": _records_of_items,
        "voter": _voters_of_items,
    }
    _for_features: ClassVar[dict[str, Callable[[Automatic, Comparisons], PrivateMechanism]]] = {
        "choice": _choices,
        "record": _records,
        "voter": _voters,
    }
