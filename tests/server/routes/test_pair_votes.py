"""Surveys made of pairs of a list, from the device to the leaderboard, on both databases."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.server.devices import everything
from tests.server.refusals import problem_of

from masquerade.client import Client
from masquerade.preference.masked_votes import leaderboard_of_masked
from masquerade.results import (
    Codebook,
    ReportCounts,
    read_codebook,
    read_reports,
    survey_result,
)
from masquerade.results.leaderboard import list_votes, next_votes
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.surveys import Choice, PairVote
from masquerade.surveys.pair_votes import folded
from masquerade.surveys.survey import Survey, commitment_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.conftest import LiveServers
    from tests.server.conftest import Site

    from masquerade.server import Services
    from masquerade.server.surveys.survey_records import SurveyRecord

ITEMS = tuple(f"system {number}" for number in range(6))


def define(*levels: str) -> Survey:
    """Return a survey with five votes on a list of six, and a question."""
    vote = PairVote("v", "Which answer is better?", ITEMS, votes=5, tie="Both alike")
    asked = (vote, Choice("c", "Was it easy?", ("Yes", "No")))
    return Survey.at_levels(title="Systems", questions=asked, levels=levels or ("medium", "low"))


def answer(
    services: Services,
    survey: SurveyRecord,
    rng: np.random.Generator,
    strengths: Sequence[float] | None = None,
) -> Any:
    """Let somebody prefer the item that stands earlier in the list; return the items shown.

    With `strengths` of the items, each vote is drawn by them.
    """
    who, salt = services.identity(secrets.token_hex(16)), secrets.token_hex(16)
    steps, name = services.participations, "low"
    begun, _ = steps.reserve(who, survey.token, name, idempotency_key=secrets.token_hex(16))
    opened = steps.open(who, begun.id)
    assert steps.open(who, begun.id).pairs == opened.pairs or [
        list(pair) for pair in opened.pairs or ()
    ] == [list(pair) for pair in steps.open(who, begun.id).pairs or ()]
    assert opened.pairs is not None
    masks: Any = survey.survey.level(name).mechanisms
    if strengths is None:
        codes = [*(int(a > b) for a, b in opened.pairs), 0]
    else:
        apart = [strengths[b] - strengths[a] for a, b in opened.pairs]
        codes = [*(int(rng.random() < 1 / (1 + np.exp(-one))) for one in apart), 0]
    reports = [
        int(rng.choice(len(table), p=table[code]))
        for code, table in zip(codes, (mask.channel().matrix() for mask in masks), strict=True)
    ]
    steps.seal(who, begun.id, commitment_of(begun.id, reports, salt))
    done, _ = steps.respond(
        who, begun.id, reports=reports, salt=salt, level=name, survey_hash=survey.hash
    )
    services.pair_plans.arrived(done.survey)
    return opened.pairs, reports


@pytest.mark.both_databases
def test_votes_become_a_leaderboard(services: Services, tmp_path: Path) -> None:
    """Shown items and masked votes are kept, exported, read back, and rank the list."""
    rng = np.random.default_rng(1)
    survey = services.surveys.open_survey(define())
    shown = [answer(services, survey, rng) for _ in range(120)]
    closed = services.surveys.close(survey)
    result = services.results.result(closed)
    assert result.leaderboards is not None
    [board] = result.leaderboards
    assert board.votes == 600
    strengths = {one.item: one.strength or 0.0 for one in board.items}
    # Everybody prefers what stands earlier: 200 votes an item at level low; the order of the ends
    # is wrong with a probability far below 1e-6.
    assert strengths["system 0"] > strengths["system 2"] > strengths["system 5"]
    assert sum(one.shown for one in board.items) == 1200
    # The pairs of a person lie in their reports alone.
    rows = everything(services)["participation"]
    assert len(rows) == 120
    for kind in ("csv", "parquet", "jsonl"):
        file, book = tmp_path / f"r.{kind}", tmp_path / "codebook.json"
        file.write_bytes(b"".join(services.results.file(closed, kind)))
        book.write_text(json.dumps(services.results.codebook_json(closed)))
        reports = read_reports(file, codebook=read_codebook(book))
        assert survey_result(reports).to_json() == result.to_json()
        assert reports.pairs is not None
    kept = sorted(
        tuple((a * 6 + b) * 3 + report for (a, b), report in zip(pairs, sent, strict=False))
        for pairs, sent in shown
    )
    every = np.repeat(reports.kept[:, :5], reports.people, axis=0)
    assert kept == sorted(map(tuple, every.tolist()))


@pytest.mark.both_databases
def test_pairs_follow_the_masked_reports(services: Services) -> None:
    """After 30 responses most pairs are those that tell the best apart; the plan has no answers."""
    rng = np.random.default_rng(2)
    survey = services.surveys.open_survey(define())
    for _ in range(29):
        answer(services, survey, rng)
    assert services.pair_plans.plan(survey.token) == ()
    answer(services, survey, rng)
    plan = services.pair_plans.plan(survey.token)
    assert len(plan) > 20
    assert all(a != b and 0 <= a < 6 and 0 <= b < 6 for a, b in plan)


def test_the_live_page_says_when_the_best_are_decided(site: Site) -> None:
    """Three clear best of six: decided after 500 responses at level low, and not after 30."""
    rng, services = np.random.default_rng(6), site.services
    strengths = (2.0, 1.5, 1.2, -0.6, -1.2, -1.5)
    survey = services.surveys.open_survey(define())
    page = f"/surveys/{survey.token}"
    for _ in range(30):
        answer(services, survey, rng, strengths)
    assert services.pair_plans.decided(survey.token) is None
    assert 'id="decided"' not in site.owner.get(page).text
    for _ in range(470):
        answer(services, survey, rng, strengths)
    assert services.pair_plans.decided(survey.token) == 3
    assert "Which 3 items of the list are the best is decided" in site.owner.get(page).text


def test_votes_in_clear_steer_no_pair() -> None:
    """40 people at level none give no plan, and change nothing of that of 40 masked responses.

    Pairs that followed them would tell other participants of these votes.
    """
    rng = np.random.default_rng(4)
    survey = define("low", "none")
    book = Codebook("a" * 16, survey, "0" * 64)
    counts = {name: ReportCounts(book) for name in ("low", "none", "both")}
    for person in range(80):
        level = ("low", "none")[person % 2]
        pairs = [((person + turn) % 6, (person + 2 * turn + 1) % 6) for turn in range(5)]
        pairs = [(a, b) if a != b else (a, (b + 1) % 6) for a, b in pairs]
        # In clear everybody prefers what stands later; masked reports are drawn as they come.
        votes = [int(a < b) if level == "none" else int(rng.integers(3)) for a, b in pairs]
        kept = folded(book.questions, pairs, [*votes, 0])
        for name in (level, "both"):
            counts[name].add([(f"{person:032x}", level, json.dumps(kept))])
    reports = {name: each.reports() for name, each in counts.items()}
    assert next_votes(reports["none"], batch=20, top=2, look=1) is None
    assert len(list_votes(reports["none"])["v"]) == len(list_votes(reports["low"])["v"]) == 200
    assert list_votes(reports["none"], clear=False) == {}
    of_both, of_masked = (list_votes(reports[name], clear=False)["v"] for name in ("both", "low"))
    boards = [leaderboard_of_masked(votes) for votes in (of_both, of_masked)]
    assert boards[0].strengths.tolist() == boards[1].strengths.tolist()
    found = next_votes(reports["both"], batch=20, top=2, look=1)
    assert found is not None
    assert (len(found.pairs), found.decided) == (20, False)  # masked votes are chance


def test_a_program_and_the_server_agree_on_pairs(live_server: LiveServers, tmp_path: Path) -> None:
    """The Python client is asked about items, sends masked votes, and never the answers."""
    server = live_server()
    survey = server.services.surveys.open_survey(define())
    with Client(server.url, home=tmp_path) as me:
        me.device.set_caps(epsilon=1000, confirm=True)
        part = me.begin(survey.token, "medium")
        asked = part.open()
        assert [one.id for one in asked] == ["v", "v-2", "v-3", "v-4", "v-5", "c"]
        assert all(set(one.labels[:2]) < set(ITEMS) for one in asked[:5])
        assert len({frozenset(one.labels[:2]) for one in asked[:5]}) == 5
        again = me.participation(survey.token)
        assert [one.labels for one in again.open()] == [one.labels for one in asked]
        receipt = part.answer({one.id: one.labels[0] for one in asked})
        assert all(sent.text in sent.question.labels for sent in receipt.reports)
    [row] = everything(server.services)["participation"]
    assert "[" in str(row)


def test_a_leaderboard_stands_on_the_pages(site: Site) -> None:
    """The pages of a closed and of a published survey show the list, its ranks and no questions."""
    rng = np.random.default_rng(3)
    survey = site.services.surveys.open_survey(define())
    for _ in range(40):
        answer(site.services, survey, rng)
    site.owner.post(f"/surveys/{survey.token}/close")
    page = site.owner.get(f"/surveys/{survey.token}")
    assert page.status_code == 200
    for item in ITEMS:
        assert item in page.text
    assert "200 masked votes on pairs" in page.text
    assert ">the first<" not in page.text
    assert "Was it easy?" in page.text
    site.owner.post(f"/surveys/{survey.token}/publish")
    assert "system 0" in site.visitor.get(f"/r/{survey.token}").text
    assert "system 0" in site.visitor.get(f"/r/{survey.token}/embed").text
    table = site.visitor.get(f"/api/v1/surveys/{survey.token}/results.csv").text
    assert "v,system 0,strength" in table


def test_a_draft_with_a_list_opens(site: Site) -> None:
    """A draft has the list once; opened, it asks for as many votes as it says."""
    page = site.owner.post("/surveys/new", data={"template": "leaderboard"})
    assert page.status_code == 200, page.text
    token = page.url.path.split("/")[2]
    draft = site.services.drafts.draft(token, team=FIRST_TEAM)
    assert [one["kind"] for one in draft.document.questions] == ["pair"]
    opened = site.owner.post(f"/surveys/{token}/open", data={"version": draft.version})
    assert opened.url.path == f"/surveys/{token}", opened.text
    record = site.services.surveys.record(token)
    assert len(record.survey.questions) == draft.document.questions[0]["votes"]
    file = site.owner.get(f"/api/v1/surveys/{token}/document")
    assert file.json()["questions"] == draft.document.questions


def test_sent_pairs_are_the_servers(site: Site) -> None:
    """A device cannot choose its pairs: reports beyond the mask's are refused."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    id_ = phone.reserve(survey.token, "low").json()["id"]
    assert len(phone.open(id_).json()["pairs"]) == 5
    reports, salt = [3, 0, 0, 0, 0, 0], "0" * 32
    phone.seal(id_, commitment_of(id_, reports, salt))
    sent = {"reports": reports, "salt": salt, "level": "low", "survey_hash": survey.hash}
    problem_of(phone.respond(id_, **sent), 422, "invalid-report")
