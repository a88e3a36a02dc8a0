"""Texts as vectors, and how alike two texts are."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats

#: Returns a vector for each of some texts: float array, shape (n_texts, n_dimensions).
Embedding = Callable[[Sequence[str]], Any]

#: Returns how alike two texts are, 0 to 1: of the first text and of the other.
Similarity = Callable[[str, str], float]

_DIMENSIONS = 512
_LONGEST = 3  # characters of a piece
_MOST_WORDS = 4  # words of a run


def character_embedding(texts: Sequence[str]) -> Floats:
    """Return counts of the characters, pairs and triples of each text, hashed, of length 1.

    It knows letters and no meaning: the vectors of texts that are spelt alike are near. An
    embedding function of a language model may stand in its place.

    Examples
    --------
    >>> near = character_embedding(["the cat", "the cap", "dogs"])
    >>> bool(near[0] @ near[1] > near[0] @ near[2])
    True
    """
    vectors = np.zeros((len(texts), _DIMENSIONS))
    for row, text in enumerate(texts):
        marked = f" {text.casefold()} "
        pieces = Counter(
            marked[i : i + length]
            for length in range(1, _LONGEST + 1)
            for i in range(len(marked) - length + 1)
        )
        # crc32 is the same in every process, unlike Python's own hash.
        places = [
            zlib.crc32(piece.encode(errors="surrogatepass")) % _DIMENSIONS for piece in pieces
        ]
        np.add.at(vectors[row], places, list(pieces.values()))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def embedded(embedding: Embedding, texts: Sequence[str]) -> Floats:
    """Return the vectors of texts, checked; each different text is given to `embedding` once."""
    place: dict[str, int] = {}
    for text in texts:
        place.setdefault(text, len(place))
    vectors = np.asarray(embedding(list(place)), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(place) or not np.isfinite(vectors).all():
        raise ParameterError(
            f"embedding returned an array of shape {vectors.shape} for {len(place)} texts, "
            "expected finite numbers with a row a text."
        )
    return vectors[[place[text] for text in texts]]


def gleu(text: str, other: str) -> float:
    """Return how many runs of one to four words two texts share, of those of the one with more.

    Wu et al., "Google's neural machine translation system", 2016, section 6, of two sentences.

    Examples
    --------
    >>> gleu("the cat sat", "the cat sat"), gleu("the cat", "a dog")
    (1.0, 0.0)
    """
    # GLEU: common runs of words over those of the longer text
    runs = [_runs(one.split()) for one in (text, other)]
    most = max(one.total() for one in runs)
    return (runs[0] & runs[1]).total() / most if most else 1.0


def _runs(words: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(words[i : i + length])
        for length in range(1, _MOST_WORDS + 1)
        for i in range(len(words) - length + 1)
    )
