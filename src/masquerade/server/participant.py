"""The participant's routes: the page that masks, the submission, the ledger."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from masquerade.accounting import explain, keep_in_words, total
from masquerade.server.pages import render
from masquerade.server.store import Store, Survey

Hex128 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Submission(BaseModel):
    """All that a device sends: masked reports, and which device and survey they belong to."""

    model_config = ConfigDict(extra="forbid", strict=True)

    participant: Hex128 = Field(description="Random secret of the device, the same for all surveys")
    response_id: Hex128 = Field(description="Random, drawn once a response; resending is safe")
    survey_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    reports: Annotated[list[Annotated[int, Field(ge=0, le=2**20)]], Field(max_length=200)]


def participant_routes(store: Store) -> APIRouter:
    """Return the routes that participants' devices use."""
    routes = APIRouter()

    @routes.get("/s/{token}", include_in_schema=False)
    def survey_page(request: Request, token: str) -> Response:
        return render(request, "participate.html", {"survey": shown(store.survey(token))})

    @routes.post(
        "/api/v1/surveys/{token}/responses",
        status_code=201,
        summary="Send the masked reports of one participant",
        tags=["participants"],
    )
    def submit(token: str, submission: Submission) -> JSONResponse:
        bill, new = store.submit(
            token,
            participant=submission.participant,
            response_id=submission.response_id,
            survey_hash=submission.survey_hash,
            reports=submission.reports,
        )
        return JSONResponse(
            {"accepted": True, "bill": bill.to_json()}, status_code=201 if new else 200
        )

    @routes.get(
        "/api/v1/ledger", summary="What this device's responses have cost", tags=["participants"]
    )
    def ledger(
        participant: Annotated[
            str, Header(alias="Masquerade-Participant", pattern=r"^[0-9a-f]{32}$")
        ],
    ) -> dict[str, Any]:
        entries = store.ledger(participant)
        return {
            "total_epsilon": total(entries).to_json(),
            "unit": "worker",
            "entries": [
                {
                    "survey": entry.charge.survey,
                    "mechanisms": list(entry.charge.mechanisms),
                    "epsilon_event": entry.charge.event.to_json(),
                    "epsilon_user": entry.charge.user.to_json(),
                    "day": entry.charge.day,
                    "hash": entry.hash,
                }
                for entry in entries
            ],
        }

    return routes


def shown(survey: Survey) -> dict[str, Any]:
    """Return a survey as its participants see it: no right answers, no counts."""
    definition = survey.definition
    guarantee = definition.guarantee()
    words = explain(guarantee)
    return {
        "token": survey.token,
        "title": definition.title,
        "description": definition.description,
        "state": survey.state,
        "hash": survey.hash,
        "submit_url": f"/api/v1/surveys/{survey.token}/responses",
        "ledger_url": "/api/v1/ledger",
        "simulated": survey.simulated_truth is not None,
        "level": {
            "name": definition.level,
            "odds": keep_in_words(definition.mechanisms),
            "words": words.one_answer,
            "words_all": words.all_answers,
        },
        "guarantee": {
            "epsilon_event": guarantee.epsilon_event.to_json(),
            "epsilon_user": guarantee.epsilon_user.to_json(),
            "answers": guarantee.answers,
        },
        "questions": [
            {
                "id": question.id,
                "kind": question.kind,
                "text": question.text,
                "labels": list(question.labels),
                "allow_skip": question.allow_skip,
                "low_label": getattr(question, "low_label", ""),
                "high_label": getattr(question, "high_label", ""),
                "mechanism": str(mechanism),
                "device": mechanism.device_form(),
                "keep_percent": round(100 * float(mechanism.channel().table[0][0]), 1),
            }
            for question, mechanism in zip(definition.questions, definition.mechanisms, strict=True)
        ],
    }
