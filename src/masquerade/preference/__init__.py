"""Preferences of a crowd, learned from pairwise comparisons, private where asked.

Comparisons come in; out come weights of features, which rank alternatives nobody was asked about.
Each mechanism says whom it protects (a choice, a record, a voter) and from whom (nobody trusted, a
secure sum, an aggregator), and every decision knows how much of it may be noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.preference.alternatives import (
        AlternativeRanking,
        DecisionCurve,
        decision_curve,
        rank_alternatives,
    )
    from masquerade.preference.automatic import Automatic
    from masquerade.preference.bounded_fits import (
        CentralGaussian,
        CentralLaplace,
        LocalGaussian,
        LocalLaplace,
        SecureLaplace,
    )
    from masquerade.preference.bradley_terry import BradleyTerryFit, fit_bradley_terry
    from masquerade.preference.choice_response import ChoiceResponse
    from masquerade.preference.direction_selection import DirectionSelection
    from masquerade.preference.functional import (
        AggregateFunctional,
        CentralFunctional,
        LocalFunctional,
    )
    from masquerade.preference.inattentive_workers import (
        NoisyBradleyTerryFit,
        fit_noisy_bradley_terry,
    )
    from masquerade.preference.leaderboard import Leaderboard, Standing
    from masquerade.preference.learn import Decision, SocialPreference
    from masquerade.preference.linear import (
        LinearFit,
        LinearGaussian,
        LinearKNorm,
        LinearLaplace,
        fit_linear,
    )
    from masquerade.preference.mechanism import PreferenceMechanism, Release
    from masquerade.preference.menu_response import MenuResponse, fit_menus
    from masquerade.preference.menus import MenuChoices
    from masquerade.preference.metrics import (
        REFERENCES,
        Score,
        agreement,
        expected_agreement,
        footrule_distance,
        held_out_accuracy,
        kendall_distance,
        one_feature_baseline,
        split_voters,
    )
    from masquerade.preference.no_mechanism import NoMechanism
    from masquerade.preference.noisy_item_wins import ItemNetWins, ItemVotes, ItemWins
    from masquerade.preference.pair_ranking import PairRanking, rank_pairs
    from masquerade.preference.personal_epsilon import EpsilonGroups
    from masquerade.preference.pooled_fit import PooledFit, fit_pooled
    from masquerade.preference.private_mechanism import PrivateMechanism
    from masquerade.preference.private_rankings import ItemRankings
    from masquerade.preference.privunit import PrivUnit
    from masquerade.preference.rankings import (
        ItemStrengths,
        Rankings,
        fit_davidson,
        fit_first_choices,
        fit_network_choices,
        fit_rankings,
        rank_centrality,
    )
    from masquerade.preference.registry import MECHANISMS, preference_mechanism, read_voter_device
    from masquerade.preference.report import preference_page
    from masquerade.preference.secure_sum import SecureSum, SimulatedSecureSum
    from masquerade.preference.slope_and_moment import LinearMoment
    from masquerade.preference.synthetic import MadeUpVoters, made_up_voters
    from masquerade.preference.thurstone import VoterFits, fit_voters
    from masquerade.preference.voter_device import VoterDevice, VoterReport
    from masquerade.preference.voter_groups import VoterGroups, find_voter_groups
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "MECHANISMS",
    "REFERENCES",
    "AggregateFunctional",
    "AlternativeRanking",
    "Automatic",
    "BradleyTerryFit",
    "CentralFunctional",
    "CentralGaussian",
    "CentralLaplace",
    "ChoiceResponse",
    "Decision",
    "DecisionCurve",
    "DirectionSelection",
    "EpsilonGroups",
    "ItemNetWins",
    "ItemRankings",
    "ItemStrengths",
    "ItemVotes",
    "ItemWins",
    "Leaderboard",
    "LinearFit",
    "LinearGaussian",
    "LinearKNorm",
    "LinearLaplace",
    "LinearMoment",
    "LocalFunctional",
    "LocalGaussian",
    "LocalLaplace",
    "MadeUpVoters",
    "MenuChoices",
    "MenuResponse",
    "NoMechanism",
    "NoisyBradleyTerryFit",
    "PairRanking",
    "PooledFit",
    "PreferenceMechanism",
    "PrivUnit",
    "PrivateMechanism",
    "Rankings",
    "Release",
    "Score",
    "SecureLaplace",
    "SecureSum",
    "SimulatedSecureSum",
    "SocialPreference",
    "Standing",
    "VoterDevice",
    "VoterFits",
    "VoterGroups",
    "VoterReport",
    "agreement",
    "decision_curve",
    "expected_agreement",
    "find_voter_groups",
    "fit_bradley_terry",
    "fit_davidson",
    "fit_first_choices",
    "fit_linear",
    "fit_menus",
    "fit_network_choices",
    "fit_noisy_bradley_terry",
    "fit_pooled",
    "fit_rankings",
    "fit_voters",
    "footrule_distance",
    "held_out_accuracy",
    "kendall_distance",
    "made_up_voters",
    "one_feature_baseline",
    "preference_mechanism",
    "preference_page",
    "rank_alternatives",
    "rank_centrality",
    "rank_pairs",
    "read_voter_device",
    "split_voters",
]
