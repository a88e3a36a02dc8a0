"""Truth methods as rounds over blocks: what a block adds, and what is learnt from the sum.

A round visits every block with the same parameters, adds up what the blocks say of workers, and
learns the next parameters from the sums. Nothing about tasks leaves a block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.categorical import is_symmetric, winners
from masquerade.truth.majority_vote import MajorityVote
from masquerade.truth.one_coin import Grid, OneCoin
from masquerade.truth.problem import vote_shares
from masquerade.truth.scale.block import Block
from masquerade.truth.scale.census import Census
from masquerade.truth.ties import chances
from masquerade.truth.truth_discovery import TruthDiscovery


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What blocks say of workers.

    Attributes
    ----------
    total : object
        Of a method's own kind, with a ``+``: an array over workers, or `WorkerSums`.
    change : float
        The largest change of a task's shares since the last round.
    """

    total: Any
    change: float = np.inf

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.total + other.total, max(self.change, other.change))


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What was learnt from the sums.

    Attributes
    ----------
    parameters : object
        What the next round needs; sent to every block. An array of weights in methods with several
        starts.
    reliability, weight : float array, shape (n_workers,)
    log_evidence : float array, shape (n_workers,), or None
        Of methods that compare several starts.
    state : object
        What only the next learning needs; it stays here.
    """

    parameters: Any
    reliability: Floats
    weight: Floats
    log_evidence: Floats | None = None
    state: Any = None


class Rounds(ABC):
    """One method over blocks.

    Attributes
    ----------
    census : Census
    tolerance : float
        Rounds end when no share of a task changes by this much.
    max_iterations : int
    orientation_ambiguous : bool
    starts : tuple
        Parameters to begin with; of several, the best is kept in each component.
    """

    census: Census
    tolerance: float
    max_iterations: int
    orientation_ambiguous: bool
    starts: tuple[Any, ...]
    looks_again = False
    """Whether workers are judged by the final shares, not by those that led to these."""
    compares = True
    """Whether rounds end by the change of shares; blocks then work out the earlier ones too."""

    def __init__(self, census: Census, mechanism: CategoricalMechanism | None) -> None:
        self.census = census
        mixture = None if mechanism is None else mechanism.flip_mixture()
        self.orientation_ambiguous = census.n_options == 2 and is_symmetric(mixture)

    @staticmethod
    @abstractmethod
    def scores(block: Block, parameters: Any) -> Floats:
        """Return ``score[task, option]`` of a block."""

    @staticmethod
    @abstractmethod
    def shares(block: Block, parameters: Any) -> Floats:
        """Return ``share[task, option]`` of a block, of which the workers' sums are made."""

    @staticmethod
    @abstractmethod
    def posteriors(block: Block, parameters: Any) -> Floats:
        """Return ``posterior[task, option]`` of a block, rows of sum 1."""

    @classmethod
    def sums(cls, block: Block, parameters: Any, earlier: Any) -> Sums:
        """Return what a block adds: by default, each worker's sum of shares.

        The earlier shares are worked out again: a visit depends on nothing but its arguments, so
        anybody can take it over at any time.
        """
        shares = cls.shares(block, parameters)
        total = block.spread(block.votes.agreement(shares))
        if earlier is None:
            return Sums(total)
        return Sums(total, float(np.abs(shares - cls.shares(block, earlier)).max(initial=0.0)))

    @abstractmethod
    def learn(self, total: Any, state: Any) -> Learnt:
        """Return what the sums of all blocks say; `state` is that of the last learning."""

    def converged(self, sums: Sums, earlier: Sums, iteration: int) -> bool:
        """Return whether a round changed little enough."""
        return sums.change < self.tolerance or sums.change == 0


class Voting(Rounds):
    """Majority vote, and what truth discovery shares with it: parameters are the weights."""

    def __init__(
        self, method: MajorityVote, census: Census, mechanism: CategoricalMechanism | None
    ) -> None:
        super().__init__(census, mechanism)
        self.tolerance, self.max_iterations = 0.0, 0
        self.starts = (np.ones(census.n_workers),)

    @staticmethod
    def scores(block: Block, parameters: Any) -> Floats:
        """Return sums of weights."""
        return block.votes.score(block.own(parameters))

    @staticmethod
    def shares(block: Block, parameters: Any) -> Floats:
        """Return 1 for the leader, 1/r for each of r tied leaders."""
        return chances(winners(block.votes, Voting.scores(block, parameters)), ties="random")

    @staticmethod
    def posteriors(block: Block, parameters: Any) -> Floats:
        """Return shares of the weighted votes."""
        return vote_shares(Voting.scores(block, parameters))

    def learn(self, total: Any, state: Any) -> Learnt:
        """Return shares of votes that agree with the leader."""
        answers, half = self.census.answers, np.full(len(total), 0.5)
        agreed = np.divide(total, answers, out=half, where=answers > 0)
        return Learnt(self.starts[0], agreed, self.starts[0])


class Discovery(Voting):
    """Truth discovery."""

    def __init__(
        self, method: TruthDiscovery, census: Census, mechanism: CategoricalMechanism | None
    ) -> None:
        Rounds.__init__(self, census, mechanism)
        self.method = method
        self.tolerance, self.max_iterations = 0.0, method.max_iterations
        self.starts = (np.ones(census.n_workers),)

    def learn(self, total: Any, state: Any) -> Learnt:
        """Return accuracies and weights."""
        component = self.census.component if self.method.weights == "share" else None
        accuracy = self.method.accuracy(total, self.census.answers)
        weight = self.method.weight(accuracy, self.census.n_options, component)
        return Learnt(weight, accuracy, weight)


@dataclass(frozen=True, slots=True)
class Start:
    """Where one-coin inference starts: vote shares, turned round or not.

    Attributes
    ----------
    complement : bool
        Whether the least voted options are taken for the likeliest.
    reverse : bool
        Whether two options are exchanged.
    """

    complement: bool
    reverse: bool = False

    def shares(self, block: Block) -> Floats:
        """Return smoothed vote shares."""
        votes, s = block.votes, block.votes.n_options
        share: Floats = (votes.count() + 1) / (votes.of_task + s)[:, None]
        if self.complement:
            share = (1 - share) / (s - 1)
        return share[:, ::-1] if self.reverse else share


class OneCoinRounds(Rounds):
    """One-coin inference: parameters are a `Start`, then the weights."""

    looks_again = True

    def __init__(
        self, method: OneCoin, census: Census, mechanism: CategoricalMechanism | None
    ) -> None:
        super().__init__(census, mechanism)
        self.grid = Grid.of(
            method.accuracy_prior,
            mechanism,
            n_options=census.n_options,
            null_share=census.nulls / census.n_claims,
        )
        self.tolerance, self.max_iterations = method.tolerance, method.max_iterations
        a, b = method.accuracy_prior
        s = census.n_options
        self.orientation_ambiguous |= s == 2 and a == b
        start = Start(s > 1 and self.grid.mean_hit() < 1 / s)
        both = s == 2 and not self.orientation_ambiguous
        self.starts = (start, Start(start.complement, reverse=True)) if both else (start,)

    @staticmethod
    def scores(block: Block, parameters: Any) -> Floats:
        """Return sums of weights."""
        return block.votes.score(block.own(parameters))

    @staticmethod
    def shares(block: Block, parameters: Any) -> Floats:
        """Return posteriors; vote shares at the start."""
        if isinstance(parameters, Start):
            return parameters.shares(block)
        return OneCoinRounds.posteriors(block, parameters)

    @staticmethod
    def posteriors(block: Block, parameters: Any) -> Floats:
        """Return the softmax of the scores."""
        return np.asarray(softmax(OneCoinRounds.scores(block, parameters), axis=1))

    def learn(self, total: Any, state: Any) -> Learnt:
        """Return what the grid makes of expected agreements."""
        workers = self.grid.workers(total, self.census.answers)
        return Learnt(workers.weight, workers.accuracy, workers.weight, workers.log_evidence)
