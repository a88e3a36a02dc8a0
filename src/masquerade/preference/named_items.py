"""Private rankings of named items, one mechanism for each unit that can be protected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from masquerade.answers import Comparisons
from masquerade.preference.composition import Composition, Noise, Statistic, Unit
from masquerade.preference.item_counts import (
    Design,
    NetWins,
    VoterNetWins,
    Wins,
    require_item_records,
)
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import whose_noise
from masquerade.preference.vector_noise import LAPLACE, NORM

ItemTrust = Literal["local", "aggregator"]


@dataclass(frozen=True)
class ItemMechanism(PrivateMechanism):
    """Counts of named items plus additive noise: what the three kinds have in common."""

    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    trust: ItemTrust = "aggregator"

    def check(self, comparisons: Comparisons) -> None:
        """Raise where the mechanism cannot protect these comparisons; nothing is drawn."""
        super().check(comparisons)
        require_item_records(comparisons.difference)

    def with_noise(self, statistic: Statistic, noise: Noise = LAPLACE) -> Composition:
        """Return the statistic with this noise."""
        return Composition(statistic, noise, whose_noise(self.trust, self.weights, self.most))


@dataclass(frozen=True)
class ItemWins(ItemMechanism):
    """Publish how often each named item was chosen, with noise, and the strengths that this gives.

    Of public pairs the wins say all that the Bradley-Terry model needs, so its whole fit runs on
    published numbers.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all; one a voter where `trust` is ``"local"``.
    unit : {"choice"}
    weights, most
        How much each voter counts where `trust` is ``"local"``; see `voter_weights`.
    trust : {"local", "aggregator"}
        Who adds the noise: each voter, or once whoever computes the result.

    Privacy
    -------
    Protects each choice. Neighbours: one choice is turned round; which pairs were shown is public,
    and no pair was picked by looking at raw answers. It moves two counts by one each, so
    independent discrete Laplace noise of scale ``2 / epsilon`` costs epsilon exactly, for any
    number of items (of two items one count is published, with scale ``1 / epsilon``). A voter with
    n choices is protected at n times epsilon.

    References
    ----------
    Cai, Chakraborty and Wang (2025), arXiv 2507.09388, whose perturbed likelihood this is.
    """

    unit: Unit = "choice"

    name = "item-wins"
    units = Wins.units

    def compose(self) -> Composition:
        """Return wins with Laplace noise."""
        return self.with_noise(Wins())


@dataclass(frozen=True)
class ItemNetWins(ItemMechanism):
    """Publish how often each named item was chosen less how often it was rejected, with noise.

    Parameters
    ----------
    unit : {"record"}
    epsilon, weights, most, trust
        As for `ItemWins`.
    design : {"unknown", "balanced"}
        What the plan of the questions says of the pairs, before anybody answered. ``"balanced"``:
        each pair is asked about equally often; weights are then Bradley-Terry strengths with
        standard errors. ``"unknown"``: weights are net wins a meeting, as if all items met equally
        often; the ranking is the same.

    Privacy
    -------
    Protects each record, the pair included. Neighbours: one record is replaced by any other; how
    many records each voter has is public. The net wins then move by 4 in all, so independent
    discrete Laplace noise of scale ``4 / epsilon`` costs epsilon exactly. How often an item was
    shown is private too, and nothing is divided by it. A voter with n records is protected at n
    times epsilon.
    """

    unit: Unit = "record"
    design: Design = "unknown"

    name = "item-net-wins"
    units = NetWins.units

    def compose(self) -> Composition:
        """Return net wins with Laplace noise."""
        return self.with_noise(NetWins(self.design))


@dataclass(frozen=True)
class ItemVotes(ItemMechanism):
    """Publish each named item's net wins with noise that hides all records of a voter together.

    Parameters
    ----------
    unit : {"voter"}
    epsilon, weights, most, trust
        As for `ItemWins`.
    records : int, optional
        About how many records a voter has, from the design of the questions, at least 1. Each
        voter's vector is then cut to a length of 1.5 times that of so many records on items at
        random, and noise goes by length; for at most 32 items. Default: each voter's net wins are
        divided by the voter's number of records, and noise is independent.

    Privacy
    -------
    Protects each voter, the number of records included. Neighbours: all records of one voter are
    replaced by others. Divided net wins are whole numbers of steps whose sizes add to at most 2, so
    two voters' differ by at most 4; cut ones have a length of at most c, so they are at most 2 c
    apart. Both noises are drawn exactly and cost epsilon.
    """

    unit: Unit = "voter"
    records: int | None = None

    name = "item-votes"
    units = VoterNetWins.units

    def compose(self) -> Composition:
        """Return bounded net wins, with noise by length where they were cut."""
        noise = LAPLACE if self.records is None else NORM
        return self.with_noise(VoterNetWins(self.records), noise)
