"""A fitted crowd: confusions of workers, to label further tasks with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Claims, Frame, like_frame
from masquerade.answers.frames import is_pandas
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import CategoricalMechanism, parse_mechanism
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.collection.claims_log import ids_like
from masquerade.truth.collection.saved_folder import SavedFolder, array_of, rows_of
from masquerade.truth.confusions import LEAST
from masquerade.truth.estimator import as_series, option_columns, probabilities_like
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.label_slots import require_room
from masquerade.truth.report_mechanisms import AnyMechanism, Masks, label_mechanism, mechanisms_of
from masquerade.truth.ties import pick, winners
from masquerade.truth.votes import LabelVotes, Votes
from masquerade.truth.worker_prior import WorkerPrior

_FORMAT = "masquerade-fitted-crowd"
_ROUNDS = 10  # of learning how alike workers are
_STRENGTH = 10.0  # answers that the crowd's first accuracy counts as
_ACCURACY = 0.65


@dataclass(frozen=True, slots=True, eq=False)
class FittedCrowd:
    """Workers' confusions as a fit leaves them, which label tasks that the fit has not seen.

    A worker whom the fit has not seen, or not behind that mask, counts as the crowd does.

    Attributes
    ----------
    options : pyarrow.Array
        The labels, in the order of all axes of labels.
    workers : pyarrow.Array
        Names of workers, one for each row of `confusion`; with several mechanisms a worker has a
        row for each.
    mechanisms : tuple of CategoricalMechanism
        What masked the claims; empty where nothing did.
    mechanism_of : int32 array, shape (n_rows,)
        Place of each row's mechanism; 0 where there is none.
    confusion : float array, shape (n_rows, n_options, n_options)
        ``confusion[row, truth, label]``: probability of a report.
    crowd : float array, shape (n_mechanisms, n_options, n_options), at least 1
        That of somebody not known, behind each mechanism.
    truth_share : float array, shape (n_options,)
        How often each truth holds.

    Examples
    --------
    >>> from masquerade.truth import OneCoin
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "yes", "yes", "yes"]}
    >>> crowd = FittedCrowd.of(OneCoin().fit(table))
    >>> new = {"task": ["c", "c"], "worker": ["x", "y"], "label": ["yes", "yes"]}
    >>> crowd.predict(new)["label"].tolist()
    ['yes']
    """

    options: pa.Array
    workers: pa.Array
    mechanisms: tuple[CategoricalMechanism, ...]
    mechanism_of: Codes
    confusion: Floats
    crowd: Floats
    truth_share: Floats

    @classmethod
    def of(cls, fit: CategoricalEstimator, *, mechanism: AnyMechanism = None) -> Self:
        """Return the crowd of a fitted method, judged by the method's posteriors.

        Parameters
        ----------
        fit : CategoricalEstimator
        mechanism : CategoricalMechanism or ReportMechanisms, optional
            What masked the claims, as it was given to `fit`.

        Raises
        ------
        NotFitted, ParameterError
            Nothing is fitted, or the mechanism is not of the claims.
        """
        masks = mechanisms_of(fit.claims_, mechanism)
        return cls.judged(fit.claims_, fit.solution_.posteriors, masks)

    @classmethod
    def judged(cls, claims: Claims, posterior: Floats, masks: Masks) -> Self:
        """Return the crowd of claims, judged by ``posterior[task, option]``."""
        assert claims.options is not None
        require_room("a table of confusions", claims, 1)
        mechanisms: tuple[CategoricalMechanism, ...] = ()
        if masks is not None:
            masks = masks.distinct()
            mechanisms = tuple(label_mechanism(one) for one in masks.mechanisms)
            masks.check(claims)
        if masks is not None and len(mechanisms) > 1:
            split, sources = masks.sources(claims)
            votes = Votes.of(split)
            levels = sources.levels
            channel = OptionChannel.of_levels(levels, votes.of_worker, n_options=claims.n_options)
            of_row, mechanism_of = sources.worker_of, levels.of_worker
        else:
            votes = Votes.of(claims)
            silent = float(np.mean(claims.unanswered())) if len(claims) else 0.0
            of_row = np.arange(claims.n_workers, dtype=np.int32)
            mechanism_of = np.zeros(claims.n_workers, dtype=np.int32)
            mask = mechanisms[0] if mechanisms else None
            channel = OptionChannel.of(mask, n_options=claims.n_options, null_share=silent)
        counts = LabelVotes.of(votes).counts(posterior)
        prior = WorkerPrior.start(channel, accuracy=_ACCURACY, strength=_STRENGTH)
        for _ in range(_ROUNDS):
            prior = prior.learn(counts)
        reports, weight = prior.reports(), np.atleast_2d(channel.weight)
        crowd = []
        for place in range(max(len(mechanisms), 1)):
            rows = np.flatnonzero(mechanism_of == place) if len(weight) > 1 else np.zeros(1, int)
            # A mechanism that nobody went through: the crowd's mean stands in.
            nodes = weight[rows[0]] if len(rows) else channel.mean_weight
            crowd.append(np.tensordot(nodes, reports, 1))
        # Posterior mean of the truths' shares under a uniform Dirichlet prior
        totals = posterior.sum(axis=0) + 1
        return cls(
            claims.options,
            claims.workers.take(pa.array(of_row)),
            mechanisms,
            np.asarray(mechanism_of, dtype=np.int32),
            prior.mean_confusion(counts),
            np.stack(crowd),
            totals / totals.sum(),
        )

    def confusions_of(self, workers: pa.Array, mechanism: Codes | int = 0) -> Floats:
        """Return ``confusion[worker, truth, label]`` of workers behind a mechanism each.

        Parameters
        ----------
        workers : pyarrow.Array
        mechanism : int or int array, shape (n_workers,)
            Place among `mechanisms`.
        """
        places = np.broadcast_to(np.asarray(mechanism), (len(workers),))
        known = pc.unique(self.workers)
        named = ids_like(workers, known.type, "workers")
        size = len(self.crowd)
        row = np.full(len(known) * size, -1)
        code = pc.index_in(self.workers, value_set=known).to_numpy(zero_copy_only=False)
        # row[worker, mechanism] of `confusion`; -1 for pairs that no report went through
        row[code * size + self.mechanism_of] = np.arange(len(code))
        asked = pc.index_in(named, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
        found = np.where(asked >= 0, row[np.maximum(asked, 0) * size + places], -1)
        own = self.confusion[np.maximum(found, 0)] if len(self.confusion) else self.crowd[places]
        return np.where((found >= 0)[:, None, None], own, self.crowd[places])

    def predict_posterior(self, data: Claims | Frame) -> tuple[Claims, Floats]:
        """Return the claims as they were read, and ``posterior[task, option]`` of their tasks.

        Parameters
        ----------
        data : Claims, or pandas, polars, pyarrow or duckdb table, or dict of arrays
            New claims, by workers seen before or not. Behind several mechanisms, with a column
            ``mechanism`` of text forms.

        Raises
        ------
        InputError, ParameterError
            A label is none of `options`, or a mechanism is none of the crowd's.
        """
        null = any(mechanism.null for mechanism in self.mechanisms)
        claims = data
        if not isinstance(data, Claims):
            claims = Claims.from_frame(
                data, kind="categorical", options=self.options.to_pylist(), null=null
            )
        elif data.options is None or not data.options.equals(self.options):
            raise ParameterError(
                f"the claims' options are not the crowd's, {self.options.to_pylist()[:10]}; read "
                "them with these options."
            )
        place = np.zeros(len(claims), dtype=np.int32)
        if len(self.mechanisms) > 1:
            masks = mechanisms_of(data, None)
            if masks is None:
                raise ParameterError(
                    "the crowd went through several mechanisms; give a table with a column "
                    "'mechanism'."
                )
            known = {str(mechanism): i for i, mechanism in enumerate(self.mechanisms)}
            strange = [str(one) for one in masks.mechanisms if str(one) not in known]
            if strange:
                raise ParameterError(f"{strange[0]} is none of the crowd's: {list(known)}.")
            place = np.array([known[str(one)] for one in masks.mechanisms])[masks.place(claims)]
        answered = ~claims.unanswered()
        source, row = np.unique(
            claims.worker[answered] * np.int64(len(self.crowd)) + place[answered],
            return_inverse=True,
        )
        worker, mechanism = np.divmod(source, len(self.crowd))
        table = np.log(
            np.maximum(self.confusions_of(claims.workers.take(pa.array(worker)), mechanism), LEAST)
        )
        scores = np.tile(np.log(np.maximum(self.truth_share, LEAST)), (claims.n_tasks, 1))
        # Dawid and Skene (1979): ln p(truth) + sum over reports of ln P(report | truth)
        np.add.at(scores, claims.task[answered], table[row, :, claims.value[answered]])
        return claims, row_softmax(scores)

    def predict(self, data: Claims | Frame) -> Frame:
        """Return each task's label in the kind of `data`, as `CategoricalEstimator.fit_predict`.

        See `predict_posterior` for parameters and errors.
        """
        claims, posterior = self.predict_posterior(data)
        voted = np.bincount(claims.task[~claims.unanswered()], minlength=claims.n_tasks) > 0
        labels = pick(winners(posterior, ~voted), claims, ties="random", seed=0)
        codes = pa.array(labels, mask=labels < 0)
        table = pa.table({"task": claims.tasks, "label": self.options.take(codes)})
        return as_series(table, data) if is_pandas(data) else like_frame(table, data)

    def predict_proba(self, data: Claims | Frame) -> Frame:
        """Return each task's posteriors in the kind of `data`, a column an option."""
        claims, posterior = self.predict_posterior(data)
        names = ["task", *option_columns(self.options, "task")]
        table = pa.Table.from_arrays([claims.tasks, *map(pa.array, posterior.T)], names=names)
        if is_pandas(data):
            return probabilities_like(table, data, self.options)
        return like_frame(table, data)

    def save(self, folder: str | Path) -> None:
        """Write the crowd to a folder: ``masquerade.json``, and Parquet tables beside it.

        Raises
        ------
        UnreadableFile
            The folder cannot be written, or holds something else.
        """
        facts = {
            "mechanisms": [str(mechanism) for mechanism in self.mechanisms],
            "truth_share": self.truth_share.tolist(),
        }
        workers = pa.table(
            {
                "worker": self.workers,
                "mechanism": self.mechanism_of,
                "confusion": rows_of(self.confusion),
            }
        )
        tables = {
            "options": pa.table({"label": self.options}),
            "workers": workers,
            "crowd": pa.table({"confusion": rows_of(self.crowd)}),
        }
        SavedFolder(folder, _FORMAT).write(facts, tables)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the crowd that `save` wrote to a folder.

        Raises
        ------
        UnreadableFile
            The folder holds something else, or a later version.
        """
        saved = SavedFolder(folder, _FORMAT)
        facts, workers = saved.read(), saved.table("workers")
        options = saved.table("options")["label"].combine_chunks()
        shape = (len(options), len(options))
        mechanisms: Any = tuple(parse_mechanism(text) for text in facts["mechanisms"])
        return cls(
            options,
            workers["worker"].combine_chunks(),
            mechanisms,
            workers["mechanism"].to_numpy().astype(np.int32),
            array_of(workers["confusion"], shape),
            array_of(saved.table("crowd")["confusion"], shape),
            np.array(facts["truth_share"], dtype=np.float64),
        )
