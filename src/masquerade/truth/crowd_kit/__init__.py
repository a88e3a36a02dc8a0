"""crowd-kit's methods, with its names of parameters and fitted attributes.

Code written for crowd-kit changes its import only: ``from masquerade.truth.crowd_kit import
DawidSkene``. The methods are those of `masquerade.truth`; comparisons of pairs are in
`masquerade.preference.crowd_kit`.
"""

from masquerade.truth.crowd_kit.confusions import GLAD, MACE, DawidSkene, OneCoinDawidSkene
from masquerade.truth.crowd_kit.structured import (
    HRRASA,
    RASA,
    ROVER,
    BinaryRelevance,
    TextHRRASA,
    TextRASA,
)
from masquerade.truth.crowd_kit.votes import (
    KOS,
    MMSR,
    GoldMajorityVote,
    MajorityVote,
    Wawa,
    ZeroBasedSkill,
)

__all__ = [
    "GLAD",
    "HRRASA",
    "KOS",
    "MACE",
    "MMSR",
    "RASA",
    "ROVER",
    "BinaryRelevance",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "TextHRRASA",
    "TextRASA",
    "Wawa",
    "ZeroBasedSkill",
]
