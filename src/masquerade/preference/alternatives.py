"""Alternatives compared by learned weights: ranking, intervals and pairwise probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import expit, ndtr

from masquerade.answers.comparison_columns import Feature
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import in_range
from masquerade.preference.learn import Alternative, SocialPreference
from masquerade.preference.rank_intervals import rank_intervals

_POINTS = 41  # of a decision curve


@dataclass(frozen=True, slots=True, eq=False)
class AlternativeRanking(Result):
    """Alternatives in the order of preference, with intervals and possible ranks.

    Attributes
    ----------
    names : tuple of str
        The most preferred first.
    utility : float array, shape (n_alternatives,)
        Less the mean of all alternatives.
    low, high : float array, shape (n_alternatives,)
        Ends of the 95 % interval of `utility`.
    best_rank, worst_rank : int array, shape (n_alternatives,)
        Ends of the interval of each rank; all intervals hold together, at 95 %.
    beats : float array, shape (n_alternatives, n_alternatives)
        Probability that the row is truly preferred to the column, given errors that are normal; 1/2
        on the diagonal.
    chosen : float array, shape (n_alternatives, n_alternatives), or None
        Share of choices in which the row would be taken, of the row and the column; None where
        only the direction of weights, or a score, is known.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import SocialPreference, made_up_voters, rank_alternatives
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> found = SocialPreference.learn(choices, mechanism="none")
    >>> names = [feature.name for feature in found.features]
    >>> more, less = dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.0)
    >>> ranking = rank_alternatives(found, {"more": more, "less": less})
    >>> ranking.best_rank.shape
    (2,)
    """

    names: tuple[str, ...]
    utility: Floats
    low: Floats
    high: Floats
    best_rank: Integers
    worst_rank: Integers
    beats: Floats
    chosen: Floats | None

    def to_arrow(self) -> pa.Table:
        """Return a row an alternative: rank, name, utility, its interval, and ranks it may have."""
        return pa.table(
            {
                "rank": np.arange(1, len(self.names) + 1),
                "alternative": list(self.names),
                "utility": self.utility,
                "low": self.low,
                "high": self.high,
                "best_rank": self.best_rank,
                "worst_rank": self.worst_rank,
                "beats_next": np.append(np.diagonal(self.beats, 1), np.nan),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve(Result):
    """How a decision between two alternatives changes with one feature of the first.

    Attributes
    ----------
    feature : str
    values : float array, shape (n_points,)
        Of the feature, over its public range.
    chosen, low, high : float array, shape (n_points,)
        Share of choices in which the first is taken, with the ends of its 95 % interval.
    """

    feature: str
    values: Floats
    chosen: Floats
    low: Floats
    high: Floats


def rank_alternatives(
    learned: SocialPreference, alternatives: Mapping[str, Alternative] | None = None
) -> AlternativeRanking:
    """Return alternatives in the order that weights give them, with intervals.

    Parameters
    ----------
    learned : SocialPreference
        Whose standard errors are known.
    alternatives : mapping of name to alternative, optional
        Two or more. Default, for named items: the items.

    Raises
    ------
    ParameterError
        There are fewer than two alternatives, or errors are not known.

    Notes
    -----
    Errors are taken as normal, and the prior of a margin as flat. What is computed from a release
    costs no privacy.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import SocialPreference, made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> found = SocialPreference.learn(choices, mechanism="none")
    >>> names = [feature.name for feature in found.features]
    >>> more, less = dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.0)
    >>> sorted(rank_alternatives(found, {"more": more, "less": less}).names)
    ['less', 'more']
    """
    vectors, names = _vectors(learned, alternatives)
    covariance = learned.covariance
    if covariance is None:
        raise ParameterError(
            f"{learned.release.mechanism} publishes no standard errors, so nothing is known of the "
            "order of alternatives; learn with another mechanism."
        )
    # Only differences count: utilities are those less their mean.
    centred = vectors - vectors.mean(axis=0)
    utility = centred @ learned.weights
    order = np.argsort(-utility, kind="stable")
    centred, utility = centred[order], utility[order]
    spread = centred @ covariance @ centred.T
    variance = np.diag(spread)
    error = np.sqrt(np.maximum(variance, 0))
    margin = utility[:, None] - utility
    # Var(u_a - u_b) = V_aa + V_bb - 2 V_ab; rounding can make it negative.
    deviation = np.sqrt(np.maximum(variance[:, None] + variance - 2 * spread, 0))
    known = deviation > 1e-12
    # Without any error the sign alone decides, and ndtr of 40 is 1.
    scaled = np.divide(margin, deviation, out=40.0 * np.sign(margin), where=known)
    beats = ndtr(scaled)
    # Ranks that it may have: behind all that are decided to beat it, before all that it beats. The
    # decisions hold together, for whoever looks at a ranking looks at all pairs.
    decided = rank_intervals(utility, spread).better | (~known & (margin > 0))
    better, worse = decided.sum(axis=0), decided.sum(axis=1)
    return AlternativeRanking(
        tuple(names[place] for place in order),
        utility,
        utility - 1.96 * error,
        utility + 1.96 * error,
        1 + better,
        len(names) - worse,
        beats,
        share_of_choices(learned, margin),
    )


def share_of_choices(learned: SocialPreference, margin: Floats) -> Floats | None:
    """Return in which share of choices a margin wins; None where its size has no meaning."""
    model = learned.release.details.get("model")
    if model == "probit":
        return np.asarray(ndtr(margin))
    if model in ("logit", "bradley-terry", "plackett-luce"):
        return np.asarray(expit(margin))
    return None


def decision_curve(
    learned: SocialPreference, first: Alternative, second: Alternative, feature: str
) -> DecisionCurve:
    """Return how the share that takes `first` changes with one of its features.

    Parameters
    ----------
    first, second : mapping of str to float, or array of shape (n_features,)
        In the features' own units; the feature of `first` is what changes.
    feature : str
        With a public range.

    Raises
    ------
    ParameterError
        The feature is not there or has no public range, or sizes of margins have no meaning.
    """
    places = {each.name: place for place, each in enumerate(learned.features)}
    if feature not in places or not learned.features[places[feature]].declared:
        raise ParameterError(
            f"{feature!r} is no feature with a public range; give its range, from the design of "
            "the questions."
        )
    public: Feature = learned.features[places[feature]]
    values = np.linspace(public.low, public.high, _POINTS)
    start, other = (_vectors(learned, {"one": each, "two": each})[0][0] for each in (first, second))
    # apart[point, feature]: only the one feature moves
    apart = np.tile(start - other, (_POINTS, 1))
    apart[:, places[feature]] = values - other[places[feature]]
    margin, covariance = apart @ learned.weights, learned.covariance
    if covariance is None or share_of_choices(learned, margin) is None:
        raise ParameterError(
            f"{learned.release.mechanism} says nothing of shares of choices; learn with "
            "choice-response, menus, or without privacy."
        )
    # x' V x for each point of the curve: the variance of its margin
    reach = 1.96 * np.sqrt(np.maximum(np.einsum("nd,de,ne->n", apart, covariance, apart), 0))
    shares = [share_of_choices(learned, each) for each in (margin, margin - reach, margin + reach)]
    return DecisionCurve(feature, values, *(each for each in shares if each is not None))


def _vectors(
    learned: SocialPreference, alternatives: Mapping[str, Alternative] | None
) -> tuple[Floats, Sequence[str]]:
    if alternatives is None:
        if not learned.named_items:
            raise ParameterError(
                "the weights are those of features; give alternatives, a name and a number for "
                f"each of {[feature.name for feature in learned.features]}."
            )
        names = [feature.name for feature in learned.features]
        return np.eye(len(names)), names
    in_range(len(alternatives), "number of alternatives", low=2)
    vectors = np.stack([learned.vector(each) for each in alternatives.values()])
    return vectors, list(alternatives)
