"""crowd-kit's methods for answers that are no single label: lists of labels, texts, vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np

from masquerade.answers import Frame
from masquerade.errors import NotFitted
from masquerade.exact.arrays import Floats
from masquerade.truth import binary_relevance
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.crowd_kit.names import ByConstructor, Renamed
from masquerade.truth.crowd_kit.votes import MajorityVote
from masquerade.truth.estimator import NOT_FITTED
from masquerade.truth.texts import rover, sequences
from masquerade.truth.texts.embeddings import Similarity, gleu
from masquerade.truth.texts.estimator import Texts


class BinaryRelevance(ByConstructor, binary_relevance.BinaryRelevance):
    """Several labels a task; see `masquerade.truth.BinaryRelevance`.

    ``base_aggregator`` is its ``method``; ``labels_`` a series of lists, by task.
    """

    base_aggregator = Renamed("method")

    def __init__(self, base_aggregator: CategoricalEstimator | None = None) -> None:
        super().__init__(method=base_aggregator or MajorityVote())
        self._labels: Any = None

    def fit(self, data: Frame, **options: Any) -> Self:
        """Learn from lists of labels; see `masquerade.truth.BinaryRelevance.fit`."""
        pandas = import_module("pandas")
        if not len(data):
            self._fits = None  # nothing was learnt
            self._labels = pandas.Series(dtype="float64", name="agg_label")
            return self
        truths = super().fit(data, **options).truths_
        index = pandas.Index(truths["task"].to_pylist(), name="task")
        self._labels = pandas.Series(truths["label"].to_pylist(), index, name="agg_label")
        return self

    def fit_predict(self, data: Frame, **options: Any) -> Any:
        """Return each task's labels; see `fit`."""
        return self.fit(data, **options).labels_

    @property
    def labels_(self) -> Any:
        """Each task's labels: series of lists by task."""
        if self._labels is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._labels

    @property
    def aggregators_(self) -> dict[Any, CategoricalEstimator]:
        """The fitted method of each label."""
        return self.methods_


class ROVER(rover.ROVER):
    """ROVER; see `masquerade.truth.texts.ROVER`. ``texts_`` is a series by task."""

    def __init__(
        self,
        tokenizer: Callable[[str], Sequence[str]],
        detokenizer: Callable[[Sequence[str]], str],
    ) -> None:
        super().__init__(tokenizer=tokenizer, detokenizer=detokenizer)
        self.texts_: Any = None

    def fit(self, data: Frame, *, gold: Any = None) -> Self:
        """Learn from texts; see `masquerade.truth.texts.ROVER.fit`."""
        pandas = import_module("pandas")
        truths = super().fit(data, gold=gold).truths_
        index = pandas.Index(truths["task"].to_pylist(), name="task")
        self.texts_ = pandas.Series(truths["text"].to_pylist(), index, name="agg_text").sort_index()
        return self

    def fit_predict(self, data: Frame, *, gold: Any = None) -> Any:
        """Return each task's text; see `fit`."""
        return self.fit(data, gold=gold).texts_


class WithVectors(ByConstructor, sequences.RASA):
    """Fitting of outputs whose vectors are in the table, and what crowd-kit calls its results."""

    n_iter, tol = Renamed("max_iterations"), Renamed("tolerance")
    embeddings_and_outputs_: Any = None

    def fit(self, data: Any, true_embeddings: Any = None) -> Self:  # type: ignore[override]
        """Learn from a pandas table ``task``, ``worker``, ``output``, ``embedding``.

        `true_embeddings`: a series of vectors that are known to be right, by task.
        """
        table = data[["task", "worker", "output"]].rename(columns={"output": "text"})
        texts = Texts.from_frame(table, None)
        # vectors[row, dimension], in the order of the table
        vectors = np.stack(list(data["embedding"])).astype(np.float64)
        place = {name: code for code, name in enumerate(texts.tasks.to_pylist())}
        known = {} if true_embeddings is None else dict(true_embeddings.dropna().items())
        self.adopt(
            texts, vectors, {place[k]: np.asarray(v) for k, v in known.items() if k in place}
        )
        chosen = data.iloc[self.chosen_rows].set_index("task")
        self.embeddings_and_outputs_ = chosen[["output", "embedding"]].sort_index()
        return self

    def fit_predict(self, data: Any, true_embeddings: Any = None) -> Any:  # type: ignore[override]
        """Return ``output`` and ``embedding`` of each task; see `fit`."""
        return self.fit(data, true_embeddings).embeddings_and_outputs_

    @property
    def skills_(self) -> Any:
        """Weights of workers: series by worker (sorted)."""
        table = self.reliability_
        pandas = import_module("pandas")
        index = pandas.Index(table["worker"].to_pylist(), name="worker")
        return pandas.Series(table["weight"].to_numpy(), index, name="skill").sort_index()


class RASA(WithVectors):
    """RASA of outputs whose vectors are in the table; see `masquerade.truth.texts.RASA`.

    ``n_iter`` and ``tol`` are its ``max_iterations`` and ``tolerance``.
    """

    def __init__(self, n_iter: int = 100, tol: float = 1e-9, alpha: float = 0.05) -> None:
        # A tolerance of 0, which crowd-kit takes, is never reached.
        super().__init__(
            max_iterations=max(n_iter, 1), tolerance=tol or np.finfo(float).tiny, alpha=alpha
        )
        self.max_iterations = n_iter


class HRRASA(WithVectors, sequences.HRRASA):
    """HRRASA of outputs whose vectors are in the table; see `masquerade.truth.texts.HRRASA`.

    ``n_iter``, ``tol``, ``lambda_emb``, ``lambda_out`` and ``output_similarity`` are its
    ``max_iterations``, ``tolerance``, ``embedding_share``, ``text_share`` and ``similarity``.
    """

    lambda_emb, lambda_out = Renamed("embedding_share"), Renamed("text_share")
    output_similarity = Renamed("similarity")

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-9,
        lambda_emb: float = 0.5,
        lambda_out: float = 0.5,
        alpha: float = 0.05,
        *,
        output_similarity: Similarity = gleu,
    ) -> None:
        super().__init__(
            max_iterations=max(n_iter, 1),
            tolerance=tol or np.finfo(float).tiny,
            embedding_share=lambda_emb,
            text_share=lambda_out,
            alpha=alpha,
            similarity=output_similarity,
        )
        self.max_iterations = n_iter


class TextRASA(ByConstructor, sequences.RASA):
    """RASA of texts; see `masquerade.truth.texts.RASA`.

    ``encoder`` returns the vector of one text; ``n_iter`` and ``tol`` are its ``max_iterations``
    and ``tolerance``.
    """

    n_iter, tol = Renamed("max_iterations"), Renamed("tolerance")

    def __init__(
        self,
        encoder: Callable[[str], Any],
        n_iter: int = 100,
        tol: float = 1e-5,
        alpha: float = 0.05,
    ) -> None:
        self.encoder = encoder
        super().__init__(
            embedding=one_by_one(encoder), max_iterations=n_iter, tolerance=tol, alpha=alpha
        )


class TextHRRASA(ByConstructor, sequences.HRRASA):
    """HRRASA of texts; see `masquerade.truth.texts.HRRASA`, `TextRASA` and `HRRASA`."""

    n_iter, tol = Renamed("max_iterations"), Renamed("tolerance")
    lambda_emb, lambda_out = Renamed("embedding_share"), Renamed("text_share")
    output_similarity = Renamed("similarity")

    def __init__(
        self,
        encoder: Callable[[str], Any],
        n_iter: int = 100,
        tol: float = 1e-5,
        lambda_emb: float = 0.5,
        lambda_out: float = 0.5,
        alpha: float = 0.05,
        *,
        output_similarity: Similarity = gleu,
    ) -> None:
        self.encoder = encoder
        super().__init__(
            embedding=one_by_one(encoder),
            max_iterations=n_iter,
            tolerance=tol,
            embedding_share=lambda_emb,
            text_share=lambda_out,
            alpha=alpha,
            similarity=output_similarity,
        )


def one_by_one(encoder: Callable[[str], Any]) -> Callable[[Sequence[str]], Floats]:
    """Return an embedding of many texts from an encoder of one."""
    return lambda texts: np.stack([np.asarray(encoder(text), dtype=np.float64) for text in texts])
