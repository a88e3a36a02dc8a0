"""Masking one person's answers to a whole survey."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from masquerade.errors import ParameterError
from masquerade.mechanisms.categorical import CategoricalMechanism
from masquerade.mechanisms.coins import Coins, require_coins


def mask_response(
    answers: Sequence[int],
    mechanisms: Sequence[CategoricalMechanism],
    *,
    coins: Coins | None = None,
) -> list[int]:
    """Return one person's reports, in the order of the answers.

    Answers whose mechanisms have the same text form are masked together, so that a two-layer
    mechanism draws its flip probability once for all of them; groups are masked in the order of
    their first answer. The device's half is ``maskResponse`` in ``web/static/mask.js``.

    Parameters
    ----------
    answers : sequence of int
        One code for each question.
    mechanisms : sequence of CategoricalMechanism
        One for each question.
    coins : Coins, optional
        Operating-system entropy; nothing else is accepted.

    Privacy
    -------
    Protects the person as `masquerade.accounting.compose` of `mechanisms` says.
    """
    if len(answers) != len(mechanisms):
        raise ParameterError(f"{len(answers)} answers for {len(mechanisms)} mechanisms.")
    for number, (answer, mechanism) in enumerate(zip(answers, mechanisms, strict=True), start=1):
        if not 0 <= answer < mechanism.symbols:
            raise ParameterError(
                f"answer {number} is {answer}, expected 0 to {mechanism.symbols - 1}."
            )
    source = require_coins(coins)
    reports = [0] * len(answers)
    for mechanism in dict.fromkeys(mechanisms):
        places = [i for i, other in enumerate(mechanisms) if other == mechanism]
        codes = np.array([answers[i] for i in places], dtype=np.int32)
        masked = mechanism.mask(codes, np.zeros_like(codes), source)
        for place, report in zip(places, masked.tolist(), strict=True):
            reports[place] = report
    return reports
