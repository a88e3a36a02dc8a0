"""A leaderboard in a real browser: from a file of votes to its public page."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Person, close_survey, respond

pytestmark = pytest.mark.browser


def made_up_votes(seed: int = 1) -> str:
    """Return a table of 2,000 votes on 12 items, a third of them ties."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(-1.5, 1.5, 12)
    lines = ["model_a,model_b,winner,voter"]
    for place in range(2000):
        a, b = rng.choice(12, 2, replace=False)
        odds = np.exp([(strength[a] - strength[b]) / 2, 0.0, (strength[b] - strength[a]) / 2])
        word = rng.choice(["model_a", "tie", "model_b"], p=odds / odds.sum())
        lines.append(f"system {a + 1},system {b + 1},{word},v{place % 90}")
    lines += ["a system with a rather long name that nobody beat,system 1,model_a,v1"] * 3
    return "\n".join(lines)


def test_a_file_of_votes_is_ranked(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """The page takes a file, shows possible ranks, and everybody can use it at both widths."""
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    page.goto(server.owner_link)
    page.get_by_role("link", name="Leaderboard").click()
    assert faults(page, "leaderboard-empty") == {}
    votes = {"name": "votes.csv", "mimeType": "text/csv", "buffer": made_up_votes().encode()}
    page.locator("#file").set_input_files(votes)
    page.get_by_role("button", name="Rank").click()
    board = page.locator("#leaderboard")
    expect(board).to_contain_text("May be first")
    expect(board.locator(".plot-label")).to_have_count(12)
    expect(board).to_contain_text("that nobody beat")
    assert faults(page, "leaderboard") == {}
    wrong = {
        "name": "votes.csv",
        "mimeType": "text/csv",
        "buffer": b"model_a,model_b,winner\nx,x,tie",
    }
    page.locator("#file").set_input_files(wrong)
    page.get_by_role("button", name="Rank").click()
    expect(page.get_by_role("alert")).to_contain_text("row 1")
    assert faults(page, "leaderboard-refused") == {}
    assert [each for each in visitor.complaints if "422" not in each] == []


def test_people_vote_on_pairs_of_a_list(
    generous: Any, new_visitor: Callable[..., Any], faults: Any
) -> None:
    """Built from the template, voted on by phones, closed: the result page is the leaderboard."""
    desk = new_visitor(viewport={"width": 1280, "height": 900})
    page = desk.page
    page.goto(generous.owner_link)
    page.get_by_role("button", name="Use “Leaderboard of a list”").click()
    expect(page.locator(".outline-entry").first).to_be_visible()
    preview = page.frame_locator("iframe")
    expect(preview.get_by_role("radio")).to_have_count(3)
    # The heading is no part of a card, whose border would cross it.
    expect(preview.locator("fieldset.answers")).to_have_css("border-top-width", "0px")
    assert faults(page, "pairs-builder") == {}
    token = page.url.split("/")[-2]
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    expect(page.locator("#responses")).to_have_text("0")
    items = {"Ask a colleague", "Read the manual", "Search the web"}
    items |= {"Ask a chatbot", "Try it out", "Sleep on it"}
    phone = new_visitor()
    phone.page.goto(f"{generous.url}/s/{token}")
    person = Person(phone.page, answers=(0, 1, 2, 0, 1), level="low")
    person.finish("question")
    first = phone.page.locator("fieldset").inner_text()
    assert sum(item in first for item in items) == 2
    assert faults(phone.page, "pairs-question") == {}
    phone.page.reload()
    person.finish("question")
    # The same pair after a reload: it is drawn once.
    assert phone.page.locator("fieldset").inner_text() == first
    person.finish()
    [(mine, sent)] = person.shown
    assert len(mine) == 5
    assert all(any(item in text for item in (*items, "Both alike")) for text in (*mine, *sent))
    survey = generous.services.surveys.record(token)
    for _ in range(39):
        respond(generous, survey)
    close_survey(page)
    board = page.locator(".leaderboard")
    expect(board).to_contain_text("200 masked votes on pairs")
    assert faults(page, "pairs-result") == {}
    assert [*desk.complaints, *phone.complaints] == []


def made_up_picture(shade: int, size: int = 90) -> bytes:
    """Return a PNG of one shade."""

    def part(name: bytes, content: bytes) -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * size) * size)
    parts = part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_people_vote_on_pictures(
    generous: Any, new_visitor: Callable[..., Any], faults: Any
) -> None:
    """Pictures are chosen in the builder, shown in pairs on a phone, and stand on the result."""
    desk = new_visitor(viewport={"width": 1280, "height": 900})
    page = desk.page
    page.goto(generous.owner_link)
    page.get_by_role("button", name="Use “Leaderboard of a list”").click()
    expect(page.locator(".outline-entry").first).to_be_visible()
    page.locator("summary", has_text="Pictures").click()
    fields = page.locator(".picture-field input[type=file]")
    expect(fields).to_have_count(6)
    for place in range(6):
        file = {
            "name": f"{place}.png",
            "mimeType": "image/png",
            "buffer": made_up_picture(40 * place),
        }
        fields.nth(place).set_input_files(file)
        expect(page.locator(".picture-field img")).to_have_count(place + 1)
    preview = page.frame_locator("iframe")
    expect(preview.locator(".versus img")).to_have_count(2)
    assert faults(page, "pictures-builder") == {}
    token = page.url.split("/")[-2]
    page.get_by_role("link", name="Open survey").click()
    page.locator("#open-it").click()
    expect(page.locator("#responses")).to_have_text("0")
    phone = new_visitor()
    phone.page.goto(f"{generous.url}/s/{token}")
    person = Person(phone.page, answers=(0, 1, 2, 0, 1), level="low")
    person.finish("question")
    images = phone.page.locator(".versus img")
    expect(images).to_have_count(2)
    shown = [images.nth(place).get_attribute("src") for place in range(2)]
    assert shown[0] != shown[1]
    assert faults(phone.page, "pictures-question") == {}
    person.finish()
    survey = generous.services.surveys.record(token)
    for _ in range(39):
        respond(generous, survey)
    close_survey(page)
    board = page.locator(".leaderboard")
    expect(board).to_contain_text("200 masked votes on pairs")
    # Each item stands once with its picture, with a place or without.
    expect(board.locator("img")).to_have_count(6)
    assert faults(page, "pictures-result") == {}
    assert [*desk.complaints, *phone.complaints] == []
