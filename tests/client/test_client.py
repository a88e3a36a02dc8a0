"""Taking part from Python, against a running server."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.surveys import ANSWERS, Wire, define

from masquerade.accounting import Caps
from masquerade.client import Client, Identity
from masquerade.errors import (
    AlreadyParticipated,
    BrokenPromise,
    ClearDisclosureRefused,
    ConfirmationNeeded,
    InsufficientBudget,
    LevelNotAllowed,
    MissingValue,
    NotFound,
    ParameterError,
    TooManyReservations,
    UnknownLabel,
    WrongState,
)
from masquerade.exact import Micro
from masquerade.surveys import Choice, Comparison, Number, Question, Rating

if TYPE_CHECKING:
    from tests.client.conftest import Place

ONE_EACH: dict[str, tuple[Question, Any]] = {
    "choice": (Choice("q", "Which?", ("a", "b", "c", "d")), "c"),
    "choice-skip": (Choice("q", "Which?", ("a", "b"), allow_skip=True), None),
    "rating": (Rating("q", "How much?", 0, 10), 7),
    "number": (Number("q", "How many?", -5, 5, "degrees", 0.25), -1.25),
    "comparison": (Comparison("q", "Which?", "tea", "coffee"), "coffee"),
    "comparison-tie": (Comparison("q", "Which?", "tea", "coffee", "either"), "either"),
}


@pytest.mark.parametrize("level", ["high", "medium", "low"])
@pytest.mark.parametrize("kind", ONE_EACH)
def test_every_kind_at_every_level(place: Place, kind: str, level: str) -> None:
    """For all answers, at all levels, the server ends up with the reports of the receipt."""
    question, answer = ONE_EACH[kind]
    survey = place.survey(question)
    part = place.client().begin(survey.token, level)
    assert part.open() == (question,)
    receipt = part.answer({"q": answer})
    assert not receipt.drawn_before
    (held,) = place.client().export()["participations"]
    assert held["reports"] == [sent.report for sent in receipt.reports]
    assert (held["state"], held["level"]) == ("submitted", level)
    assert receipt.bill.surveys == 1


def test_gaussian_ratings_and_one_mask_a_person(place: Place) -> None:
    """Ratings with noise on their scale and two-layer masks are masked too."""
    noisy = place.survey(Rating("q", "How much?", 1, 5), rating_mask="gaussian")
    two_layer = place.survey(Choice("q", "Which?", ("a", "b")), masking="per-person")
    client = place.client()
    assert client.begin(noisy.token, "high").answer({"q": 3}).reports[0].text.lstrip("-").isdigit()
    assert client.begin(two_layer.token, "high").answer({"q": "a"}).reports[0].text in "ab"


def test_a_whole_survey_step_by_step(place: Place) -> None:
    """Each step can be taken by itself; the reports can be looked at before they are sent."""
    survey = place.survey()
    client = place.client()
    invitation = client.invitation(survey.token)
    assert invitation["questions"] == 4
    assert "stressful" not in json.dumps(invitation)
    part = client.begin(f"{place.url}/s/{survey.token}", "medium")
    assert (part.step, part.title, part.level) == ("reserved", "Work", "medium")
    assert part.price["epsilon_user"] > 0
    assert [question.id for question in part.open()] == list(ANSWERS)
    assert part.seal(ANSWERS) is False
    assert part.step == "sealed"
    looked_at = part.reports
    assert [one.question.id for one in looked_at] == list(ANSWERS)
    bill = part.send()
    assert part.send() == bill
    assert part.reports == looked_at
    assert part.answer().drawn_before
    part.withdraw()
    assert place.services.surveys.record(survey.token).responses == 0
    with pytest.raises(WrongState, match="you withdrew it"):
        part.answer(ANSWERS)


def test_what_was_sent_stays_known_where_it_cannot_be_taken_back(place: Place) -> None:
    """A survey that is closed keeps the response, and this computer its reports and payment."""
    survey = place.survey()
    part = place.client().begin(survey.token, "high")
    receipt = part.answer(ANSWERS)
    place.services.surveys.close(survey)
    with pytest.raises(WrongState, match="closed"):
        part.withdraw()
    assert part.step == "sent"
    assert part.answer().reports == receipt.reports
    assert part.send() == receipt.bill


def test_after_send_shows_nothing_before(place: Place) -> None:
    """In a sensitive survey nobody can look at the reports before they are sent."""
    survey = place.survey(topic="sensitive")
    part = place.client().begin(survey.token, "high")
    part.seal(ANSWERS)
    with pytest.raises(WrongState, match="once they are sent"):
        _ = part.reports
    part.send()
    assert len(part.reports) == 4


def test_answers_are_read_as_people_write_them(place: Place) -> None:
    """Numbers may be texts, floats or decimals; other values are refused unrepeated."""
    survey = place.survey(
        Number("n", "How many?", 0, 1, "parts", 0.1), Rating("r", "How much?", 1, 3)
    )
    part = place.client().begin(survey.token, "high")
    part.open()
    number, rating = part.questions
    assert [number.code(x) for x in (0.3, "0.3", 1, "1.0")] == [3, 3, 10, 10]
    assert [rating.code(x) for x in (1, "3", 2.0)] == [0, 2, 1]
    for wrong in (0.35, 1.1, -0.1, "much", True, "1e9", float("nan"), float("inf"), "9" * 50):
        with pytest.raises(UnknownLabel) as refused:
            part.seal({"n": wrong, "r": 1})
        assert str(wrong) not in str(refused.value)
    with pytest.raises(MissingValue, match="'r' has no answer"):
        part.seal({"n": 0})
    with pytest.raises(MissingValue, match="cannot be left out"):
        part.seal({"n": 0, "r": None})
    with pytest.raises(ParameterError, match="no question 'x'"):
        part.seal({"n": 0, "r": 1, "x": 1})
    with pytest.raises(MissingValue, match="nothing is drawn yet"):
        part.answer()
    assert part.step == "opened"


def test_there_is_one_draw_whatever_is_answered_later(place: Place) -> None:
    """Once drawn, other answers change nothing, in this object, another, or another client."""
    survey = place.survey()
    part = place.client().begin(survey.token, "high")
    part.seal(ANSWERS)
    first = part.reports
    other = {**ANSWERS, "stress": 1, "ill": None}
    for again in (part, place.client().participation(survey.token)):
        assert again.seal(other) is True
        assert again.reports == first
    receipt = place.client().begin(survey.token).answer(other)
    assert receipt.drawn_before
    assert receipt.reports == first


def test_a_level_is_chosen_once(place: Place) -> None:
    """No level, a level that is not offered, and another level later are refused."""
    survey = place.survey(levels=("high", "low"))
    client = place.client()
    with pytest.raises(ParameterError, match="choose a level"):
        client.begin(survey.token)
    with pytest.raises(LevelNotAllowed, match="does not offer 'medium'"):
        client.begin(survey.token, "medium")
    client.begin(survey.token, "low")
    with pytest.raises(AlreadyParticipated, match="level 'low'"):
        client.begin(survey.token, "high")
    elsewhere = place.client(client.identity, "other-home")
    with pytest.raises(AlreadyParticipated, match="at another level"):
        elsewhere.begin(survey.token, "high")
    assert elsewhere.participations() == []
    fixed = place.survey(levels=("medium",))
    assert client.begin(fixed.token).level == "medium"


def test_two_computers_of_one_person(place: Place) -> None:
    """A response that one computer sealed, another can neither replace nor take up."""
    survey = place.survey()
    here = place.client()
    there = place.client(Identity.from_words(" ".join(here.identity.words)), "there")
    mine = here.begin(survey.token, "high")
    other = there.begin(survey.token, "high")
    mine.open()
    other.open()
    mine.seal(ANSWERS)
    with pytest.raises(Exception, match="drawn once"):
        other.seal(ANSWERS)
    assert other.step == "ended"
    mine.send()
    third = place.client(here.identity, "third")
    with pytest.raises(WrongState, match="answered elsewhere"):
        third.begin(survey.token, "high")
    assert place.services.surveys.record(survey.token).responses == 1


def test_giving_up(place: Place) -> None:
    """Before the questions it costs nothing and can be begun again; after them it stays spent."""
    survey = place.survey()
    client = place.client()
    assert client.begin(survey.token, "high").abandon() == "expired"
    assert client.me()["battery"]["percent_left"] == 100
    part = client.begin(survey.token, "low")
    part.open()
    assert part.abandon() == "abandoned"
    assert client.me()["battery"]["percent_left"] < 100
    with pytest.raises(WrongState, match="gave it up"):
        part.open()
    with pytest.raises(WrongState, match="gave it up"):
        client.begin(survey.token, "low")


def test_account(place: Place) -> None:
    """Ledger, caps, export and leaving follow the server's account of this person."""
    client = place.client()
    tokens = []
    for _ in range(3):
        survey = place.survey(levels=("high",))
        tokens.append(survey.token)
        client.begin(survey.token).answer(ANSWERS)
    paid = [entry for entry in client.ledger() if entry["kind"] == "commit"]
    assert sorted(entry["survey"] for entry in paid) == sorted(tokens)
    assert client.me()["open_reservations"] == 0
    assert {one["token"] for one in client.invitations()} == set(tokens)
    assert client.set_caps(epsilon=5)["epsilon"] == 5
    with pytest.raises(ConfirmationNeeded):
        client.set_caps(epsilon=8)
    assert client.set_caps(epsilon=8, confirm=True)["to_come"]["epsilon"] == 8
    left = client.leave()
    assert left["withdrawn"] == 3
    assert client.participations() == []
    assert place.client().identity == client.identity


def test_a_cap_that_does_not_suffice(place: Place) -> None:
    """A refusal tells the needed and the remaining amount, and leaves nothing behind."""
    survey = place.survey()
    client = place.client()
    client.set_caps(epsilon=0.5)
    with pytest.raises(InsufficientBudget) as refused:
        client.begin(survey.token, "low")
    assert refused.value.needed > refused.value.residual >= 0
    assert client.participations() == []
    with pytest.raises(NotFound, match="nothing of this survey"):
        client.participation(survey.token)


def test_an_invitation_to_another_survey_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers with another survey's invitation is refused; nothing is begun."""
    asked, other = (place.survey(Choice("q", text, ("a", "b"))) for text in ("One?", "Two?"))
    client = place.client()
    ask = client._connection.anybody
    monkeypatch.setattr(
        client._connection, "anybody", lambda path: ask(path.replace(asked.token, other.token))
    )
    for attempt in (client.invitation, client.begin):
        with pytest.raises(BrokenPromise, match="another survey"):
            attempt(asked.token)
    assert (
        client.me()["reservations" if "reservations" in client.me() else "open_reservations"] == 0
    )


def test_too_many_reservations_leave_nothing_behind(live_server: Any, tmp_path: Path) -> None:
    """A survey that the server lets nobody begin today holds nothing back on this device."""
    server = live_server(unopened_reservations=1)
    first, second = (
        server.services.surveys.open_survey(define(levels=("high", "medium"))) for _ in "ab"
    )
    with Client(server.url, home=tmp_path / "home") as client:
        begun = client.begin(first.token, "high")
        held = client.device.balance().totals
        with pytest.raises(TooManyReservations):
            client.begin(second.token, "high")
        assert client.device.balance().totals == held
        begun.open()
        assert client.begin(second.token, "medium").step == "reserved"


def test_answers_in_clear_are_asked_for_twice(live_server: Any, tmp_path: Path) -> None:
    """Level none needs a confirmation and a cap that allows it, and is sent as it is."""
    server = live_server(allow_clear=True, caps=Caps(Micro(10_000_000), clear=4))
    survey = server.services.surveys.open_survey(define(levels=("high", "none")))
    with Client(server.url, home=tmp_path / "home") as client:
        with pytest.raises(ParameterError, match="without any protection"):
            client.begin(survey.token, "none")
        with pytest.raises(ClearDisclosureRefused, match="your device allows 0"):
            client.begin(survey.token, "none", confirm_clear=True)
        client.device.set_caps(clear=8, confirm=True)
        receipt = client.begin(survey.token, "none", confirm_clear=True).answer(ANSWERS)
        texts = [sent.text for sent in receipt.reports]
        assert texts == ["No", "4", "7.5 hours", "More time"]
        assert client.me()["battery"]["clear"] == 4
        second = server.services.surveys.open_survey(define(levels=("none",)))
        with pytest.raises(ClearDisclosureRefused, match="your cap leaves 0"):
            client.begin(second.token, confirm_clear=True)


def test_files_are_for_their_owner_and_hold_no_answer(place: Place, tmp_path: Path) -> None:
    """Folders are 0700, files 0600; none holds the true answer, and no draft is left."""
    options = ("planted-truth-0", "planted-truth-1")
    survey = place.survey(Choice("q", "Which?", options))
    client = place.client()
    part = client.begin(survey.token, "high")
    part.open()
    part.seal({"q": "planted-truth-1"})
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    kept = {"identity", ".lock", f"{survey.token}.json", "ledger.json", ".ledger.json.lock"}
    assert {path.name for path in files} == kept
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path in (tmp_path / "home", *(p for p in (tmp_path / "home").rglob("*") if p.is_dir())):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    ledger, record = (
        p.read_text()
        for p in sorted(files, key=lambda p: p.name != "ledger.json")
        if p.suffix == ".json"
    )
    held = json.loads(record)
    assert json.loads(held.pop("survey_text"))["questions"][0]["options"] == list(options)
    assert "planted-truth" not in json.dumps(held) + ledger
    assert Identity.read(client.identity_file) == client.identity


def test_the_draw_is_on_the_disk_before_the_commitment_is_sent(place: Place) -> None:
    """When the request to seal leaves, the record it commits to can be read from its file."""
    survey = place.survey()
    found: list[dict[str, Any]] = []

    class Looking(Wire):
        def handle_request(self, request: Any) -> Any:
            if request.url.path.endswith("/seal"):
                (path,) = client._records.folder.glob("*.json")
                record = json.loads(path.read_text())
                assert record["commitment"] == json.loads(request.read())["commitment"]
                found.append(record)
            return super().handle_request(request)

    client = place.client(transport=Looking())
    receipt = client.begin(survey.token, "high").answer(ANSWERS)
    assert [record["step"] for record in found] == ["drawn"]
    assert found[0]["reports"] == [sent.report for sent in receipt.reports]
