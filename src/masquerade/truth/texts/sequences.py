"""Texts nearest to the weighted mean of what all workers wrote: RASA and HRRASA."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.truth.estimator import check_iteration, check_not_negative, check_proper_share
from masquerade.truth.texts.embeddings import (
    Embedding,
    Similarity,
    character_embedding,
    embedded,
    gleu,
)
from masquerade.truth.texts.estimator import TextEstimator, Texts

_LEAST = 1e-5  # sums of squared distances below are raised to it


@dataclass(eq=False, kw_only=True)
class RASA(TextEstimator):
    """Take each task's text whose vector is nearest to the mean, weighted by workers.

    Parameters
    ----------
    embedding : callable
        Returns a vector for each of a list of texts. By default `character_embedding`, which knows
        spelling alone; a language model's sentence encoder knows meaning.
    alpha : float
        Quantile of the chi-squared distribution in the weights is that of ``alpha / 2``; above 0
        and below 1.
    max_iterations : int
        Most iterations, at least 1.
    tolerance : float
        Iteration ends when the means move by less, as a share of their squares, above 0.

    Notes
    -----
    Li and Fukumoto, "A dataset of crowdsourced word sequences: collections and answer aggregation
    for ground truth creation", 2019: reliability-aware sequence aggregation. ``weight`` is a
    worker's reliability, beta: the quantile for as many texts over the sum of their squared
    distances from the means. Nearest is by cosine. No mechanism masks texts.

    **Cost**: one embedding of each different text; iterations linear in texts times dimensions.

    References
    ----------
    Weights: Li et al., "A confidence-aware approach for truth discovery", 2014.

    Examples
    --------
    >>> table = {"task": ["s"] * 4, "worker": ["w", "x", "y", "z"],
    ...          "text": ["the cat sat", "the cat sat", "the cat sad", "no idea"]}
    >>> RASA().fit(table).truths_.to_pylist()
    [{'task': 's', 'text': 'the cat sat'}]
    """

    name: ClassVar[str] = "rasa"

    embedding: Embedding = character_embedding
    alpha: float = 0.05
    max_iterations: int = 100
    tolerance: float = 1e-9
    _chosen: Integers = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64), init=False, repr=False
    )

    def __post_init__(self) -> None:
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_proper_share(alpha=self.alpha)

    def _learn(self, texts: Texts) -> None:
        known = list(texts.known.values())
        vectors = embedded(self.embedding, [*texts.text, *known])
        vectors, of_known = vectors[: len(texts.text)], vectors[len(texts.text) :]
        self._learn_vectors(texts, vectors, dict(zip(texts.known, of_known, strict=True)))

    def adopt(self, texts: Texts, vectors: Floats, known: dict[int, Floats]) -> None:
        """Learn from texts whose vectors are there already.

        Parameters
        ----------
        texts : Texts
        vectors : float array, shape (n_texts, n_dimensions)
        known : dict
            Vectors that are known to be right, by code of the task.
        """
        self._texts = None
        self._learn_vectors(texts, vectors, known)
        self._texts = texts

    def _learn_vectors(self, texts: Texts, vectors: Floats, known: dict[int, Floats]) -> None:
        local = self._local_weights(texts, vectors)
        means, self._weight = self._means(texts, vectors, known, local)
        # The text that somebody wrote nearest to the mean: a mean of vectors is no text.
        distance = cosine_distances(vectors, means[texts.task])
        rows = [rows[distance[rows].argmin()] for rows in texts.of_task]
        self._chosen = np.array(rows, dtype=np.int64)
        self._found = [texts.text[row] for row in rows]

    @property
    def chosen_rows(self) -> Integers:
        """The row of the table that each task's text is from, shape (n_tasks,)."""
        return self._chosen

    def _local_weights(self, texts: Texts, vectors: Floats) -> Floats:
        """Return how far each text counts beside its worker's weight, shape (n_texts,)."""
        return np.ones(len(texts.text))

    def _means(
        self, texts: Texts, vectors: Floats, known: dict[int, Floats], local: Floats
    ) -> tuple[Floats, Floats]:
        """Return the weighted mean of each task, and the weight of each worker."""
        # Li and Fukumoto (2019): chi-squared quantile of alpha / 2, more for more texts
        counted = np.bincount(texts.worker, local > 0, len(texts.workers))
        quantile = chdtri(np.maximum(counted, 1), self.alpha / 2)
        weight = np.ones(len(texts.workers))
        means: Any = np.zeros((len(texts.tasks), vectors.shape[1]))
        self._converged, self._iterations = False, 0
        while not self._converged and self._iterations < max(self.max_iterations, 1):
            before = means
            each = weight[texts.worker] * local
            total = np.bincount(texts.task, each, len(texts.tasks))
            sums = np.zeros_like(means)
            np.add.at(sums, texts.task, each[:, None] * vectors)
            # Weighted means, where known texts stay what they are
            means = np.divide(sums, total[:, None], out=sums, where=total[:, None] > 0)
            for code, vector in known.items():
                means[code] = vector
            # off[text]: squared distance from the mean of its task
            off = ((vectors - means[texts.task]) ** 2).sum(axis=1)
            spread = np.divide(off, local, out=np.zeros_like(off), where=local > 0)
            sums_of_workers = np.bincount(texts.worker, spread, len(texts.workers))
            # A quantile over the sum of squares, so that few texts give no large weight by
            # luck.
            weight = quantile / np.maximum(sums_of_workers, _LEAST)
            self._iterations += 1
            size = float((means**2).sum())
            moved = float(((means - before) ** 2).sum())
            self._converged = self._iterations > 1 and moved <= self.tolerance * size
        return means, weight


@dataclass(eq=False, kw_only=True)
class HRRASA(RASA):
    """`RASA` in which a text counts more that is like the other texts of its task.

    Parameters
    ----------
    similarity : callable
        Returns how alike two texts are, 0 to 1. By default `gleu`.
    embedding_share, text_share : float
        How far likeness of vectors and of texts count; at least 0.
    embedding, alpha, max_iterations, tolerance
        See `RASA`.

    Notes
    -----
    Li, "Crowdsourced text sequence aggregation based on hybrid reliability and representation",
    SIGIR 2020: hybrid reliability and representation aware sequence aggregation. Texts that are
    their task's only one have no others to be like; they count for nothing but their own task.
    Where we differ from crowd-kit: its default similarity compares words with letters; ours words
    with words.

    **Cost**: that of `RASA`, and the similarity of all pairs of texts of a task.

    Examples
    --------
    >>> table = {"task": ["s"] * 4, "worker": ["w", "x", "y", "z"],
    ...          "text": ["the cat sat", "the cat sat", "the cat sad", "no idea"]}
    >>> HRRASA().fit(table).truths_.to_pylist()
    [{'task': 's', 'text': 'the cat sat'}]
    """

    name: ClassVar[str] = "hrrasa"

    similarity: Similarity = gleu
    embedding_share: float = 0.5
    text_share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(embedding_share=self.embedding_share, text_share=self.text_share)
        if not self.embedding_share + self.text_share > 0:
            raise ParameterError(
                "embedding_share and text_share are both 0, expected one of them above 0."
            )

    def _local_weights(self, texts: Texts, vectors: Floats) -> Floats:
        local = np.zeros(len(texts.text))
        norms = (vectors**2).sum(axis=1)
        for rows in texts.of_task:
            if len(rows) < 2:
                continue
            mine, norm = vectors[rows], norms[rows]
            # Li (2020), eq. 1: exp(-|e - e'|^2 / (|e|^2 |e'|^2)), the mean over the others
            off = np.maximum(norm[:, None] + norm - 2 * mine @ mine.T, 0)
            product = norm[:, None] * norm
            scaled = np.divide(off, product, out=np.full_like(off, np.inf), where=product > 0)
            alike = np.exp(-scaled)
            said = [texts.text[row] for row in rows]
            # same[text, other] of one task
            same = np.array([[self.similarity(a, b) for b in said] for a in said])
            each = self.embedding_share * alike + self.text_share * same
            np.fill_diagonal(each, 0)
            local[rows] = each.sum(axis=1) / (len(rows) - 1)
        return local


def cosine_distances(vectors: Floats, means: Floats) -> Floats:
    """Return 1 less the cosine of each pair of rows, infinity for a vector of zeros."""
    norm = np.linalg.norm(vectors, axis=1) * np.linalg.norm(means, axis=1)
    inner = np.einsum("nd,nd->n", vectors, means)
    # A vector of zeros has no direction: it is the farthest of all.
    cosine = np.divide(inner, norm, out=np.full(len(inner), -np.inf), where=norm > 0)
    return np.asarray(1 - cosine)
