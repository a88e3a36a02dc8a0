"""The participants' app: its page, its modules, its worker and its manifest.

The page is the same for every survey and every person; what it shows comes from the API. A helper
serves the same files of its own, with a page that asks the survey's server (`shell`, `files`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from masquerade.errors import NotFound
from masquerade.server.http.app_files import (
    ENTRY,
    MEDIA_TYPES,
    STYLES,
    WORKER,
    AppBuild,
    AppFile,
    app_build,
    offline_files,
)
from masquerade.server.http.pages import page_text
from masquerade.server.http.problem import wants_json
from masquerade.server.http.security import policy_with
from masquerade.server.routes.dependencies import InServices, InSettings

# A year in seconds: the address holds the hash of the content, so it never changes.
_FOREVER = "public, max-age=31536000, immutable"

routes = APIRouter(include_in_schema=False)
#: The app's files, the same at a survey's server and at a helper.
files = APIRouter(include_in_schema=False)


@routes.get("/s/{token}")
def survey_page(services: InServices, request: Request, token: str) -> Response:
    try:
        frozen = services.surveys.frozen(token)[0]
    except NotFound:
        if wants_json(request):
            raise
        return shell(request, status=404)  # which says so in the person's language
    response = shell(request)
    terms, ways = frozen.survey.two_parties, frozen.ways
    # The device asks the helper itself what it approved.
    asks = () if terms is None else (terms.helper,)
    if asks or ways.origins or ways.form_origins:
        response.headers["content-security-policy"] = policy_with(
            *asks, shown_by=ways.origins, sends_to=ways.form_origins
        )
    return response


@routes.get("/me")
@routes.get("/me/ledger")
@routes.get("/me/settings")
@routes.get("/me/plain")
@routes.get("/me/about")
async def own_page(request: Request) -> Response:
    return shell(request)


@files.get("/app/{build_hash}/{name:path}")
async def file(request: Request, build_hash: str, name: str) -> Response:
    build = app_build()
    # Only the files that are listed are served, so no path leads out of the folder.
    if build_hash != build.hash or name not in build.files:
        raise HTTPException(404)
    media_type = MEDIA_TYPES[name.rpartition(".")[2]]
    return _response(request, build.files[name], media_type, cache_control=_FOREVER)


@files.get("/sw.js")
async def worker() -> Response:
    """Serve the worker; its text changes with the build, so that browsers take it up."""
    build = app_build()
    app = {
        "build": build.hash,
        "files": [f"/app/{build.hash}/{name}" for name in offline_files(build)],
    }
    text = f"const APP = {json.dumps(app)};\n{build.files[WORKER].content.decode()}"
    # Asked for anew at each visit, or an old worker would keep its old app.
    return Response(text, media_type=MEDIA_TYPES["js"], headers={"cache-control": "no-cache"})


@files.get("/.well-known/masquerade-address")
async def own_address(settings: InSettings) -> Response:
    """Tell devices which address this server has, so that no other can pass for a later one."""
    if settings.public_url is None:
        raise HTTPException(404)
    parts = urlsplit(settings.public_url)
    told = {"address": f"{parts.scheme}://{parts.netloc}"}
    # Anybody may read it: a page of the later address has to.
    return JSONResponse(told, headers={"access-control-allow-origin": "*"})


@files.get("/manifest.webmanifest")
async def manifest() -> Response:
    return Response(
        json.dumps(_web_manifest(app_build())),
        media_type="application/manifest+json",
        headers={"cache-control": "no-cache"},
    )


def shell(
    request: Request, *, status: int = 200, leader: str | None = None, fingerprint: str = ""
) -> Response:
    """Return the app's page.

    `leader` (optional): address of the survey's server, where a helper serves the page; it may be
        asked then, and the page knows the helper's `fingerprint` from the helper itself.
    """
    # A helper knows no earlier addresses of a leader.
    earlier = () if leader is not None else _earlier(request)
    page = _page(leader, fingerprint, earlier)
    response = _response(request, page, "text/html; charset=utf-8", status=status)
    others = earlier if leader is None else (leader,)
    if others:
        response.headers["content-security-policy"] = policy_with(*others)
    return response


def _earlier(request: Request) -> tuple[str, ...]:
    earlier: tuple[str, ...] = request.app.state.settings.earlier
    return earlier


@lru_cache(maxsize=16)
def _page(leader: str | None, fingerprint: str, earlier: tuple[str, ...]) -> AppFile:
    # Compressed without fear of BREACH: no secret and nothing of a request is in the page.
    context = {
        "build": app_build(),
        "entry": ENTRY,
        "styles": STYLES,
        "leader": leader,
        "fingerprint": fingerprint,
        "earlier": " ".join(earlier),
    }
    return AppFile.of(page_text("participant/app.html", context).encode())


def _response(
    request: Request,
    content: AppFile,
    media_type: str,
    *,
    status: int = 200,
    cache_control: str = "no-store",
) -> Response:
    """Return a file, compressed where the browser takes that."""
    # A cache between must not give the compressed form to whoever cannot read it.
    headers = {"cache-control": cache_control, "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(content.content, status, headers, media_type)
    headers["content-encoding"] = "gzip"
    return Response(content.compressed, status, headers, media_type)


def _web_manifest(build: AppBuild) -> dict[str, object]:
    """Return the web manifest, with which a phone installs the app."""
    return {
        "id": "/me",
        "name": "Masquerade",
        "short_name": "Masquerade",
        "description": "Surveys whose answers are masked on this device.",
        "start_url": "/me",
        "scope": "/",
        "display": "standalone",
        "background_color": "#faf7f9",
        "theme_color": "#5b2368",
        "icons": [
            {"src": f"/app/{build.hash}/icon.svg", "sizes": "any", "type": "image/svg+xml"},
            *(
                {
                    "src": f"/app/{build.hash}/icon-{n}.png",
                    "sizes": f"{n}x{n}",
                    "type": "image/png",
                    "purpose": purpose,
                }
                for n in (192, 512)
                for purpose in ("any", "maskable")
            ),
        ],
    }
