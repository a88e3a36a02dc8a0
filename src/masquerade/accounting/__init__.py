"""What an answer costs: composition of losses, the ledger of a person, and losses in words."""

from masquerade.accounting.composition import compose
from masquerade.accounting.ledger import (
    GENESIS,
    Charge,
    Entry,
    append,
    total,
    verify_chain,
)
from masquerade.accounting.words import Explanation, explain, highest_belief, keep_in_words

__all__ = [
    "GENESIS",
    "Charge",
    "Entry",
    "Explanation",
    "append",
    "compose",
    "explain",
    "highest_belief",
    "keep_in_words",
    "total",
    "verify_chain",
]
