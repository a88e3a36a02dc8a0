"""An honest server's answers in each step, of three surveys."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

from masquerade.accounting import Balance, Caps
from masquerade.server.participants.privacy_balance import PrivacyAccount, cap_amounts, price
from masquerade.server.surveys.survey_records import FrozenSurvey, invitation, masks_json
from masquerade.surveys import Choice, Comparison, Number, Rating, ShowIf
from masquerade.surveys.survey import Survey

PARTICIPATION = "0123456789abcdef" * 2


def frozen(definition: Survey, token: str) -> FrozenSurvey:
    """Return a survey as the server keeps it."""
    return FrozenSurvey(
        SimpleNamespace(
            token=token,
            pseudonym_key="",
            simulated_truth=None,
            listed=True,
            reward=None,
            ways=None,
            definition=definition.to_json(),
        )
    )


WORK = Survey.at_levels(
    title="Work",
    description="How you work",
    questions=(
        Choice("ill", "Have you worked while ill?", ("Yes", "No", "Cannot say"), allow_skip=True),
        Rating("days", "How often?", 1, 5, "once", "always", allow_skip=True),
        Rating("stress", "How stressful is your work?", 1, 5, "not at all", "very"),
        Number("hours", "How many hours do you sleep?", 0, 12, "hours", 0.5),
        Comparison("pay", "Which would you rather have?", "More pay", "More time", "Neither"),
    ),
    conditions=(None, ShowIf("ill", ("Yes",)), None, None, None),
    levels=("high", "medium", "low"),
)
PLAIN = Survey.at_levels(
    title="Opinions",
    questions=tuple(Choice(f"q{n}", f"Opinion {n}?", ("Yes", "No")) for n in range(20)),
    levels=("high", "low"),
)
CLEAR = Survey.at_levels(
    title="Clear",
    questions=(Choice("q", "Which?", ("a", "b")), Rating("r", "How much?", 1, 5)),
    levels=("none", "high"),
)
OTHER = replace(PLAIN, title="Another survey")


def honest(definition: Survey, token: str, level: str) -> dict[str, Any]:
    """Return the answers of an honest server in each step."""
    survey = frozen(definition, token)
    chosen = definition.level(level)
    caps = Caps()
    battery = asdict(PrivacyAccount(Balance(caps), ()).battery())
    state = {"id": PARTICIPATION, "padding": ""}
    begun = {"id": PARTICIPATION, "state": "reserved", "level": level}
    bodies: dict[str, tuple[int, dict[str, Any]]] = {
        "invitation": (200, invitation(survey, state="open")),
        "reserve": (
            201,
            {**begun, "survey": token, "price": asdict(price(chosen, token)), "battery": battery},
        ),
        "open": (
            200,
            {
                **state,
                "state": "opened",
                "level": level,
                "hash": survey.hash,
                "survey": survey.text,
                "masks": masks_json(definition),
            },
        ),
        "seal": (200, {**state, "state": "sealed"}),
        "send": (
            201,
            {
                **state,
                "state": "submitted",
                "battery": battery,
                "reward": None,
                "completion_code": None,
                "bill": {
                    "survey_epsilon": chosen.guarantee().epsilon_user.to_json(),
                    "survey_delta": float(chosen.guarantee().delta),
                    "survey_rho": price(chosen, token).rho,
                    "total_epsilon": chosen.guarantee().epsilon_user.to_json(),
                    "total_delta": float(chosen.guarantee().delta),
                    "method": "pure",
                    "surveys": 1,
                    "day": "2026-03-14",
                },
            },
        ),
        "withdraw": (200, {**state, "state": "withdrawn"}),
        "abandon": (200, {**state, "state": "abandoned"}),
        "me": (
            200,
            {
                "battery": battery,
                "open_reservations": 0,
                "statement": ["You spent little."],
                "caps": {**asdict(cap_amounts(caps)), "to_come": None, "raise_days": 2},
            },
        ),
        "ledger": (
            200,
            {
                "entries": [],
                "total": 0,
                "total_epsilon": 0.0,
                "total_delta": 0.0,
                "method": "pure",
                "unit": "worker",
                "clear": 0,
                "next_cursor": None,
            },
        ),
        "invitations": (
            200,
            {
                "invitations": [{**invitation(survey, state="open"), "participation": begun}],
                "next_cursor": None,
            },
        ),
    }
    return {step: {"status": status, "body": body} for step, (status, body) in bodies.items()}


SURVEYS: dict[str, dict[str, Any]] = {
    "work": {
        "token": "5a5a5a5a5a5a5a5a",
        "level": "high",
        "answers": {"ill": "No", "days": None, "stress": 4, "hours": 7.5, "pay": "More time"},
        "codes": [1, 5, 3, 15, 1],
        "others": {"ill": "Yes", "days": 2, "stress": 1, "hours": 3, "pay": "More pay"},
        "other_codes": [0, 1, 0, 6, 0],
        "steps": honest(WORK, "5a5a5a5a5a5a5a5a", "high"),
    },
    "plain": {
        "token": "6b6b6b6b6b6b6b6b",
        "level": "high",
        "answers": {f"q{n}": "Yes" for n in range(20)},
        "codes": [0] * 20,
        "others": {f"q{n}": "No" for n in range(20)},
        "other_codes": [1] * 20,
        "steps": honest(PLAIN, "6b6b6b6b6b6b6b6b", "high"),
    },
    "clear": {
        "token": "7c7c7c7c7c7c7c7c",
        "level": "none",
        "answers": {"q": "b", "r": 4},
        "codes": [1, 3],
        "others": {"q": "a", "r": 1},
        "other_codes": [0, 0],
        "steps": honest(CLEAR, "7c7c7c7c7c7c7c7c", "none"),
    },
}
