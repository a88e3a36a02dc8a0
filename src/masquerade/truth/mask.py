"""How inference sees a mechanism: the chance that a reported option is not the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism

MOST_FLIPS = 8
"""Nodes of a person's flip probability where whole confusion matrices are integrated."""


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """The channel from an answer to the option reported, given that an option was reported.

    A person's channel keeps the answer with probability ``1 - flip`` and reports each other option
    with ``flip / (options - 1)``; the person's flip is one of the nodes.

    Attributes
    ----------
    flip, weight : float array, shape (n_nodes,)
    n_options : int
    """

    flip: Floats
    weight: Floats
    n_options: int

    @classmethod
    def of(
        cls, mechanism: CategoricalMechanism | None, *, n_options: int, null_share: float
    ) -> Mask:
        """Return the mask of a mechanism; `null_share` is the share of "no answer" reports.

        With a "no answer" symbol, an option may have been reported by somebody without an answer.
        The share of people without one is estimated from `null_share`, and their reports are
        evenly spread over the options.
        """
        if mechanism is None or n_options < 2:
            return cls(np.zeros(1), np.ones(1), n_options)
        mixture = mechanism.flip_mixture(MOST_FLIPS)
        flip, weight = mixture.flip_probability, mixture.weight
        if mechanism.null:
            flip = _flip_given_option(flip, null_share, n_options)
        return cls(flip, weight, n_options)

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
        """Return estimated shares of answers from shares of reports; rows sum to 1.

        Unbiased but for the cut at 0; even where reports tell nothing.
        """
        keep = float(self.signal() @ self.weight)
        if abs(keep) < 1e-9:
            return np.full_like(share, 1 / self.n_options)
        if self.is_clear:
            return share
        even = (1 - keep) / self.n_options
        cut = np.maximum((share - even) / keep, 0)
        return np.asarray(cut / np.maximum(cut.sum(axis=1, keepdims=True), 1e-12))


def _flip_given_option(flip: Floats, null_share: float, options: int) -> Floats:
    """Return the chance that a reported option is not the answer of somebody who has one."""
    other = flip / options  # each other symbol; options + 1 symbols in all
    gain = 1 - flip - other
    away = np.divide(null_share - other, gain, out=np.zeros_like(gain), where=gain != 0)
    away = np.clip(away, 0, 1)  # people without an answer
    told = 1 - (away * (1 - flip) + (1 - away) * other)
    kept = (1 - away) * (1 - flip) + away * other
    # nobody answered and nothing is masked: there is no report to explain
    return np.asarray(
        1 - np.divide(kept, told, out=np.full_like(told, 1 / options), where=told > 0)
    )
