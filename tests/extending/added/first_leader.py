"""Majority vote with ties for the first option; a method that a test adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masquerade.truth.ties import Ties
from masquerade.truth.voting import MajorityVote


@dataclass(eq=False, kw_only=True)
class FirstLeader(MajorityVote):
    """Take the first of the options that most workers reported."""

    name: ClassVar[str] = "first-leader"

    ties: Ties = "first"
