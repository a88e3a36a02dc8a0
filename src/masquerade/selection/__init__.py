"""Whom to ask: past errors without the noise of masks, policies, and how many people are needed.

Before a survey opens, `participants_needed` says how many reports a margin takes, and `select`
chooses among people of different price, level and privacy left. It sees reports and levels, never
answers.
"""

from masquerade.selection.choose import POLICIES, Selection, select
from masquerade.selection.group_error import GroupError, group_error
from masquerade.selection.history import Components, History, Tendencies
from masquerade.selection.planning import participants_needed
from masquerade.selection.pool import Pool
from masquerade.selection.precision import predicted_error
from masquerade.selection.seats import LevelOffer, seats_by_level, seats_of_wave, worth_by_level
from masquerade.selection.waves import next_wave

__all__ = [
    "POLICIES",
    "Components",
    "GroupError",
    "History",
    "LevelOffer",
    "Pool",
    "Selection",
    "Tendencies",
    "group_error",
    "next_wave",
    "participants_needed",
    "predicted_error",
    "seats_by_level",
    "seats_of_wave",
    "select",
    "worth_by_level",
]
