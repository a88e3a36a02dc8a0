"""In a real browser: the standard's vectors, and reports that Python opens, checks and adds up.

The modules are those of the app and of ``tests/web/aggregate``, served from their files by a route.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route
from tests.aggregate.device import reports_add_up
from tests.aggregate.official import FOLDER, NAMES

from masquerade.aggregate.hpke import Kem
from masquerade.server.http.pages import STATIC

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
ORIGIN = "https://device.example"
MODULES = f"{ORIGIN}/tests/web/aggregate"
SHARED = "/src/masquerade/server/web/static/"


def serve(route: Route) -> None:
    """Answer with a module's file, or with an empty page."""
    name = urlsplit(route.request.url).path
    if not name.endswith("js"):
        route.fulfill(content_type="text/html", body="<!doctype html><title>A device</title>")
        return
    file = STATIC / name.removeprefix(SHARED) if name.startswith(SHARED) else ROOT / name[1:]
    route.fulfill(content_type="text/javascript", body=file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def device(chromium: Browser) -> Iterator[Page]:
    """Return a page of a device, over https and without any server."""
    context = chromium.new_context()
    page = context.new_page()
    page.route("**/*", serve)
    page.goto(ORIGIN)
    yield page
    context.close()


def run(page: Page, module: str, call: str, argument: Any) -> Any:
    """Return the result of a module's function in the page."""
    return page.evaluate(
        f"async (given) => {{ const m = await import('{MODULES}/{module}'); return {call}; }}",
        argument,
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_official_vector_comes_out_in_the_browser(device: Page, name: str) -> None:
    """Every step of a vector gives its bytes, and a bad one is refused at the step it names."""
    vector = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    wanted = [[step["operation"], step["success"]] for step in vector["operations"]]
    assert run(device, "official.mjs", "m.replay(given[0], given[1])", [name, vector]) == wanted


def test_the_vectors_of_rfc_9180_come_out_in_the_browser(device: Page) -> None:
    """The browser seals the first message of both key exchanges as the RFC does; P-256 always."""
    file = FOLDER.parent / "hpke.json"
    for vector in json.loads(file.read_text(encoding="utf-8"))["vectors"]:
        sealed = run(device, "hpke_vectors.mjs", "m.sealed(given)", vector)
        if vector["kem_id"] == Kem.P256 or sealed is not None:
            assert sealed == [vector["enc"], vector["encryption"]["ct"]]


def test_reports_of_a_browser_add_up(device: Page) -> None:
    """Two parties in Python open, check and add up the parts that the browser sealed."""
    reports_add_up(
        Kem.P256, lambda request: run(device, "device.mjs", "m.sealedReports(given)", request)
    )


def test_a_page_over_plain_http_seals_nothing(chromium: Browser) -> None:
    """Where the browser does not encrypt, the device says so instead of sending something else."""
    context = chromium.new_context()
    page = context.new_page()
    page.route("**/*", serve)
    page.goto("http://device.example")
    address = f"http://device.example{SHARED}aggregate/hpke.js"
    said = page.evaluate(
        f"async () => {{ const m = await import('{address}');"
        " const config = { kem: 16, kdf: 1, aead: 1, publicKey: new Uint8Array(65) };"
        " const bound = { info: new Uint8Array(0), aad: new Uint8Array(0) };"
        " try { await m.seal(config, new Uint8Array(1), bound); return 'sealed'; }"
        " catch (error) { return error.message; } }"
    )
    assert said == "This page cannot encrypt: the browser allows it over https only."
    context.close()
