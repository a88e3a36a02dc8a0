"""The participants' app as files: named by their hashes, with nobody's content in them."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
from tools.kinds import names

from masquerade.server.http.app_files import ENTRY, STYLES, app_build, offline_files
from masquerade.surveys import Choice
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from tests.conftest import LiveServers

FIRST_LOAD = 125_000  # bytes, compressed, without the kinds of question
EVERY_KIND = 140_000  # of a survey that asks every kind


@pytest.fixture
def visitor(live_server: LiveServers) -> Iterator[httpx.Client]:
    """Somebody without an account at an empty server."""
    with httpx.Client(base_url=live_server().url) as client:
        yield client


def test_the_page_is_the_same_for_everybody_and_every_survey(live_server: LiveServers) -> None:
    """No survey's words and no person's data are in the page, so that it can be kept offline."""
    server = live_server()
    visitor = httpx.Client(base_url=server.url)
    surveys = [
        server.services.surveys.open_survey(
            Survey.at_levels(title=title, questions=(Choice("q", "Why?", ("A", "B")),))
        )
        for title in ("First secret", "Second secret")
    ]
    paths = [f"/s/{survey.token}" for survey in surveys]
    own = ("/me", "/me/ledger", "/me/settings", "/me/plain", "/me/about")
    pages = [visitor.get(path) for path in (*paths, *own)]
    assert {page.status_code for page in pages} == {200}
    assert len({page.text for page in pages}) == 1
    assert "secret" not in pages[0].text
    visitor.close()
    for page in pages:
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store"
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy


def test_every_file_of_the_page_is_named_by_its_hash(visitor: httpx.Client) -> None:
    """Scripts, modules and styles carry the integrity of the exact bytes served for them."""
    page = visitor.get("/me").text
    named = re.findall(r'(?:src|href)="(/app/[^"]+\.(?:js|css))" integrity="([^"]+)"', page)
    build = app_build()
    names = {path.removeprefix(f"/app/{build.hash}/") for path, _ in named}
    assert names == {*build.modules, *build.later, *STYLES}
    for path, integrity in named:
        content = visitor.get(path).content
        digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
        assert integrity == f"sha384-{digest}"
    assert page.count("<script") == 1
    assert not re.search(r"<script(?![^>]*integrity)", page)


def test_files_are_kept_for_ever_under_their_build_only(visitor: httpx.Client) -> None:
    """A file's address holds the build's hash; another hash or another name is not there."""
    build = app_build()
    answer = visitor.get(f"/app/{build.hash}/{ENTRY}")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-encoding"] == "gzip"
    plain = visitor.get(f"/app/{build.hash}/{ENTRY}", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content == build.files[ENTRY].content
    for path in (
        f"/app/{'0' * 64}/{ENTRY}",
        f"/app/{build.hash}/main.js",
        f"/app/{build.hash}/app/../../../app.py",
        f"/app/{build.hash}/surveyor/live.js",
    ):
        assert visitor.get(path).status_code == 404


def test_the_build_is_what_sha256sum_says(visitor: httpx.Client) -> None:
    """The hash can be worked out from the served files with sha256sum alone."""
    build = app_build()
    lines = [
        f"{hashlib.sha256(visitor.get(f'/app/{build.hash}/{name}').content).hexdigest()}  {name}\n"
        for name in sorted(build.files)
    ]
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == build.hash


def test_a_module_stands_after_what_it_imports() -> None:
    """The entry is the last of the modules, and nothing that it imports is missing."""
    build = app_build()
    assert build.modules[-1] == ENTRY
    for group in ((), *build.on_demand.values()):
        modules = (*build.modules, *group)
        for place, name in enumerate(modules):
            text = build.files[name].content.decode()
            folder = posixpath.dirname(name)
            imported = {
                posixpath.normpath(posixpath.join(folder, address))
                for address in re.findall(r'from "([^"]+)"', text)
            }
            assert imported <= set(modules[:place])


def test_modules_on_demand_are_kept_and_not_loaded(visitor: httpx.Client) -> None:
    """A device keeps the modules for later, and a visit to a survey does not wait for them."""
    build = app_build()
    assert "words/en_parties.js" in build.on_demand["party-views"]
    assert {"app/agreement.js", "aggregate/task.js"} < set(build.on_demand["two-parties"])
    assert "app/ledger_page.js" in build.on_demand["ledger"]
    assert {"app/settings_page.js", "app/about_page.js"} <= set(build.on_demand["settings"])
    kinds = {group for group in build.on_demand if group.startswith("kind-")}
    assert kinds == {f"kind-{name}" for name in names()}
    assert set(build.later) <= set(offline_files(build))
    page = visitor.get("/me").text
    loaded = re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL)
    assert not [name for name in build.later if name in loaded]


def test_the_app_is_small() -> None:
    """All that the page loads is at most 125 kB compressed; with every kind of question, 140."""
    build = app_build()
    first = {*build.modules, *STYLES, "icon.svg"}
    kinds = {
        name
        for group in build.on_demand
        if group.startswith("kind-")
        for name in build.on_demand[group]
    }
    assert "app/kinds/matrix.js" in kinds

    def size(files: set[str]) -> int:
        return sum(len(build.files[name].compressed) for name in files)

    assert size(first) < FIRST_LOAD
    assert size(first | kinds) < EVERY_KIND


def test_the_worker_and_the_manifest_name_files_that_are_there(visitor: httpx.Client) -> None:
    """Browsers ask for both anew each time, and every file they name is served."""
    worker, manifest = visitor.get("/sw.js"), visitor.get("/manifest.webmanifest")
    for answer in (worker, manifest):
        assert answer.headers["cache-control"] == "no-cache"
    assert worker.headers["content-type"].startswith("text/javascript")
    assert manifest.headers["content-type"] == "application/manifest+json"
    known = re.match(r"const APP = (\{.*\});\n", worker.text)
    assert known is not None
    files = json.loads(known[1])["files"]
    icons = [icon["src"] for icon in manifest.json()["icons"]]
    # A system that cuts icons to its own shape takes those that may be cut, and no other does.
    purposes = [(icon["sizes"], icon.get("purpose", "any")) for icon in manifest.json()["icons"]]
    sizes = ("192x192", "512x512")
    assert {(size, use) for size in sizes for use in ("any", "maskable")} < set(purposes)
    assert manifest.json()["scope"] == "/"
    for path in (*files, *icons, manifest.json()["start_url"]):
        assert visitor.get(path).status_code == 200
