"""The participant in Python: answers are masked in the caller's process before anything is sent.

The other half of the protocol in `masquerade.server`: look at an invitation, choose a level, see
the questions, mask once, send the reports, read the ledger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.client.client import Client
    from masquerade.client.connection import survey_of
    from masquerade.client.device_ledger import Bill, DeviceLedger
    from masquerade.client.identity import Identity
    from masquerade.client.participation import Masked, Participation, Receipt
    from masquerade.client.questions import MaskedQuestion, is_asked
    from masquerade.client.surveyor import Surveyor
    from masquerade.surveys.question import Answer
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "Answer",
    "Bill",
    "Client",
    "DeviceLedger",
    "Identity",
    "Masked",
    "MaskedQuestion",
    "Participation",
    "Receipt",
    "Surveyor",
    "is_asked",
    "survey_of",
]
