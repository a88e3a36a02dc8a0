"""Strengths of items from rankings, first choices, ties and traffic: Luce's and Davidson's models.

Luce's axiom (1959): item i is taken from a menu S with probability ``e**t_i / sum_S e**t_j``. A
ranking is a series of such choices from what is left (Plackett 1975); traffic over a network is a
choice among the places that can be reached (Maystre and Grossglauser 2017). None of it is private.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.special import softmax

from masquerade.answers import Comparisons, Frame, to_arrow
from masquerade.answers.comparison_columns import ITEM_COLUMNS, Unlisted
from masquerade.answers.frames import missing_column, plain_column
from masquerade.answers.result import Result
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import in_range
from masquerade.preference.bradley_terry import require_connected, strength_table

_MOST_STEPS = 200
_MOST_HALVINGS = 60
_CLOSE = 1e-9  # derivative a choice at which a fit ends


@dataclass(frozen=True, slots=True, eq=False)
class ItemStrengths(Result):
    """Strengths of items, which sum to 0.

    Attributes
    ----------
    items : tuple of str
    strengths : float array, shape (n_items,)
    covariance : float array, shape (n_items, n_items)
        Of `strengths` for choices that are independent of one another.
    tie : float or None
        ``ln nu`` of Davidson's model, where ties were counted: the log of how much likelier a tie
        is than a win between items of equal strength.

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
    tie: float | None = None

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
        strengths exist whatever was ranked.

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
    orders = rankings
    if not isinstance(rankings, Sequence):
        orders = Rankings.from_frame(rankings).orders
    stages = [
        (ranking[place], ranking[place:])
        for ranking in orders
        for place in range(max(len(ranking) - 1, 1))
    ]
    return _fit_stages(stages, items, prior)


def fit_first_choices(
    choices: Sequence[tuple[str, Sequence[str]]],
    *,
    items: Sequence[str] | None = None,
    prior: float = 0.0,
) -> ItemStrengths:
    """Return strengths from first choices, each the item taken and the others of its menu.

    Parameters
    ----------
    choices : sequence of (name, names)
    items, prior
        As in `fit_rankings`, and so are the errors.

    Examples
    --------
    >>> fit_first_choices([("tea", ["milk"]), ("tea", ["milk"]), ("milk", ["tea"])]).items
    ('milk', 'tea')
    """
    return _fit_stages([(taken, (taken, *rest)) for taken, rest in choices], items, prior)


def fit_network_choices(
    network: Mapping[str, Sequence[str]],
    arrivals: Mapping[str, float],
    departures: Mapping[str, float],
    *,
    prior: float = 1.0,
) -> ItemStrengths:
    """Return strengths of places from how many arrived at and left each of them.

    Parameters
    ----------
    network : mapping of name to names
        Which places can be reached from each in one step.
    arrivals, departures : mapping of name to number
        At least 0, their sums equal; 0 for a place that is left out.
    prior : float
        As in `fit_rankings`; here above 0, for it is not known which way anybody went.

    References
    ----------
    Maystre and Grossglauser (2017), who show that arrivals and departures are sufficient.
    """
    in_range(prior, "prior", above=0, below=math.inf)
    names = tuple(sorted({*network, *(each for ends in network.values() for each in ends)}))
    places = _places(names)
    stray = [name for name in (*arrivals, *departures) if name not in places]
    left = [name for name, many in departures.items() if many > 0 and not network.get(name)]
    sizes = [*arrivals.values(), *departures.values()]
    if stray or left or any(not 0 <= many < math.inf for many in sizes):
        raise ParameterError(
            f"traffic of {(stray or left or ['a place'])[0]!r} is at a place that is not in the "
            "network, leaves one without a way out, or is no number of at least 0."
        )
    if not math.isclose(sum(arrivals.values()), sum(departures.values())):
        raise ParameterError("arrivals and departures do not add up to the same number.")
    wins = np.array([float(arrivals.get(name, 0)) for name in names])
    menus = [
        (np.array([places[end] for end in network[name]]), float(many))
        for name, many in departures.items()
        if many > 0
    ]
    return _strengths(names, wins, menus, prior)


def rank_centrality(
    pairs: Sequence[tuple[str, str]] | Frame,
    *,
    items: Sequence[str] | None = None,
    prior: float = 0.0,
) -> ItemStrengths:
    """Return strengths by rank centrality: the stationary distribution of a walk towards winners.

    Parameters
    ----------
    pairs : sequence of (name, name), or table with columns ``chosen`` and ``rejected``
        Chosen and rejected item of each comparison.
    items
        As in `fit_rankings`.
    prior : float
        Comparisons added to each ordered pair, at least 0.

    Raises
    ------
    DisconnectedItems
        The walk does not reach every item from every other.

    References
    ----------
    Negahban, Oh and Shah (2012). Each pair counts by its ratio of wins, however often it met. No
    errors are known: the covariance is not a number.
    """
    in_range(prior, "prior", low=0, below=math.inf)
    if not isinstance(pairs, Sequence):
        table = to_arrow(pairs, columns=ITEM_COLUMNS)
        for name in ITEM_COLUMNS:
            if name not in table.column_names:
                raise missing_column(name, table.column_names)
        columns = (plain_column(table, name).cast(pa.string()) for name in ITEM_COLUMNS)
        pairs = list(zip(*(column.to_pylist() for column in columns), strict=True))
    names, stages = _checked([(won, (won, lost)) for won, lost in pairs], items)
    k = len(names)
    # moves[a, b]: how often b was preferred to a; the walk goes from a to b.
    moves = np.full((k, k), float(prior))
    for menu in stages:
        moves[menu[1], menu[0]] += 1
    np.fill_diagonal(moves, 0)
    require_connected(moves.T, pa.array(names))
    met = moves + moves.T
    rates = np.divide(moves, met, out=np.zeros_like(moves), where=met > 0)
    # Rows of the generator add to 0: what leaves an item arrives elsewhere.
    generator = rates - np.diag(rates.sum(axis=1))
    # pi G = 0 with pi adding to 1: the last equation is replaced by the sum.
    system = np.vstack([generator.T[:-1], np.ones(k)])
    strengths = np.log(np.linalg.solve(system, np.eye(k)[-1]))
    return ItemStrengths(names, strengths - strengths.mean(), np.full((k, k), np.nan))


def fit_davidson(
    scores: ArrayLike,
    ties: float,
    met: ArrayLike,
    *,
    items: Sequence[str],
    prior: float = 0.0,
) -> ItemStrengths:
    """Return strengths from comparisons that may end in a tie, by Davidson's model (1970).

    Parameters
    ----------
    scores : float array, shape (n_items,)
        Wins plus half of the ties of each item; they add up to the number of comparisons. Noise may
        stand in them.
    ties : float
        Number of all ties; counts as half a tie, or as half a comparison that was none, at least.
    met : float array, shape (n_items, n_items)
        How often each pair was compared, symmetric.
    items : sequence of names
    prior : float
        Of the strengths, not of the ties; at least 0.

    Notes
    -----
    ``P(i over j) = pi_i / (pi_i + pi_j + nu sqrt(pi_i pi_j))``. Scores and ties are sufficient, so
    that a fit of their noisy values costs no more privacy than these did.
    """
    in_range(prior, "prior", low=0, below=math.inf)
    score, meetings = np.asarray(scores, np.float64), np.asarray(met, np.float64)
    k, total = len(items), float(np.asarray(met, np.float64).sum()) / 2
    if score.shape != (k,) or meetings.shape != (k, k) or not np.isfinite(score).all():
        raise ParameterError(
            f"scores of shape {score.shape} and meetings of shape {meetings.shape} for {k} items; "
            "expected a finite score an item and a meeting number a pair."
        )
    if not np.isclose(score.sum(), total) or not np.array_equal(meetings, meetings.T):
        raise ParameterError("scores do not add up to the comparisons, or `met` is not symmetric.")
    # Without any tie, or with nothing else, the estimate of nu would lie at its end.
    ties = min(max(float(ties), 0.5), total - 0.5)
    first, second = np.nonzero(np.triu(meetings, 1))
    many = meetings[first, second]
    # Three outcomes a meeting, in the parameters (t, ln nu): the first wins, the second, a tie.
    features = np.zeros((3, len(first), k + 1))
    rows = np.arange(len(first))
    features[0, rows, first] = features[1, rows, second] = 1
    features[2, rows, first] = features[2, rows, second] = 0.5
    features[2, :, k] = 1
    target = np.append(score, ties)
    ridge = np.append(np.full(k, prior), 0.0)
    found = _newton(features, many, target, ridge, free=np.append(np.ones(k), 0.0))
    covariance = found.covariance[:k, :k]
    return ItemStrengths(
        tuple(items), found.at[:k] - found.at[:k].mean(), covariance, float(found.at[k])
    )


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
    stages: Sequence[tuple[str, Sequence[str]]], items: Sequence[str] | None, prior: float
) -> ItemStrengths:
    in_range(prior, "prior", low=0, below=math.inf)
    names, menus = _checked(stages, items)
    k = len(names)
    if prior == 0:
        # Hunter (2004), assumption 1: as for pairs, with "taken while the other was there".
        taken = np.concatenate([np.full(len(menu) - 1, menu[0]) for menu in menus])
        rest = np.concatenate([menu[1:] for menu in menus])
        over = coo_array((np.ones(len(rest)), (taken, rest)), shape=(k, k)).toarray()
        require_connected(over, pa.array(names))
    wins = np.bincount([menu[0] for menu in menus], minlength=k).astype(np.float64)
    return _strengths(names, wins, [(menu, 1.0) for menu in menus], prior)


def _strengths(
    names: tuple[str, ...], wins: Floats, menus: Sequence[tuple[Integers, float]], prior: float
) -> ItemStrengths:
    """Return the strengths of greatest ``wins.t - sum n ln sum_S e**t - prior / 2 |t|**2``."""
    k, widest = len(names), max(len(menu) for menu, _ in menus)
    # Alternatives of a menu, padded with rows that no menu has: their weight is 0.
    features = np.zeros((widest, len(menus), k))
    absent = np.ones((widest, len(menus)), dtype=np.bool_)
    for place, (menu, _) in enumerate(menus):
        features[np.arange(len(menu)), place, menu] = 1
        absent[: len(menu), place] = False
    many = np.array([count for _, count in menus])
    found = _newton(features, many, wins, np.full(k, prior), free=np.ones(k), absent=absent)
    return ItemStrengths(names, found.at - found.at.mean(), found.covariance)


class _Maximum(NamedTuple):
    at: Floats
    covariance: Floats


def _newton(
    features: Floats,
    many: Floats,
    target: Floats,
    ridge: Floats,
    *,
    free: Floats,
    absent: np.ndarray | None = None,
) -> _Maximum:
    """Return the maximum of ``target.b - sum many ln sum_o e**(features_o.b) - ridge b**2 / 2``.

    `features` (n_outcomes, n_menus, n_parameters). `free`: a direction along which nothing changes
    without a ridge; it is fixed at 0. The function is concave: an exponential family's.
    """
    b = np.zeros(features.shape[2])
    closed = np.zeros(features.shape[:2]) if absent is None else np.where(absent, -np.inf, 0.0)

    def value(at: Floats) -> float:
        total = np.logaddexp.reduce(features @ at + closed, axis=0)
        return float(target @ at - many @ total - (ridge * at) @ at / 2)

    # Strengths are known up to a constant: along this direction nothing is observed.
    along = np.outer(free, free) / float(free @ free)
    now = value(b)
    for _ in range(_MOST_STEPS):
        chance = softmax(features @ b + closed, axis=0)
        mean = np.einsum("om,omp->mp", chance, features)
        # Observed less expected features: the gradient of an exponential family.
        gradient = target - many @ mean - ridge * b
        # Covariance of the outcomes' features, summed over menus.
        square = np.einsum("om,omp,omq->pq", chance * many, features, features, optimize=True)
        information = square - (mean * many[:, None]).T @ mean
        penalised = information + np.diag(ridge)
        # Any positive number makes the constant direction solvable, and moves nothing else.
        if not ridge.any():
            penalised = penalised + along * max(float(np.trace(information)) / len(b), 1e-12)
        inverse = np.linalg.inv(penalised)
        if float(np.abs(gradient).max()) <= _CLOSE * max(float(many.sum()), 1.0):
            break
        step = inverse @ gradient
        for _ in range(_MOST_HALVINGS):
            after = value(b + step)
            if after >= now - 1e-12 * (1 + abs(now)):
                break
            step = step / 2
        b, now = b + step, after
    # Sandwich: with a ridge the inverse alone is not the covariance; constants are taken out.
    off = np.eye(len(b)) - along
    return _Maximum(b, off @ inverse @ information @ inverse @ off)
