"""ROVER: texts are aligned token by token, and each place is voted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.truth.texts.estimator import TextEstimator, Texts

_NOTHING = 0  # code of the empty token: a text has no token at a place


def split_words(text: str) -> list[str]:
    """Return the words of a text, as whitespace parts them."""
    return text.split()


def join_words(words: Sequence[str]) -> str:
    """Return words as a text."""
    return " ".join(words)


@dataclass(eq=False, kw_only=True)
class ROVER(TextEstimator):
    """Align the texts of a task and take, at each place, the token that most of them have there.

    Parameters
    ----------
    tokenizer : callable
        Returns the tokens of a text; by default its words.
    detokenizer : callable
        Returns the text of tokens; by default they are joined by spaces.

    Notes
    -----
    Fiscus, "A post-processing system to yield reduced word error rates: Recognizer Output Voting
    Error Reduction (ROVER)", 1997, section 2: texts are aligned one after the other with the
    network of those before, at a cost of 1 for a token that is missing, added or another. As in
    crowd-kit, ties go to the longer token, then to the later one in the order of letters, and a
    token may be missing at no cost where it was missing before.

    ``weight`` is the share of a worker's tokens, and of those that the worker left out, that agree
    with the result. No mechanism masks texts.

    **Cost**: of each task the number of texts times the square of their length, in tokens.

    Examples
    --------
    >>> table = {"task": ["s"] * 3, "worker": ["x", "y", "z"],
    ...          "text": ["the cat sat", "a cat sat down", "the cat sad"]}
    >>> ROVER().fit(table).truths_.to_pylist()
    [{'task': 's', 'text': 'the cat sat'}]
    """

    name: ClassVar[str] = "rover"

    tokenizer: Callable[[str], Sequence[str]] = split_words
    detokenizer: Callable[[Sequence[str]], str] = join_words

    def _learn(self, texts: Texts) -> None:
        self._found = []
        # By worker: places at which the consensus was said, of all places
        agreed, places = np.zeros(len(texts.workers)), np.zeros(len(texts.workers))
        for rows in texts.of_task:
            sequences = [list(self.tokenizer(texts.text[row])) for row in rows]
            tokens = ["", *sorted({token for one in sequences for token in one if token})]
            code = {token: number for number, token in enumerate(tokens)}
            coded = [np.array([code[t] for t in one if t], dtype=np.int32) for one in sequences]
            winners, share = consensus(coded, len(tokens), token_order(tokens))
            chosen = [tokens[winner] for winner in winners if winner != _NOTHING]
            self._found.append(self.detokenizer(chosen))
            agreed[texts.worker[rows]] += share * len(winners)
            places[texts.worker[rows]] += len(winners)
        self._weight = np.divide(agreed, places, out=np.ones_like(agreed), where=places > 0)


def token_order(tokens: Sequence[str]) -> Integers:
    """Return each token's rank among those with as many votes: by length, then by letters."""
    order = sorted(range(len(tokens)), key=lambda code: (len(tokens[code]), tokens[code]))
    rank = np.empty(len(tokens), dtype=np.int64)
    rank[order] = np.arange(len(tokens))
    return rank


def consensus(sequences: Sequence[Codes], n_tokens: int, rank: Integers) -> tuple[Integers, Floats]:
    """Return the token that wins each place of the network, and each text's share of them.

    Parameters
    ----------
    sequences : sequence of int arrays
        Codes of the tokens of each text, `_NOTHING` (0) not among them.
    n_tokens : int
    rank : int array, shape (n_tokens,)
        Which of several tokens with most votes wins: that of the highest rank.

    Returns
    -------
    winners : int array, shape (n_places,)
    share : float array, shape (n_texts,)
    """
    first = sequences[0]
    votes = np.zeros((len(first), n_tokens), dtype=np.int32)  # votes[place, token]
    votes[np.arange(len(first)), first] = 1
    # said[text][place]: the token of a text at each place
    said = [first]
    for count, sequence in enumerate(sequences[1:], start=1):
        source, token = aligned(votes, sequence)
        # A place that is new holds "nothing" for all texts before.
        grown = np.zeros((len(source), n_tokens), dtype=np.int32)
        old = source >= 0
        grown[old] = votes[source[old]]
        grown[~old, _NOTHING] = count
        grown[np.arange(len(source)), token] += 1
        votes = grown
        said = [np.where(old, one[source] if len(one) else _NOTHING, _NOTHING) for one in said]
        said.append(token)
    # most votes, then the highest rank
    winners = (votes.astype(np.int64) * n_tokens + rank).argmax(axis=1)
    share = np.array([np.mean(one == winners) if len(winners) else 1.0 for one in said])
    return winners, share


def aligned(votes: Any, sequence: Codes) -> tuple[Integers, Codes]:
    """Return the network's places after a text is aligned with it, at the least cost.

    Returns
    -------
    source : int array
        The place in `votes` that each place was, -1 for a new one.
    token : int array
        The text's token at each place.
    """
    n, m = len(sequence), len(votes)
    there = votes > 0
    # Leaving out a token costs nothing where some text before left it out.
    skip = (~there[:, _NOTHING]).astype(np.int32)
    prefix = np.concatenate([[0], np.cumsum(skip)]).astype(np.int32)
    other = ~there[:, sequence].T if n else np.zeros((0, m), dtype=bool)  # other[i, j]: mismatch
    cost = np.empty((n + 1, m + 1), dtype=np.int32)
    cost[0] = np.arange(m + 1)
    for i in range(1, n + 1):
        best = np.empty(m + 1, dtype=np.int32)
        best[0] = i
        np.minimum(cost[i - 1, :-1] + other[i - 1], cost[i - 1, 1:] + 1, out=best[1:])
        # Skips along the row are a running minimum, once each place's own skips are taken off.
        cost[i] = np.minimum.accumulate(best - prefix) + prefix
    source: list[int] = []
    token: list[int] = []
    i, j = n, m
    while i or j:
        # Of equal costs: the same place, then a skip, then a new place.
        diagonal = i and j and cost[i, j] == cost[i - 1, j - 1] + other[i - 1, j - 1]
        if not diagonal and j and (not i or cost[i, j] == cost[i, j - 1] + skip[j - 1]):
            j -= 1
            source.append(j)
            token.append(_NOTHING)
            continue
        i -= 1
        token.append(int(sequence[i]))
        j -= bool(diagonal)
        source.append(j if diagonal else -1)
    return np.array(source[::-1], dtype=np.int64), np.array(token[::-1], dtype=np.int32)
