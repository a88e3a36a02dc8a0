"""The one draw of a participation: answers become sealed reports.

Masked reports, or a report in two sealed halves; with each a salt and the commitment that binds the
person to it. Whether a draw may be made at all is decided where the record's lock is held, in
`masquerade.client.participation`.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence

from masquerade.client.questions import MaskedQuestion
from masquerade.mechanisms import mask_response
from masquerade.surveys.pair_votes import Pairs
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey, commitment_of, split_commitment


def masked_content(
    questions: Sequence[MaskedQuestion],
    codes: Sequence[int],
    *,
    participation: str,
    spread: Callable[[list[int]], list[int]] | None = None,
) -> Mapping[str, object]:
    """Return masked reports with their salt and commitment, for the disk.

    `spread`: puts the reports among all questions, where some alone were drawn.

    Privacy
    -------
    The masks are drawn here, with the operating system's randomness; the answers go no further.
    """
    masks = [one.mechanism for one in questions if one.mechanism is not None]
    places = [one.question.masked_code(code) for one, code in zip(questions, codes, strict=True)]
    reports = mask_response(places, masks)
    if spread is not None:
        reports = spread(reports)
    salt = _salt()
    return {
        "reports": reports,
        "salt": salt,
        "commitment": commitment_of(participation, reports, salt),
    }


def split_content(
    survey: Survey,
    split: SplitTask,
    questions: Sequence[MaskedQuestion],
    codes: Sequence[int],
    *,
    participation: str,
    pairs: Pairs | None = None,
) -> Mapping[str, object]:
    """Return the answers as a sealed report with its salt and commitment, for the disk.

    `pairs`: those of lists that this device drew and showed.
    """
    # As they were understood: what is typed in another way would be refused, and repeated.
    answers = {
        asked.id: (asked if asked.takes_pair else q.question).answer(code)
        for asked, q, code in zip(survey.questions, questions, codes, strict=True)
    }
    measurement = survey.encoding.measurement(answers, pairs)
    report = split.task.report(
        measurement, leader=split.terms.leader, helper=split.terms.helper
    ).encode()
    salt = _salt()
    return {
        "report": base64.b64encode(report).decode(),
        "salt": salt,
        "commitment": split_commitment(participation, report, salt),
    }


def _salt() -> str:
    # Without a salt, the few possible reports could be tried out against the commitment.
    return secrets.token_hex(16)
