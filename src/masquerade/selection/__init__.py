"""Selection of people: policies, quotas, and how many people are needed.

Before a survey opens, `participants_needed` says how many reports a margin takes, and `select`
chooses among people of different price, level and privacy left. It sees levels and costs, never
answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.selection.planning import (
        Precision,
        TwoPartySums,
        parse_plan,
        participants_needed,
        precision_of,
    )
    from masquerade.selection.pool import Pool, read_pool
    from masquerade.selection.quotas import (
        LevelOffer,
        quotas_by_level,
        quotas_of_wave,
        worth_by_level,
    )
    from masquerade.selection.selection import (
        POLICIES,
        Selection,
        next_wave,
        predicted_error,
        select,
    )
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "POLICIES",
    "LevelOffer",
    "Pool",
    "Precision",
    "Selection",
    "TwoPartySums",
    "next_wave",
    "parse_plan",
    "participants_needed",
    "precision_of",
    "predicted_error",
    "quotas_by_level",
    "quotas_of_wave",
    "read_pool",
    "select",
    "worth_by_level",
]
