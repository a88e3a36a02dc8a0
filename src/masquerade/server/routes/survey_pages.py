"""Surveyors' pages: all surveys, the builder, audience and budget, review; a survey and its end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Query, Request
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile
from starlette.responses import Response

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import (
    InvalidDocument,
    MasqueradeError,
    ParameterError,
    UnderWay,
    UnreadableFile,
    WrongState,
)
from masquerade.mechanisms.privacy_level import CLEAR, LEVEL_PATTERN
from masquerade.server.db.idempotency import body_text
from masquerade.server.db.party_tables import UNDER_WAY
from masquerade.server.db.tables import CANCELLED, FINISHED, PUBLISHED, TAKING
from masquerade.server.http.pages import qr_code, translation
from masquerade.server.http.security import PREVIEW_POLICY
from masquerade.server.participants.privacy_balance import cap_amounts
from masquerade.server.results.groups import comparable
from masquerade.server.results.view import result_view
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InSettings
from masquerade.server.routes.forms import Text, form, page
from masquerade.server.routes.publication import file_kinds, published_context, summary
from masquerade.server.routes.surveys import (
    cancel,
    close,
    document_of,
    draft_response,
    publish,
    share_link,
    unpublish,
)
from masquerade.server.settings import Settings
from masquerade.server.surveys.document import Document, read_document, read_json_text
from masquerade.server.surveys.drafts import DRAFT, TEMPLATE, Draft, Review
from masquerade.server.surveys.forecast import MOST_PEOPLE, Wish, as_planned, live_margins
from masquerade.server.surveys.lifecycle import progress_json
from masquerade.server.surveys.selection_runs import (
    MOST_WAVES,
    SelectionRequest,
    next_wave,
    planned_wave,
    timeline,
)
from masquerade.server.surveys.survey_records import introduction
from masquerade.server.surveys.templates import BLANK, TEMPLATES, template_named
from masquerade.surveys.kinds import kinds
from masquerade.surveys.offered_levels import ALL_LEVELS
from masquerade.surveys.questionnaires import OWN, Imported, import_questionnaire
from masquerade.surveys.questionnaires.qualtrics import is_qsf
from masquerade.surveys.questionnaires.questionnaire import OUTCOMES

_GROUPS = (
    ("Draft", (DRAFT,)),
    ("Live", TAKING),
    ("Closed", (*FINISHED, CANCELLED)),
)
IMPORT = "/surveys/import"
#: In bytes: a questionnaire, and the rest of the form that it comes in.
MOST_QUESTIONNAIRE, _FORM_ROOM = 8_000_000, 20_000
PAGE, _EDIT = "/surveys/{token}", "/surveys/{result}/edit"

routes = APIRouter(include_in_schema=False)
Reader = Annotated[Actor, Depends(require("survey:read"))]
ResultReader = Annotated[Actor, Depends(require("results:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]


@routes.get("/surveys")
def home(actor: Reader) -> Response:
    surveys = actor.services.surveys.listed(team=actor.team.id)
    groups = [
        (name, sorted((one for one in surveys if one.state in states), key=_newest_first))
        for name, states in _GROUPS
    ]
    context = {"groups": groups, "any": bool(surveys), "templates": TEMPLATES.values()}
    return actor.page("surveyor/surveys.html", context)


def _newest_first(one: Any) -> tuple[int, str]:
    return -int(one.day.replace("-", "")), one.title


@page(routes, "/surveys/new")
def choose(
    actor: Writer,
    people: str = "",
    questions: str = "",
    exact: str = "10",
    *,
    error: MasqueradeError | None = None,
    **_: Any,
) -> Response:
    surveys = actor.services.surveys.listed(team=actor.team.id)
    helpers = actor.services.helpers.list(actor.team.id)
    wish = Wish.of(people, questions, exact)
    plan = wish.planned(caps=actor.services.drafts.caps, helper=bool(helpers))
    context = {
        "templates": TEMPLATES.values(),
        "own": [one for one in surveys if one.state == TEMPLATE],
        "issues": getattr(error, "issues", None),
        "wish": wish,
        "ways": plan,
        "helpers": helpers,
    }
    return actor.page("surveyor/new.html", context, error=error)


@form(routes, "/surveys/new", then=_EDIT)
@audited("made a draft")
def create(
    actor: Writer,
    template: Annotated[str, Form()],
    people: Annotated[int | None, Form(ge=1, le=MOST_PEOPLE)] = None,
    way: Annotated[str, Form(pattern=f"^({LEVEL_PATTERN})?$")] = "",
) -> str:
    document = Document() if template == BLANK else template_named(template).document(actor.say)
    unit = {"currency": actor.say(document.plan.currency)}
    document = document.model_copy(update={"plan": document.plan.model_copy(update=unit)})
    helpers = actor.services.helpers.list(actor.team.id) if way == TWO_PARTIES else []
    return _draft(actor, as_planned(document, people=people, way=way, helpers=helpers))


def most_body(path: str) -> int | None:
    """Return how long a body may be that is sent to `path`, where that is not the usual length."""
    return MOST_QUESTIONNAIRE + _FORM_ROOM if path == IMPORT else None


async def _sent(request: Request, _: Writer) -> bytes:
    """Return the file of a form; a stranger's is never read."""
    fields = await request.form()
    try:
        file = fields.get("file")
        return await file.read() if isinstance(file, UploadFile) else b""
    finally:
        await fields.close()


def _imported(actor: Actor, result: tuple[str, Imported], **_: Any) -> Response:
    """Return the report of an import; a file of this tool opens in the builder at once."""
    token, found = result
    if found.format == OWN:
        return RedirectResponse(_EDIT.format(result=token), 303)
    context = {"found": found, "token": token, "outcomes": OUTCOMES}
    return actor.page("surveyor/imported.html", context)


@form(routes, IMPORT, then=_imported, refused=choose)
@audited("imported a draft")
def import_(actor: Writer, content: Annotated[bytes, Depends(_sent)]) -> tuple[str, Imported]:
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[", b""):
        data = read_json_text(_text(content))
        if not is_qsf(data):
            return _draft(actor, read_document(data)), Imported(OWN, {}, ())
    try:
        found = import_questionnaire(content)
    except UnreadableFile as error:
        raise InvalidDocument([("", str(error))]) from None
    return _draft(actor, read_document(dict(found.document))), found


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidDocument([("", "the file is no text in UTF-8.")]) from None


@form(routes, f"{PAGE}/copy", then=_EDIT)
@audited("copied a survey")
def copy(actor: Writer, token: str) -> str:
    document = document_of(actor, token)
    # A survey of one's own templates is as it was kept; a copy says that it is one.
    copied = actor.say("{text} (copy)").replace("{text}", document.title)
    title = document.title if document.own_template else copied.strip()
    made = _draft(actor, document.model_copy(update={"title": title, "own_template": False}))
    if not document.own_template:
        actor.services.over_time.link(made, token)
    return made


@form(routes, f"{PAGE}/template", then="/surveys/new#own")
@audited("kept a template")
def keep_as_template(actor: Writer, token: str) -> None:
    _draft(actor, document_of(actor, token).model_copy(update={"own_template": True}))


def _draft(actor: Actor, document: Document) -> str:
    draft, _ = actor.services.drafts.create(document, team=actor.team.id)
    return draft.token


def _weights_refused(actor: Actor, token: str, *, error: MasqueradeError, **_: Any) -> Response:
    return _ended_page(actor, token, error=error)


def _weighted(*, token: str, result: str, **_: Any) -> Response:
    return RedirectResponse(f"/surveys/{token}?weights={result}", 303)


@routes.get(f"{PAGE}/over-time")
def over_time(actor: ResultReader, token: str) -> Response:
    record = actor.survey(token)
    context = {"record": record, "view": actor.services.over_time.view(record)}
    return actor.page("surveyor/over_time.html", context)


@form(routes, f"{PAGE}/weights", then=_weighted, refused=_weights_refused)
@audited("weighted a result")
def weigh(
    actor: ResultReader,
    token: str,
    table: Text = "",
    population: Annotated[str, Form(max_length=12)] = "",
    file: Annotated[bytes, File()] = b"",
) -> str:
    text = table if table.strip() else file.decode("utf-8-sig", errors="replace")
    size = int(population) if population.strip().isdecimal() else None
    return actor.services.weighted.create(actor.survey(token), text, size)


@form(routes, f"{PAGE}/delete", then="/surveys")
@audited("deleted a draft")
def remove(actor: Writer, token: str) -> None:
    actor.services.drafts.delete(token, team=actor.team.id)


@routes.get(f"{PAGE}/edit")
def edit(settings: InSettings, actor: Writer, token: str) -> Response:
    return _draft_page(settings, actor, token, "build")


@routes.get(f"{PAGE}/audience")
def audience(settings: InSettings, actor: Writer, token: str) -> Response:
    return _draft_page(settings, actor, token, "audience")


@routes.get(f"{PAGE}/review")
def review(settings: InSettings, actor: Writer, token: str) -> Response:
    return _draft_page(settings, actor, token, "review")


@routes.get(f"{PAGE}/preview")
def preview(settings: InSettings, actor: Reader, token: str) -> Response:
    page = _draft_page(settings, actor, token, "preview")
    page.headers["Content-Security-Policy"] = PREVIEW_POLICY
    return page


def _review(
    settings: Settings, actor: Actor, token: str, *, error: MasqueradeError, **_: Any
) -> Response:
    if actor.draft(token) is not None:
        return _draft_page(settings, actor, token, "review", error=error)
    actor.survey(token)  # opened in another tab
    return RedirectResponse(f"/surveys/{token}", 303)


@form(routes, f"{PAGE}/open", then=PAGE, refused=_review)
@audited("opened a survey")
def open_(settings: InSettings, actor: Writer, token: str, version: Annotated[int, Form()]) -> None:
    actor.services.drafts.open(token, team=actor.team.id, version=version)


@routes.get(PAGE)
def survey_page(
    settings: InSettings,
    actor: Reader,
    token: str,
    by: Annotated[str, Query(max_length=200)] = "",
    weights: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    if actor.draft(token) is not None:
        if actor.may("survey:write"):
            return RedirectResponse(f"/surveys/{token}/edit", 303)
        return _draft_page(settings, actor, token, "review")
    record = actor.survey(token)
    if record.state in TAKING:
        return live_page(actor, token)
    return _ended_page(actor, token, by=by, weights=weights)


def _ended_page(
    actor: Actor,
    token: str,
    *,
    by: str = "",
    weights: str = "",
    error: MasqueradeError | None = None,
    **_: Any,
) -> Response:
    """Return the page of a survey that has ended: its result, in groups or weighted if asked."""
    record = actor.survey(token)
    # Some roles see results only once they are everybody's.
    visible = actor.may("results:read") or record.state == PUBLISHED
    view, waiting, adding = None, "", False
    working: UnderWay | None = None
    groups, weighted, refused = None, None, error
    if record.state in FINISHED and visible:
        try:
            actor.services.results.require(record)
            view = result_view(record.survey, actor.services.results.result(record))
        except UnderWay as why:
            working = why
        except WrongState as why:  # two parties have not added up, or cannot
            waiting = str(why)
            adding = _is_adding(actor, token)
    if view and (by or weights) and actor.may("results:read"):
        try:
            if weights:
                weighted = actor.services.weighted.view(record, weights)
                view = result_view(record.survey, weighted.result)
            else:
                groups = actor.services.groups.view(record, by)
        except UnderWay as why:
            working, view = why, None
        except MasqueradeError as why:  # the page says it, above the results of everybody
            refused = why
    context = {
        "groups": groups,
        "weighted": weighted,
        "repeated": view is not None and len(actor.services.over_time.chain(record)) > 1,
        "by": by,
        "files": file_kinds(),
        "comparable": comparable(record.survey) if view else [],
        "record": record,
        "summary": summary(record),
        "view": view,
        "waiting": waiting,
        "adding": adding,
        "working": working,
        **published_context(actor.request, token),
    }
    page = actor.page("surveyor/survey.html", context, error=refused)
    if working is not None:
        page.headers["Refresh"] = str(working.seconds)
    return page


def _is_adding(actor: Actor, token: str) -> bool:
    """Return whether two parties are still adding up a closed survey, or wait to."""
    try:
        return actor.services.aggregation.progress(token)["state"] in UNDER_WAY
    except WrongState:  # it has no task
        return False


def _draft_page(
    settings: Settings,
    actor: Actor,
    token: str,
    name: str,
    *,
    error: MasqueradeError | None = None,
) -> Response:
    draft, drafts = actor.draft(token), actor.services.drafts
    if draft is None:
        return RedirectResponse(f"/surveys/{actor.survey(token).token}", 303)
    review = drafts.review(draft.document)
    context = {
        "draft": draft,
        "known": asdict(draft_response(actor, draft, review)),
        "document": draft.document,
        "forms": _forms(actor.request),
        "levels": [*ALL_LEVELS, *([CLEAR] if settings.allow_clear else [])],
        "introduction": _introduction(draft, review),
        "approval": _approval(actor, token, review),
        "caps": asdict(cap_amounts(drafts.caps)),
        "texts": {one.get("id"): one.get("text", "") for one in draft.document.questions},
        "asked_questions": len(review.survey.questions) if review.survey else 0,
        "weak": drafts.weak_questions(draft.document) if name == "review" else [],
    }
    return actor.page(f"surveyor/{name}.html", context, error=error, status=422 if error else 200)


def _forms(request: Request) -> dict[str, object]:
    """Return the form of each kind of question, in the reader's language."""
    said = translation(request)
    return {kind: one.builder.translated(said).to_json() for kind, one in kinds().items()}


def _approval(actor: Actor, token: str, review: Review) -> Mapping[str, object] | None:
    """Return the state of the helper's approval of a draft; None where it needs none."""
    if review.survey is None or review.survey.two_parties is None:
        return None
    proposals = actor.services.proposals
    standing = proposals.standing(token, review.survey)
    return standing or {"state": None, "changed": proposals.was_approved(token)}


def _introduction(draft: Draft, review: Review) -> Mapping[str, object] | None:
    """Return people's first view of a survey; None where the draft is not finished."""
    if review.survey is None:
        return None
    hash_ = review.survey.content_hash()
    return introduction(review.survey, token=draft.token, hash_=hash_, reward=review.reward)


#: Days that the page of an open survey shows.
_DAYS = 14


def live_page(
    actor: Actor, token: str, *, error: MasqueradeError | None = None, **_: Any
) -> Response:
    """Return the page of a survey that is open or closing, with why a change was refused."""
    record, lifecycle = actor.survey(token), actor.services.surveys
    if error and record.state not in TAKING:
        raise error
    link = share_link(actor, token)
    progress = progress_json(record, lifecycle.progress(record))
    origins = lifecycle.frozen(token)[0].ways.origins
    embed_code = f'<iframe src="{link}" title="Survey" width="100%" height="700"></iframe>'
    plan, runs = lifecycle.document(record).plan, actor.services.selection_runs.runs(token)
    target = sum(record.quotas.values()) if record.quotas else plan.people
    context: dict[str, object] = {
        "record": record,
        "expected": live_margins(record.survey, (progress["responses"], target or 0)),
        "link": link,
        "qr": qr_code(link),
        "origins": origins,
        "embed_code": embed_code if origins else "",
        "progress": progress,
        "days": lifecycle.days(token, most=_DAYS),
        "target": target,
        "summary": summary(record),
        "today": actor.services.drafts.today,
        "plan": plan,
        "top_decided": actor.services.pair_plans.decided(token),
        "waves": timeline(runs, responses=progress["responses"]),
        "planned": planned_wave(runs),
        "next_wave": next_wave(runs),
        "most_waves": MOST_WAVES,
        # One for each form of the page, so that a second click does nothing.
        "keys": [secrets.token_hex(16) for _ in range(2)],
    }
    return actor.page("surveyor/live.html", context, error=error, status=422 if error else 200)


# What these do for programs, they do for the page's buttons too.
form(routes, f"{PAGE}/close", then=PAGE, refused=live_page)(close)
form(routes, f"{PAGE}/cancel", then=PAGE, refused=live_page)(cancel)
form(routes, f"{PAGE}/publish", then=PAGE)(publish)
form(routes, f"{PAGE}/unpublish", then=PAGE)(unpublish)


@form(routes, f"{PAGE}/extend", then=PAGE, refused=live_page)
@audited("gave a survey more time")
def extend(actor: Writer, token: str, closes: Text = "") -> None:
    actor.services.surveys.extend(actor.survey(token), closes or None)


@form(routes, f"{PAGE}/seats", then=PAGE, refused=live_page)
@audited("changed how many people a survey takes")
def quota(
    actor: Writer,
    token: str,
    level: Annotated[list[str], Form()],
    places: Annotated[list[str], Form()],
    limit: Annotated[bool, Form()] = True,
) -> None:
    record, numbers = actor.survey(token), {}
    for name, text in zip(level, places, strict=False) if limit else ():
        if not (text.isascii() and text.isdigit()):
            raise ParameterError(f"level {name!r} has the quota {text!r}, expected a number.")
        numbers[name] = int(text)
    actor.services.surveys.set_quotas(record, numbers if limit else None)


@form(routes, f"{PAGE}/waves", then=f"{PAGE}#waves", refused=live_page)
@audited("ran a selection")
def waves(
    actor: Writer,
    token: str,
    key: Annotated[str, Form(pattern=r"^[0-9a-f]{32}$")],
    percent: Annotated[int, Form(ge=1, le=100)],
    alpha: Annotated[float, Form(ge=0, le=1)] = 0.0,
    budget: Annotated[int | None, Form(ge=0, le=10**9)] = None,
    take: Annotated[bool, Form()] = False,
) -> None:
    runs = actor.services.selection_runs
    wave = next_wave(runs.runs(actor.survey(token).token))
    if wave > MOST_WAVES:
        raise ParameterError(
            f"wave is {wave}, expected 1 to {MOST_WAVES}. Set how many can take part."
        )
    selection = SelectionRequest(
        budget=budget,
        alpha=alpha,
        policy="precision",
        wave=wave,
        response_rate=percent / 100,
        apply=take,
    )
    # What the form said, not the wave: a second click comes when that is already the next one.
    request = (f"{actor.account.id} {key}", body_text([token, budget, alpha, percent, take]))
    runs.decide(actor.team.id, token, selection, request=request)
