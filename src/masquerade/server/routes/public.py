"""Public routes: invitations and the levels."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from masquerade.mechanisms import LEVELS, Level
from masquerade.mechanisms.level import CLEAR
from masquerade.server.http.bodies import padded
from masquerade.server.routes.dependencies import InServices, InSettings
from masquerade.server.routes.response_models import Invitation, Levels, answers
from masquerade.server.services import Services
from masquerade.server.surveys.frozen_surveys import participants_state
from masquerade.server.surveys.invitation import invitation

_OPTIONS = (2, 3, 4, 5, 7, 10)


routes = APIRouter()


@routes.get(
    "/api/v1/surveys/{token}/invitation",
    summary="What a survey asks for, without its questions",
    tags=["participations"],
    responses=answers(Invitation, 404),
)
def invite(services: InServices, token: str) -> Response:
    return padded(_invitation(services, token))


@routes.get(
    "/api/v1/levels",
    summary="The parameters of every level",
    tags=["participations"],
    responses=answers(Levels),
)
def levels(settings: InSettings) -> Response:
    return padded(
        {
            "levels": [_level(level) for level in LEVELS],
            "clear": {"name": CLEAR, "allowed": settings.allow_clear},
        }
    )


def _invitation(services: Services, token: str) -> dict[str, Any]:
    frozen, state = services.surveys.frozen(token)
    return invitation(frozen, state=participants_state(state))


def _level(level: Level) -> dict[str, Any]:
    responses = {}
    for count in _OPTIONS:
        mechanism = level.randomized_response(count)
        responses[str(count)] = {
            "mechanism": str(mechanism),
            "flip_probability": float(mechanism.flip_probability),
            "epsilon": mechanism.guarantee().epsilon_single.to_json(),
        }
    return {
        "name": level.name,
        "mu": str(level.mu),
        "rho": level.rho,
        "sigma_of_range": float(1 / level.mu),
        "options": responses,
    }
