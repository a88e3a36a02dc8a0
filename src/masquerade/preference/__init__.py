"""Preferences of a crowd, learned from pairwise comparisons, private where asked.

Comparisons come in; out come weights of features, which rank alternatives nobody was asked about.
Each mechanism says whom it protects (a choice, a record, a voter) and from whom (nobody trusted,
one of two parties, an aggregator), and every decision knows how much of it may be noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.preference.alternatives import decision_curve, rank_alternatives
    from masquerade.preference.leaderboard import Leaderboard
    from masquerade.preference.learn import Decision, SocialPreference
    from masquerade.preference.mechanism import PreferenceMechanism, Release
    from masquerade.preference.menu_response import MenuResponse, fit_menus
    from masquerade.preference.menus import MenuChoices
    from masquerade.preference.metrics import (
        Score,
        agreement,
        held_out_accuracy,
        one_feature_baseline,
        split_voters,
    )
    from masquerade.preference.pair_ranking import PairRanking, rank_pairs
    from masquerade.preference.rankings import ItemStrengths, Rankings, fit_rankings
    from masquerade.preference.registry import MECHANISMS, preference_mechanism
    from masquerade.preference.report import preference_page
    from masquerade.preference.standings import Standing
    from masquerade.preference.synthetic import MadeUpVoters, made_up_voters
    from masquerade.preference.voter_device import VoterDevice, VoterReport
    from masquerade.preference.voter_groups import find_voter_groups
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "MECHANISMS",
    "Decision",
    "ItemStrengths",
    "Leaderboard",
    "MadeUpVoters",
    "MenuChoices",
    "MenuResponse",
    "PairRanking",
    "PreferenceMechanism",
    "Rankings",
    "Release",
    "Score",
    "SocialPreference",
    "Standing",
    "VoterDevice",
    "VoterReport",
    "agreement",
    "decision_curve",
    "find_voter_groups",
    "fit_menus",
    "fit_rankings",
    "held_out_accuracy",
    "made_up_voters",
    "one_feature_baseline",
    "preference_mechanism",
    "preference_page",
    "rank_alternatives",
    "rank_pairs",
    "split_voters",
]
