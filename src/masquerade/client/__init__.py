"""The participant in Python: answers are masked in the caller's process before anything is sent."""

from masquerade.client.asked import Answer, Asked
from masquerade.client.client import Client
from masquerade.client.identity import Identity
from masquerade.client.link import survey_of
from masquerade.client.participation import Masked, Participation, Receipt

__all__ = [
    "Answer",
    "Asked",
    "Client",
    "Identity",
    "Masked",
    "Participation",
    "Receipt",
    "survey_of",
]
