"""Each method over partitions: what it comes to, without any array over tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa

from masquerade.exact.arrays import Floats
from masquerade.truth.auto import Auto
from masquerade.truth.bayesian_combination import BayesianCombination
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.confusions import Member
from masquerade.truth.dawid_skene import MACE, DawidSkene, DawidSkeneModel, OneCoinDawidSkene
from masquerade.truth.diagnostics import Remark
from masquerade.truth.estimator import Estimator
from masquerade.truth.expectation_maximization import Crowd, FixedPoint, Model
from masquerade.truth.one_coin import OneCoin, OneCoinModel
from masquerade.truth.scale.blocks import PartitionedClaims
from masquerade.truth.subtypes import Subtypes, SubtypesModel
from masquerade.truth.truth_discovery import DiscoveryModel, TruthDiscovery
from masquerade.truth.two_coin import TwoCoin, TwoCoinModel
from masquerade.truth.voting import MajorityVote, VotingModel, WeightedModel, WeightedVote


@dataclass(frozen=True, slots=True, eq=False)
class PartitionSolution:
    """What a method comes to: workers, and the models that each task's label follows from."""

    members: tuple[Member, ...]
    # reliability, weight: float array, shape (n_workers,)
    reliability: Floats
    weight: Floats
    converged: bool
    iterations: int
    orientation_ambiguous: bool
    remarks: tuple[Remark, ...] = ()
    selection: pa.Table | None = None  # why `Auto` chose the model


def _by_model(model_of: Callable[[Any, Crowd], Model]) -> Callable[..., PartitionSolution]:
    def solved(method: CategoricalEstimator, claims: PartitionedClaims) -> PartitionSolution:
        model = model_of(method, claims.numbers)
        return _solution(claims, model, claims.fit(model))

    return solved


def _solution(claims: PartitionedClaims, model: Model, result: FixedPoint) -> PartitionSolution:
    """Return a fixed point of a model as a solution."""
    return PartitionSolution(
        (Member.of(model, result),),
        *model.reliability_and_weight(result.parameters),
        result.converged,
        result.iterations,
        getattr(model, "orientation_ambiguous", claims.numbers.orientation_ambiguous),
    )


def _weighted_vote(method: WeightedVote, claims: PartitionedClaims) -> PartitionSolution:
    model = WeightedModel(method, claims.numbers)
    result = claims.fit(model)
    majority = _solution(claims, model, result)
    weight = majority.reliability
    if method.weights is not None:
        weight = method.weights_of(claims.index.names.workers)
    return replace(majority, members=(Member(model, weight),), weight=weight)


def _combined(method: BayesianCombination, claims: PartitionedClaims) -> PartitionSolution:
    found = method.conclude(claims)
    if isinstance(found, Remark):
        simple = _by_model(OneCoinModel)(OneCoin(ties=method.ties, seed=method.seed), claims)
        return replace(simple, remarks=(found,))
    crowd = found.crowd()
    return PartitionSolution(
        found.members,
        crowd.reliability,
        crowd.weight,
        found.converged,
        found.iterations,
        claims.numbers.orientation_ambiguous,
        found.remarks,
    )


def _subtypes(method: Subtypes, claims: PartitionedClaims) -> PartitionSolution:
    model = SubtypesModel(method, claims.numbers)
    result = claims.fit(model)
    accuracy, _ = model.accuracies(result.statistics)
    return replace(_solution(claims, model, result), reliability=accuracy)


def _auto(method: Auto, claims: PartitionedClaims) -> PartitionSolution:
    first = BayesianCombination(ties=method.ties, seed=method.seed)
    solution = _combined(first, claims)
    choice = method.choose(first, claims, solution.remarks)
    if choice.chosen is not first:
        solution = AT_SCALE[type(choice.chosen)](choice.chosen, claims)
        solution = replace(solution, remarks=(*solution.remarks, choice.remark()))
    return replace(solution, selection=choice.table())


#: The methods that work over partitions.
AT_SCALE = cast(
    "dict[type[Estimator], Callable[[Any, PartitionedClaims], PartitionSolution]]",
    {
        MajorityVote: _by_model(VotingModel),
        WeightedVote: _weighted_vote,
        TruthDiscovery: _by_model(DiscoveryModel),
        OneCoin: _by_model(OneCoinModel),
        OneCoinDawidSkene: _by_model(DawidSkeneModel),
        TwoCoin: _by_model(TwoCoinModel),
        DawidSkene: _by_model(DawidSkeneModel),
        MACE: _by_model(DawidSkeneModel),
        BayesianCombination: _combined,
        Subtypes: _subtypes,
        Auto: _auto,
    },
)
