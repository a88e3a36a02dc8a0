"""Strengths of items from whole rankings, by Plackett's and Luce's model; none of it is private."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.special import softmax

from masquerade.answers import Comparisons, Frame, to_arrow
from masquerade.answers.comparison_columns import Unlisted
from masquerade.answers.frames import missing_column
from masquerade.answers.result import Result
from masquerade.errors import DisconnectedItems, InvalidRecord, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import in_range
from masquerade.preference.item_menus import Menus, choice_scores, fit_luce
from masquerade.preference.pair_ranking import strength_table
from masquerade.preference.strength_fit import FEWEST_VOTERS, larger_covariance


@dataclass(frozen=True, slots=True, eq=False)
class ItemStrengths(Result):
    """Strengths of items, which sum to 0.

    Attributes
    ----------
    items : tuple of str
    strengths : float array, shape (n_items,)
    covariance : float array, shape (n_items, n_items)
        Of `strengths`: at least that of the model, and at least that clustered by voter.

    Examples
    --------
    >>> from masquerade.preference import fit_rankings
    >>> fit_rankings([["tea", "milk"], ["tea", "milk"], ["milk", "tea"]]).items
    ('milk', 'tea')
    """

    drawing: ClassVar[str] = "rankings"

    items: tuple[str, ...]
    strengths: Floats
    covariance: Floats

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of `strengths`, shape (n_items,)."""
        errors: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return errors

    def to_arrow(self) -> pa.Table:
        """Return `rank`."""
        return self.rank()

    def rank(self) -> pa.Table:
        """Return the items, the strongest first: item, strength, standard_error, low, high.

        The ends are those of the 95 % interval.
        """
        order = np.argsort(-self.strengths, kind="stable")
        names = [self.items[i] for i in order]
        return strength_table(names, self.strengths[order], self.standard_errors[order])

    def probabilities(self, menu: Sequence[str]) -> dict[str, float]:
        """Return with which probability each item of a menu is taken from it, ties aside."""
        places = _places(self.items)
        unknown = [item for item in menu if item not in places]
        if unknown or not menu:
            raise ParameterError(
                f"the menu {list(menu)} is empty or names an item other than {list(self.items)}."
            )
        chances = softmax(self.strengths[[places[item] for item in menu]])
        return dict(zip(menu, chances.tolist(), strict=True))


class Rankings(NamedTuple):
    """Rankings that a table holds."""

    orders: list[list[str]]  # names of items, the best first
    voters: int
    of: tuple[Any, ...] = ()  # whose each ranking is

    @classmethod
    def from_frame(cls, frame: Frame) -> Rankings:
        """Check a table of columns ``voter``, ``item``, ``rank`` (1 is best) and return it.

        A column ``choice`` tells several rankings of one voter apart.
        """
        table = to_arrow(frame)
        for name in ("voter", "item", "rank"):
            if name not in table.column_names:
                raise missing_column(name, table.column_names, table="the table of rankings")
        places: dict[tuple[object, object], dict[float, str]] = {}
        for number, row in enumerate(table.to_pylist(), start=1):
            try:
                rank = float(row["rank"])
            except (TypeError, ValueError):
                rank = math.nan
            if not math.isfinite(rank):
                raise InvalidRecord(f"row {number}: rank is {row['rank']!r}, expected a number.")
            ranked = places.setdefault((row["voter"], row.get("choice")), {})
            if rank in ranked:
                raise InvalidRecord(
                    f"row {number}: voter {row['voter']!r} gave two items the same rank; expected "
                    "an order."
                )
            ranked[rank] = str(row["item"])
        orders = [[item for _, item in sorted(ranked.items())] for ranked in places.values()]
        of = tuple(voter for voter, _ in places)
        return cls(orders, len(set(of)), of)

    def comparisons(
        self,
        items: Sequence[str] | None = None,
        *,
        voters: Sequence[Any] | None = None,
        unlisted: Unlisted = "error",
    ) -> Comparisons:
        """Return each ranking as its pairs, so that private mechanisms take it.

        `ItemRankings` hides all of them together; a mechanism for the unit record would hide one
        pair of a ranking, and the others would tell it.

        Parameters
        ----------
        items : sequence of names, optional
            The public list; see `Comparisons.from_frame`, as for `voters` and `unlisted`.
        """
        pairs = [
            (voter, *pair)
            for voter, order in zip(self.of, self.orders, strict=True)
            for pair in itertools.combinations(order, 2)
        ]
        columns = zip(*pairs, strict=True) if pairs else ((), (), ())
        table = dict(zip(("voter", "chosen", "rejected"), map(list, columns), strict=True))
        everybody = list(dict.fromkeys(self.of)) if voters is None else voters
        return Comparisons.from_frame(table, items=items, voters=everybody, unlisted=unlisted)


def fit_rankings(
    rankings: Sequence[Sequence[str]] | Frame,
    *,
    items: Sequence[str] | None = None,
    prior: float = 0.0,
    voters: Sequence[Any] | None = None,
) -> ItemStrengths:
    """Return Plackett-Luce strengths from rankings, each with the best first.

    Parameters
    ----------
    rankings : sequence of sequences of names, or a table as `Rankings.from_frame` reads it
        Of two or more items each, not all of them necessarily.
    items : sequence of names, optional
        Default: all that are ranked, sorted.
    prior : float
        Weight of a normal prior, ``-prior / 2 * sum(strengths**2)``, at least 0. Above 0,
        strengths exist whatever was ranked, and those of items that nobody ranked are as uncertain
        as the prior.
    voters : sequence, optional
        Whose each ranking is. Default: the column of a table; else each is another voter's.

    Raises
    ------
    DisconnectedItems
        Without a prior, and the likelihood has no maximum.
    InvalidRecord
        A ranking has fewer than two items, an item twice, or one that is not listed.

    Examples
    --------
    >>> fit = fit_rankings([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
    >>> fit.rank()["item"].to_pylist()
    ['a', 'b', 'c']
    """
    in_range(prior, "prior", low=0, below=math.inf)
    if isinstance(rankings, Sequence):
        orders, of = list(rankings), voters
    else:
        table = Rankings.from_frame(rankings)
        orders, of = list(table.orders), table.of if voters is None else voters
    if of is not None and len(of) != len(orders):
        raise ParameterError(f"there are {len(of)} voters for {len(orders)} rankings.")
    stages = [
        (ranking[place], ranking[place:])
        for ranking in orders
        for place in range(max(len(ranking) - 1, 1))
    ]
    whose = np.repeat(np.arange(len(orders)), [max(len(order) - 1, 1) for order in orders])
    if of is not None:
        numbers = {voter: place for place, voter in enumerate(dict.fromkeys(of))}
        whose = np.array([numbers[voter] for voter in of])[whose]
    return _fit_stages(stages, items, prior, whose)


def _places(items: Sequence[str]) -> dict[str, int]:
    return {item: place for place, item in enumerate(items)}


def _checked(
    stages: Sequence[tuple[str, Sequence[str]]], items: Sequence[str] | None
) -> tuple[tuple[str, ...], list[Integers]]:
    """Return the items, and each menu as places with the item taken first."""
    listed = sorted({item for _, menu in stages for item in menu}) if items is None else items
    names = tuple(listed)
    places = _places(names)
    if len(places) != len(names) or len(names) < 2:
        raise ParameterError(f"the items {list(names)} are fewer than two, or name one twice.")
    menus = []
    for number, (taken, menu) in enumerate(stages, start=1):
        if len(menu) < 2 or len(set(menu)) < len(menu) or any(each not in places for each in menu):
            raise InvalidRecord(
                f"choice {number} is of {taken!r} from {list(menu)}; expected two or more of the "
                "listed items, each once."
            )
        order = [taken, *(each for each in menu if each != taken)]
        menus.append(np.array([places[each] for each in order]))
    return names, menus


def _fit_stages(
    stages: Sequence[tuple[str, Sequence[str]]],
    items: Sequence[str] | None,
    prior: float,
    whose: Integers,
) -> ItemStrengths:
    """Return strengths from the stages of rankings, each of a numbered voter."""
    names, listed = _checked(stages, items)
    k = len(names)
    taken = np.array([menu[0] for menu in listed])
    if prior == 0:
        # Hunter (2004), assumption 1: as for pairs, with "taken while the other was there".
        first = np.repeat(taken, [len(menu) - 1 for menu in listed])
        rest = np.concatenate([menu[1:] for menu in listed])
        require_connected(first, rest, names)
    menus = Menus.of(k, listed)
    strengths, information = fit_luce(np.bincount(taken, minlength=k).astype(float), menus, prior)
    # On the plane where strengths sum to 0.
    centre = np.eye(k) - 1 / k
    penalised = information + prior * np.eye(k)
    if prior == 0:
        penalised += np.trace(information) / k**2
    own = centre @ np.linalg.inv(penalised) @ centre
    voters = len(np.unique(whose))
    if voters < FEWEST_VOTERS:
        return ItemStrengths(names, strengths, own)
    scores = choice_scores(menus, taken, strengths)
    ones = coo_array((np.ones(len(whose)), (whose, np.arange(len(whose)))))
    by_voter = (ones.tocsr() @ scores).toarray()
    # n / (n - 1): scores add to 0 at the maximum. The prior's bias stands in the middle too.
    middle = by_voter.T @ by_voter * (voters / (voters - 1)) + prior * centre
    return ItemStrengths(names, strengths, larger_covariance(own, own @ middle @ own))


def require_connected(winners: Integers, losers: Integers, items: Sequence[str]) -> None:
    """Refuse wins, one of `winners` over one of `losers` each, that leave some strengths open.

    Raises `DisconnectedItems` (with the names of a few of the items).
    """
    from scipy.sparse.csgraph import connected_components  # dear to load

    # Ford (1957): a maximum exists exactly where the graph of wins is strongly connected.
    k = len(items)
    wins = coo_array((np.ones(len(winners)), (winners, losers)), shape=(k, k)).tocsr()
    count, group = connected_components(wins, directed=True, connection="strong")
    if count == 1:
        return
    inside = group == np.argmin(np.bincount(group))
    names = [items[i] for i in np.flatnonzero(inside)[:5]]
    won = np.count_nonzero(inside[winners] & ~inside[losers])
    lost = np.count_nonzero(~inside[winners] & inside[losers])
    if won and not lost:
        how = "never lost to any other item"
    elif lost and not won:
        how = "never won against any other item"
    else:
        how = "cannot be placed against all other items"
    raise DisconnectedItems(
        f"{inside.sum()} of {k} items ({', '.join(map(repr, names))}"
        f"{', ...' if inside.sum() > 5 else ''}) {how}; strengths exist where every item is linked "
        "to every other by wins. Collect such comparisons, drop the items, or give a prior above 0."
    )
