"""The pool of eligible people: each one's price, and the noise of each one's report."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats
from masquerade.exact.number import in_range

LEAST_SCORE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Pool(Result):
    """Eligible and willing people.

    Parameters
    ----------
    people : sequence of str
        Names, each once.
    cost : float array, shape (n,)
        What each is paid, at least 0.
    noise_variance : float array, shape (n,)
        What each one's mask adds, in squared widths of the question's range.
    level : sequence of str, optional
        Privacy level of each; for quotas and strata.
    privacy_share : float array, shape (n,), optional
        Largest share, over a person's ledger accounts, that the survey takes of what is left.
        Above 1: the person cannot be asked.
    bias_variance : float array, shape (n,), optional
        What is not known of each one's bias (`History.biases`); default 0.
    within : float
        Variance of answers around the crowd's, in squared widths.

    Examples
    --------
    >>> pool = Pool(["ann", "bob", "cem"], cost=[1.0, 2.0, 1.0], noise_variance=[0.0, 0.5, 2.0])
    >>> pool.precision.round(2).tolist()
    [16.0, 1.78, 0.48]
    """

    people: tuple[str, ...]
    cost: Floats
    noise_variance: Floats
    level: tuple[str, ...]
    privacy_share: Floats
    bias_variance: Floats
    within: float

    def __init__(
        self,
        people: Sequence[str],
        cost: Sequence[float] | Floats,
        noise_variance: Sequence[float] | Floats,
        *,
        level: Sequence[str] | None = None,
        privacy_share: Sequence[float] | Floats | None = None,
        bias_variance: Sequence[float] | Floats | None = None,
        within: float = 0.0625,
    ) -> None:
        size = len(people)
        for row, person in enumerate(people, start=1):
            if not isinstance(person, str):
                raise ParameterError(f"row {row}: {person!r} is no text; name people by texts.")
        columns = {
            "cost": cost,
            "noise_variance": noise_variance,
            "privacy_share": np.zeros(size) if privacy_share is None else privacy_share,
            "bias_variance": np.zeros(size) if bias_variance is None else bias_variance,
        }
        object.__setattr__(self, "people", tuple(people))
        object.__setattr__(self, "level", ("",) * size if level is None else tuple(level))
        for name, values in columns.items():
            object.__setattr__(self, name, _column(name, values, size, self.people))
        if len(set(self.people)) < size:
            seen = Counter(self.people)
            twice = next(person for person in self.people if seen[person] > 1)
            raise ParameterError(f"{twice!r} stands {seen[twice]} times; give each person once.")
        if len(self.level) != size:
            raise ParameterError(f"{size} people have {len(self.level)} levels; give one each.")
        in_range(within, "within", above=0, below=math.inf)
        object.__setattr__(self, "within", float(within))

    def __len__(self) -> int:
        return len(self.people)

    @property
    def admissible(self) -> Flags:
        """Flags of the people with room in their ledgers for the survey."""
        flags: Flags = self.privacy_share <= 1
        return flags

    @property
    def precision(self) -> Floats:
        """Worth of each person's report: 1 / (within + bias variance + noise variance)."""
        return np.asarray(1 / (self.within + self.bias_variance + self.noise_variance))

    def score(self, *, budget: float, alpha: float) -> Floats:
        """Return the score of each person: cost in money and in privacy, at least 1e-9.

        ``(1 - alpha) cost / budget + alpha privacy share``; Kandappu et al. (2014), eq. (7), with
        the budget that was given at the start, and the larger of a person's ledger shares.
        """
        in_range(alpha, "alpha", low=0, high=1)
        score = (1 - alpha) * self.cost / budget
        if alpha:  # a share may be infinite
            score = score + alpha * self.privacy_share
        return np.asarray(np.maximum(score, LEAST_SCORE))

    def digest(self) -> str:
        """Return the SHA-256 of everything a selection looks at."""
        text = "\n".join((*self.people, "", *self.level))
        parts = (self.cost, self.noise_variance, self.privacy_share, self.bias_variance)
        found = hashlib.sha256(text.encode())
        for part in parts:
            # The bytes of the floats: a text form might round.
            found.update(np.ascontiguousarray(part).tobytes())
        found.update(np.float64(self.within).tobytes())
        return found.hexdigest()


def _column(
    name: str, values: Sequence[float] | Floats, size: int, people: tuple[str, ...]
) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (size,):
        raise ParameterError(f"{name} has shape {column.shape}, expected one for {size} people.")
    bad = np.flatnonzero(~np.isfinite(column) | (column < 0))
    if name == "privacy_share":  # infinite: nothing is left
        bad = np.flatnonzero(np.isnan(column) | (column < 0))
    if bad.size:
        row = int(bad[0])
        raise ParameterError(
            f"row {row + 1} ({people[row]}): {name} is {column[row]}, expected a number of at "
            "least 0."
        )
    return column
