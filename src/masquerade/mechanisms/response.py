"""Masking one person's answers to a whole survey."""

from __future__ import annotations

from collections.abc import Sequence

from masquerade.errors import ParameterError
from masquerade.exact.coins import Coins, require_coins
from masquerade.exact.number import whole
from masquerade.mechanisms.device_mechanism import DeviceMechanism


def mask_response(
    answers: Sequence[int],
    mechanisms: Sequence[DeviceMechanism],
    *,
    coins: Coins | None = None,
) -> list[int]:
    """Return one person's reports, in the order of the answers.

    Answers whose mechanisms have the same text form are masked together, so that a two-layer
    mechanism draws its flip probability once for all of them; groups are masked in the order of
    their first answer. The device's half is ``maskResponse`` in ``web/static/mechanisms/mask.js``.

    Parameters
    ----------
    answers : sequence of int, Python's or numpy's
        One code for each question; of a number, the index of its lattice point; of several
        options, their bits.
    mechanisms : sequence of DeviceMechanism
        One for each question.
    coins : Coins, optional
        Operating-system entropy; nothing else is accepted.

    Returns
    -------
    list of int
        Codes; of numbers, whole lattice steps from the lowest, which may lie outside the range, or
        the number of a level of `QuantisedResponse`; rows of bits of `BitwiseResponse`.

    Raises
    ------
    ParameterError
        An answer is no code of its mechanism.

    Privacy
    -------
    Protects the person as `masquerade.accounting.compose` of `mechanisms` says.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> masks = [RandomizedResponse(2, epsilon=1), RandomizedResponse(3, epsilon=1)]
    >>> reports = mask_response([0, 1], masks)
    >>> reports[0] in (0, 1) and reports[1] in (0, 1, 2)
    True
    """
    if len(answers) != len(mechanisms):
        raise ParameterError(f"{len(answers)} answers for {len(mechanisms)} mechanisms.")
    # all answers are checked before a word is drawn: a refusal leaves no draw to repeat
    codes = [
        whole(answer, f"answer {number}", low=0, high=mechanism.codes - 1)
        for number, (answer, mechanism) in enumerate(zip(answers, mechanisms, strict=True), start=1)
    ]
    for number, (code, mechanism) in enumerate(zip(codes, mechanisms, strict=True), start=1):
        # a set larger than `most` would lose more than was promised
        if not mechanism.masks(code):
            raise ParameterError(f"answer {number} is no answer that {mechanism} masks.")
    source = require_coins(coins)
    reports = [0] * len(answers)
    # in the order of the first answers, as the device's half does: both read the same words
    for mechanism in dict.fromkeys(mechanisms):
        places = [i for i, other in enumerate(mechanisms) if other == mechanism]
        masked = mechanism.mask_for_one([codes[i] for i in places], source)
        for place, report in zip(places, masked, strict=True):
            reports[place] = report
    return reports
