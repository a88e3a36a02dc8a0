"""Accuracy of decisions by weights, against a named reference; how far two orders are apart.

Accuracy is a share of decisions that agree with something. With what changes the figure by several
hundredths, so every score carries the name of its reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers import Comparisons, Frame
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range, one_of
from masquerade.preference.learn import SocialPreference

#: What a decision can be compared with.
REFERENCES: Mapping[str, str] = {
    "r1": "the mean of the voters' true weights (made-up crowds only)",
    "r2": "the mean of the population that the voters were drawn from (made-up crowds only)",
    "r3": "the estimate without privacy from the same data",
    "r4": "real choices that were held out",
}


@dataclass(frozen=True, slots=True)
class Score(Result):
    """A share of agreement and its reference.

    Attributes
    ----------
    accuracy : float
        0 to 1; ties count half, so chance is 0.5.
    reference : str
        A key of `REFERENCES`.

    Examples
    --------
    >>> Score(accuracy=0.8, reference="r4").accuracy
    0.8
    """

    accuracy: float
    reference: str

    def __str__(self) -> str:
        return f"{self.accuracy:.3f} against {self.reference}, {REFERENCES[self.reference]}"

    def gain(self, best: Score) -> float:
        """Return which share of the best possible gain over chance this is.

        ``(accuracy - 0.5) / (best - 0.5)``; `best` is the result without privacy against the same
        reference.
        """
        if best.reference != self.reference:
            raise ParameterError(
                f"the scores have different references, {self.reference} and {best.reference}."
            )
        if best.accuracy == 0.5:
            raise ParameterError("the best score is chance, so there is no gain to compare with.")
        return (self.accuracy - 0.5) / (best.accuracy - 0.5)


def agreement(
    weights: ArrayLike, target: ArrayLike, differences: ArrayLike, *, reference: str
) -> Score:
    """Return how often two weight vectors decide pairs alike.

    Parameters
    ----------
    weights, target : float array, shape (n_features,)
    differences : float array, shape (n_pairs, n_features)
        First minus second alternative of each pair, in the units of the weights.
    reference : str
        What `target` is; a key of `REFERENCES`.

    Examples
    --------
    >>> agreement([1.0, 0.5], [1.0, 0.4], [[1.0, -1.0], [-1.0, 3.0]], reference="r1").accuracy
    1.0
    """
    _check_reference(reference)
    pairs = np.asarray(differences, dtype=np.float64)
    if len(pairs) == 0:
        raise EmptyTable("there is no pair to score; give at least one.")
    ours = np.sign(pairs @ np.asarray(weights, dtype=np.float64))
    theirs = np.sign(pairs @ np.asarray(target, dtype=np.float64))
    # A tie on either side has sign 0, and counts half.
    return Score(float(np.mean((1 + ours * theirs) / 2)), reference)


def expected_agreement(
    weights: ArrayLike, target: ArrayLike, *, reference: str, covariance: ArrayLike | None = None
) -> Score:
    """Return the expected agreement on normal pairs, ``1 - angle / pi``, in closed form.

    Parameters
    ----------
    weights, target : float array, shape (n_features,)
    reference : str
        What `target` is; a key of `REFERENCES`.
    covariance : float array, shape (n_features, n_features), optional
        Of the differences of pairs. Default: the identity.

    Examples
    --------
    >>> expected_agreement([1.0, 0.0], [0.0, 1.0], reference="r1").accuracy
    0.5
    """
    _check_reference(reference)
    a, b = np.asarray(weights, dtype=np.float64), np.asarray(target, dtype=np.float64)
    # For pairs N(0, C) the sign of w . v agrees with that of t . v with probability 1 - angle / pi,
    # the angle in the metric of C (the specification, section 7).
    metric = np.eye(len(a)) if covariance is None else np.asarray(covariance, dtype=np.float64)
    lengths = np.sqrt((a @ metric @ a) * (b @ metric @ b))
    if lengths == 0:
        return Score(0.5, reference)
    cosine = np.clip(a @ metric @ b / lengths, -1, 1)
    return Score(float(1 - np.arccos(cosine) / np.pi), reference)


def held_out_accuracy(learned: SocialPreference, held_out: Comparisons | Frame) -> Score:
    """Return how often the weights prefer the chosen alternative (reference r4).

    Parameters
    ----------
    held_out : Comparisons, or a table as `Comparisons.from_frame` reads it
        Choices that were not learned from, with the same features in any order. The score is
        computed from them as they are: publishing it costs these people privacy.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import SocialPreference, made_up_voters, split_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> train, rest = split_voters(choices, rng)
    >>> open_result = SocialPreference.learn(train, mechanism="none")
    >>> held_out_accuracy(open_result, rest).accuracy > 0.5
    True
    """
    return _choices_hit(learned.weights, _aligned(learned, Comparisons.of(held_out)))


def one_feature_baseline(held_out: Comparisons | Frame) -> tuple[Score, str]:
    """Return the accuracy of the best rule that looks at one feature alone, and its text.

    "The cheaper one", "the larger group": the rule is picked with hindsight on the held-out choices
    themselves, so it is a hard baseline. (Preferring always the same side is right in half of the
    records, for they say which alternative was chosen and not on which side it stood.)

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> score, rule = one_feature_baseline(choices)
    >>> score.accuracy > 0.5
    True
    """
    held_out = Comparisons.of(held_out)
    table = held_out if held_out.features else held_out.by_items()
    if len(table) == 0:
        raise EmptyTable("there is no choice to score; give at least one.")
    # Chosen minus rejected: the mean sign of a feature is how far its rule beats its opposite.
    hits = np.sign(table.difference).mean(axis=0)
    best = int(np.argmax(np.abs(hits)))
    how = "more" if hits[best] >= 0 else "less"
    return Score(float((1 + abs(hits[best])) / 2), "r4"), f"{how} {table.names[best]}"


def split_voters(
    comparisons: Comparisons | Frame, rng: np.random.Generator, *, train_share: float = 0.7
) -> tuple[Comparisons, Comparisons]:
    """Return the comparisons of a random share of the voters, and those of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> train, rest = split_voters(choices, rng)
    >>> len(train) + len(rest) == len(choices)
    True
    """
    in_range(train_share, "train_share", above=0, below=1)
    comparisons = Comparisons.of(comparisons)
    order = rng.permutation(comparisons.n_voters)
    cut = round(train_share * comparisons.n_voters)
    return comparisons.of_voters(np.sort(order[:cut])), comparisons.of_voters(np.sort(order[cut:]))


def _choices_hit(weights: Floats, differences: Floats) -> Score:
    if len(differences) == 0:
        raise EmptyTable("there is no choice to score; give at least one.")
    return Score(float(np.mean((1 + np.sign(differences @ weights)) / 2)), "r4")


def _aligned(learned: SocialPreference, held_out: Comparisons) -> Floats:
    """Return the differences with the columns in the order of the learned features."""
    table = held_out if held_out.features else held_out.by_items()
    names = [feature.name for feature in learned.features]
    if set(table.names) != set(names):
        raise ParameterError(
            f"the choices have the features {list(table.names)}, the weights {names}."
        )
    return table.difference[:, [table.names.index(name) for name in names]]


def _check_reference(reference: str) -> None:
    one_of(reference, "reference", REFERENCES)
