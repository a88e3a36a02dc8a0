"""How many votes a private leaderboard needs, before anybody votes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from masquerade.errors import ParameterError
from masquerade.exact.number import NumberLike, finite, in_range, one_of, whole
from masquerade.preference.private_leaderboard import BattleTrust, PrivateLeaderboard
from masquerade.preference.score_sums import BattleUnit, MaskedVote

#: Share of the information at indifference that votes on items of different strengths keep.
KEPT = 0.85
_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class LeaderboardPlan:
    """The precision of a leaderboard, by the number of votes.

    Parameters
    ----------
    items : int
        2 or more, met about equally often.
    epsilon : number, optional
        Of one unit; None without privacy.
    unit, trust
        As `PrivateLeaderboard` has them.
    votes_each : int
        Votes of a voter.
    ties : number
        Share of ties that is expected, 0 to below 1.
    vote_noise : float, optional
        Variance that a mask of its own adds to the score of a vote, where votes are masked by
        another mechanism than a private leaderboard's; `vote_noise_of` gives it.

    Notes
    -----
    The error of a strength is ``sqrt(1 / h + V / h**2)``, with h the information of the votes on an
    item and V the variance of the noise in its score. Voters who differ, and
    items of very different strengths, need more votes.

    Examples
    --------
    >>> plan = LeaderboardPlan(60, epsilon=1, ties=0.3)
    >>> round(plan.error(4000), 2), plan.votes_for_margin(0.8)
    (0.27, 3529)
    """

    items: int
    epsilon: NumberLike | None = None
    unit: BattleUnit = "choice"
    trust: BattleTrust = "aggregator"
    votes_each: int = 20
    ties: float = 0.3
    vote_noise: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", whole(self.items, "items", low=2))
        object.__setattr__(self, "votes_each", whole(self.votes_each, "votes_each", low=1))
        ties = float(finite(self.ties, "ties"))
        in_range(ties, "ties", low=0)
        if ties >= 1:
            raise ParameterError(f"ties is {ties:g}, expected a share below 1.", field="ties")
        object.__setattr__(self, "ties", ties)
        one_of(self.unit, "unit", ("choice", "record", "voter"))
        if self.epsilon is not None:
            # The same checks as when the votes are there.
            made = PrivateLeaderboard(self.epsilon, self.unit, self.trust, self.votes_each)
            object.__setattr__(self, "epsilon", made.epsilon)

    def error(self, votes: float) -> float:
        """Return the standard error of an item's strength, in log-odds."""
        information = self._information(votes)
        return math.sqrt(1 / information + self._noise(votes) / information**2)

    def margin(self, votes: float, *, confidence: float = 0.95) -> float:
        """Return half the interval of a difference of two strengths."""
        reach = float(ndtri(0.5 + confidence / 2))
        return reach * math.sqrt(2) * self.error(votes)

    def gap(self, votes: float) -> float:
        """Return the least gap of strengths at which a top of the list is right in 95 of 100."""
        return float(ndtri(0.95)) * math.sqrt(2) * self.error(votes)

    def rank_width(self, votes: float) -> float:
        """Return how many ranks the interval of an item's rank is expected to span, on average.

        Notes
        -----
        Items' strengths are expected as normal with a standard deviation of 1 in log-odds, as the
        fit has them. Two items are told apart where their estimated difference is more than c
        errors, c being the 95 % quantile of the largest of all differences; estimates spread by
        the items and by the errors.
        """
        information, noise = self._information(votes), self._noise(votes)
        ridge = 1 + noise / information
        spread = (information**2 + information + noise) / (information + noise + ridge**2)
        alike = 2 * ndtr(_all_differences(self.items) / math.sqrt(spread)) - 1
        return float(1 + (self.items - 1) * alike)

    def votes_for_margin(self, margin: float, *, confidence: float = 0.95) -> int:
        """Return the fewest votes for a margin of a difference of two strengths.

        Raises
        ------
        ParameterError
            More than a thousand million would be needed.
        """
        in_range(float(margin), "margin", above=0)
        low, high = 0, 1
        while self.margin(high, confidence=confidence) > margin:
            low, high = high, 2 * high
            if high > _LARGEST:
                raise ParameterError(
                    f"a margin of {margin:g} takes more than {_LARGEST:,} votes; raise epsilon or "
                    "the margin, or trust an aggregator."
                )
        while high - low > 1:
            middle = (low + high) // 2
            enough = self.margin(middle, confidence=confidence) <= margin
            low, high = (low, middle) if enough else (middle, high)
        return high

    def to_json(self, votes: int, *, confidence: float = 0.95) -> dict[str, object]:
        """Return the precision of so many votes as a JSON object."""
        voters = math.ceil(votes / self.votes_each)
        epsilon = None if self.epsilon is None else float(self.epsilon)
        each = epsilon if epsilon is None or self.unit == "voter" else epsilon * self.votes_each
        return {
            "votes": votes,
            "voters": voters,
            "votes_of_an_item": 2 * votes / self.items,
            "standard_error": self.error(votes),
            "margin": self.margin(votes, confidence=confidence),
            "smallest_gap_of_a_top": self.gap(votes),
            "mean_rank_interval": self.rank_width(votes),
            "confidence": confidence,
            "unit": self.unit,
            "trust": self.trust if epsilon is not None else "everyone",
            "epsilon": epsilon,
            "epsilon_voter": each,
        }

    def _information(self, votes: float) -> float:
        # nu from the share of ties at indifference: nu / (2 + nu).
        nu = 2 * self.ties / (1 - self.ties)
        return KEPT * 2 * votes / self.items / (2 * (2 + nu))

    def _noise(self, votes: float) -> float:
        """Return the variance of the noise in an item's score."""
        if self.vote_noise is not None:
            return 2 * votes / self.items * self.vote_noise
        if self.epsilon is None:
            return 0.0
        assert isinstance(self.epsilon, Fraction)
        if self.trust == "local":
            return 2 * votes / self.items * _noise_of_vote(self.epsilon, self.ties)
        times = self.votes_each if self.unit == "voter" else 1
        return 8 / float(self.epsilon) ** 2 * times**2


@lru_cache(maxsize=256)
def _all_differences(items: int) -> float:
    """Return the 95 % quantile of the largest difference of so many alike, in errors of one."""
    drawn = np.random.default_rng(items).standard_normal((2000, items))
    return float(np.quantile(np.ptp(drawn, axis=1), 0.95) / math.sqrt(2))


def _noise_of_vote(epsilon: Fraction, ties: float) -> float:
    """Return the variance that the mask of a vote adds to its score."""
    (_, r0, q), (_, kept, _), _ = ((float(p) for p in row) for row in MaskedVote.of(epsilon).table)
    contrast = (math.exp(float(epsilon)) - 1) * q
    told = r0 + (kept - r0) * ties
    return vote_noise_of(contrast, told, ties)


def vote_noise_of(signal: float, told: float, ties: float) -> float:
    """Return the variance that a mask adds to the score of a vote, 1/2, 0 or -1/2.

    `signal` is how much likelier a report is after its own outcome than after another, `told` the
    share of reports that say a tie, where `ties` of the votes are ties.
    """
    return ((1 - told) / signal**2 - (1 - ties)) / 4


def read_leaderboard_plan(text: str) -> LeaderboardPlan:
    """Return the plan of a text, ``battle-scores:items=60,epsilon=1``.

    Examples
    --------
    >>> read_leaderboard_plan("battle-scores:items=60,epsilon=1,unit=voter").unit
    'voter'
    """
    from masquerade.mechanisms.text import read_text_form

    keys = ("items", "epsilon", "unit", "trust", "votes_each", "ties")
    _, values = read_text_form(text, {"battle-scores": dict.fromkeys(keys, "str")})
    if "items" not in values:
        raise ParameterError(
            f"{text!r} does not say items; write for instance battle-scores:items=60,epsilon=1.",
            field="items",
        )
    return LeaderboardPlan(**values)  # type: ignore[arg-type]
