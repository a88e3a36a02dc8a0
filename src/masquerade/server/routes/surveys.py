"""The surveyors' interface: make, change, open, watch and end surveys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Body, Depends, Header, Query
from pydantic import ConfigDict, Field
from starlette.datastructures import FormData
from starlette.responses import Response

from masquerade.errors import ParameterError, StaleVersion, WrongState
from masquerade.server.db.idempotency import body_text
from masquerade.server.http.bodies import StrictBody
from masquerade.server.http.pages import markdown, page_text
from masquerade.server.http.problem import file_answer
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, base_address, require
from masquerade.server.routes.forms import FormBody, Key
from masquerade.server.surveys.document import (
    Document,
    changed,
    plan_fields_schema,
    read_document,
)
from masquerade.server.surveys.dossier import dossier
from masquerade.server.surveys.drafts import Draft, Review
from masquerade.server.surveys.forecast import Forecast, Margin, error_by_cost
from masquerade.server.surveys.lifecycle import Listed, progress_json
from masquerade.server.surveys.selection_runs import SelectionRequest
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.server.surveys.templates import template_named

Match = Annotated[str | None, Header(description="The ETag of what was read")]


PlanFields = Annotated[
    Mapping[str, object],
    Body(description="Fields of the plan to try", json_schema_extra=plan_fields_schema()),
]


class New(StrictBody):
    """The beginning of a new draft: a template, a document, or a copy of another survey."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                "template": {"type": "string", "maxLength": 32},
                "document": {"type": "object"},
                "copy_of": {"type": "string", "maxLength": 32},
            },
        }
    )

    template: Annotated[str, Field(max_length=32)] | None = None
    document: Mapping[str, object] | None = None
    copy_of: Annotated[str, Field(max_length=32)] | None = None


class Closing(FormBody):
    """The days of grace in which people can finish begun responses."""

    grace_days: Annotated[int, Field(ge=0, le=30)] = 1

    @classmethod
    def of_form(cls, fields: FormData) -> Self:
        """Return the values of a form; an empty field is no day of grace."""
        return cls.model_validate({"grace_days": fields.get("grace_days") or 0}, strict=False)


@dataclass(frozen=True, slots=True)
class SurveyPage:
    """A page of a team's surveys and drafts."""

    surveys: list[Listed]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Issue:
    """A fault that keeps a draft from being opened, with its place."""

    pointer: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a draft can be opened, and why not; warnings do not keep it from being opened."""

    valid: bool
    errors: list[Issue]
    warnings: list[Issue]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftResponse(Verdict):
    """A draft with its faults, and its forecast where it is finished."""

    token: str
    state: str
    version: int
    changed: str
    document: Mapping[str, object]
    forecast: Mapping[str, object] | None
    trusts: Mapping[str, Mapping[str, object] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyResponse:
    """A survey that is open or was."""

    token: str
    state: str
    hash: str
    link: str
    opened: str
    closes: str | None
    closed: str | None
    responses: int
    seats: dict[str, int] | None
    document: Mapping[str, object]


routes = APIRouter(prefix="/api/v1/surveys", tags=["surveys"])
Reader = Annotated[Actor, Depends(require("survey:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.post("", status_code=201, summary="Make a draft")
@audited("made a draft")
def create(actor: Writer, new: New, idempotency_key: Key, response: Response) -> DraftResponse:
    drafts = actor.services.drafts
    # The account is part of the key, so that the keys of two people never meet.
    request = (f"{actor.account.id} {idempotency_key}", body_text(new.model_dump()))
    draft, fresh = drafts.create(_beginning(actor, new), team=actor.team.id, request=request)
    response.status_code = 201 if fresh else 200
    response.headers["Location"] = f"/api/v1/surveys/{draft.token}"
    return _draft(actor, draft, response)


@routes.get("", summary="A team's surveys and drafts, by token")
def listing(
    actor: Reader,
    cursor: Annotated[str, Query(pattern=r"^[0-9a-f]{0,32}$")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SurveyPage:
    surveys = actor.services.surveys.listed(team=actor.team.id, after=cursor, limit=limit + 1)
    following = surveys[limit - 1].token if len(surveys) > limit else None
    return SurveyPage(surveys[:limit], following)


@routes.get("/{token}", summary="A survey or draft")
def read(actor: Reader, token: str, response: Response) -> DraftResponse | SurveyResponse:
    draft = actor.draft(token)
    if draft is not None:
        return _draft(actor, draft, response)
    return survey_response(actor, actor.survey(token))


@routes.patch("/{token}", summary="Change a draft, or last day and quotas of an open survey")
@audited("changed a draft or survey")
def change(
    actor: Writer,
    token: str,
    changes: Annotated[dict[str, Any], Body()],
    response: Response,
    if_match: Match = None,
) -> DraftResponse | SurveyResponse:
    surveys = actor.services.surveys
    if actor.draft(token) is not None:
        version = _version(if_match)
        draft = actor.services.drafts.change(token, changes, team=actor.team.id, version=version)
        return _draft(actor, draft, response)
    record = actor.survey(token)
    if set(changes) == {"closes"}:
        surveys.extend(record, changes["closes"])
    elif set(changes) == {"seats"}:
        quotas = changes["seats"]
        if quotas is not None and not isinstance(quotas, dict):
            raise ParameterError(f"seats is {quotas!r}, expected an object of levels and numbers.")
        surveys.set_quotas(record, quotas)
    else:
        raise WrongState(
            f"this survey is {record.state}, so what it asks is frozen. One at a time, its "
            'last day or its quotas can still change: {"closes": "YYYY-MM-DD"}, or '
            '{"seats": {level: number}}.',
            state=record.state,
        )
    return survey_response(actor, actor.survey(token))


@routes.delete("/{token}", status_code=204, summary="Delete a draft")
@audited("deleted a draft")
def remove(actor: Writer, token: str, if_match: Match = None) -> None:
    if actor.draft(token) is None:
        record = actor.survey(token)
        raise WrongState(
            f"this survey is {record.state}; only a draft can be deleted. Cancel it instead.",
            state=record.state,
        )
    version = None if if_match is None else _version(if_match)
    actor.services.drafts.delete(token, team=actor.team.id, version=version)


@routes.get("/{token}/document", summary="The survey as a file, to keep or to import")
def document(actor: Reader, token: str) -> Response:
    survey = document_of(actor, token)
    # A title is free text, and a header takes only letters that need no quoting.
    name = re.sub(r"[^a-z0-9]+", "-", survey.title.lower()).strip("-")[:40] or "survey"
    return Response(
        survey.text(),
        media_type="application/json; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.json"'},
    )


@routes.get(
    "/{token}/dossier",
    summary="Data protection summary and record for an ethics board, with the survey's figures",
    **file_answer("text/markdown"),
)
def dossier_file(actor: Reader, token: str, language: Literal["en", "de"] = "en") -> Response:
    document, drafts = document_of(actor, token), actor.services.drafts
    review = drafts.review(document)
    draft = actor.draft(token) is not None
    survey = review.require()[0] if draft else actor.survey(token).survey
    expected = review.forecast["questions"] if review.forecast else []
    found = dossier(
        survey,
        address=base_address(actor.request),
        caps=drafts.caps,
        people=document.plan.people,
        closes=document.plan.closes if draft else actor.survey(token).closes,
        margins={one["id"]: one for one in expected},
        paid=document.plan.reward == "codes",
    )
    text = page_text(f"dossier/{language}.md", {"d": found, "plain": markdown}) + "\n"
    name = f"dossier-{token}-{language}.md"
    return Response(
        text,
        media_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@routes.post("/{token}/validate", summary="All that keeps a draft from being opened")
@audited(None)
def validate(actor: Reader, token: str) -> Verdict:
    drafts = actor.services.drafts
    return verdict(actor, drafts.review(drafts.draft(token, team=actor.team.id).document))


@routes.post("/{token}/preview", summary="What a plan would ask, cost and tell")
@audited(None)
def preview(actor: Reader, token: str, plan: PlanFields) -> Mapping[str, object]:
    document = changed(document_of(actor, token), {"plan": plan})
    _, figures = actor.services.drafts.review(document).require()
    return figures


@routes.post("/{token}/curve", summary="How the error of the first question falls with cost")
@audited(None)
def curve(actor: Reader, token: str, plan: PlanFields) -> dict[Literal["points"], list[Any]]:
    drafts = actor.services.drafts
    document = changed(document_of(actor, token), {"plan": plan})
    survey, _ = drafts.review(document).require()
    points = error_by_cost(document, survey, caps=drafts.caps)
    return {"points": [{**one, "words": actor.say(one["words"])} for one in points]}


@routes.post("/{token}/open", summary="Freeze a draft and let people answer")
@audited("opened a survey")
def open_(actor: Writer, token: str, if_match: Match = None) -> SurveyResponse:
    version = None if if_match is None else _version(if_match)
    drafts, team = actor.services.drafts, actor.team.id
    return survey_response(actor, drafts.open(token, team=team, version=version))


@routes.post("/{token}/close", summary="Let nobody begin it any more")
@audited("closed a survey")
def close(actor: Writer, token: str, closing: Closing) -> SurveyResponse:
    surveys = actor.services.surveys
    record = surveys.close(actor.survey(token), grace_days=closing.grace_days)
    return survey_response(actor, record)


@routes.post("/{token}/cancel", summary="End a survey without results")
@audited("cancelled a survey")
def cancel(actor: Writer, token: str) -> SurveyResponse:
    return survey_response(actor, actor.services.surveys.cancel(actor.survey(token)))


@routes.post("/{token}/publish", summary="Let everybody see the results")
@audited("published results")
def publish(actor: Writer, token: str) -> SurveyResponse:
    actor.services.surveys.publish(actor.survey(token))
    return survey_response(actor, actor.survey(token))


@routes.post("/{token}/unpublish", summary="Show the results to the team alone again")
@audited("took published results back")
def unpublish(actor: Writer, token: str) -> SurveyResponse:
    actor.services.surveys.unpublish(actor.survey(token))
    return survey_response(actor, actor.survey(token))


@routes.get("/{token}/progress", summary="How many answered, by level")
def progress(actor: Reader, token: str) -> Mapping[str, object]:
    record = actor.survey(token)
    return progress_json(record, actor.services.surveys.progress(record))


@routes.post(
    "/{token}/selection-runs", status_code=201, summary="Decide how many of each level to ask"
)
@audited("ran a selection")
def select(
    actor: Writer,
    token: str,
    selection: SelectionRequest,
    idempotency_key: Key,
    response: Response,
) -> Mapping[str, object]:
    request = (
        f"{actor.account.id} run {idempotency_key}",
        body_text([token, selection.model_dump()]),
    )
    runs = actor.services.selection_runs
    run = runs.decide(actor.team.id, token, selection, request=request)
    response.headers["Location"] = f"/api/v1/surveys/{token}/selection-runs/{run['id']}"
    return run


@routes.get("/{token}/selection-runs", summary="All selections of a survey, in their order")
def selections(actor: Reader, token: str) -> dict[Literal["runs"], Sequence[Mapping[str, object]]]:
    _require_own(actor, token)
    return {"runs": actor.services.selection_runs.runs(token)}


@routes.get("/{token}/selection-runs/{run}", summary="A selection and why it is as it is")
def selection(actor: Reader, token: str, run: str) -> Mapping[str, object]:
    _require_own(actor, token)
    return actor.services.selection_runs.run(token, run)


def draft_response(actor: Actor, draft: Draft, review: Review) -> DraftResponse:
    """Return an actor's draft as programs read it."""
    found = verdict(actor, review)
    return DraftResponse(
        token=draft.token,
        state=draft.state,
        version=draft.version,
        changed=draft.day,
        document=draft.document.to_json(),
        forecast=_spoken(actor, review.forecast),
        trusts={
            name: margin and {**margin, "words": actor.say(margin["words"])}
            for name, margin in actor.services.drafts.margins_by_trust(draft.document).items()
        },
        valid=found.valid,
        errors=found.errors,
        warnings=found.warnings,
    )


def _spoken(actor: Actor, figures: Forecast | None) -> Forecast | None:
    """Return a forecast with its words in the language of an actor's page."""
    if figures is None:
        return None
    questions: list[Margin] = [
        {**one, "words": actor.say(one["words"])} for one in figures["questions"]
    ]
    return {**figures, "questions": questions}


def verdict(actor: Actor, review: Review) -> Verdict:
    """Return whether a draft can be opened, and why not."""
    issues = [Issue(pointer, actor.say(detail)) for pointer, detail in review.issues]
    dear = [Issue("/levels", actor.say(one)) for one in review.too_dear]
    return Verdict(valid=not issues, errors=issues, warnings=dear)


def survey_response(actor: Actor, record: SurveyRecord) -> SurveyResponse:
    """Return an actor's survey as programs read it."""
    return SurveyResponse(
        token=record.token,
        state=record.state,
        hash=record.hash,
        link=share_link(actor, record.token),
        opened=record.opened,
        closes=record.closes,
        closed=record.closed,
        responses=record.responses,
        seats=record.quotas,
        document=actor.services.surveys.document(record).to_json(),
    )


def document_of(actor: Actor, token: str) -> Document:
    """Return the document of an actor's draft or survey."""
    draft = actor.draft(token)
    return draft.document if draft else actor.services.surveys.document(actor.survey(token))


def share_link(actor: Actor, token: str) -> str:
    """Return the address at which people take part."""
    return f"{base_address(actor.request)}/s/{token}"


def _require_own(actor: Actor, token: str) -> None:
    if actor.draft(token) is None:
        actor.survey(token)


def _beginning(actor: Actor, new: New) -> Document:
    names = [name for name, value in new if value is not None]
    if len(names) != 1:
        raise ParameterError(
            f"the request names {names or 'nothing'}; give one of template, document, copy_of."
        )
    if new.template is not None:
        return template_named(new.template).document()
    if new.document is not None:
        return read_document(new.document)
    return document_of(actor, str(new.copy_of))


def _version(if_match: str | None) -> int:
    # A proxy that compresses the answer makes its tag a weak one.
    tag = re.fullmatch(r'(?:W/)?"v(\d{1,9})"', (if_match or "").strip())
    if tag is None:
        raise StaleVersion(
            "the request does not say what it changes: send the ETag of what you read as If-Match."
        )
    return int(tag[1])


def _draft(actor: Actor, draft: Draft, response: Response) -> DraftResponse:
    response.headers["ETag"] = f'"v{draft.version}"'
    return draft_response(actor, draft, actor.services.drafts.review(draft.document))
