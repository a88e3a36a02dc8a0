"""The device's part in surveys between two parties: its checks, reports and refusals."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.devices import everything
from tests.server.parties.pairs import OPERATOR, QUESTIONS, helper_at
from tests.serving import CERTIFICATES
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.client import Answer, Client
from masquerade.errors import AlreadyParticipated, BrokenPromise, ServerUnavailable, WrongState
from masquerade.server.parties.helper_services import HelperServices
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import PairVote
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

TEAM = "0" * 32
Change = Callable[[dict[str, Any]], None]


@dataclass
class Parties:
    """A survey's server and its helper, both over HTTP, and one open survey."""

    server: Any
    helper: HelperServices
    record: SurveyRecord

    @property
    def url(self) -> str:
        """The survey's link."""
        return f"{self.server.url}/s/{self.record.token}"

    def result(self) -> dict[str, Any]:
        """Close the survey and return its result."""
        services = self.server.services
        services.surveys.close(self.record)
        assert services.aggregation.run() == 1
        result: dict[str, Any] = services.results.result(
            services.surveys.record(self.record.token)
        ).to_json()
        return result


@pytest.fixture
def parties(
    request: pytest.FixtureRequest, live_server: Any, tmp_path: Path, migrated_file: Path
) -> Iterator[Parties]:
    """An open survey between two parties: of two questions, or of those that a test names."""
    file = shutil.copy(migrated_file, tmp_path / "helper.sqlite3")
    server = live_server(helper_private=True, rate_participant=0, rate_address=0)
    with helper_at(f"sqlite:///{file}") as (helper, address):
        services = server.services
        token = helper.access.new_leader_token()
        assert token is not None
        services.helpers.add(TEAM, address=address, token=token, fingerprint=helper.fingerprint)
        terms = TwoParties.of(
            helper=address,
            operator=OPERATOR,
            fingerprint=helper.fingerprint,
            rho="0.5",
            minimum=2,
        )
        level = OfferedLevel("two-parties", ())
        asked = getattr(request, "param", QUESTIONS)
        survey = Survey("Canteen", "", "pick", asked, (level,), two_parties=terms)
        name = secrets.token_hex(8)

        def ask() -> dict[str, Any]:
            asked: dict[str, Any] = services.proposals.ask(
                survey, token=name, team=TEAM, leader=server.url, people=40
            )
            return asked

        helper.tasks.decide(ask()["task"], approve=True)
        assert ask()["state"] == "approved"
        yield Parties(server, helper, services.surveys.open_survey(survey, token=name))


class Liar(httpx.BaseTransport):
    """A network that changes the answers at addresses with some ending."""

    def __init__(self, ending: str = "", change: Change | None = None) -> None:
        self._honest = httpx.HTTPTransport(verify=CERTIFICATES)
        self.ending, self.change = ending, change
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on, and change its answer."""
        self.requests.append(request)
        if self.change is None or not request.url.path.endswith(self.ending):
            return self._honest.handle_request(request)
        answer = self._honest.handle_request(request)
        data = json.loads(answer.read())
        self.change(data)
        return httpx.Response(answer.status_code, json=data)

    def close(self) -> None:
        """Close the connections."""
        self._honest.close()

    def asked(self, part: str) -> list[httpx.Request]:
        """Return the requests to addresses with this in them."""
        return [one for one in self.requests if part in one.url.path]


VOTES = PairVote("v", "Which is better?", ("Ada", "Bell", "Cy", "Dot"), 2, "Alike").parts()


@pytest.mark.parametrize("parties", [VOTES], indirect=True)
def test_votes_on_pairs_of_a_list_are_added_up(parties: Parties, tmp_path: Path) -> None:
    """Each device draws pairs without a common item, tells nobody, and sends equally much."""
    network, shown = Liar(), set()
    for place in range(12):
        with Client(parties.url, home=tmp_path / str(place), transport=network) as me:
            part = me.begin(parties.record.token)
            questions = part.open()
            pairs = [question.labels[:2] for question in questions]
            assert len({item for pair in pairs for item in pair}) == 4
            assert part.open() == questions  # drawn once
            shown.add(tuple(pairs))
            # Everybody prefers Ada to all, and finds all others alike.
            answers = {one.id: "Ada" if "Ada" in one.labels else "Alike" for one in questions}
            part.answer(answers)
    # 24 draws of two ordered pairs: that all twelve are the same is 24 ** -11.
    assert len(shown) > 1
    sent = network.asked("/sealed-report")
    assert len({len(one.content) for one in sent}) == 1
    assert not any(b"Ada" in one.content or b"pairs" in one.content for one in network.requests)
    result = parties.result()
    assert (result["responses"], result["refused"], result["questions"]) == (12, 0, [])
    [board] = result["leaderboards"]
    assert (board["votes"], len(board["items"])) == (24, 4)
    assert {one["shown"] for one in board["items"]} == {12}
    # Nothing of pairs lies on the server.
    rows = everything(parties.server.services)["participation"]
    assert len(rows) == 12
    assert "[[" not in repr(rows)


def test_answers_are_sent_in_two_halves_and_added_up(parties: Parties, tmp_path: Path) -> None:
    """The flow of masks with a sealed report: the same steps, charge and receipt, one length."""
    network = Liar()
    lengths = set()
    crowd: tuple[dict[str, Answer], ...] = (
        {"lunch": "soup", "mood": None},
        {"lunch": "bread", "mood": 5},
    )
    for place, answers in enumerate(crowd):
        with Client(parties.url, home=tmp_path / str(place), transport=network) as me:
            part = me.begin(parties.record.token)
            receipt = part.answer(answers)
            assert receipt.reports == ()
            assert receipt.bill.survey_epsilon == 5.221535
            assert part.answer({}).sealed_bytes == receipt.sealed_bytes
            with pytest.raises(WrongState):
                _ = part.reports
            lengths.add(receipt.sealed_bytes)
    assert len(lengths) == 1
    sent = network.asked("/sealed-report")
    assert len({len(one.content) for one in sent}) == 1
    assert not any(b"soup" in one.content or b"bread" in one.content for one in network.requests)
    # The helper is asked what it approved, and is told nothing.
    for one in network.asked("/approval"):
        assert "masquerade-participant" not in one.headers
    result = parties.result()
    assert (result["responses"], result["refused"]) == (2, 0)


def test_what_was_sealed_is_sent_again_and_taken_back(parties: Parties, tmp_path: Path) -> None:
    """After a break the same report is sent, for every new answer; it can be taken back."""
    home = tmp_path / "home"
    with Client(parties.url, home=home) as me:
        me.begin(parties.record.token).seal({"lunch": "soup", "mood": 4})
    with Client(parties.url, home=home) as me:
        part = me.participation(parties.record.token)
        assert part.step == "sealed"
        assert part.answer({"lunch": "bread", "mood": 1}).drawn_before
        part.withdraw()
        assert part.step == "ended"


@pytest.mark.parametrize("mood", [4.0, "4.0", "4", 4])
def test_an_answer_is_split_as_it_was_understood(
    parties: Parties, tmp_path: Path, mood: Answer
) -> None:
    """A rating is taken in all the ways in which a masked one is; no error repeats it."""
    with Client(parties.url, home=tmp_path / "home") as me:
        part = me.begin(parties.record.token)
        assert part.answer({"lunch": "soup", "mood": mood}).sealed_bytes


def other_key(invitation: dict[str, Any]) -> None:
    """Name another fingerprint than the key's."""
    invitation["two_parties"]["fingerprint"] = "0" * 32


def other_minimum(invitation: dict[str, Any]) -> None:
    """Say that sums of other sizes are shown."""
    invitation["two_parties"]["minimum"] = 50


def other_questions(invitation: dict[str, Any]) -> None:
    """Invite to another survey with the approval of this one."""
    invitation["hash"] = "ab" * 32


def other_noise(invitation: dict[str, Any]) -> None:
    """Name less noise than was signed."""
    approval = invitation["two_parties"]["approval"]
    terms = json.loads(approval["terms"])
    terms["noise"] = ["1/1000000" for _ in terms["noise"]]
    approval["terms"] = json.dumps(terms, sort_keys=True, separators=(",", ":"))


def other_signature(invitation: dict[str, Any]) -> None:
    """Show an approval that the helper never gave."""
    invitation["two_parties"]["approval"]["signature"] = "01" * 64


def less_than_it_costs(invitation: dict[str, Any]) -> None:
    """State a lower cost than that of the noise."""
    invitation["levels"][0]["rho"] = 0.1


def other_words(approval: dict[str, Any]) -> None:
    """Let the helper say that somebody else runs it."""
    approval["operator"] = "Somebody else"


@pytest.mark.parametrize(
    ("ending", "change", "says"),
    [
        ("/invitation", other_key, "Ask the helper's operator which is right"),
        ("/invitation", other_minimum, "shows no sum of fewer than 2"),
        ("/invitation", other_questions, "questions, noise or parties were changed"),
        ("/invitation", other_noise, "names other terms"),
        ("/invitation", other_signature, "its signature does not hold"),
        ("/invitation", less_than_it_costs, "nothing was begun"),
        ("/approval", other_words, "says something else than the survey's server"),
    ],
)
def test_nothing_is_begun_where_the_parties_do_not_agree(
    parties: Parties, tmp_path: Path, ending: str, change: Change, says: str
) -> None:
    """Another key, minimum, questions, noise, signature, cost or helper: refused, and why."""
    network = Liar(ending, change)
    with (
        Client(parties.url, home=tmp_path / "home", transport=network) as me,
        pytest.raises(BrokenPromise, match=says),
    ):
        me.begin(parties.record.token)
    assert not network.asked("/participations")


def test_what_changes_after_it_was_begun_is_refused_before_it_is_opened(
    parties: Parties, tmp_path: Path
) -> None:
    """A helper that says otherwise later gets nothing: the questions are not even opened."""
    network = Liar("/approval")
    with Client(parties.url, home=tmp_path / "home", transport=network) as me:
        part = me.begin(parties.record.token)
        network.change = other_words
        with pytest.raises(BrokenPromise, match="Nothing was sent"):
            part.open()
        assert part.step == "reserved"
        assert part.abandon() == "expired"
    assert not network.asked("/open")


def test_other_questions_than_the_helper_approved_are_not_answered(
    parties: Parties, tmp_path: Path
) -> None:
    """A text with another word than was approved has another hash, and nothing is sent of it."""

    def change(opened: dict[str, Any]) -> None:
        opened["survey"] = opened["survey"].replace("What for lunch?", "Whom do you love?")

    network = Liar("/open", change)
    with Client(parties.url, home=tmp_path / "home", transport=network) as me:
        part = me.begin(parties.record.token)
        with pytest.raises(BrokenPromise):
            part.answer({"lunch": "soup", "mood": 4})
    assert not network.asked("/sealed-report")


def test_a_helper_that_is_away_keeps_a_survey_from_beginning(
    parties: Parties, tmp_path: Path
) -> None:
    """Without the helper's own word nothing is begun; the message says that nothing is lost."""

    class Away(Liar):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/approval"):
                raise httpx.ConnectError("away")
            return super().handle_request(request)

    network = Away()
    with (
        Client(parties.url, home=tmp_path / "home", transport=network, attempts=1) as me,
        pytest.raises(ServerUnavailable, match="Nothing is lost"),
    ):
        me.begin(parties.record.token)
    assert not network.asked("/participations")


def test_nobody_is_in_a_sum_twice_by_two_addresses(parties: Parties, tmp_path: Path) -> None:
    """A server with two names, which begins a person anew under the second, gets one response."""

    class Renamed(Liar):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "other.example":
                request.url = httpx.URL(f"{parties.server.url}{request.url.raw_path.decode()}")
                request.headers["host"] = request.url.netloc.decode()
            return super().handle_request(request)

    home, network, token = tmp_path / "home", Renamed(), parties.record.token
    answers: dict[str, Answer] = {"lunch": "soup", "mood": 4}
    with (
        Client(parties.server.url, home=home, transport=network) as me,
        Client("https://other.example", home=home, transport=network) as again,
        Client("https://other.example", home=tmp_path / "new", transport=network) as other,
    ):
        other.begin(token).open()
        late = again.begin(token)  # both begun before either is opened
        me.begin(token).answer(answers)
        with pytest.raises(AlreadyParticipated, match="was opened on this device before, at"):
            late.answer(answers)
        assert late.abandon() == "expired"
        with pytest.raises(AlreadyParticipated, match=token):
            again.begin(token)
    assert len(network.asked("/sealed-report")) == 1


def test_the_command_line_names_both_parties(parties: Parties, tmp_path: Path) -> None:
    """``masquerade answer`` names the two parties before anything is begun, and the reports."""
    home = str(tmp_path / "home")
    fingerprint = parties.helper.fingerprint
    typed = "y\n1\n4\n\ny\n"
    done = CliRunner().invoke(app, ["answer", parties.url, "--home", home], input=typed)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert OPERATOR in said
    assert " ".join(fingerprint[start : start + 4] for start in range(0, 32, 4)) in said
    assert "two sealed halves" in said
    answers = tmp_path / "answers.json"
    answers.write_text('{"lunch": "soup", "mood": 4}')
    other = ["--home", str(tmp_path / "other"), "--answers", str(answers), "--json"]
    done = CliRunner().invoke(app, ["answer", parties.url, *other])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["sealed_bytes"] > 500
    third = ["--home", str(tmp_path / "third"), "--answers", str(answers)]
    done = CliRunner().invoke(app, ["answer", parties.url, *third])
    assert done.exit_code == 0, done.output
    assert "they can read your answers" in " ".join(done.output.split())
    surveys = parties.server.services.surveys
    assert surveys.progress(parties.record).responses == {"two-parties": 3}
    done = CliRunner().invoke(app, ["withdraw", parties.url, *third[:2]])
    assert done.exit_code == 0, done.output
    assert "taken back" in done.output
    assert surveys.progress(parties.record).responses == {"two-parties": 2}
    done = CliRunner().invoke(app, ["withdraw", parties.url, *third[:2]])
    assert isinstance(done.exception, WrongState)


def test_the_account_says_both_truths(parties: Parties, tmp_path: Path) -> None:
    """The reports and their receivers, the cost, the last day to undo it, the joint knowledge."""
    home = tmp_path / "home"
    with Client(parties.url, home=home) as me:
        part = me.begin(parties.record.token)
        [begun] = [one["two_parties"] for one in me.ledger()]
        assert (begun["bytes"], begun["take_back"]) == (None, None)
        receipt = part.answer({"lunch": "soup", "mood": 4})
        paid, terms = me.ledger()[-1], parties.record.survey.two_parties
        assert terms is not None
        assert paid["two_parties"] == {
            "leader": parties.server.url,
            "helper": terms.helper,
            "operator": OPERATOR,
            "bytes": receipt.sealed_bytes,
            "take_back": "until the survey closes",
        }
        assert (paid["kind"], paid["rho"]) == ("commit", 0.5)
        assert me.me()["split_responses"] == 1
        for account in (me.me(), me.me_on_server()):
            assert any("as if sent in clear" in one for one in account["statement"])
        done = CliRunner().invoke(app, ["me", parties.url, "--home", str(home)])
        said = " ".join(done.output.split())
        assert f"{receipt.sealed_bytes} bytes together" in said
        assert "take them back until the survey closes" in said
        part.withdraw()
        assert me.ledger()[-1]["two_parties"]["bytes"] is None
        # What was once sent stays counted: nobody knows who keeps a copy.
        assert me.me()["split_responses"] == 1
