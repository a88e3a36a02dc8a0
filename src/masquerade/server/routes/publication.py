"""Published results: a page for everybody, and a small one to be shown within other pages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from masquerade import __version__
from masquerade.errors import NotFound
from masquerade.server.db.tables import PUBLISHED
from masquerade.server.http.page_words import accepted, language_of
from masquerade.server.http.pages import render
from masquerade.server.results.view import result_view
from masquerade.server.routes.authorization import base_address
from masquerade.server.routes.dependencies import InServices
from masquerade.server.services import Services
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.languages import LANGUAGE_NAMES

#: How long browsers and proxies may keep what is published, also after it no longer is.
KEPT_SECONDS: Final = 300

#: No scripts, no forms, nothing from elsewhere; but any page may show it.
EMBED_POLICY: Final = (
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "sandbox allow-popups allow-popups-to-escape-sandbox; frame-ancestors *"
)


routes = APIRouter(include_in_schema=False, prefix="/r/{token}")


#: One of the survey's languages; where none is named, the browser's wish decides.
SpokenIn = Annotated[str, Query(max_length=20)]


@routes.get("")
def page(services: InServices, request: Request, token: str, language: SpokenIn = "") -> Response:
    record = _spoken(request, _published(services, token), language)
    context = {
        "record": record,
        "summary": summary(record),
        "view": result_view(record.shown, services.results.result(record)),
        "public_link": public_link(request, token),
        "files": file_kinds(),
        "names": LANGUAGE_NAMES,
    }
    words = _words_of(request, record)
    return _kept(request, render(request, "result/publication.html", context, language=words))


@routes.get("/embed")
def embed(services: InServices, request: Request, token: str, language: SpokenIn = "") -> Response:
    record = _spoken(request, _published(services, token), language)
    context = {
        "record": record,
        "view": result_view(record.shown, services.results.result(record)),
        "public_link": public_link(request, token),
    }
    words = _words_of(request, record)
    answer = _kept(request, render(request, "result/embed.html", context, language=words))
    answer.headers["Content-Security-Policy"] = EMBED_POLICY
    # Sites that isolate their pages show only what allows it by this header.
    answer.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return answer


@routes.get("/look.css")
def look(services: InServices, request: Request, token: str) -> Response:
    """Return the style sheet of the survey's own colour."""
    style = _published(services, token).survey.look.style
    answer = _kept(request, Response(style, media_type="text/css; charset=utf-8"))
    # The embedded page is isolated, so that this address counts as another site's.
    answer.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return answer


@routes.get("/{fingerprint}")
def exactly(services: InServices, token: str, fingerprint: str) -> Response:
    """Lead to the results, if they are of the survey with this hash."""
    record = _published(services, token)
    if len(fingerprint) < 16 or not record.hash.startswith(fingerprint):
        raise NotFound("the results here are of a survey with another hash; check the link.")
    return RedirectResponse(f"/r/{token}", 303)


def published_context(request: Request, token: str) -> Mapping[str, object]:
    """Return the links of a survey's published results, for the surveyor's page."""
    link = public_link(request, token)
    code = (
        f'<iframe src="{link}/embed" title="Survey results" width="100%" height="480" '
        'loading="lazy"></iframe>'
    )
    return {"public_link": link, "embed_code": code}


def file_kinds() -> Mapping[str, bool]:
    """Return which kinds of files can be made here, by the packages that are installed."""
    needed = {"xlsx": ("openpyxl",), "sav": ("pyreadstat", "pandas"), "pdf": ("typst",)}
    return {kind: all(map(find_spec, names)) for kind, names in needed.items()}


def public_link(request: Request, token: str) -> str:
    """Return the address at which everybody sees a survey's published results."""
    return f"{base_address(request)}/r/{token}"


def _published(services: Services, token: str) -> SurveyRecord:
    # One message for both: nobody learns that there is a survey which is not published.
    missing = NotFound("there are no published results here; check the link.")
    try:
        survey = services.surveys.record(token)
    except NotFound:
        raise missing from None
    if survey.state != PUBLISHED:
        raise missing
    services.results.require(survey)
    return survey


def _spoken(request: Request, record: SurveyRecord, language: str) -> SurveyRecord:
    """Return the record in the language that is named, else in one that the browser accepts."""
    spoken = record.survey.languages
    if spoken is not None and not language:
        language = spoken.best_of(accepted(request.headers.get("accept-language", "")))
    return record.in_language(language or None)


def _words_of(request: Request, record: SurveyRecord) -> str:
    """Return the language of the page's own words: of the survey's texts, else of the browser."""
    # Of the header alone, by which caches tell pages apart.
    return language_of(record.language or "", request.headers.get("accept-language", ""))


def _kept(request: Request, page: Response) -> Response:
    """Return a page for caches, or status 304 where the cached one is still right."""
    digest = hashlib.sha256(__version__.encode() + bytes(page.body)).hexdigest()[:32]
    headers = {
        "ETag": f'"{digest}"',
        "Cache-Control": f"public, max-age={KEPT_SECONDS}",
        "Vary": "Accept-Language",
    }
    named = request.headers.get("if-none-match", "")
    # A proxy that compresses a page makes its tag a weak one.
    if any(tag.strip().removeprefix("W/") == headers["ETag"] for tag in named.split(",")):
        return Response(status_code=304, headers=headers)
    page.headers.update(headers)
    return page


def summary(record: SurveyRecord) -> Mapping[str, object]:
    """Return a survey's facts for pages, without right answers and counts."""
    survey = record.shown
    return {
        "token": record.token,
        "title": survey.title,
        "answers": len(survey.questions),
        "levels": [level.to_json() for level in survey.levels],
        "parties": survey.two_parties,
        "questions": [
            {"text": question.text, "labels": _labels(question)} for question in survey.questions
        ],
    }


def _labels(question: Any) -> list[str]:
    return list(question.labels) or [f"{question.low} to {question.high} {question.unit}"]
