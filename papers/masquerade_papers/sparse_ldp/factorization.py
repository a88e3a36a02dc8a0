"""Base of the two forms of matrix factorization: domain, public features and profiles.

A server that chose the features of a factorization could scale one row up and so remove the noise
from that task. Here a device computes them itself from a public seed, with whole numbers only: the
same seed gives the same features on every computer and in every language.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from masquerade.errors import DuplicateClaim, InputError, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.exact.number import NumberLike, one_of, positive, whole
from masquerade.mechanisms.lattice import Lattice
from masquerade.mechanisms.mechanism import Mechanism, Presence

if TYPE_CHECKING:
    from masquerade.answers import Claims

#: Features are whole multiples of 1 / `ONE`.
ONE = 1 << 30

DISTRIBUTIONS = ("uniform", "signed")
MOST_FEATURES = 1 << 24
_SEED_BYTES = 32
_HEADER = "masquerade public features 1"


class UnderdeterminedProfile(InputError):
    """A worker gave too few answers to compute a profile from."""


def read_seed(seed: bytes | str) -> bytes:
    """Return a seed of 32 bytes, given as such or as 64 hexadecimal digits."""
    try:
        raw = bytes.fromhex(seed) if isinstance(seed, str) else seed
    except ValueError as error:
        raise ParameterError(f"seed is {seed!r}, expected 64 hexadecimal digits.") from error
    if not isinstance(raw, bytes):
        raise ParameterError(f"seed is {raw!r}, expected bytes or 64 hexadecimal digits.")
    if len(raw) != _SEED_BYTES:
        raise ParameterError(
            f"seed has {len(raw)} bytes, expected {_SEED_BYTES} (64 hexadecimal digits); "
            "it is public: take, for instance, the SHA-256 of the survey's name."
        )
    return raw


def public_features(
    seed: bytes, *, tasks: int, dimension: int, distribution: str = "uniform"
) -> Integers:
    """Return the features of each task, times `ONE`; absolute values of a row add to at most `ONE`.

    Shapes: the result (tasks, dimension). `seed`: 32 bytes, public. `distribution`: entries are
    uniform on (0, 1], or on [-1, 1] without 0, before a row is divided by the sum of its absolute
    values, rounded towards 0.

    Examples
    --------
    >>> rows = public_features(bytes(32), tasks=3, dimension=2)
    >>> bool((abs(rows).sum(axis=1) <= ONE).all())
    True
    """
    one_of(distribution, "distribution", DISTRIBUTIONS)
    size = tasks * dimension
    if size > MOST_FEATURES:
        raise ParameterError(
            f"{tasks} tasks with {dimension} features each are {size} numbers, expected at most "
            f"{MOST_FEATURES}; lower dimension."
        )
    message = f"{_HEADER},{tasks},{dimension},{distribution},".encode() + seed
    stream = hashlib.shake_256(message).digest(4 * size)
    words = np.frombuffer(stream, dtype="<u4").reshape(tasks, dimension).astype(np.int64)
    entries = (words >> 10) + 1  # 1 to 2**22: no row is all zeros
    # rows[task, feature] in whole numbers, rounded down: no row adds to more than ONE
    rows: Integers = (entries << 30) // entries.sum(axis=1, keepdims=True)
    if distribution == "signed":
        # by a bit of the word that the size of the entry does not use
        rows[words & 1 == 1] *= -1
    return rows


_MOST_CELLS = 1 << 31  # so that sums of answers times features fit 64 bits
_MOST_DIMENSIONS = 64
_TRIES = 6  # workers of each number of answers to audit


@dataclass(frozen=True, init=False, eq=False, repr=False)
class FactorizationMechanism(Mechanism):
    """Base of both forms: the domain, the public features, profiles and answers rebuilt from them.

    An answer is one of the numbers low, low + step, ..., high; NaN is "no answer". Row j of the
    features belongs to the j-th task in sorted order of the tasks' names. A **profile** is the
    vector of `dimension` numbers that leaves the device; everything else is computed from it.

    Parameters
    ----------
    low, high, step : number
        The domain; `high` - `low` is a whole number of steps, at least one.
    tasks : int
        How many tasks there are.
    dimension : int
        Length of a profile, 1 to `tasks`, at most 64.
    epsilon : number
        Above 0.
    seed : bytes or str
        32 public bytes, or 64 hexadecimal digits, from which the features are derived.
    distribution : {"uniform", "signed"}
        See `public_features`.
    """

    null = True

    lattice: Lattice
    tasks: int
    dimension: int
    epsilon: Fraction
    seed: bytes
    distribution: str = "uniform"
    _features: Integers = field(init=False)  # times ONE

    def __init__(
        self,
        *,
        low: NumberLike,
        high: NumberLike,
        step: NumberLike = 1,
        tasks: int,
        dimension: int,
        epsilon: NumberLike,
        seed: bytes | str,
        distribution: str = "uniform",
    ) -> None:
        lattice = Lattice.of_answers(low, high, step)
        tasks = whole(tasks, "tasks", low=1)
        dimension = whole(dimension, "dimension", low=1, high=min(tasks, _MOST_DIMENSIONS))
        if tasks * lattice.points > _MOST_CELLS:
            raise ParameterError(
                f"{tasks} tasks with {lattice.points} answers each are too many; "
                "expected at most 2**31 together. Use a larger step."
            )
        self._set(lattice=lattice, tasks=tasks, dimension=dimension)
        self._set(epsilon=positive(epsilon, "epsilon"), seed=read_seed(seed))
        features = public_features(
            self.seed, tasks=tasks, dimension=dimension, distribution=distribution
        )
        # the guarantee rests on these rows: nobody may change them afterwards
        features.setflags(write=False)
        self._set(distribution=distribution, _features=features)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # numpy forgets the flag where an array is copied or unpickled
        self._set(**state)
        self._features.setflags(write=False)

    @property
    def features(self) -> Floats:
        """The features of each task, shape (tasks, dimension); derived here, never received."""
        return self._features / ONE

    @property
    def width(self) -> Fraction:
        """The most by which two answers differ."""
        return self.lattice.high - self.lattice.low

    @property
    @abstractmethod
    def _centre(self) -> float:
        """The constant that is added to features times profile to give an answer."""

    @abstractmethod
    def _noise(self, source: WordSource, size: int) -> Integers:
        """Return noise for `size` profiles, in the form's own unit; shape (size, dimension)."""

    @abstractmethod
    def _solve(self, rows: Integers, index: Integers, noise: Integers) -> Floats:
        """Return a profile for each row of `noise`, all from the same answers.

        Shapes: `noise` (n, dimension). `rows` (n_answered, dimension): features of the answered
        tasks, times `ONE`. `index` (n_answered,): the answers, in steps above `low`.
        """

    @abstractmethod
    def log_density(self, profiles: Floats, answers: Floats) -> Floats:
        """Return the log density of profiles given answers, noise taken as continuous.

        Parameters
        ----------
        profiles : float array, shape (n, dimension)
        answers : float array, shape (tasks,)
            In the order of the features; NaN is "no answer".

        Returns
        -------
        float array, shape (n,)
        """

    @abstractmethod
    def fewest_answers(self) -> int:
        """Return the fewest answers from which a profile can be computed."""

    def variance(self) -> float:
        """Return infinity: no estimate of a single answer from a profile is unbiased."""
        return math.inf

    def check(self, claims: Claims) -> None:
        """Raise where the claims are not of this mechanism's domain."""
        if claims.options is not None:
            raise ParameterError(
                f"{self.name} masks numbers, the claims are categories; read them with "
                "kind='numeric' (--kind numeric on the command line)."
            )
        if claims.n_tasks != self.tasks:
            raise ParameterError(
                f"{self.name} is for {self.tasks} tasks, the claims have {claims.n_tasks}; "
                "change tasks= of the mechanism, or give all tasks."
            )
        # A task that was answered twice would count twice in the profile, which the noise does not
        # cover.
        cells = claims.worker.astype(np.int64) * claims.n_tasks + claims.task
        if len(np.unique(cells)) < len(cells):
            raise DuplicateClaim(
                "a worker answered a task more than once; read the claims with "
                "duplicates='first' or 'last' (--duplicates on the command line)."
            )
        self.lattice.indices(claims.value)

    def check_features(self, features: Floats) -> None:
        """Raise where features that somebody sent are not those that the seed gives.

        A device has no need of features from others; this finds out who sends wrong ones.

        Raises
        ------
        ParameterError
            The shape or a number differs; the message says so where absolute values of a row add
            to more than 1, which removes the noise from that task.
        """
        given = np.asarray(features, dtype=np.float64)
        if given.shape != self._features.shape or not np.isfinite(given).all():
            raise ParameterError(
                f"the features have shape {given.shape} or hold NaN or infinity; expected finite "
                f"numbers of shape {self._features.shape}."
            )
        size = np.abs(given).sum(axis=1)
        if size.max() > 1 + 1e-12:
            row = int(size.argmax())
            raise ParameterError(
                f"the absolute features of task {row} add to {size[row]:.6g}, expected at most 1: "
                "this would weaken the noise for that task. Do not answer this survey."
            )
        if np.abs(given - self.features).max() > 1e-9:
            raise ParameterError("the features are not those of the public seed.")

    def profiles(self, claims: Claims, *, presence: Presence, coins: Coins | None = None) -> Floats:
        """Return the profile of each worker, drawn with operating-system entropy.

        The profiles are what leaves the devices; `randomize` returns what `reconstruct` makes of
        them. Parameters as for `randomize`.

        Returns
        -------
        float array, shape (n_workers, dimension)
        """
        return self._profiles(self.with_presence(claims, presence), require_coins(coins))

    def reconstruct(self, profiles: Floats) -> Floats:
        """Return the answers to all tasks that profiles stand for.

        Parameters
        ----------
        profiles : float array, shape (n, dimension)

        Returns
        -------
        float array, shape (n, tasks)
            In the order of the features. Whatever the answers were, these lie on one public
            subspace of `dimension` dimensions.
        """
        given = np.asarray(profiles, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.dimension or not np.isfinite(given).all():
            raise ParameterError(
                f"the profiles have shape {given.shape} or hold NaN or infinity; expected finite "
                f"numbers, {self.dimension} for each worker."
            )
        return self._centre + given @ self.features.T

    def draw(self, answers: Floats, size: int, rng: np.random.Generator) -> Floats:
        """Return `size` profiles of one worker, for studies and audits.

        Parameters
        ----------
        answers : float array, shape (tasks,)
            In the order of the features; NaN is "no answer".
        """
        rows, index = self._answered(answers)
        return self._solve(rows, index, self._noise(SimulatedCoins(rng), size))

    def neighbours(
        self, rng: np.random.Generator, *, cells: int = 1
    ) -> Iterator[tuple[str, Floats, Floats]]:
        """Yield pairs of workers to audit, with answers that differ in `cells` tasks.

        Few answers, about as many as a profile is long, and all; of each, several workers with
        answers at an end of the domain, turned into "no answer" and into the other end.

        Parameters
        ----------
        rng : numpy.random.Generator
            Chooses which tasks are answered, and how.
        cells : int
            1 to `tasks`.

        Yields
        ------
        str
            What differs, in words.
        float array, float array, shape (tasks,)
        """
        cells = whole(cells, "cells", low=1, high=self.tasks)
        fewest = self.fewest_answers()
        d, ends = self.dimension, (float(self.lattice.low), float(self.lattice.high))
        sizes = {cells, fewest + cells, d - 1, d + cells, d + 2 * cells, self.tasks}
        for size in sorted(s for s in sizes if max(fewest, cells) <= s <= self.tasks):
            for _ in range(_TRIES):
                answers = np.full(self.tasks, np.nan)
                chosen = rng.permutation(self.tasks)[:size]
                answers[chosen] = self.lattice.values(rng.integers(0, self.lattice.points, size))
                changed = chosen[:cells]
                answers[changed] = rng.choice(ends, cells)
                other = answers.copy()
                other[changed] = np.where(answers[changed] == ends[0], ends[1], ends[0])
                told = f"{cells} of {size} answers of a worker"
                yield f"{told} moved from one end to the other", answers, other
                if size - cells >= fewest:
                    other = answers.copy()
                    other[changed] = np.nan
                    yield f"{told} turned into 'no answer'", answers, other

    def _answered(self, answers: Floats) -> tuple[Integers, Integers]:
        given = np.asarray(answers, dtype=np.float64)
        if given.shape != (self.tasks,):
            raise ParameterError(
                f"the answers have shape {given.shape}, expected one for each of "
                f"{self.tasks} tasks."
            )
        index = self.lattice.indices(given)
        told = index < self.lattice.points
        return self._features[told], index[told]

    def _profiles(self, claims: Claims, source: WordSource) -> Floats:
        self.check(claims)
        # for all workers at once: what is drawn does not depend on who answered what
        noise = self._noise(source, claims.n_workers)
        feature_row = _ranks(claims)[claims.task]
        index = self.lattice.indices(claims.value)
        order = np.argsort(claims.worker, kind="stable")
        ends = np.cumsum(np.bincount(claims.worker, minlength=claims.n_workers))[:-1]
        out = np.empty((claims.n_workers, self.dimension))
        for worker, own in enumerate(np.split(order, ends)):
            # own: the worker's rows; the index after the last point is "no answer"
            told = own[index[own] < self.lattice.points]
            try:
                profile = self._solve(
                    self._features[feature_row[told]], index[told], noise[worker : worker + 1]
                )
            except UnderdeterminedProfile as error:
                raise UnderdeterminedProfile(
                    f"worker {claims.workers[worker].as_py()!r}: {error}"
                ) from None
            out[worker] = profile[0]
        return out

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        rebuilt = self.reconstruct(self._profiles(claims, source))
        return claims.with_values(rebuilt[claims.worker, _ranks(claims)[claims.task]], null=False)


def _ranks(claims: Claims) -> Integers:
    """Return the place of each task in sorted order of names, for each code."""
    import pyarrow.compute as pc

    ranks = np.empty(claims.n_tasks, dtype=np.int64)
    ranks[pc.sort_indices(claims.tasks).to_numpy()] = np.arange(claims.n_tasks)
    return ranks
