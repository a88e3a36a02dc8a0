"""The page of a draft's languages: texts side by side, and files of translations out and in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from masquerade.errors import InvalidDocument, MasqueradeError, NotFound, UnreadableFile
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import MOST_FIELDS, Actor, require
from masquerade.server.routes.forms import form, page
from masquerade.server.surveys.drafts import Draft
from masquerade.surveys.languages import LANGUAGE_NAMES, LANGUAGE_TAG
from masquerade.surveys.translations import (
    MOST_FILE,
    missing,
    read_file,
    to_csv,
    to_po,
    translations,
)

PAGE = "/surveys/{token}/languages"

routes = APIRouter(include_in_schema=False)
Writer = Annotated[Actor, Depends(require("survey:write"))]


def most_body(path: str) -> int | None:
    """Return how long a body may be that is sent to `path`, where that is not the usual length."""
    return MOST_FILE + 20_000 if path.startswith("/surveys/") and "/languages" in path else None


async def _fields(request: Request, _: Writer) -> dict[str, Any]:
    """Return the fields of the form, and the content of its file."""
    fields: FormData = await request.form(max_fields=MOST_FIELDS)
    try:
        file = fields.get("file")
        content = await file.read() if isinstance(file, UploadFile) else b""
    finally:
        await fields.close()
    return {"content": content, **{k: v for k, v in fields.items() if isinstance(v, str)}}


Fields = Annotated[dict[str, Any], Depends(_fields)]


@page(routes, PAGE)
def languages(
    actor: Writer, token: str, *, error: MasqueradeError | None = None, **_: Any
) -> Response:
    draft = actor.draft(token)
    if draft is None:
        return RedirectResponse(f"/surveys/{actor.survey(token).token}", 303)
    rows = translations(draft.document.to_json())
    codes = draft.document.languages.languages
    context = {
        "draft": draft,
        "document": draft.document,
        "codes": codes,
        "names": LANGUAGE_NAMES,
        "rows": rows,
        "missing": missing(rows),
        "rtl": ("ar", "fa", "he", "ur"),
    }
    status = 422 if error else 200
    return actor.page("surveyor/languages.html", context, error=error, status=status)


@form(routes, PAGE, then=PAGE, refused=languages)
@audited("changed the translations of a draft")
def save(actor: Writer, token: str, fields: Fields) -> None:
    draft, texts = _draft(actor, token), {}
    for code in draft.document.languages.languages[1:]:
        known = dict(draft.document.languages.texts.get(code, {}))
        for row in translations(draft.document.to_json()):
            text = fields.get(f"{code} {row.address}")
            if text is not None:
                known[row.address] = text.replace("\r\n", "\n")
        texts[code] = {address: text for address, text in known.items() if text.strip()}
    _change(actor, draft, draft.document.languages.languages, texts)


@form(routes, f"{PAGE}/list", then=PAGE, refused=languages)
@audited("changed the languages of a draft")
def choose(actor: Writer, token: str, fields: Fields) -> None:
    """Add a language, take one out, or say which one the texts themselves are in."""
    draft = _draft(actor, token)
    codes = list(draft.document.languages.languages)
    texts = dict(draft.document.languages.texts)
    first, add = fields.get("first", "").strip(), fields.get("add", "").strip()
    remove = fields.get("remove", "")
    if first:
        codes = [first, *(code for code in codes[1:] if code != first)]
    if add:
        named = {name.casefold(): code for code, name in LANGUAGE_NAMES.items()}
        add = named.get(add.casefold(), add)
        if not LANGUAGE_TAG.fullmatch(add):
            raise InvalidDocument(
                [("/languages", f"“{add[:20]}” is no language here; give its code, such as de.")]
            )
        codes = [*(codes or ["en"]), *([] if add in codes else [add])]
    if remove in codes[1:]:
        codes.remove(remove)
        texts.pop(remove, None)
    _change(actor, draft, codes, {code: texts.get(code, {}) for code in codes[1:]})


@form(routes, f"{PAGE}/file", then=PAGE, refused=languages)
@audited("imported translations of a draft")
def import_(actor: Writer, token: str, fields: Fields) -> None:
    draft = _draft(actor, token)
    codes = draft.document.languages.languages
    try:
        found = read_file(fields["content"], codes)
    except UnreadableFile as error:
        raise InvalidDocument([("", str(error))]) from None
    known = {row.address for row in translations(draft.document.to_json())}
    strange = [one for given in found.values() for one in given if one not in known]
    if strange and len(strange) == sum(map(len, found.values())):
        raise InvalidDocument([("", f"no address of the file is in this survey: {strange[0]!r}.")])
    texts = {
        code: {**draft.document.languages.texts.get(code, {}), **found.get(code, {})}
        for code in codes[1:]
    }
    _change(actor, draft, codes, texts)


@routes.get(f"{PAGE}.csv")
def as_csv(actor: Writer, token: str) -> Response:
    draft = _draft(actor, token)
    text = to_csv(
        translations(draft.document.to_json()), draft.document.languages.languages or ["en"]
    )
    # With a mark, by which spreadsheets' programs know UTF-8.
    return _file(f"\ufeff{text}", "texts.csv", "text/csv")


@routes.get(f"{PAGE}/{{code}}.po")
def as_po(actor: Writer, token: str, code: str) -> Response:
    draft = _draft(actor, token)
    if code not in draft.document.languages.languages[1:]:
        raise NotFound(f"the survey has no translation into {code!r}.")
    rows = translations(draft.document.to_json())
    return _file(to_po(rows, code), f"{code}.po", "text/x-gettext-translation")


def _file(text: str, name: str, media_type: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{media_type}; charset=utf-8", headers=headers)


def _draft(actor: Actor, token: str) -> Draft:
    return actor.services.drafts.draft(token, team=actor.team.id)


def _change(actor: Actor, draft: Draft, codes: list[str], texts: dict[str, dict[str, str]]) -> None:
    changes = {"languages": {"languages": codes, "texts": texts}}
    actor.services.drafts.change(draft.token, changes, team=actor.team.id, version=draft.version)
