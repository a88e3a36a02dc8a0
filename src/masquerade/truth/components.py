"""Connected components: groups of workers and tasks that share nothing with one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from masquerade.answers import Claims
from masquerade.exact.arrays import Codes


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The connected components of the graph that joins a worker to every task answered.

    Inference cannot compare workers of different components, so each is solved on its own.

    Attributes
    ----------
    count : int
        Number of components with at least one answer.
    of_task, of_worker : int32 array, shapes (n_tasks,) and (n_workers,)
        Number of the component, from 0; `count` for a task or worker without any answer.
    """

    count: int
    of_task: Codes
    of_worker: Codes


def components(claims: Claims) -> Components:
    """Return the connected components of the answered claims. Cost: linear in claims."""
    claims = claims.answered()
    n_workers, n_nodes = claims.n_workers, claims.n_workers + claims.n_tasks
    graph = sparse.coo_array(
        (np.ones(len(claims), np.int8), (claims.worker, n_workers + claims.task)),
        shape=(n_nodes, n_nodes),
    ).tocsr()
    n_found, found = csgraph.connected_components(graph, directed=False)
    answered = np.zeros(n_found, dtype=bool)
    answered[found[claims.worker]] = True
    count = int(answered.sum())
    number = np.full(n_found, count, dtype=np.int32)
    number[answered] = np.arange(count, dtype=np.int32)
    return Components(count, number[found[n_workers:]], number[found[:n_workers]])
