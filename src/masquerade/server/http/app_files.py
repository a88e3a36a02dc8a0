"""The participants' app as files: its page, its modules, its worker and its manifest.

The page is the same for every survey and every person; what it shows comes from the API. Modules
are served under the hash of all of them, so that a page never mixes two versions, and the page
names the hash of each, so that a browser runs no other.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from masquerade.errors import NotFound
from masquerade.server.http.pages import STATIC, render
from masquerade.server.http.problem import wants_json

ENTRY, STYLE, WORKER = "app.js", "style.css", "offline.js"
_ICONS = ("icon.svg", "icon-192.png", "icon-512.png")
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?\bfrom "\./([a-z0-9]+\.js)";', re.MULTILINE)
_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class AppFile:
    """A file of the app.

    Attributes
    ----------
    content, compressed : bytes
        As it is, and with gzip.
    integrity : str
        What a page names it by: ``sha384-...``.
    """

    content: bytes
    compressed: bytes
    integrity: str


@dataclass(frozen=True, slots=True)
class AppBuild:
    """All files of the app, and the hash that names them together.

    Attributes
    ----------
    hash : str
        SHA-256 of what ``sha256sum`` prints for the files, sorted by name.
    files : dict
        Name to `AppFile`.
    modules : tuple of str
        Those that the page loads, the first one last: each stands after what it imports.
    """

    hash: str
    files: dict[str, AppFile]
    modules: tuple[str, ...]


@lru_cache(maxsize=1)
def app_build() -> AppBuild:
    """Return the app as it is on this computer's disk; read once."""
    modules = _modules()
    names = sorted((*modules, STYLE, WORKER, *_ICONS))
    files = {name: _file((STATIC / name).read_bytes()) for name in names}
    lines = "".join(
        f"{hashlib.sha256(file.content).hexdigest()}  {name}\n" for name, file in files.items()
    )
    return AppBuild(hashlib.sha256(lines.encode()).hexdigest(), files, modules)


def app_shell_routes(exists: Callable[[str], object]) -> APIRouter:
    """Return the routes of the app's pages and files.

    Parameters
    ----------
    exists : callable
        Raises `NotFound` where there is no survey of a token.
    """
    routes = APIRouter(include_in_schema=False)
    build = app_build()

    def shell(request: Request, status: int = 200) -> Response:
        context = {"build": build, "entry": ENTRY, "style": STYLE}
        return render(request, "participate.html", context, status=status)

    @routes.get("/s/{token}")
    def survey_page(request: Request, token: str) -> Response:
        try:
            exists(token)
        except NotFound:
            if wants_json(request):
                raise
            return shell(request, 404)  # which says so in the person's language
        return shell(request)

    @routes.get("/me")
    @routes.get("/me/ledger")
    @routes.get("/me/settings")
    @routes.get("/me/plain")
    @routes.get("/me/about")
    def own_page(request: Request) -> Response:
        return shell(request)

    @routes.get("/app/{build_hash}/{name}")
    def file(request: Request, build_hash: str, name: str) -> Response:
        if build_hash != build.hash or name not in build.files:
            raise HTTPException(404)
        found = build.files[name]
        headers = {"cache-control": _FOREVER, "vary": "accept-encoding"}
        zipped = "gzip" in request.headers.get("accept-encoding", "")
        if zipped:
            headers["content-encoding"] = "gzip"
        content = found.compressed if zipped else found.content
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers=headers)

    @routes.get("/sw.js")
    def worker() -> Response:
        """Serve the worker; its text changes with the build, so that browsers take it up."""
        known = {"build": build.hash, "files": [f"/app/{build.hash}/{name}" for name in _kept()]}
        text = f"const APP = {json.dumps(known)};\n{build.files[WORKER].content.decode()}"
        return Response(text, media_type=_TYPES["js"], headers={"cache-control": "no-cache"})

    @routes.get("/manifest.webmanifest")
    def manifest() -> Response:
        return Response(
            json.dumps(_manifest(build.hash)),
            media_type="application/manifest+json",
            headers={"cache-control": "no-cache"},
        )

    def _kept() -> list[str]:
        return [*build.modules, STYLE, *_ICONS]

    return routes


def _modules() -> tuple[str, ...]:
    """Return the entry and everything it imports, what is imported before who imports it."""
    found: list[str] = []
    entered: set[str] = set()

    def visit(name: str) -> None:
        if name in entered:
            return
        entered.add(name)
        for imported in _IMPORT.findall((STATIC / name).read_text(encoding="utf-8")):
            visit(imported)
        found.append(name)

    visit(ENTRY)
    return tuple(found)


def _file(content: bytes) -> AppFile:
    digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
    return AppFile(content, gzip.compress(content, mtime=0), f"sha384-{digest}")


def _manifest(build: str) -> dict[str, object]:
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
            {"src": f"/app/{build}/icon.svg", "sizes": "any", "type": "image/svg+xml"},
            *(
                {"src": f"/app/{build}/icon-{n}.png", "sizes": f"{n}x{n}", "type": "image/png",
                 "purpose": purpose}
                for n in (192, 512)
                for purpose in ("any", "maskable")
            ),
        ],
    }  # fmt: skip
