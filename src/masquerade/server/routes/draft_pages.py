"""Surveyors' pages of a draft: its beginning, the builder, audience and budget, review, opening."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile
from starlette.responses import Response

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import (
    InvalidDocument,
    MasqueradeError,
    UnreadableFile,
)
from masquerade.mechanisms.privacy_level import CLEAR, LEVEL_PATTERN
from masquerade.server.http.pages import translation
from masquerade.server.http.security import PREVIEW_POLICY
from masquerade.server.participants.privacy_balance import cap_amounts
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.dependencies import InSettings
from masquerade.server.routes.forms import form, page
from masquerade.server.routes.surveys import (
    document_of,
    draft_response,
)
from masquerade.server.settings import Settings
from masquerade.server.surveys.document import Document, read_document, read_json_text
from masquerade.server.surveys.drafts import TEMPLATE, Draft, Review
from masquerade.server.surveys.forecast import MOST_PEOPLE, Wish, as_planned
from masquerade.server.surveys.survey_records import introduction
from masquerade.server.surveys.templates import BLANK, TEMPLATES, template_named
from masquerade.surveys.kinds import kinds
from masquerade.surveys.offered_levels import ALL_LEVELS
from masquerade.surveys.questionnaires import OWN, Imported, import_questionnaire
from masquerade.surveys.questionnaires.qualtrics import is_qsf
from masquerade.surveys.questionnaires.questionnaire import OUTCOMES

IMPORT = "/surveys/import"
#: In bytes: a questionnaire, and the rest of the form that it comes in.
MOST_QUESTIONNAIRE, _FORM_ROOM = 8_000_000, 20_000
PAGE, _EDIT = "/surveys/{token}", "/surveys/{result}/edit"

routes = APIRouter(include_in_schema=False)
Reader = Annotated[Actor, Depends(require("survey:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]


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
    dear = found.too_dear(actor.services.drafts.caps)
    context = {"found": found, "token": token, "outcomes": OUTCOMES, "too_dear": dear}
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


@form(routes, f"{PAGE}/delete", then="/surveys")
@audited("deleted a draft")
def remove(actor: Writer, token: str) -> None:
    actor.services.drafts.delete(token, team=actor.team.id)


@routes.get(f"{PAGE}/edit")
def edit(settings: InSettings, actor: Writer, token: str) -> Response:
    return draft_page(settings, actor, token, "build")


@routes.get(f"{PAGE}/audience")
def audience(settings: InSettings, actor: Writer, token: str) -> Response:
    return draft_page(settings, actor, token, "audience")


@routes.get(f"{PAGE}/review")
def review(settings: InSettings, actor: Writer, token: str) -> Response:
    return draft_page(settings, actor, token, "review")


@routes.get(f"{PAGE}/preview")
def preview(settings: InSettings, actor: Reader, token: str) -> Response:
    page = draft_page(settings, actor, token, "preview")
    page.headers["Content-Security-Policy"] = PREVIEW_POLICY
    return page


def _review(
    settings: Settings, actor: Actor, token: str, *, error: MasqueradeError, **_: Any
) -> Response:
    if actor.draft(token) is not None:
        return draft_page(settings, actor, token, "review", error=error)
    actor.survey(token)  # opened in another tab
    return RedirectResponse(f"/surveys/{token}", 303)


@form(routes, f"{PAGE}/open", then=PAGE, refused=_review)
@audited("opened a survey")
def open_(settings: InSettings, actor: Writer, token: str, version: Annotated[int, Form()]) -> None:
    actor.services.drafts.open(token, team=actor.team.id, version=version)


def draft_page(
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
    asked = review.survey.questions if review.survey else ()
    context = {
        "draft": draft,
        "known": asdict(draft_response(actor, draft, review)),
        "document": draft.document,
        "forms": _forms(actor.request),
        "levels": [*ALL_LEVELS, *([CLEAR] if settings.allow_clear else [])],
        "introduction": _introduction(draft, review),
        "approval": _approval(actor, token, review),
        "caps": asdict(cap_amounts(drafts.caps)),
        "texts": {one.id: one.whole_text for one in asked},
        "asked_questions": len(asked),
        "too_dear": review.too_dear,
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
