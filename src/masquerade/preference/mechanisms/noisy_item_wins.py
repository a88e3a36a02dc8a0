"""Private rankings of named items: counts of wins, and a mechanism for each unit to protect."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import one_of, whole
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.composition import (
    Composition,
    Estimate,
    Noise,
    Reports,
    Sensitivity,
    Statistic,
    Unit,
)
from masquerade.preference.directions import UNIT, integer_root, sums_by_voter
from masquerade.preference.item_menus import (
    NEVER_MET,
    estimate_of_strengths,
    largest_menu,
    menu_strengths,
    require_menu_records,
)
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.mechanism import register
from masquerade.preference.other_voters import reports_show_spread, spread_of_reports
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.strength_fit import fit_strengths
from masquerade.preference.tie_models import HALVES
from masquerade.preference.trust import whose_noise
from masquerade.preference.vector_noise import LAPLACE, NORM

Design = Literal["unknown", "balanced"]

BALANCED = "the questions were planned so that each pair of items is asked about equally often"

_MOST_NET_WINS = 1 << 16


def require_item_records(difference: Floats) -> None:
    """Refuse records that are not one item chosen and another rejected, or nothing at all.

    Raises `InvalidRecord` (such a record could move counts further than the noise hides).
    """
    sizes = np.abs(difference).sum(axis=1)
    one_each = (difference.max(axis=1, initial=0) == 1) & (difference.min(axis=1, initial=0) == -1)
    bad = (sizes != 0) & ~((sizes == 2) & one_each)
    if bad.any():
        raise InvalidRecord(
            f"record {int(np.argmax(bad)) + 1} is not 1 for the item chosen, -1 for the one "
            "rejected and 0 elsewhere; give columns chosen and rejected with names of items."
        )


def net_wins(records: Comparisons) -> Integers:
    """Return each voter's net wins of each item, shape (n_voters, n_items)."""
    require_item_records(records.difference)
    return sums_by_voter(records.difference.astype(np.int64), records.offsets)


def pairs_met(pairs: Comparisons, emphasis: Floats) -> Floats:
    """Return how often each pair of items was shown, shape (n_items, n_items), diagonal 0.

    `emphasis` (n_records,): how often each record counts. Which item was chosen is not read.
    """
    shown = np.abs(pairs.difference)
    met: Floats = (shown * emphasis[:, None]).T @ shown
    np.fill_diagonal(met, 0)
    return met


def on_all_items(counts: Floats, variance: float, *, items: int) -> tuple[Floats, float]:
    """Return counts of all items that sum to 0, and the variance V of the noise in one.

    Of two items one count is published, for the other follows from it; its noise then stands in
    both. The noise's covariance is V times the projection on sum 0.
    """
    if items == 2:
        return np.array([counts[0], -counts[0]]), 2 * variance
    centred: Floats = counts - counts.mean()
    return centred, variance


def perturbed_strengths(
    wins: Floats, met: Floats, variance: float, noise: Floats | None = None
) -> Estimate:
    """Return Bradley-Terry strengths from noisy wins and public meetings, with their errors.

    `wins` (n_items,): add up to the number of records. `met` (n_items, n_items): public. `variance`
    of the noise in a count. `noise` (n_items, n_items): its covariance, by default that of
    independent noise in each count.

    Notes
    -----
    With public pairs the wins are sufficient for the model, so that the fit reads the answers by
    way of the noisy wins alone and costs nothing: no share of epsilon is spent on curvature, and
    the ridge may be as small as it likes (the perturbed maximum likelihood of Cai, Chakraborty and
    Wang, 2025). The ridge ``1 + V / h``, with h the mean information an item at indifference, is a
    prior of variance 1 for the strengths, widened by the noise.

    For the errors see `estimate_of_strengths`: sampling, noise, and the bias of the ridge under its
    prior.
    """
    k = len(wins)
    information_an_item = max(float(met.sum()) / (4 * k), NEVER_MET)
    ridge = 1 + variance / information_an_item
    # Half of a pair's meetings as wins of either, and what the wins say beyond them.
    first, second = np.nonzero(np.triu(met, 1))
    half = met[first, second] / 2
    counts = np.stack([half, np.zeros_like(half), half])
    cells = BattleCounts(k, first, second, counts, counts, np.zeros((len(first), 0)))
    found = fit_strengths(cells, HALVES, ridge=ridge, tilt=wins - met.sum(axis=1) / 2)
    noise = variance * (np.eye(k) - 1 / k) if noise is None else noise
    return estimate_of_strengths(found.strengths, found.information, ridge, noise, "bradley-terry")


@dataclass(frozen=True, slots=True)
class Wins:
    """How often each item was chosen, where which pairs or menus were shown is public.

    Another choice from the same menu takes one win from an item and gives it to another.
    """

    units: ClassVar[tuple[Unit, ...]] = ("choice",)
    whole_voter: ClassVar[bool] = False
    row_a_record: ClassVar[bool] = False

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's wins: of each item, or of the first of two."""
        require_menu_records(records.difference)
        chosen = (records.difference > 0).astype(np.int64)
        return published_counts(sums_by_voter(chosen, records.offsets))

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far one choice moves the wins: two of them by one."""
        return Sensitivity(1, 1) if features == 2 else Sensitivity(2, 2)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters, of wins over their number."""
        # A choice moves two of K counts by a half either way: 1 / (2 K) each on average.
        return np.full(len(variance), 1 / (2 * features)), variance / np.maximum(records, 1)

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the strengths that the noisy wins and the public pairs or menus give."""
        assert pairs is not None
        # Reports of devices are averaged by share, the pairs with them: back to a sum of records.
        share = reports.shares if len(reports.shares) > 1 else np.ones(pairs.n_voters)
        scale = len(pairs) / max(float(share @ pairs.records_per_voter()), 1e-12)
        emphasis = scale * share[pairs.voter]
        factor = scale if len(reports.shares) > 1 else 1.0
        k = reports.features
        if largest_menu(pairs.difference) > 2:
            shown = pairs.difference != 0  # which of them was chosen is not read
            counts, variance = on_all_items(
                factor * reports.total, factor**2 * reports.total_variance, items=k
            )
            choices = float(emphasis @ shown.any(axis=1))
            return menu_strengths(counts + choices / k, shown, emphasis, variance)
        met = pairs_met(pairs, emphasis)
        records = float(met.sum()) / 2
        counts = factor * reports.total - (records / 2 if k == 2 else 0.0)
        noisy, variance = on_all_items(counts, factor**2 * reports.total_variance, items=k)
        return perturbed_strengths(noisy + records / k, met, variance)


@dataclass(frozen=True, slots=True)
class NetWins:
    """How often each item was chosen, less how often it was rejected, where pairs are private.

    `design`: what the plan of the questions says of the pairs.
    """

    design: Design = "unknown"

    units: ClassVar[tuple[Unit, ...]] = ("record",)
    whole_voter: ClassVar[bool] = False
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of(self.design, "design", ("unknown", "balanced"))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's net wins: of each item, or of the first of two."""
        return published_counts(net_wins(records))

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far replacing a record moves net wins: two records' two ones, all apart."""
        # (a, b) -> (b, a) moves two counts by 2, (a, b) -> (c, d) four by 1; lengths sqrt 8 and 2.
        return Sensitivity(2, 2) if features == 2 else Sensitivity(4, 3)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters, of net wins over their number."""
        return np.full(len(variance), 2 / features), variance / np.maximum(records, 1)

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return net wins a meeting, or strengths where pairs were planned to meet equally often.

        How often an item was really shown is private, so no count is divided by it: whole numbers
        of noise would tell it.
        """
        k = reports.features
        scale = len(reports.shares) if len(reports.shares) > 1 else 1
        records = max(scale * reports.total_records, 1.0)
        net, variance = on_all_items(
            scale * reports.total, scale**2 * reports.total_variance, items=k
        )
        if self.design == "unknown":
            if reports_show_spread(reports):
                spread = scale**2 * spread_of_reports(
                    _of_all_items(reports.rows, k), reports.shares
                )
                between = at_least_zero(spread - variance * (np.eye(k) - 1 / k))
            else:
                # n records of items that meet evenly, at indifference: 2 n / (k - 1) off the mean.
                repeated = scale**2 * float(reports.shares**2 @ reports.records)
                between = 2 * repeated / (k - 1) * (np.eye(k) - 1 / k)
            return scores_a_meeting(net, variance, between, meetings=2 * records / k)
        met = np.full((k, k), 2 * records / (k * (k - 1)))
        np.fill_diagonal(met, 0)
        # Wins are half the net wins and the meetings, which the plan tells.
        found = perturbed_strengths(net / 2 + records / k, met, variance / 4)
        return replace(found, assumptions=(BALANCED,))


@dataclass(frozen=True, slots=True)
class VoterNetWins:
    """Net wins of each voter's records together, so bounded that a whole voter can be hidden.

    `records`: about how many a voter has, from the design of the questions. Where given, the
    vector's length is cut to 1.5 times that of so many records on items at random, else the vector
    is divided by the voter's own number of records, which stays private.
    """

    records: int | None = None

    units: ClassVar[tuple[Unit, ...]] = ("voter",)
    whole_voter: ClassVar[bool] = True
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.records is not None:
            object.__setattr__(self, "records", whole(self.records, "records", low=1))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's bounded net wins, in steps of 1 / `UNIT`."""
        net = net_wins(records)
        if self.records is None:
            count = np.maximum(records.records_per_voter(), 1)[:, None]
            # Towards zero: the sizes of a voter then add to at most 2 UNIT, exactly.
            return published_counts(np.sign(net) * (np.abs(net) * UNIT // count))
        longest = self.longest
        # Bounded so that squares fit 64 bits, for as many items as noise by length takes.
        net = np.clip(net, -_MOST_NET_WINS, _MOST_NET_WINS)
        length = integer_root((net * net).sum(axis=1, keepdims=True) * UNIT**2) + 1
        # Cut by whole numbers: |net| longest / (a little above its length) is within `longest`.
        steps = np.abs(net) * UNIT
        bounded: Integers = np.where(length <= longest, steps, steps * longest // length)
        return np.sign(net) * bounded

    @property
    def longest(self) -> int:
        """Length to which a voter's vector is cut, in steps; its square is ``2.25 * 2 records``."""
        return math.isqrt(9 * UNIT**2 * (self.records or 0) // 2)

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far two voters' vectors can lie apart."""
        if self.records is not None:
            # Cauchy and Schwarz, with the root of K rounded up.
            return Sensitivity(2 * self.longest * (math.isqrt(features - 1) + 1), 2 * self.longest)
        return Sensitivity(2 * UNIT, 2 * UNIT) if features == 2 else Sensitivity(4 * UNIT, 3 * UNIT)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters; numbers of records are private."""
        return np.full(len(variance), 2 / features), variance / UNIT**2

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return net wins, as if a voter's meetings were spread evenly over the items."""
        k = reports.features
        mean = reports.total / (UNIT * reports.voters)
        variance = reports.total_variance / (UNIT * reports.voters) ** 2
        if self.records is None:
            net, variance = on_all_items(mean, variance, items=k)
        else:
            net = mean - mean.mean()
        # Squares of a voter's vector add to at most so much, whichever way voters differ.
        longest = 2.0 if self.records is None else (self.longest / UNIT) ** 2
        repeated = float(reports.shares @ reports.shares) / reports.voters
        between = repeated * longest / max(k - 1, 1) * (np.eye(k) - 1 / k)
        return scores_a_meeting(net, variance, between, meetings=2 * (self.records or 1) / k)


def published_counts(counts: Integers) -> Integers:
    """Return the counts to mask: of two items the first alone, as the second follows."""
    return counts[:, :1] if counts.shape[1] == 2 else counts


def _of_all_items(rows: Floats, items: int) -> Floats:
    """Return rows with a column an item, where of two items the first alone was published."""
    every: Floats = np.concatenate([rows, -rows], axis=1) if items == 2 else rows
    centred: Floats = every - every.mean(axis=1, keepdims=True)
    return centred


def scores_a_meeting(net: Floats, variance: float, between: Floats, *, meetings: float) -> Estimate:
    """Return net wins a meeting, -1 to 1 where items meet equally often.

    `between`: the covariance of the net wins under other voters.
    """
    k = len(net)
    centre = np.eye(k) - 1 / k
    noise = variance / meetings**2 * centre
    return Estimate(net / meetings, noise, between / meetings**2)


ItemTrust = Literal["local", "aggregator"]


@dataclass(frozen=True)
class ItemMechanism(PrivateMechanism):
    """Counts of named items plus additive noise: the base of three mechanisms."""

    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    trust: ItemTrust = "aggregator"

    def check(self, comparisons: Comparisons) -> None:
        """Raise where the mechanism cannot protect these comparisons; nothing is drawn."""
        super().check(comparisons)
        if self.takes_menus:
            require_menu_records(comparisons.difference)
        else:
            require_item_records(comparisons.difference)

    def with_noise(self, statistic: Statistic, noise: Noise = LAPLACE) -> Composition:
        """Return the statistic with this noise."""
        return Composition(statistic, noise, whose_noise(self.trust, self.weights, self.most))


@register
@dataclass(frozen=True)
class ItemWins(ItemMechanism):
    """Publish how often each named item was chosen, with noise, and the strengths that this gives.

    Of public pairs the wins say all that the Bradley-Terry model needs, and of public menus all
    that Luce's does, so the whole fit runs on published numbers. Menus are given as
    `MenuChoices.comparisons` makes them.

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
    Protects each choice. Neighbours: one choice is another of the same menu (a pair is a menu of
    two); which menus were shown is public, and none was picked by looking at raw answers, which
    ``public_menus=True`` says. It moves two counts by one each, so independent discrete Laplace
    noise of scale ``2 / epsilon`` costs epsilon exactly, for any number of items and any menu (of
    two items one count is published, with scale ``1 / epsilon``). A voter with n choices is
    protected at n times epsilon. A record with its menu is not protected: menus are visible.

    References
    ----------
    Cai, Chakraborty and Wang (2025), arXiv 2507.09388, whose perturbed likelihood this is.
    Plackett (1975) and Luce (1959) for menus.

    Examples
    --------
    >>> ItemWins(epsilon=1).unit, str(ItemWins(epsilon=1))
    ('choice', 'item-wins:epsilon=1')
    """

    unit: Unit = "choice"

    name = "item-wins"
    units = Wins.units
    takes_menus = True

    def compose(self) -> Composition:
        """Return wins with Laplace noise."""
        return self.with_noise(Wins())


@register
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

    Examples
    --------
    >>> ItemNetWins(epsilon=1).unit, str(ItemNetWins(epsilon=1))
    ('record', 'item-net-wins:epsilon=1')
    """

    unit: Unit = "record"
    design: Design = "unknown"

    name = "item-net-wins"
    units = NetWins.units

    def compose(self) -> Composition:
        """Return net wins with Laplace noise."""
        return self.with_noise(NetWins(self.design))


@register
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

    Examples
    --------
    >>> ItemVotes(epsilon=1).unit, str(ItemVotes(epsilon=1))
    ('voter', 'item-votes:epsilon=1')
    """

    unit: Unit = "voter"
    records: int | None = None

    name = "item-votes"
    units = VoterNetWins.units

    def compose(self) -> Composition:
        """Return bounded net wins, with noise by length where they were cut."""
        noise = LAPLACE if self.records is None else NORM
        return self.with_noise(VoterNetWins(self.records), noise)
