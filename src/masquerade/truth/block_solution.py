"""The solution of a method over blocks of tasks, wherever these are: no array over all tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.exact.arrays import Floats
from masquerade.truth.confusions import Doubt, Member
from masquerade.truth.diagnostics import Remark
from masquerade.truth.expectation_maximization import ClaimBlocks, FixedPoint, Model, VoteBlock
from masquerade.truth.report_mechanisms import Sources


@dataclass(frozen=True, slots=True, eq=False)
class BlockSolution:
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

    @classmethod
    def of(cls, claims: ClaimBlocks, model: Model, result: FixedPoint) -> BlockSolution:
        """Return a fixed point of a model as a solution."""
        return cls(
            (Member.of(model, result),),
            *model.reliability_and_weight(result.parameters),
            result.converged,
            result.iterations,
            getattr(model, "orientation_ambiguous", claims.crowd.orientation_ambiguous),
        )

    @classmethod
    def fitted(cls, claims: ClaimBlocks, model: Model) -> BlockSolution:
        """Return the solution of a model that is iterated on claims."""
        return cls.of(claims, model, claims.fit(model))

    def by_worker(self, sources: Sources, answers: Floats, n_workers: int) -> BlockSolution:
        """Return the solution of workers in place of their sources; see `Solution.by_worker`."""
        precision = sources.precision(self.error, answers)
        count = sources.precision(None, answers)
        return replace(
            self,
            reliability=sources.mean(self.reliability, precision, n_workers),
            weight=sources.mean(self.weight, count, n_workers),
            error=None,
        )


def doubtful_error(
    claims: ClaimBlocks, variance: Floats, shares: Callable[..., Floats], *arguments: Any
) -> Floats | None:
    """Return the standard deviation of reliabilities of models with confusions.

    One more pass over the claims, so only where the sources of workers have to be joined by it.
    """
    if not claims.has_sources:
        return None
    doubt: Doubt = claims.fold(_doubt, shares, *arguments)
    return np.sqrt(doubt.variance(variance))


def _doubt(block: VoteBlock, shares: Callable[..., Floats], *arguments: Any) -> Doubt:
    own = Doubt.of(block.sorted_votes, shares(block, *arguments))
    return Doubt(*(block.spread(figure) for figure in (own.agreed, own.doubt, own.answers)))
