"""Diagnostics of claims: connected components, and remarks on limits of an estimate."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade.answers import Claims, Frame
from masquerade.answers.result import Result
from masquerade.exact.arrays import Codes, Integers
from masquerade.exact.number import quantity

_ENOUGH_TO_BE_CONSTANT = 5  # answers of a worker
_ROUNDS = 8  # of a search for one component, before the general algorithm
_MOST_SHOWN = 5  # groups of similar labels that a remark lists


@dataclass(frozen=True, slots=True, eq=False)
class Components(Result):
    """The connected components of the graph that joins a worker to every task answered.

    Inference cannot compare workers of different components, so each is solved on its own.

    Attributes
    ----------
    count : int
        Number of components with at least one answer.
    of_task, of_worker : int32 array, shapes (n_tasks,) and (n_workers,)
        Number of the component, from 0; `count` for a task or worker without any answer.

    Examples
    --------
    >>> from masquerade.truth.diagnostics import components
    >>> claims = {"task": ["a", "a", "b"], "worker": ["x", "y", "z"], "label": ["no", "no", "yes"]}
    >>> components(claims).of_task.tolist()
    [0, 1]
    """

    count: int
    of_task: Codes
    of_worker: Codes


def components(claims: Claims | Frame) -> Components:
    """Return the connected components of the answered claims. Cost: linear in claims.

    Examples
    --------
    >>> claims = {"task": ["a", "a", "b"], "worker": ["x", "y", "z"], "label": ["no", "no", "yes"]}
    >>> components(claims).count
    2
    """
    claims = Claims.of(claims).answered()
    whole = _one_component(claims)
    if whole is not None:
        return whole
    from scipy import sparse
    from scipy.sparse import csgraph  # dear to load, and most crowds are one component

    # Nodes are workers, then tasks; an answer joins two.
    n_workers, n_nodes = claims.n_workers, claims.n_workers + claims.n_tasks
    graph = sparse.coo_array(
        (np.ones(len(claims), np.int8), (claims.worker, n_workers + claims.task)),
        shape=(n_nodes, n_nodes),
    ).tocsr()
    n_groups, group = csgraph.connected_components(graph, directed=False)
    # Tasks and workers without an answer are components of their own, which do not count.
    answered = np.zeros(n_groups, dtype=bool)
    answered[group[claims.worker]] = True
    count = int(answered.sum())
    number = np.full(n_groups, count, dtype=np.int32)
    number[answered] = np.arange(count, dtype=np.int32)
    return Components(count, number[group[n_workers:]], number[group[:n_workers]])


def _one_component(claims: Claims) -> Components | None:
    """Return the components if all answers are in one and it is narrow; else nothing.

    A search in breadth from the first answer's worker, over all claims at once: each round reaches
    the tasks of its workers, then their workers. It ends after `_ROUNDS`, so the cost stays linear.
    """
    if not len(claims):
        return None
    of_task = np.ones(claims.n_tasks, dtype=np.int32)
    of_worker = np.ones(claims.n_workers, dtype=np.int32)
    of_worker[claims.worker[0]] = 0
    reached = 0
    for _ in range(_ROUNDS):
        of_task[claims.task[of_worker[claims.worker] == 0]] = 0
        joined = of_task[claims.task] == 0
        of_worker[claims.worker[joined]] = 0
        if joined.all():
            return Components(1, of_task, of_worker)
        before, reached = reached, int(joined.sum())
        if reached == before:  # a component of its own is complete
            return None
    return None


@dataclass(frozen=True, slots=True)
class Remark(Result):
    """A remark on a limit of an estimate.

    Attributes
    ----------
    code : str
        What it is, for programs, such as ``"PRIOR_ONLY"``.
    text : str
        The same for people, with numbers.

    Examples
    --------
    >>> Remark("PRIOR_ONLY", "Chance could make workers agree as much.").code
    'PRIOR_ONLY'
    """

    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


PRIOR_ONLY = "PRIOR_ONLY"


def prior_only(estimates: str, reason: str) -> Remark:
    """Return the remark that the claims tell no more than chance would; it says what estimates are.

    Examples
    --------
    >>> print(prior_only("all tasks have one estimate", "reports are noise"))
    PRIOR_ONLY: all tasks have one estimate: reports are noise.
    """
    return Remark(PRIOR_ONLY, f"{estimates}: {reason}.")


def remarks_on(claims: Claims, groups: int | None = None) -> tuple[Remark, ...]:
    """Return remarks on unusual claims. Cost: linear in claims.

    `groups`: the number of their `components`, where it is known already.

    ``UNANSWERED``: tasks nobody answered; their value is missing. ``ONE_TASK``, ``ONE_WORKER``:
    nothing can be compared. ``SINGLE_ANSWER``: tasks with one answer, which is their estimate.
    ``SEEN_ONCE``: workers with one answer, of whose quality nothing is known. ``CONSTANT_WORKER``:
    workers who gave the same answer to five tasks or more where others differ. ``DISCONNECTED``:
    groups of workers and tasks that share nothing. ``ALL_EQUAL``: all answers are one number.
    ``SIMILAR_LABELS``: labels that differ only by case, space or form, and so may be one.
    """
    answered = claims.answered()
    of_task = np.bincount(answered.task, minlength=claims.n_tasks)
    of_worker = np.bincount(answered.worker, minlength=claims.n_workers)
    remarks: list[Remark] = []

    def add(code: str, count: int, text: str) -> None:
        if count:
            remarks.append(Remark(code, text))

    def counted(code: str, count: int, one: str, many: str) -> None:
        add(code, count, quantity(count, one, many))

    none = int((of_task == 0).sum())
    nothing = "no answer and no value"
    counted("UNANSWERED", none, f"task has {nothing}", f"tasks have {nothing}")
    if not len(answered):
        return tuple(remarks)
    add("ONE_TASK", int(claims.n_tasks == 1), "there is only one task; workers cannot be compared")
    add("ONE_WORKER", int((of_worker > 0).sum() == 1), "only one worker answered")
    single = int((of_task == 1).sum())
    counted("SINGLE_ANSWER", single, "task has one answer only", "tasks have one answer only")
    if claims.n_tasks > 1:
        once = int((of_worker == 1).sum())
        text = "answered one task only; their quality is the crowd's"
        counted("SEEN_ONCE", once, f"worker {text}", f"workers {text}")
    if bool((answered.value == answered.value[0]).all()):
        add("ALL_EQUAL", int(len(answered) > 1), "all answers are the same")
    else:
        constant = _constant(answered, of_worker)
        text = "gave one same answer to five tasks or more"
        counted("CONSTANT_WORKER", constant, f"worker {text}", f"workers {text}")
    if claims.options is not None:
        alike = similar_labels(claims.options.to_pylist())
        text = "; ".join(", ".join(map(repr, group)) for group in alike[:_MOST_SHOWN])
        more = "" if len(alike) <= _MOST_SHOWN else f" and {len(alike) - _MOST_SHOWN} more"
        # Braces are no places for numbers here: labels may hold some.
        if alike:
            said = f"labels that differ only by case, space or form count apart: {text}{more}"
            remarks.append(Remark("SIMILAR_LABELS", said))
    groups = components(claims).count if groups is None else groups
    if groups > 1:
        add("DISCONNECTED", groups, f"{groups:,} groups of workers and tasks share no answer")
    return tuple(remarks)


def similar_labels(labels: Iterable[Any]) -> list[list[Any]]:
    """Return groups of labels that differ only by case, space or form.

    Form: composed or decomposed letters, wide or narrow ones (Unicode's NFKC), and how a number is
    written.

    Examples
    --------
    >>> similar_labels(["yes", "no", " Yes", "1", "1.0", "01"])
    [['yes', ' Yes'], ['1', '1.0', '01']]
    """
    groups: dict[object, list[Any]] = {}
    for label in labels:
        groups.setdefault(_bare(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


#: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt, 16.0): letters not seen.
_UNSEEN = frozenset(
    chr(code)
    for first, last in (
        (0x00AD, 0x00AD),
        (0x034F, 0x034F),
        (0x061C, 0x061C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8),
        (0x1BCA0, 0x1BCA3),
        (0x1D173, 0x1D17A),
        (0xE0000, 0xE0FFF),
    )
    for code in range(first, last + 1)
)


def _bare(label: object) -> object:
    """Return a label without case, space, form and letters that are not seen."""
    # NFKC_Casefold of Unicode (3.13, R5): compatibility, case, and what is by default ignored, such
    # as zero-width and bidirectional marks, variation selectors and fillers.
    folded = unicodedata.normalize("NFKC", str(label)).casefold()
    text = " ".join("".join(letter for letter in folded if letter not in _UNSEEN).split())
    try:
        number = float(text)
    except ValueError:
        return unicodedata.normalize("NFKC", text)
    # Long numbers are names, such as identifiers, which floats would take for one another.
    return number if math.isfinite(number) and abs(number) < 2**53 else text


def _constant(answered: Claims, of_worker: Integers) -> int:
    """Return how many workers always say the same."""
    size = len(of_worker)
    lowest, highest = np.full(size, np.inf), np.full(size, -np.inf)
    value = answered.value.astype(np.float64)
    np.minimum.at(lowest, answered.worker, value)
    np.maximum.at(highest, answered.worker, value)
    return int(((lowest == highest) & (of_worker >= _ENOUGH_TO_BE_CONSTANT)).sum())
