"""Each method over partitions: its solution without any array over tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from masquerade.exact.arrays import Floats
from masquerade.truth.auto import Auto
from masquerade.truth.bayesian_combination import BayesianCombination
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.confusions import Doubt, Member, mean_shares
from masquerade.truth.dawid_skene import MACE, DawidSkene, DawidSkeneModel, OneCoinDawidSkene
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import Estimator
from masquerade.truth.expectation_maximization import Crowd, FixedPoint, Model, VoteBlock
from masquerade.truth.one_coin import OneCoin, OneCoinModel
from masquerade.truth.scale.blocks import PartitionedClaims
from masquerade.truth.scale.index import Index
from masquerade.truth.subtypes import Subtypes, SubtypesModel
from masquerade.truth.truth_discovery import DiscoveryModel, TruthDiscovery
from masquerade.truth.two_coin import TwoCoin, TwoCoinModel
from masquerade.truth.voting import MajorityVote, VotingModel, WeightedModel, WeightedVote


@dataclass(frozen=True, slots=True, eq=False)
class PartitionSolution:
    """The solution of a method: workers, and the models that give each task's label."""

    members: tuple[Member, ...]
    # reliability, weight: float array, shape (n_workers,)
    reliability: Floats
    weight: Floats
    converged: bool
    iterations: int
    orientation_ambiguous: bool
    # float array, shape (n_workers,), or None. Standard deviation of the reliability; worked out
    # where sources have to be joined, of methods that know it.
    error: Floats | None = None
    remarks: tuple[Remark, ...] = ()
    selection: pa.Table | None = None  # why `Auto` chose the model

    def by_worker(self, index: Index) -> PartitionSolution:
        """Return the solution of workers in place of their sources; see `Solution.by_worker`."""
        if index.masked is None:
            return self
        sources, n = index.masked.sources, index.n_workers
        precision = sources.precision(self.error, index.answers)
        count = sources.precision(None, index.answers)
        return replace(
            self,
            reliability=sources.mean(self.reliability, precision, n),
            weight=sources.mean(self.weight, count, n),
            error=None,
        )


def _by_model(
    model_of: Callable[[Any, Crowd], Model],
    error_of: Callable[[FixedPoint], Floats] | None = None,
) -> Callable[..., PartitionSolution]:
    def solved(method: CategoricalEstimator, claims: PartitionedClaims) -> PartitionSolution:
        model = model_of(method, claims.crowd)
        result = claims.fit(model)
        error = None if error_of is None else error_of(result)
        return replace(_solution(claims, model, result), error=error)

    return solved


def _one_coin_error(result: FixedPoint) -> Floats:
    return np.asarray(result.parameters.state.error)


def _two_coin_error(result: FixedPoint) -> Floats:
    coins, shares = result.parameters.state
    return np.asarray(coins.error(shares))


def _doubtful_error(
    claims: PartitionedClaims, variance: Floats, shares: Callable[..., Floats], *arguments: Any
) -> Floats | None:
    """Return the standard deviation of reliabilities of models with confusions.

    One more pass over the claims, so only where the sources of workers have to be joined by it.
    """
    if claims.index.masked is None:
        return None
    doubt: Doubt = claims.fold(_doubt, shares, *arguments)
    return np.sqrt(doubt.variance(variance))


def _doubt(block: VoteBlock, shares: Callable[..., Floats], *arguments: Any) -> Doubt:
    own = Doubt.of(block.sorted_votes, shares(block, *arguments))
    return Doubt(*(block.spread(figure) for figure in (own.agreed, own.doubt, own.answers)))


def _own_shares(block: VoteBlock, members: tuple[Member, ...]) -> Floats:
    return mean_shares(members, block)


def _truth_shares(block: VoteBlock, model: SubtypesModel, message: Any) -> Floats:
    return model.truths(model.posterior(block, message).shares)


def _solution(claims: PartitionedClaims, model: Model, result: FixedPoint) -> PartitionSolution:
    """Return a fixed point of a model as a solution."""
    return PartitionSolution(
        (Member.of(model, result),),
        *model.reliability_and_weight(result.parameters),
        result.converged,
        result.iterations,
        getattr(model, "orientation_ambiguous", claims.crowd.orientation_ambiguous),
    )


def _weighted_vote(method: WeightedVote, claims: PartitionedClaims) -> PartitionSolution:
    model = WeightedModel(method, claims.crowd)
    result = claims.fit(model)
    majority = _solution(claims, model, result)
    weight = majority.reliability
    if method.weights is not None:
        weight = method.weights_of(claims.index.people)
    return replace(majority, members=(Member(model, weight),), weight=weight)


def _combined(method: BayesianCombination, claims: PartitionedClaims) -> PartitionSolution:
    found = method.conclude(claims)
    if isinstance(found, Remark):
        simple = AT_SCALE[OneCoin](OneCoin(ties=method.ties, seed=method.seed), claims)
        return replace(simple, remarks=(found,))
    crowd = found.crowd()
    return PartitionSolution(
        found.members,
        crowd.reliability,
        crowd.weight,
        found.converged,
        found.iterations,
        claims.crowd.orientation_ambiguous,
        _doubtful_error(claims, crowd.variance, _own_shares, found.members[:1]),
        found.remarks,
    )


def _subtypes(method: Subtypes, claims: PartitionedClaims) -> PartitionSolution:
    model = SubtypesModel(method, claims.crowd)
    result = claims.fit(model)
    accuracy, variance = model.accuracies(result.statistics)
    error = _doubtful_error(claims, variance, _truth_shares, model, result.message)
    return replace(_solution(claims, model, result), reliability=accuracy, error=error)


def _auto(method: Auto, claims: PartitionedClaims) -> PartitionSolution:
    choice, solution = method.choose(claims, lambda one: AT_SCALE[type(one)](one, claims))
    remarks = (*solution.remarks, *choice.remarks(claims.index.names.options))
    return replace(solution, remarks=remarks, selection=choice.table())


#: The methods that work over partitions.
AT_SCALE = cast(
    "dict[type[Estimator], Callable[[Any, PartitionedClaims], PartitionSolution]]",
    {
        MajorityVote: _by_model(VotingModel),
        WeightedVote: _weighted_vote,
        TruthDiscovery: _by_model(DiscoveryModel),
        OneCoin: _by_model(OneCoinModel, _one_coin_error),
        OneCoinDawidSkene: _by_model(DawidSkeneModel),
        TwoCoin: _by_model(TwoCoinModel, _two_coin_error),
        DawidSkene: _by_model(DawidSkeneModel),
        MACE: _by_model(DawidSkeneModel),
        BayesianCombination: _combined,
        Subtypes: _subtypes,
        Auto: _auto,
    },
)
