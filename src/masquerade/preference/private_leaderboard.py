"""Private leaderboards with ties: masked scores and number of ties, and Davidson's fit of them.

Wins with half the ties of each item, and the number of ties, are sufficient for Davidson's model
where the schedule is public. A vote moves them no further with ties than without: a win that
becomes a tie moves two scores by a half and the number of ties by one. So the number of ties costs
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Frame
from masquerade.answers.battles import Battles
from masquerade.errors import ParameterError
from masquerade.exact import Guarantee, Micro
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.exact.loss import pure_loss
from masquerade.exact.number import NumberLike, one_of, whole
from masquerade.preference.composition import PAIRS_ARE_PUBLIC, RECORDS_ARE_PUBLIC
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.mechanism import NEIGHBOURS
from masquerade.preference.personal_epsilon import read_epsilon
from masquerade.preference.private_mechanism import EPSILON_IS_PUBLIC, require_public_menus
from masquerade.preference.score_sums import (
    BattleUnit,
    MaskedVote,
    balanced,
    fit_sums,
    masked_sums,
    pair_counts,
)

BattleTrust = Literal["aggregator", "local"]

BALANCED = "the votes were planned so that each pair of items is asked about equally often"
ITEMS_ARE_PUBLIC = "the items and their order are public, not taken from the votes"
CHOICE_OF_VOTES = "one vote ends otherwise: the other item wins, or neither; its pair is public"


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
        if ledger is not None:
            # Final before anything is drawn: a fit that fails after its draw is paid for.
            with charge_all(ledger, self.costs(table, name), result="leaderboard", name=name):
                pass
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
        schedule = (
            pair_counts(table) if self.unit == "choice" else balanced(len(table.items), sums.votes)
        )
        board = fit_sums(sums, schedule, table.items, drawn=int(self.unit != "choice"))
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
