"""Jinja templates, with the filters and values that all of them can use."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import segno
from fastapi import Request
from fastapi.templating import Jinja2Templates
from markupsafe import Markup
from starlette.responses import Response

from masquerade.aggregate.signature import fingerprint_groups
from masquerade.server.http.page_words import (
    LANGUAGES,
    TranslatedLoader,
    language_of,
    page_words,
    script_words,
)
from masquerade.server.http.service_messages import in_language

WEB = Path(__file__).parents[1] / "web"
STATIC = WEB / "static"

_templates = Jinja2Templates(directory=WEB / "templates")
_templates.env.trim_blocks = True
_templates.env.lstrip_blocks = True


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def _points(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _epsilon(value: float | str) -> str:
    if isinstance(value, str):
        return "unlimited"
    # Upwards, so that a page never promises more than the guarantee; amounts are whole millionths.
    thousandths = -(-round(value * 1_000_000) // 1000)
    return f"{thousandths / 1000:.3f}".rstrip("0").rstrip(".")


_templates.env.filters.update(
    percent=_percent, points=_points, epsilon=_epsilon, groups=fingerprint_groups, said=str
)
#: Without words, scripts of an English page say what they are written with.
_templates.env.globals["script_words"] = lambda head: {}
#: Cookie with the language that somebody chose for surveyors' pages.
LANGUAGE_COOKIE = "language"
# Pages that are one person's, and so may be in that person's language.
_PERSONAL = ("surveyor/", "helper/", "error.html")


@cache
def _in_language(language: str) -> Jinja2Templates:
    """Return the templates in a language other than English."""
    loader = _templates.env.loader
    assert loader is not None
    other = TranslatedLoader(loader, language, page_words(language))
    env = _templates.env.overlay(loader=other, cache_size=400)
    words = page_words(language)
    say = _service_words(language)
    numbers = (_percent, _points, _epsilon)
    env.filters = {**env.filters, "said": say}
    env.filters |= {one.__name__[1:]: _spoken(one, say) for one in numbers}
    env.globals = {**env.globals, "script_words": lambda head: script_words(str(head), words)}
    return Jinja2Templates(env=env)


def render(
    request: Request,
    name: str,
    context: dict[str, Any] | None = None,
    *,
    status: int = 200,
    language: str = "",
) -> Response:
    """Return a page; it knows its reader, the token of its forms and the zone of its days.

    `language`: of a page for everybody, which is not asked for by a cookie.
    """
    actor = getattr(request.state, "actor", None)
    settings = getattr(request.app.state, "settings", None)
    zone = settings.time_zone if settings else "UTC"
    known = {"actor": actor, "csrf": actor.csrf if actor else "", "time_zone": zone}
    personal = _language(request) if name.startswith(_PERSONAL) else None
    language = personal or language
    templates = _in_language(language) if language in LANGUAGES else _templates
    known |= {"language": personal}
    return templates.TemplateResponse(request, name, known | (context or {}), status_code=status)


def translation(request: Request) -> Callable[[object], str]:
    """Return the function that says a message of pages or services in the reader's language."""
    language = _language(request)
    return _service_words(language) if language in LANGUAGES else str


def fixed_translation(request: Request) -> Callable[[object], str]:
    """Return the function that says a message in the reader's language if it has no values.

    For strangers: finding a message with values costs more the longer the values are, and those of
    a stranger are what the stranger likes.
    """
    language = _language(request)
    words: Mapping[str, str] = page_words(language) if language in LANGUAGES else {}
    return lambda text: words.get(str(text), str(text))


def _spoken(filter_: Callable[..., str], say: Callable[[object], str]) -> Callable[..., str]:
    """Return a filter of numbers that writes them in a language."""
    return lambda *values: say(filter_(*values))


@cache
def _service_words(language: str) -> Callable[[object], str]:
    """Return the function that says a text, or an error, in a language."""
    say = in_language(page_words(language))
    return lambda text: say(str(text))


def _language(request: Request) -> str:
    cookie = request.cookies.get(LANGUAGE_COOKIE, "")
    return language_of(cookie, request.headers.get("accept-language", ""))


_MARKDOWN = re.compile(r"([\\`*_\[\]#|~])")


def markdown(text: str) -> Markup:
    """Return a text as one line of Markdown that says it letter by letter."""
    line = _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
    return Markup(line.replace("&", "&amp;").replace("<", "&lt;"))


def page_text(name: str, context: dict[str, Any]) -> str:
    """Return the text of a page that is the same for all readers."""
    return _templates.env.get_template(name).render(context)


def qr_code(link: str) -> str:
    """Return a QR code of `link` as a data URI, drawn here."""
    return str(segno.make(link, error="m").svg_data_uri(scale=6, border=2, dark="#1d1329"))


def qr_file(link: str, kind: Literal["svg", "png"]) -> Response:
    """Return a QR code of `link` as a file to print."""
    out = io.BytesIO()
    segno.make(link, error="m").save(out, kind=kind, scale=20, border=4)
    media_type = "image/svg+xml" if kind == "svg" else "image/png"
    headers = {"Content-Disposition": f'attachment; filename="qr-code.{kind}"'}
    return Response(out.getvalue(), media_type=media_type, headers=headers)
