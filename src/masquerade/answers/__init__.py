"""Tables of answers: claims, comparisons and truths.

The journey begins here. A question says which answers can be given; an answer is one of them, and
exists on the person's device alone, where `masquerade.mechanisms` turns it into a report. What
comes back from many devices is a table: claims (task, worker, label or value) or comparisons
(voter, chosen minus rejected). Truths are what is known to be so, to score against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.answers.battles import Battles
    from masquerade.answers.claim_layouts import ClaimColumns
    from masquerade.answers.claims import Claims
    from masquerade.answers.comparison_columns import Feature
    from masquerade.answers.comparisons import Comparisons
    from masquerade.answers.frames import Frame, like_frame, to_arrow
    from masquerade.answers.label_studio import to_label_studio
    from masquerade.answers.result import Progress, Result
    from masquerade.answers.truths import Truths
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "Battles",
    "ClaimColumns",
    "Claims",
    "Comparisons",
    "Feature",
    "Frame",
    "Progress",
    "Result",
    "Truths",
    "like_frame",
    "to_arrow",
    "to_label_studio",
]
