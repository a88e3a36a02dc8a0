"""The page on which a surveyor ranks items by a file of votes."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from masquerade.errors import MasqueradeError, ParameterError
from masquerade.server.results.leaderboards import (
    ENDINGS,
    LARGEST_FILE,
    MOST_ITEMS,
    MOST_VOTES,
    Ties,
    leaderboard_of_file,
    leaderboard_view,
)
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, require
from masquerade.server.routes.forms import form, page

PAGE = "/leaderboard"
_TIES = ("auto", "davidson", "rao-kupper", "halves")
_FORM_ROOM = 16 * 1024

routes = APIRouter(include_in_schema=False)
Reader = Annotated[Actor, Depends(require("survey:read"))]


def most_body(path: str) -> int | None:
    """Return how long a body may be that is sent to `path`, where that is not the usual length."""
    return LARGEST_FILE + _FORM_ROOM if path == PAGE else None


async def _sent(request: Request, _: Reader) -> dict[str, Any]:
    """Return the fields of the form; a stranger's file is never read."""
    fields: FormData = await request.form()
    try:
        file = fields.get("file")
        if not isinstance(file, UploadFile):
            return {"content": b"", "name": "", "fields": fields}
        return {"content": await file.read(), "name": file.filename or "", "fields": fields}
    finally:
        await fields.close()  # a long file is on the disk, where closing deletes it


@page(routes, PAGE)
def upload(actor: Reader, *, error: MasqueradeError | None = None, **found: Any) -> Response:
    board = found.get("result")
    context = {
        "endings": ENDINGS,
        "most_votes": MOST_VOTES,
        "most_items": MOST_ITEMS,
        "most_size": LARGEST_FILE // 2**20,
        "board": board,
        "view": None if board is None else leaderboard_view(board.standings, board.notes),
    }
    return actor.page("surveyor/leaderboard.html", context, error=error)


@form(routes, PAGE, then=upload, refused=upload)
@audited(None)
def rank(actor: Reader, sent: Annotated[dict[str, Any], Depends(_sent)]) -> Any:
    if not sent["name"]:
        raise ParameterError("no file was chosen; choose a table of votes.")
    fields = sent["fields"]
    ties, voter = str(fields.get("ties") or "auto"), str(fields.get("voter") or "").strip()
    if ties not in _TIES:
        raise ParameterError(f"ties is {ties!r}, expected one of {', '.join(_TIES)}.")
    return leaderboard_of_file(
        sent["content"], sent["name"], voter=voter or None, ties=cast("Ties", ties)
    )
