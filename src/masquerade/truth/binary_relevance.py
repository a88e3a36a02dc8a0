"""Several labels a task: each option is a question of its own, with the answers yes and no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Claims, Frame, like_frame
from masquerade.answers.claims import kept_rows
from masquerade.answers.frames import first_missing, id_column, is_pandas, plain_column, to_arrow
from masquerade.errors import (
    EmptyTable,
    MissingValue,
    NotFitted,
    ParameterError,
    SchemaError,
    UnknownLabel,
)
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.mechanisms.mechanism import require_mechanism
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import NOT_FITTED, Parametrized, option_columns, require_no_targets
from masquerade.truth.report_mechanisms import label_mechanism
from masquerade.truth.voting import MajorityVote


@dataclass(eq=False, kw_only=True)
class BinaryRelevance(Parametrized):
    """Find all labels that hold of a task, where workers give several or none.

    Parameters
    ----------
    method : CategoricalEstimator
        How "yes" and "no" of one option are joined; it is copied for each option. By default
        `MajorityVote`.

    Notes
    -----
    Tsoumakas and Katakis, "Multi-label classification: an overview", 2007: binary relevance.
    Whoever answered a task without an option said no to it. Options are taken for independent; with
    one label a task, a task may get none or several.

    **Cost**: that of `method`, once an option.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a", "b"], "worker": ["x", "y", "z", "x"],
    ...          "label": [["tree", "house"], ["house"], ["house", "grass"], []]}
    >>> BinaryRelevance().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': ['house']}, {'task': 'b', 'label': []}]
    """

    method: CategoricalEstimator = field(default_factory=MajorityVote)
    _fits: tuple[CategoricalEstimator, ...] | None = field(default=None, init=False, repr=False)
    _options: pa.Array = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.method, CategoricalEstimator):
            raise ParameterError(f"method is {self.method!r}, expected such as MajorityVote().")

    def fit(
        self,
        data: Frame,
        y: None = None,
        *,
        mechanism: CategoricalMechanism | None = None,
        options: Sequence[Any] | None = None,
        gold: Mapping[Any, Sequence[Any]] | Any | None = None,
    ) -> Self:
        """Learn from lists of labels, and return the method.

        Parameters
        ----------
        data : pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and ``label``, a list of labels in each row.
        y : None
            There for scikit-learn's pipelines: nothing is learnt from targets.
        mechanism : CategoricalMechanism, optional
            The mechanism of two options that masked the yes or no to each option, by itself.
        options : sequence, optional
            All labels that could be given. With a mechanism they have to be declared.
        gold : dict or pandas series, optional
            Lists of all labels that are known to hold of some tasks, by task.

        Raises
        ------
        InputError
            A row cannot be used; the message names it.
        ParameterError
            The mechanism is of more than two options or has "no answer", or masks options that are
            not declared; an option is missing, stands twice or is of another type than the labels.
        UnknownLabel
            A known label is none of the options.
        """
        require_no_targets(y)
        if mechanism is not None:
            _check_mask(mechanism, options)
        table = to_arrow(data, columns=("task", "worker", "label"))
        ids = [
            id_column(table, name, wanted="claim a task and a worker").dictionary_encode()
            for name in ("task", "worker")
        ]
        lists = _label_lists(table)
        rows = pc.list_parent_indices(lists).to_numpy()
        codes, self._options = _option_codes(lists, rows, options)
        task, worker = (one.indices.to_numpy().astype(np.int32, copy=False) for one in ids)
        claims = Claims(
            task,
            worker,
            np.zeros(len(task), dtype=np.int32),
            ids[0].dictionary,
            ids[1].dictionary,
            pa.array([False, True]),
        )
        kept_rows(claims, "error")
        known = None if gold is None else _known_lists(gold, self._options)
        # Mentions of each option are a run in this order.
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(self._options) + 1))
        fits = []
        for code, option in enumerate(self._options.to_pylist()):
            yes = np.zeros(len(task), dtype=np.int32)
            yes[rows[order[ends[code] : ends[code + 1]]]] = 1
            truths = None if known is None else {one: option in all_ for one, all_ in known.items()}
            # One method an option: nothing is shared but the workers' names.
            one = copy(self.method).unfitted()
            fits.append(one.fit(claims.with_values(yes), mechanism=mechanism, gold=truths))
        self._fits = tuple(fits)
        return self

    def fit_predict(
        self,
        data: Frame,
        *,
        mechanism: CategoricalMechanism | None = None,
        options: Sequence[Any] | None = None,
        gold: Mapping[Any, Sequence[Any]] | Any | None = None,
    ) -> Frame:
        """Learn, and return each task's labels in the kind of `data`; see `fit`.

        From pandas comes a series of lists named ``agg_label``, over the sorted tasks.
        """
        table = self.fit(data, mechanism=mechanism, options=options, gold=gold).truths_
        if not is_pandas(data):
            return like_frame(table, data)
        pandas = import_module("pandas")
        index = pandas.Index(table["task"].to_pylist(), name="task").astype(data["task"].dtype)
        return pandas.Series(table["label"].to_pylist(), index, name="agg_label").sort_index()

    @property
    def methods_(self) -> dict[Any, CategoricalEstimator]:
        """The fitted method of each option."""
        return dict(zip(self._options.to_pylist(), self._fitted, strict=True))

    @property
    def truths_(self) -> pa.Table:
        """The labels found: ``task``, and ``label``, a list in the order of the options."""
        tasks = self._fitted[0].claims_.tasks
        # holds[task, option]
        holds: Flags = np.stack([fit.labels_ == 1 for fit in self._fitted], axis=1)
        offsets = np.concatenate([[0], np.cumsum(holds.sum(axis=1))]).astype(np.int32)
        labels = self._options.take(pa.array(np.nonzero(holds)[1]))
        return pa.table({"task": tasks, "label": pa.ListArray.from_arrays(offsets, labels)})

    @property
    def posteriors_(self) -> pa.Table:
        """``task``, then a column an option: how probable it is that the option holds.

        Shares of votes from the methods whose posteriors are; see `CategoricalEstimator`.
        """
        columns = [fit.solution_.posteriors[:, 1] for fit in self._fitted]
        names = ["task", *option_columns(self._options, "task")]
        return pa.Table.from_arrays([self._fitted[0].claims_.tasks, *map(pa.array, columns)], names)

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims`` and ``reliability``, the mean over options."""
        first = self._fitted[0].reliability_
        each: Floats = np.stack([fit.solution_.reliability for fit in self._fitted])
        return first.select(["worker", "claims"]).append_column(
            "reliability", pa.array(each.mean(axis=0))
        )

    @property
    def _fitted(self) -> tuple[CategoricalEstimator, ...]:
        if self._fits is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._fits


def _check_mask(mechanism: CategoricalMechanism, options: Sequence[Any] | None) -> None:
    label_mechanism(require_mechanism(mechanism))
    if mechanism.options != 2 or mechanism.null:
        raise ParameterError(
            f"{mechanism} masks {mechanism.options} options or has 'no answer', expected two "
            "without: the mechanism that masked the yes or no to each option."
        )
    if options is None:
        raise ParameterError(
            "the options are read off masked lists; declare all that were asked about with "
            "options=[...], for each was masked, named or not."
        )


def _label_lists(table: pa.Table) -> Any:
    """Return the column of lists, checked."""
    if "label" not in table.column_names:
        raise SchemaError(f"column 'label' is missing; the table has {table.column_names}.")
    if table.num_rows == 0:
        raise EmptyTable("the table has no rows; expected at least one claim.")
    lists = plain_column(table, "label")
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        raise SchemaError(
            f"column 'label' holds {lists.type}, expected a list of labels in each row; one "
            "label a task is what the other methods take."
        )
    row = first_missing(lists)
    if row is not None:
        raise MissingValue(f"column 'label', row {row}: the list is missing; give an empty one.")
    return lists


def _option_codes(lists: Any, rows: Any, options: Sequence[Any] | None) -> tuple[Codes, pa.Array]:
    """Return each label in the lists as a code, and the options: as declared, else sorted."""
    labels = _plain(lists.flatten())
    missing = first_missing(labels)
    if missing is not None:
        raise MissingValue(f"column 'label', row {rows[missing - 1] + 1}: a label is missing.")
    if options is None:
        names = pc.unique(labels)
        names = names.take(pc.sort_indices(names))
    else:
        names = _declared(options, labels.type)
        if pa.types.is_null(labels.type):  # every list is empty: nobody named one
            labels = labels.cast(names.type)
    if len(names) == 0:
        raise MissingValue("column 'label': every list is empty; declare the options.")
    codes = pc.index_in(labels, value_set=names)
    unknown = first_missing(codes)
    if unknown is not None:
        raise ParameterError(
            f"column 'label', row {rows[unknown - 1] + 1}: {labels[unknown - 1].as_py()!r} is not "
            f"one of the {len(names)} declared options; correct it or declare it."
        )
    return codes.to_numpy().astype(np.int32, copy=False), names


def _plain(labels: pa.Array) -> pa.Array:
    """Return labels in a type that Arrow's kernels sort and look up."""
    kind = labels.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        kind = pa.string()
    return labels if kind == labels.type else labels.cast(kind)


def _declared(options: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return declared options in the type of the labels, checked."""
    given = list(options)
    if isinstance(options, str) or None in given or len(set(given)) < len(given):
        raise ParameterError(f"options are {options!r}, expected labels, each of them once.")
    try:
        return pa.array(given, None if pa.types.is_null(kind) else kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ParameterError(
            f"the declared options {given[:10]} are not of the labels' type {kind}."
        ) from None


def _known_lists(gold: Mapping[Any, Sequence[Any]] | Any, options: pa.Array) -> dict[Any, set[Any]]:
    """Return the labels that are known to hold, by task."""
    names, found = set(options.to_pylist()), {}
    for task, labels in gold.items():
        if isinstance(labels, str):
            raise ParameterError(f"gold of task {task!r} is {labels!r}, expected a list of labels.")
        found[task] = set(labels)
        odd = sorted(map(repr, found[task] - names))
        if odd:
            raise UnknownLabel(
                f"gold of task {task!r} has {odd[0]}, which is no option; correct it or declare it."
            )
    return found
