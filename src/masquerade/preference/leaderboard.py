"""Leaderboards: items ranked by a crowd's votes between two, with the ranks that are possible."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa
from scipy.special import ndtr

from masquerade.answers import Frame
from masquerade.answers.battles import Battles, BothBad
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.exact.arrays import Flags, Floats
from masquerade.exact.number import in_range, one_of
from masquerade.preference.battle_counts import BattleCounts, CountedBattles, Groups
from masquerade.preference.battle_files import SpilledBattles, count_files
from masquerade.preference.mechanism import NEIGHBOURS, guarantee_json, guarantee_statement
from masquerade.preference.rank_intervals import RankIntervals, rank_intervals
from masquerade.preference.standings import (
    REACH,
    Duel,
    Effect,
    Standing,
    as_json,
    effect,
    standings_of,
)
from masquerade.preference.strength_fit import (
    FEWEST_VOTERS,
    StrengthFit,
    VotesByVoter,
    battle_scatter,
    clustered_covariance,
    fit_strengths,
    larger_covariance,
    voter_scatter,
)
from masquerade.preference.tie_models import TIE_MODELS, Ties
from masquerade.truth.scale.engines import Engine, Stream

#: The model of ties; ``"auto"`` is Davidson's where there are ties.
TieChoice = Literal["auto", "davidson", "rao-kupper", "halves"]

INDEPENDENT = (
    "no column says who voted: the errors assume that votes are independent of one another"
)
FEW_VOTERS = "there are fewer than 10 voters, too few to see whether they differ"
NOBODY_PLACED = "nothing can be ranked yet: every item may have nearly every rank"
NO_TIE_PARAMETER = "the votes tell no tie parameter, so a tie counts as half a win of each"
PULLED = "strengths are pulled towards the mean by the prior"


def no_guarantee() -> Guarantee:
    """Return the guarantee of a result of raw votes: none."""
    return Guarantee(
        *(INFINITE_LOSS, INFINITE_LOSS, INFINITE_LOSS),
        answers=1,
        assumptions=(),
        unit="voter",
        trust="everyone",
        status="none",
        neighbours=NEIGHBOURS["voter"],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Leaderboard(Result):
    """Items ranked by votes between two of them.

    Attributes
    ----------
    standings : tuple of Standing
        By the worst rank that is possible, then by strength; items without a place last.
    model : str
        ``"davidson"``, ``"rao-kupper"``, ``"halves"`` (ties count half a win of each) or
        ``"bradley-terry"`` where there are no ties.
    log_likelihoods : mapping of str to float
        Of each model of ties that fits.
    tie : Effect or None
        The tie parameter: nu of Davidson, kappa of Rao and Kupper.
    effects : tuple of Effect
        Of covariates.
    votes, ties : float
        Weighted numbers; 0 where they are protected.
    voters : int
        0 where they are not known.
    notes : tuple of str
        What the errors assume.
    guarantee : Guarantee
    items : tuple of str
        Items with a strength, in the order of `strengths` and `covariance`.
    strengths : float array, shape (n_strengths,)
    covariance : float array, shape (n_strengths, n_strengths)

    Examples
    --------
    >>> votes = {"model_a": ["x", "y", "x", "z"], "model_b": ["y", "z", "z", "x"],
    ...          "winner": ["model_a", "tie", "model_b", "model_b"]}
    >>> Leaderboard.fit(votes).model
    'davidson'
    """

    drawing: ClassVar[str] = "rankings"

    standings: tuple[Standing, ...]
    model: str = "none"
    tie: Effect | None = None
    effects: tuple[Effect, ...] = ()
    log_likelihoods: Mapping[str, float] = field(default_factory=dict)
    votes: float = 0.0
    ties: float = 0.0
    voters: int = 0
    notes: tuple[str, ...] = ()
    mechanism: str = "none"
    guarantee: Guarantee = field(default_factory=no_guarantee)
    items: tuple[str, ...] = ()
    strengths: Floats = field(default_factory=lambda: np.zeros(0))
    covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    better: Flags = field(default_factory=lambda: np.zeros((0, 0), np.bool_))
    tie_log: float = -math.inf

    @classmethod
    def fit(
        cls, battles: Battles | Frame, *, ties: TieChoice = "auto", prior: float | None = None
    ) -> Leaderboard:
        """Return the leaderboard of votes, computed from them as they are, without privacy.

        Parameters
        ----------
        battles : Battles, or a table as `Battles.from_frame` reads it
        ties : {"auto", "davidson", "rao-kupper", "halves"}
            The model; ``"auto"`` is Davidson's where there are ties.
        prior : float, optional
            Standard deviation of a normal prior of the strengths, such as 2. All items are then
            ranked together. Default: none, and only items that results link to one another have
            strengths.

        Raises
        ------
        ParameterError
            A covariate has no effect that the votes tell, or a parameter is out of range.

        Notes
        -----
        Every difference of strengths has at least the model's error and at least the error
        clustered by voter. **Cost**: linear in votes, and at most quadratic in items for counts,
        cubic for the fit.
        """
        one_of(ties, "ties", get_args(TieChoice))
        if prior is not None:
            in_range(prior, "prior", above=0, below=math.inf)
        table = battles if isinstance(battles, Battles) else Battles.from_frame(battles)
        return cls.of_counts(CountedBattles.of(table), table, ties, prior)

    @classmethod
    def scan(
        cls,
        folder: str | Path,
        *,
        items: Sequence[Any] | None = None,
        voter: str | None = None,
        both_bad: BothBad = "tie",
        ties: TieChoice = "auto",
        engine: Engine | None = None,
    ) -> Leaderboard:
        """Return the leaderboard of the files in a folder, read one at a time.

        Parameters
        ----------
        folder : path
            Its files ``*.parquet`` are read, or its ``*.csv`` and ``*.csv.gz`` where there are
            none.
        items, voter, both_bad
            As for `Battles.from_frame`.
        ties
            As for `fit`.
        engine : Engine, optional
            Visits the files: `masquerade.truth.scale.DaskCluster` with a client of yours, whose
            workers see the same paths. Default: this process.

        Notes
        -----
        **Cost**: memory of one file and of some four million votes, whatever the number of files;
        13 bytes a vote on a disk for temporary files (``Stream(scratch=folder)`` names another).
        """
        files = sorted(Path(folder).glob("*.parquet")) or sorted(Path(folder).glob("*.csv*"))
        with ExitStack() as stack:
            visits = engine or stack.enter_context(Stream())
            counted, table = count_files(files, visits, items=items, voter=voter, both_bad=both_bad)
            return cls.of_counts(counted, table, ties, None)

    @classmethod
    def of_counts(
        cls,
        counted: CountedBattles | SpilledBattles,
        table: Battles,
        ties: TieChoice,
        prior: float | None,
    ) -> Leaderboard:
        """Return the leaderboard of counted battles."""
        counts = counted.counts
        groups = counts.groups()
        kept = groups.main if prior is None else np.ones(counts.items, np.bool_)
        inside = counted.among(kept)
        if inside.counts.items < 2 or inside.counts.total == 0:
            return _nothing_linked(counts, table, groups)
        model = _model(ties, inside.counts)
        ridge = 0.0 if prior is None else prior**-2
        fit = fit_strengths(inside.counts, TIE_MODELS[model], ridge=ridge)
        errors, notes = _errors(fit, inside)
        m = inside.counts.items
        ranks = rank_intervals(fit.strengths, errors[:m, :m], seed=_seed(inside.counts))
        if prior is not None:
            notes += (PULLED,)
        if counts.ties and model == "halves" != ties:
            notes += (NO_TIE_PARAMETER,)
        likelihoods: dict[str, float] = {model: fit.log_likelihood}
        others: dict[Ties, Ties] = {"davidson": "rao-kupper", "rao-kupper": "davidson"}
        if model in others:
            other = others[model]
            second = fit_strengths(inside.counts, TIE_MODELS[other], ridge=ridge)
            likelihoods[other] = second.log_likelihood
        named = "bradley-terry" if model == "halves" and counts.ties == 0 else model
        reasons = _reasons(counts, groups, pulled=prior is not None)
        deviation = np.sqrt(np.diag(errors))[:m]
        estimate = (fit.strengths, deviation, ranks)
        lines = standings_of(table.items, kept, estimate, counts.records(), reasons)
        board = cls.of_fit(lines, fit, errors, ranks, table.names)
        return replace(
            board,
            model=named,
            log_likelihoods={named if key == model else key: v for key, v in likelihoods.items()},
            votes=counts.total,
            ties=counts.ties,
            voters=table.voters,
            notes=(*board.notes, *notes),
            items=tuple(table.items[i] for i in np.flatnonzero(kept)),
        )

    @classmethod
    def of_fit(
        cls,
        standings: tuple[Standing, ...],
        fit: StrengthFit,
        errors: Floats,
        ranks: RankIntervals,
        covariates: Sequence[str] = (),
    ) -> Leaderboard:
        """Return the leaderboard of a fit; its items are named later."""
        m = fit.counts.items
        deviation = np.sqrt(np.diag(errors))
        effects = tuple(
            effect(name, float(value), float(error))
            for name, value, error in zip(covariates, fit.effects, deviation[m:], strict=False)
        )
        tie = None
        if fit.model.has_tie_parameter:
            name = {"davidson": "nu", "rao-kupper": "kappa"}[fit.model.name]
            size, error = math.exp(fit.tie), float(deviation[-1])
            # The interval is that of its log, which has no border.
            low, high = (size * math.exp(sign * REACH * error) for sign in (-1, 1))
            tie = Effect(name, size, size * error, low, high)
        return cls(
            standings,
            fit.model.name,
            tie,
            effects,
            notes=() if ranks.placed.any() else (NOBODY_PLACED,),
            strengths=fit.strengths,
            covariance=errors[:m, :m],
            better=ranks.better,
            tie_log=fit.tie if fit.model.has_tie_parameter else -math.inf,
        )

    @property
    def statement(self) -> str:
        """The guarantee as a sentence, to publish with the leaderboard."""
        return guarantee_statement(self.guarantee)

    @property
    def first(self) -> tuple[str, ...]:
        """The items that may be first."""
        return tuple(one.item for one in self.standings if one.may_be_first)

    def standing(self, item: str) -> Standing:
        """Return the line of an item."""
        for one in self.standings:
            if one.item == item:
                return one
        raise ParameterError(f"{item!r} is none of the {len(self.standings)} items.")

    def decide(self, first: str, second: str) -> Duel:
        """Return how two items compare: which is better, and how the next vote may end.

        Raises
        ------
        ParameterError
            One of them has no strength.
        """
        a, b = (self._place(item) for item in (first, second))
        apart = float(self.strengths[a] - self.strengths[b])
        variance = self.covariance[a, a] + self.covariance[b, b] - 2 * self.covariance[a, b]
        name: Ties = "halves" if self.model == "bradley-terry" else self.model  # type: ignore[assignment]
        logs = TIE_MODELS[name].log_probabilities(np.array([apart]), self.tie_log)
        wins, even, losses = np.exp(logs[:, 0]).tolist()
        if name == "halves":
            even = 0.0
        better = float(ndtr(apart / math.sqrt(variance))) if variance > 0 else 0.5
        return Duel(better, wins, even, losses, bool(self.better[a, b] or self.better[b, a]))

    def groups(self) -> list[list[str]]:
        """Return the largest groups of placed items, strongest first, that cannot be told apart.

        In each, no order of two items is decided; an item may be in several.
        """
        placed = {one.item for one in self.standings if one.placed}
        order = [i for i in np.argsort(-self.strengths, kind="stable") if self.items[i] in placed]
        found: list[list[str]] = []
        end = 0
        for start in range(len(order)):
            stop = max(end, start + 1)
            while stop < len(order) and not self.better[order[start:stop], order[stop]].any():
                stop += 1
            if stop > end:
                found.append([self.items[i] for i in order[start:stop]])
                end = stop
        return found

    def to_arrow(self) -> pa.Table:
        """Return the standings as a table."""
        return pa.Table.from_pylist([as_json(one) for one in self.standings])

    def to_json(self) -> dict[str, Any]:
        """Return everything that is published, as a JSON object."""
        return {
            "items": [as_json(one) for one in self.standings],
            "may_be_first": list(self.first),
            "groups": self.groups(),
            "ties": self.ties,
            "votes": self.votes,
            "voters": self.voters,
            "model": self.model,
            "log_likelihoods": dict(self.log_likelihoods),
            "tie_parameter": None if self.tie is None else as_json(self.tie),
            "effects": [as_json(one) for one in self.effects],
            "mechanism": self.mechanism,
            "guarantee": guarantee_json(self.guarantee),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        first = ", ".join(self.first[:3]) + (", ..." if len(self.first) > 3 else "")
        return f"Leaderboard({len(self.standings)} items, may be first: {first or 'nobody knows'})"

    def _place(self, item: str) -> int:
        if item not in self.items:
            raise ParameterError(
                f"{item!r} has no strength; those that have are {list(self.items)[:10]}."
            )
        return self.items.index(item)


def _model(ties: TieChoice, counts: BattleCounts) -> Ties:
    """Return the model that is asked for, or halves where no tie parameter can be told."""
    if not counts.tie_parameter_exists():
        return "halves"
    return "davidson" if ties == "auto" else ties


def _errors(fit: StrengthFit, battles: VotesByVoter) -> tuple[Floats, tuple[str, ...]]:
    """Return the larger of the model's and the voters' errors, and their assumptions."""
    own = fit.inverse()
    if not battles.signed:
        scatter, notes = battle_scatter(fit), [INDEPENDENT]
    else:
        scatter, voters = voter_scatter(fit, battles)
        if voters < FEWEST_VOTERS:
            return own, (FEW_VOTERS,)
        notes = []
    clustered = clustered_covariance(fit, scatter)
    m = fit.counts.items
    errors = own.copy()
    errors[:m, :m] = larger_covariance(own[:m, :m], clustered[:m, :m])
    # Effects and the tie parameter are read one at a time.
    rest = np.arange(m, len(errors))
    errors[rest, rest] = np.maximum(own[rest, rest], clustered[rest, rest])
    return errors, tuple(notes)


def _seed(counts: BattleCounts) -> int:
    """Return a seed that the counts determine, and not the order of rows."""
    return zlib.crc32(counts.first.tobytes() + counts.second.tobytes() + counts.counts.tobytes())


def _reasons(counts: BattleCounts, groups: Groups, *, pulled: bool) -> list[str]:
    """Return for each item why it has no strength, or that the prior alone gives it one."""
    wins, ties, losses = counts.records().T
    reasons = []
    linked = groups.main & (groups.main.sum() > 1)
    for item in range(counts.items):
        if linked[item]:
            reasons.append("")
            continue
        if wins[item] + ties[item] + losses[item] == 0:
            why = "was in no vote"
        elif wins[item] + ties[item] == 0:
            why = "never won"
        elif losses[item] + ties[item] == 0:
            why = "never lost"
        elif not groups.reachable[item]:
            why = "never met the main group"
        else:
            why = "met the main group in one-way results only"
        reasons.append(f"{why}; pulled by the prior" if pulled else why)
    return reasons


def _nothing_linked(counts: BattleCounts, table: Battles, groups: Groups) -> Leaderboard:
    """Return the leaderboard of votes that link no two items both ways."""
    nobody = np.zeros(counts.items, np.bool_)
    reasons = _reasons(counts, Groups(nobody, groups.reachable), pulled=False)
    estimate = (np.zeros(0), np.zeros(0), rank_intervals(np.zeros(0), np.zeros((0, 0))))
    return Leaderboard(
        standings_of(table.items, nobody, estimate, counts.records(), reasons),
        votes=counts.total,
        ties=counts.ties,
        voters=table.voters,
        notes=(NOBODY_PLACED,),
    )
