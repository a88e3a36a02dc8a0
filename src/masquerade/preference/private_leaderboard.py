"""Private leaderboards with ties: masked scores and number of ties, and Davidson's fit of them.

Wins with half the ties of each item, and the number of ties, are sufficient for Davidson's model
where the schedule is public. A vote moves them no further with ties than without: a win that
becomes a tie moves two scores by a half and the number of ties by one. So the number of ties costs
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Frame
from masquerade.answers.battles import EVEN, FIRST, SECOND, Battles
from masquerade.errors import ParameterError
from masquerade.exact import Guarantee, Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.exact.loss import pure_loss
from masquerade.exact.noise import bernoulli, discrete_laplace, laplace_variance, scale_rounded_up
from masquerade.exact.number import NumberLike, one_of, whole
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.composition import PAIRS_ARE_PUBLIC, RECORDS_ARE_PUBLIC
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.mechanism import NEIGHBOURS
from masquerade.preference.personal_epsilon import read_epsilon
from masquerade.preference.private_mechanism import EPSILON_IS_PUBLIC, require_public_menus
from masquerade.preference.rank_intervals import rank_intervals
from masquerade.preference.standings import standings_of
from masquerade.preference.strength_fit import (
    StrengthFit,
    fit_strengths,
    larger_covariance,
)
from masquerade.preference.tie_models import DAVIDSON

BattleUnit = Literal["choice", "record", "voter"]
BattleTrust = Literal["aggregator", "local"]

#: Steps of a voter's shares of wins and ties.
STEPS = 4096

BALANCED = "the votes were planned so that each pair of items is asked about equally often"
ITEMS_ARE_PUBLIC = "the items and their order are public, not taken from the votes"
ALIKE = "errors take votes for independent: how voters differ is private"

#: Codes of outcomes, of `masquerade.answers.battles`.
Outcomes = np.ndarray[Any, np.dtype[np.int8]]


class Sums(NamedTuple):
    """Scores and ties as they may be published, and the variance of their noise."""

    scores: Floats  # wins and half the ties of each item, shape (n_items,); they sum to `votes`
    ties: float
    votes: float
    variance: float  # of the noise in a score, on average over items
    noise: Floats  # covariance of the noise in the scores and, last, in the ties


@dataclass(frozen=True)
class PrivateLeaderboard:
    """A leaderboard of votes that an aggregator or each voter's device masks.

    Parameters
    ----------
    epsilon : number
        Of one unit, in nats, rounded down to millionths.
    unit : {"choice", "record", "voter"}
        ``"choice"``: how a vote ended; which pairs were shown is public. ``"record"``: a whole
        vote, its pair included; the plan has to be balanced. ``"voter"``: all votes of a person.
    trust : {"aggregator", "local"}
        Whoever computes the leaderboard sees the votes; or each vote is masked on its voter's
        device (the unit ``"choice"`` alone).
    votes_each : int, optional
        For the unit ``"voter"``: about how many votes a voter casts, from the design.

    Privacy
    -------
    Each unit at epsilon, exactly; a voter with n choices or records at n epsilon. Neighbours are
    those of `masquerade.preference.mechanism.NEIGHBOURS`; a choice may become any other outcome of
    its pair. Scores in halves and twice the number of ties move by at most 4 together, in every
    unit, and get discrete Laplace noise of scale 4 / epsilon (a tie: 2 / epsilon).

    Examples
    --------
    >>> str(PrivateLeaderboard(1))
    'battle-scores:epsilon=1'
    """

    epsilon: NumberLike
    unit: BattleUnit = "choice"
    trust: BattleTrust = "aggregator"
    votes_each: int | None = None

    def __post_init__(self) -> None:
        epsilon = read_epsilon(self.epsilon)
        if isinstance(epsilon, tuple):
            raise ParameterError("a private leaderboard takes one epsilon for all votes.")
        object.__setattr__(self, "epsilon", epsilon)
        one_of(self.unit, "unit", ("choice", "record", "voter"))
        one_of(self.trust, "trust", ("aggregator", "local"))
        if self.trust == "local" and self.unit != "choice":
            raise ParameterError(
                "where nobody is trusted, votes are masked one by one: the unit is choice."
            )
        if self.unit == "voter" and self.votes_each is None:
            raise ParameterError(
                "the unit voter needs votes_each, about how many votes a voter casts by the "
                "design of the study: their true numbers are protected."
            )
        if self.votes_each is not None:
            object.__setattr__(self, "votes_each", whole(self.votes_each, "votes_each", low=1))

    def release(
        self,
        battles: Battles | Frame,
        *,
        coins: Coins | None = None,
        public_menus: bool = False,
        ledger: Ledger | None = None,
        name: str = "leaderboard",
    ) -> Leaderboard:
        """Return the leaderboard; noise from the operating system.

        Parameters
        ----------
        ledger : Ledger, optional
            Every voter is charged, all or nobody, before anything is drawn: `epsilon` times the
            number of units that the voter's votes are. The person of an account is the voter as
            text.
        name : str
            What the ledger calls the result. Each call is charged, also under a name used before.
        public_menus : bool
            The unit ``"choice"`` needs True: which pairs were shown is public, and none was picked
            by looking at raw votes.

        Raises
        ------
        ParameterError
            The list of items or the voters are not known, votes have weights or covariates, or
            nobody said that the schedule is public.
        InsufficientBudget
            A voter has too little left; nobody was charged and nothing was drawn.
        """
        source = require_coins(coins)
        table = self.checked(battles)
        if self.unit == "choice":
            require_public_menus(public_menus, "battle-scores")
        if ledger is None:
            return self._leaderboard(table, source)
        # Charged before anything is drawn: a draw that nobody paid for could be looked at.
        with charge_all(ledger, self.costs(table, name), result="leaderboard", name=name):
            return self._leaderboard(table, source)

    def costs(self, table: Battles, name: str) -> list[tuple[str, Cost]]:
        """Return each voter with the cost of a release under a name, in the order of their codes.

        Raises `ParameterError` where the voters have no names.
        """
        if table.voter is None or table.voter_names is None:
            raise ParameterError(
                "the votes do not name their voters, so no account can be charged; read them from "
                "a table with a column of voters."
            )
        votes = np.bincount(table.voter, minlength=table.voters)
        units = np.minimum(votes, 1) if self.unit == "voter" else votes
        prices = {
            count: Cost(
                name,
                (),
                event=Micro.of_amount(self._epsilon),
                loss=pure_loss(Micro.of_amount(self._epsilon * count)),
            )
            for count in set(units.tolist())
        }
        named = zip(table.voter_names.to_pylist(), units.tolist(), strict=True)
        return [(str(voter), prices[count]) for voter, count in named if count]

    def simulate(self, battles: Battles | Frame, rng: np.random.Generator) -> Leaderboard:
        """Return the leaderboard with noise of a seeded generator, for studies.

        Privacy
        -------
        None: whoever knows the seed can take the noise off. The result says so.
        """
        source = SimulatedCoins(rng)
        board = self._leaderboard(self.checked(battles), source)
        said = ("simulated: the noise can be foreseen by whoever knows the seed",)
        none = replace(board.guarantee, status="none", assumptions=said)
        return replace(board, guarantee=none)

    def checked(self, battles: Battles | Frame) -> Battles:
        """Return the votes as a table; raise where they cannot be protected."""
        table = battles if isinstance(battles, Battles) else Battles.from_frame(battles)
        if not table.items_given:
            raise ParameterError(
                "the items were read off the votes, and a private leaderboard would publish them: "
                "give the public list of all items, items=[...] (--items FILE on the command line)."
            )
        if table.voter is None:
            raise ParameterError(
                "no column says who voted, so what a whole voter is protected at is not known; "
                "give it (voter=..., --voter)."
            )
        if table.chosen:
            raise ParameterError(
                "votes were left out (both_bad='drop', or keep), and how many are left would tell "
                "how single votes ended; count votes that both are bad as ties: both_bad='tie'."
            )
        if table.weight is not None or table.names:
            raise ParameterError(
                "weights of votes and covariates are not protected by a private leaderboard; "
                "leave them out."
            )
        return table

    def __str__(self) -> str:
        more = "" if self.unit == "choice" else f",unit={self.unit}"
        more += "" if self.trust == "aggregator" else f",trust={self.trust}"
        more += "" if self.votes_each is None else f",votes_each={self.votes_each}"
        return f"battle-scores:epsilon={float(self._epsilon):g}{more}"

    @property
    def _epsilon(self) -> Fraction:
        assert isinstance(self.epsilon, Fraction)
        return self.epsilon

    def _leaderboard(self, table: Battles, source: WordSource) -> Leaderboard:
        if self.trust == "local":
            # Else the order in which fractions are added up would tell who was chosen.
            table = table.in_order_of_items()
            device = MaskedVote.of(self._epsilon)
            sums = device.sums(device.mask(table.outcome, source), table)
        else:
            sums = masked_sums(table, self.unit, self._epsilon, source, self.votes_each or 1)
        schedule = pair_counts(table) if self.unit == "choice" else balanced(table, sums.votes)
        board = fit_sums(sums, schedule, table.items, random_schedule=self.unit != "choice")
        hidden = self.unit == "voter"
        return replace(
            board,
            votes=0.0 if hidden else float(len(table)),
            ties=sums.ties,
            voters=table.voters,
            mechanism=str(self),
            guarantee=self.guarantee(table),
        )

    def guarantee(self, table: Battles) -> Guarantee:
        """Return the guarantee for these votes."""
        assert table.voter is not None
        most = int(np.bincount(table.voter).max(initial=0)) if self.unit != "voter" else 1
        one = Micro.of_amount(self._epsilon)
        shown = (PAIRS_ARE_PUBLIC,) if self.unit == "choice" else (BALANCED,)
        counted = () if self.unit == "voter" else (RECORDS_ARE_PUBLIC,)
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one,
            epsilon_user=Micro.of_amount(self._epsilon * most),
            answers=most,
            assumptions=(*EPSILON_IS_PUBLIC, ITEMS_ARE_PUBLIC, *counted, *shown),
            unit=self.unit,
            trust=self.trust,
            neighbours=NEIGHBOURS[self.unit] if self.unit != "choice" else CHOICE_OF_VOTES,
        )


CHOICE_OF_VOTES = "one vote ends otherwise: the other item wins, or neither; its pair is public"


def exact_scores(table: Battles, unit: BattleUnit) -> tuple[Integers, int]:
    """Return exact scores, a whole number an item, and the number of ties.

    Of the unit choice twice the wins and the ties; of records net wins; of voters net wins divided
    by the voter's number of votes, in steps of 1 / `STEPS`, and the ties likewise.
    """
    m = len(table.items)
    first, second, outcome = table.first, table.second, table.outcome
    if unit == "choice":
        points = np.array([2, 1, 0], dtype=np.int64)
        scores = np.zeros(m, dtype=np.int64)
        np.add.at(scores, first, points[outcome])
        np.add.at(scores, second, 2 - points[outcome])
        return scores, int(np.count_nonzero(outcome == EVEN))
    sign = 1 - outcome.astype(np.int64)  # 1, 0, -1
    if unit == "record":
        scores = np.zeros(m, dtype=np.int64)
        np.add.at(scores, first, sign)
        np.add.at(scores, second, -sign)
        return scores, int(np.count_nonzero(outcome == EVEN))
    assert table.voter is not None
    net = np.zeros((table.voters, m), dtype=np.int64)
    np.add.at(net, (table.voter, first), sign)
    np.add.at(net, (table.voter, second), -sign)
    count = np.maximum(np.bincount(table.voter, minlength=table.voters), 1)
    ties = np.bincount(table.voter[outcome == EVEN], minlength=table.voters)
    # Towards 0: the sizes of a voter's steps add to at most 2 `STEPS`, with the ties twice.
    parts = np.sign(net) * (np.abs(net) * STEPS // count[:, None])
    return parts.sum(axis=0), int((ties * STEPS // count).sum())


def masked_sums(
    table: Battles, unit: BattleUnit, epsilon: Fraction, source: WordSource, each: int
) -> Sums:
    """Return scores and ties with noise, as halves of wins that sum to the number of votes."""
    m = len(table.items)
    scores, ties = exact_scores(table, unit)
    step = STEPS if unit == "voter" else 1
    # Two items: the other's score follows from the first's, which moves by half as much.
    wide = scale_rounded_up(Fraction(2 if m == 2 else 4) * step / epsilon)
    narrow = scale_rounded_up(Fraction(2) * step / epsilon)
    shown = scores[:1] if m == 2 else scores
    noisy = (shown + discrete_laplace(source, wide, len(shown))).astype(float)
    found = float(ties + discrete_laplace(source, narrow, 1)[0])
    votes = float(len(table)) if unit != "voter" else float(each * table.voters)
    size = each / STEPS if unit == "voter" else 1.0  # of a step, in votes
    variance = laplace_variance(wide) * size**2 / 4
    half = noisy * size / 2
    if m == 2:
        middle = votes / 2 if unit == "choice" else 0.0
        half = np.array([half[0] - middle, middle - half[0]])
        variance *= 2  # the same noise stands in both, and its covariance is V times I - 1/2
    # Whatever the noise is, scores add up to the number of votes.
    centred = half - half.mean() + votes / m
    noise = np.zeros((m + 1, m + 1))
    noise[:m, :m] = variance * (np.eye(m) - 1 / m)
    noise[m, m] = laplace_variance(narrow) * size**2
    return Sums(centred, found * size, votes, variance, noise)


def pair_counts(table: Battles) -> BattleCounts:
    """Return the public schedule: how often each pair met, as wins of either in equal parts."""
    m = len(table.items)
    low, high = np.minimum(table.first, table.second), np.maximum(table.first, table.second)
    pairs, met = np.unique(low.astype(np.int64) * m + high, return_counts=True)
    return _schedule(m, pairs // m, pairs % m, met / 2)


def balanced(table: Battles, votes: float) -> BattleCounts:
    """Return a schedule in which each pair meets equally often."""
    m = len(table.items)
    first, second = np.triu_indices(m, 1)
    return _schedule(m, first, second, np.full(len(first), votes / len(first) / 2))


def _schedule(items: int, first: Integers, second: Integers, half: Floats) -> BattleCounts:
    counts = np.stack([half, np.zeros_like(half), half])
    return BattleCounts(items, first, second, counts, counts, np.zeros((len(first), 0)))


def fit_sums(
    sums: Sums,
    schedule: BattleCounts,
    items: tuple[str, ...],
    *,
    random_schedule: bool = False,
    scatter: Callable[[StrengthFit], Floats] | None = None,
) -> Leaderboard:
    """Return the leaderboard that masked sums give; it reads the votes by way of these alone.

    `scatter`: of scores and ties between voters at a fit, masks' noise included, where it is known;
    errors are then the larger of both in every direction.

    Notes
    -----
    The ridge ``1 + V / h``, with h the information an item at indifference, is a prior of variance
    1, widened by the noise; its bias under that prior is in the errors.
    """
    m, votes = schedule.items, sums.votes
    ties = min(max(sums.ties, 0.5), votes - 0.5)
    nu = 2 * ties / (votes - ties)
    each = 2 * votes / m / (2 * (2 + nu))
    ridge = 1 + sums.variance / max(each, 1e-9)
    met = schedule.counts.sum(axis=0) / 2
    level = np.bincount(schedule.first, met, m) + np.bincount(schedule.second, met, m)
    fit = fit_strengths(schedule, DAVIDSON, ridge=ridge, tilt=np.append(sums.scores - level, ties))
    errors = _covariance(fit, sums.noise, random_schedule=random_schedule)
    if scatter is not None:
        lift, middle = fit.inverse(), scatter(fit)
        middle[:m, :m] += fit.ridge**2 * (np.eye(m) - 1 / m)
        clustered = lift @ middle @ lift
        errors[:m, :m] = larger_covariance(errors[:m, :m], clustered[:m, :m])
    ranks = rank_intervals(fit.strengths, errors[:m, :m], seed=m)
    estimate = (fit.strengths, np.sqrt(np.diag(errors))[:m], ranks)
    lines = standings_of(items, np.ones(m, np.bool_), estimate, None, [""] * m)
    board = Leaderboard.of_fit(lines, fit, errors, ranks)
    return replace(board, items=items, notes=(*board.notes, ALIKE))


def _covariance(fit: StrengthFit, noise: Floats, *, random_schedule: bool) -> Floats:
    """Return ``R (H + N + ridge**2 P) R``: sampling, noise and the bias of the ridge."""
    m = fit.counts.items
    lift = fit.inverse()
    middle = fit.information + noise
    # Scores are made to add up, so noise and prior live on the plane of sum 0.
    middle[:m, :m] += fit.ridge**2 * (np.eye(m) - 1 / m)
    if random_schedule:
        middle += _schedule_scatter(fit)
    covariance: Floats = lift @ middle @ lift
    return covariance


def _schedule_scatter(fit: StrengthFit) -> Floats:
    """Return the covariance of scores and ties under drawing other pairs."""
    counts = fit.counts
    m, pairs = counts.items, len(counts.first)
    first, tie, second = np.exp(DAVIDSON.log_probabilities(fit.advantages(), fit.tie))
    expected = np.zeros((pairs, m + 1))
    rows = np.arange(pairs)
    expected[rows, counts.first] = first + tie / 2
    expected[rows, counts.second] = second + tie / 2
    expected[:, m] = tie
    apart = expected - expected.mean(axis=0)
    scatter: Floats = counts.total * (apart.T @ apart) / pairs
    return scatter


@dataclass(frozen=True, slots=True)
class MaskedVote:
    """A vote with ties, masked on its voter's device: three outcomes, of loss epsilon.

    Reports a tie with probability r0 after a win, and E r0 after a tie, with
    ``r0 = rho / (E + 2)``; rho 1 is randomized response with three options, rho 0 a tie answered by
    the device's coin. E is a fraction just below e**epsilon, so that all probabilities are exact.

    Attributes
    ----------
    growth : Fraction
        E: the largest ratio of two probabilities of a report.
    rho : Fraction
    """

    growth: Fraction
    rho: Fraction

    @classmethod
    def of(cls, epsilon: Fraction) -> MaskedVote:
        """Return the mask that is most accurate: rho 1/4 up to epsilon 1, 1 above."""
        # Of 9 digits; rounded down, so that the loss is at most epsilon.
        growth = Fraction(math.floor(exp_below(epsilon) * _DIGITS), _DIGITS)
        return cls(growth, Fraction(1, 4) if epsilon <= 1 else Fraction(1))

    @property
    def table(self) -> tuple[tuple[Fraction, ...], ...]:
        """Probabilities of reports (columns) given outcomes (rows): first, tie, second."""
        r0 = self.rho / (self.growth + 2)
        q = (1 - r0) / (self.growth + 1)
        tie = (1 - self.growth * r0) / 2
        return (
            (self.growth * q, r0, q),
            (tie, self.growth * r0, tie),
            (q, r0, self.growth * q),
        )

    def mask(self, outcome: Outcomes, source: WordSource) -> Outcomes:
        """Return a report of each outcome."""
        reports = np.empty(len(outcome), dtype=np.int8)
        for true, row in enumerate(self.table):
            rows = np.flatnonzero(outcome == true)
            even = bernoulli(source, row[1].numerator, row[1].denominator, len(rows))
            won = row[0] / (row[0] + row[2])
            first = bernoulli(source, won.numerator, won.denominator, len(rows))
            reports[rows] = np.where(even, EVEN, np.where(first, FIRST, SECOND))
        return reports

    def sums(self, reports: Outcomes, table: Battles) -> Sums:
        """Return unbiased scores and ties of reports, and the variance of the noise in them."""
        (_, r0, q), (_, kept, _), _ = ((float(p) for p in row) for row in self.table)
        m, votes = len(table.items), len(table)
        contrast = (float(self.growth) - 1) * q
        half = np.array([0.5, 0.0, -0.5])[reports] / contrast
        scores: Floats = np.bincount(table.first, 0.5 + half, m).astype(np.float64)
        scores += np.bincount(table.second, 0.5 - half, m)
        told = float(np.mean(reports == EVEN)) if votes else 0.0
        share = min(max((told - r0) / (kept - r0), 0.0), 1.0)
        # A report's score has the variance of a sign over the contrast, less the answer's own.
        own = max(((1 - told) / contrast**2 - (1 - share)) / 4, 0.0)
        met = np.zeros((m, m))
        np.add.at(met, (table.first, table.second), 1)
        met += met.T
        noise = np.zeros((m + 1, m + 1))
        noise[:m, :m] = own * (np.diag(met.sum(axis=0)) - met)
        spread = told * (1 - told) / (kept - r0) ** 2 - share * (1 - share)
        noise[m, m] = max(spread, 0.0) * votes
        return Sums(scores, share * votes, float(votes), own * 2 * votes / m, noise)


_DIGITS, _FINE = 10**9, 10**24


def exp_below(epsilon: Fraction) -> Fraction:
    """Return a fraction just below e**epsilon: its Taylor series, cut."""
    # e**x = (e**(x / 2**k))**(2**k): a short series, every term positive, so that a cut is below.
    halvings = max(math.ceil(math.log2(max(float(epsilon), 1e-9))) + 4, 0)
    small = epsilon / 2**halvings
    term, total = Fraction(1), Fraction(1)
    for place in range(1, 16):
        term = term * small / place
        total += term
    for _ in range(halvings):
        total = Fraction(math.floor(total**2 * _FINE), _FINE)
    return total
