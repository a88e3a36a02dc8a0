"""A mechanism's channel as inference sees it, in floats.

Every mechanism for categories keeps an answer with one probability and moves it to each other
symbol with another, so two numbers say all of its `masquerade.mechanisms.categorical.Channel`:
``other = P(report = y | answer x)`` for y other than x, and ``signal = P(report = x | x) - other``.
`OptionChannel` is conditioned on reports that are options, to infer truths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import CategoricalMechanism

#: Nodes of a person's flip probability where whole confusion matrices are integrated.
MOST_FLIPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Mechanisms of a crowd of which each worker went through one."""

    mechanisms: tuple[CategoricalMechanism, ...]
    null_shares: Floats  # share of "no answer" among the reports of each mechanism
    of_worker: Codes  # int32 array, shape (n_workers,). Place among the mechanisms.


@dataclass(frozen=True, slots=True, eq=False)
class OptionChannel:
    """The channel from an answer to the option reported, given that an option was reported.

    A person's channel keeps the answer with probability ``1 - flip`` and reports each other option
    with ``flip / (options - 1)``; the person's flip is one of the nodes.
    """

    flip: Floats  # float array, shape (n_nodes,)
    # float array, shape (n_nodes,), or (n_workers, n_nodes) where workers went through different
    # mechanisms: how probable each flip is beforehand.
    weight: Floats
    n_options: int
    crowd: Floats | None = None  # float array, shape (n_nodes,). Mean weights of such workers.

    @property
    def mean_weight(self) -> Floats:
        """How probable each flip is of a report of anybody, shape (n_nodes,)."""
        return self.weight if self.crowd is None else self.crowd

    @classmethod
    def of(
        cls, mechanism: CategoricalMechanism | None, *, n_options: int, null_share: float
    ) -> OptionChannel:
        """Return the channel of a mechanism; `null_share` is the share of "no answer" reports.

        From it follows the share of people without an answer, whose reports are evenly spread.
        """
        if mechanism is None or n_options < 2:
            return cls(np.zeros(1), np.ones(1), n_options)
        mixture = mechanism.flip_mixture(MOST_FLIPS)
        flip, weight = mixture.flip_probability, mixture.weight
        if mechanism.null:
            # An answer that is right: what is reported instead of it is the flip.
            flip = 1 - hit_given_option(np.ones(len(flip)), flip, null_share, n_options)
        return cls(flip, weight, n_options)

    @classmethod
    def of_levels(cls, levels: Levels, answers: Floats, *, n_options: int) -> OptionChannel:
        """Return the channels of workers of several levels: nodes of all, each with its own.

        `answers` counts each worker's.
        """
        parts = [
            cls.of(mechanism, n_options=n_options, null_share=float(share))
            for mechanism, share in zip(levels.mechanisms, levels.null_shares, strict=True)
        ]
        ends = np.cumsum([0, *(len(part.flip) for part in parts)])
        weight = np.zeros((len(levels.of_worker), ends[-1]))
        for place, part in enumerate(parts):
            rows = np.flatnonzero(levels.of_worker == place)
            weight[np.ix_(rows, np.arange(ends[place], ends[place + 1]))] = part.weight
        count = np.maximum(answers, 1e-9)
        flip = np.concatenate([part.flip for part in parts])
        return cls(flip, weight, n_options, count @ weight / count.sum())

    @property
    def is_clear(self) -> bool:
        """Whether reports are the answers."""
        return not self.flip.any()

    def signal(self) -> Floats:
        """Return how much of a difference between answers is left in reports, shape (n_nodes,).

        1 where reports are answers, 0 where they tell nothing, below 0 where they deny.
        """
        s = max(self.n_options, 2)
        signal: Floats = 1 - self.flip * s / (s - 1)
        return signal

    def channels(self) -> Floats:
        """Return ``channel[node, answer, report]``."""
        s, keep = self.n_options, self.signal()
        even = (1 - keep) / s
        table: Floats = keep[:, None, None] * np.eye(s) + even[:, None, None]
        return table

    def unmasked(self, share: Floats) -> Floats:
        """Return shares of answers from shares of reports, unbiased but for the cut at 0."""
        keep = float(self.signal() @ self.mean_weight)
        if abs(keep) < 1e-9:
            return np.full_like(share, 1 / self.n_options)
        if self.is_clear:
            return share
        even = (1 - keep) / self.n_options
        cut = np.maximum((share - even) / keep, 0)
        return np.asarray(cut / np.maximum(cut.sum(axis=1, keepdims=True), 1e-12))


def hit_given_option(accuracy: Floats, flip: Floats, null_share: float, options: int) -> Floats:
    """Return P(report is the truth | report is an option) under a channel with "no answer".

    `accuracy` is P(answer is the truth) of somebody who has an answer; arrays are by node.
    """
    other = flip / options  # each other symbol; options + 1 symbols in all
    gain = 1 - flip - other
    # E[null_share] = other + gain * away, solved for the share of people without an answer.
    away = np.divide(null_share - other, gain, out=np.zeros_like(gain), where=gain != 0)
    answered = 1 - np.clip(away, 0, 1)
    truth = answered * (accuracy * (1 - flip) + (1 - accuracy) * other) + (1 - answered) * other
    option = 1 - (answered * other + (1 - answered) * (1 - flip))
    # Where nobody answered and nothing is masked there is no report to explain.
    even = np.full_like(truth, 1 / options)
    return np.asarray(np.divide(truth, option, out=even, where=option > 0))
