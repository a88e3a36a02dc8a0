"""Taking part at a terminal, and from a file of answers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.surveys import ANSWERS

from masquerade.cli import main
from masquerade.cli.terminal import plain
from masquerade.client import Identity
from masquerade.surveys import Choice, Layout, Page, Rating
from masquerade.surveys.blocks import ConsentBlock, TextBlock

if TYPE_CHECKING:
    from tests.client.conftest import Place

Run = Callable[..., tuple[int, str, str]]
HOSTILE = "Work \x1b[2J[bold]‮"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs the command and types lines; it gives code, output, errors."""
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: object, typed: str = "") -> tuple[int, str, str]:
        home = ["--home", str(tmp_path / "home")]
        monkeypatch.setattr("sys.argv", ["masquerade", *map(str, words), *home])
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def link(place: Place, token: str) -> str:
    """Return a survey's link."""
    return f"{place.url}/s/{token}"


def test_answers_from_a_file(place: Place, run: Run, tmp_path: Path) -> None:
    """The questions tell their ids; a file answers them; the same again sends nothing new."""
    survey = place.survey()
    url = link(place, survey.token)
    code, out, _ = run("answer", url, "--level", "high", "--questions", "--json")
    assert code == 0
    asked = json.loads(out)["questions"]
    assert list(asked) == list(ANSWERS)
    assert asked["pay"]["answers"] == ["More pay", "More time", "No preference"]
    assert asked["hours"]["answers"] == "0 to 12 in steps of 0.5"
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(ANSWERS))
    code, out, _ = run("answer", url, "--answers", file, "--json")
    assert code == 0
    done = json.loads(out)
    assert set(done["sent"]) == set(ANSWERS)
    assert (done["level"], done["drawn_before"]) == ("high", False)
    code, out, err = run("answer", url, "--answers", file, "--json")
    assert json.loads(out)["sent"] == done["sent"]
    assert "masked or sealed before" in err
    assert place.services.surveys.record(survey.token).responses == 1
    code, out, _ = run("me", url, "--json")
    account = json.loads(out)
    assert account["battery"]["percent_left"] < 100
    assert [e["kind"] for e in account["ledger"]].count("commit") == 1
    code, out, _ = run("me", place.url)
    assert code == 0
    assert "of your privacy here is left" in out
    assert "Work" in out


def test_an_interview(place: Place, run: Run) -> None:
    """A person is told, asked, may change an answer, sees both sides and sends."""
    survey = place.survey()
    assert run("caps", "--epsilon", 100, "--confirm")[0] == 0
    typed = "3\ny\n2\n4\n7.5\n2\n2\n5\n\ny\n"
    code, out, err = run("answer", link(place, survey.token), typed=typed)
    assert (code, err) == (0, "")
    for words in (
        "4 questions, everyday",
        "the price of this level is spent",
        "nine words",
        "Have you worked while ill?",
        "0  prefer not to say",
        "1 not at all to 5 very",
        "0 to 12 in steps of 0.5, in hours",
        "We now mask your answers, once",
        "yours (stays here)",
        "7.5 hours",
        "Sent. This survey cost epsilon",
        "left",
    ):
        assert words in out, words
    assert place.services.surveys.record(survey.token).responses == 1
    assert "3 y" not in out


def test_a_person_can_refuse(place: Place, run: Run) -> None:
    """Before the questions a no begins nothing; after the draw it sends nothing."""
    survey = place.survey(Rating("r", "How much?"), levels=("high",))
    url = link(place, survey.token)
    code, out, _ = run("answer", url, typed="n\n")
    assert code == 0
    assert "nine words" not in out
    code, out, _ = run("answer", url, typed="y\n3\n\nn\n")
    assert code == 0
    assert "The price stays spent" in out
    assert place.services.surveys.record(survey.token).responses == 0


@pytest.mark.parametrize("typo", ["7", "1x", "-1", "0"])
def test_a_typing_error_before_the_draw_is_asked_again(place: Place, run: Run, typo: str) -> None:
    """A value that is no question's number neither masks nor sends; it can still be changed."""
    survey = place.survey(Rating("r", "How much?"), levels=("high",), topic="sensitive")
    url = link(place, survey.token)
    code, out, err = run("answer", url, typed=f"y\n3\n{typo}\n")
    assert code == 1
    assert "they have the numbers 1 to 1" in out
    assert "nobody to ask" in err
    assert place.services.surveys.record(survey.token).responses == 0
    code, out, _ = run("answer", url, typed=f"3\n{typo}\n1\n5\n\n")
    assert code == 0
    assert out.count("How much?") >= 2
    assert place.services.surveys.record(survey.token).responses == 1


def test_an_interview_goes_on_where_it_stopped(place: Place, run: Run) -> None:
    """Where the terminal ends everything is kept; in a sensitive survey reports come last."""
    survey = place.survey(Rating("r", "How much?"), levels=("high",), topic="sensitive")
    url = link(place, survey.token)
    code, _, err = run("answer", url, typed="y\n")
    assert code == 1
    assert "nobody to ask" in err
    code, out, _ = run("answer", url, typed="9\nx\n4\n\n")
    assert code == 0
    assert out.count("Type one of 1, 2, 3, 4, 5") == 2
    assert out.index("yours (stays here)") > out.index("We now mask")
    assert place.services.surveys.record(survey.token).responses == 1
    code, out, _ = run("answer", url)
    assert "this is what was sent" in out


def test_an_identity_file(place: Place, run: Run, tmp_path: Path) -> None:
    """A person can be taken along as a file of words; without one there is nothing to show."""
    survey = place.survey(levels=("high",))
    code, _, err = run("me", place.url)
    assert code == 1
    assert "taken part in nothing" in err
    words, file = tmp_path / "words.txt", tmp_path / "answers.json"
    me = Identity.read_or_create(words)
    file.write_text(json.dumps(ANSWERS))
    url = link(place, survey.token)
    code, out, _ = run("answer", url, "--answers", file, "--identity", words)
    assert code == 0
    assert "not kept" not in out
    assert place.client(me, "elsewhere").me_on_server()["battery"]["percent_left"] < 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--json"], "--json asks nothing"),
        (["--answers", "nothing.json"], "cannot be read"),
        (["--level", "extreme"], "does not offer"),
    ],
)
def test_wrong_use_is_one_line(place: Place, run: Run, words: list[str], message: str) -> None:
    """Impossible requests are told in one line, with exit code 1."""
    survey = place.survey()
    code, _, err = run("answer", link(place, survey.token), *words, typed="y\n")
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_words_of_a_server_cannot_steer_the_terminal(place: Place, run: Run) -> None:
    """Control characters are left out and markup is shown as it is."""
    survey = place.survey(Choice("q", f"{HOSTILE}?", (f"{HOSTILE}1", "b")), levels=("high",))
    code, out, _ = run("answer", link(place, survey.token), typed="y\n1\n\ny\n")
    assert code == 0
    assert "[2J[bold]?" in out
    for character in ("\x1b", "‮"):
        assert character not in out
        assert character not in plain(HOSTILE)


def test_the_caps_of_this_computer(place: Place, run: Run, tmp_path: Path) -> None:
    """They are shown, lowered at once, raised only with --confirm, and stop a response."""
    code, out, _ = run("caps", "--json")
    assert (code, json.loads(out)["caps"]["epsilon"]) == (0, 10)
    code, out, _ = run("caps", "--epsilon", 0.5, "--clear", 0)
    assert code == 0
    assert "epsilon 0.5 at delta 1e-06 and 0 answers in clear, on all servers together" in out
    assert "kept by your device and by the server" in out
    code, _, err = run("caps", "--epsilon", 3)
    assert (code, "confirm" in err) == (1, True)
    survey = place.survey()
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(ANSWERS))
    url = link(place, survey.token)
    code, _, err = run("answer", url, "--level", "low", "--answers", file)
    assert (code, "your device allows" in err) == (1, True)
    assert run("caps", "--epsilon", 100, "--confirm")[0] == 0
    assert run("answer", url, "--level", "low", "--answers", file)[0] == 0
    code, out, _ = run("me", url)
    assert "kept by your device and by the server" in out
    code, out, _ = run("me", url, "--on-server")
    assert "This is the word of" in out


def test_clear_answers_are_confirmed(live_server: Any, run: Run) -> None:
    """At level none a person is asked once more, and a file needs the option."""
    server = live_server(allow_clear=True)
    from masquerade.surveys.survey import Survey

    questions = (Rating("r", "How much?"),)
    definition = Survey.at_levels(title="W", questions=questions, levels=("high", "none"))
    survey = server.services.surveys.open_survey(definition)
    code, out, _ = run("answer", f"{server.url}/s/{survey.token}", typed="none\nn\n")
    assert code == 0
    assert "Are you sure?" in out
    code, _, err = run("answer", f"{server.url}/s/{survey.token}", "--level", "none", "--questions")
    assert code == 1
    assert "without any protection" in err


def test_texts_and_consent_of_pages_at_a_terminal(place: Place, run: Run, tmp_path: Path) -> None:
    """Headings and texts are read in their place; without consent nothing is sent."""
    ids = tuple(ANSWERS)
    layout = Layout(
        (
            Page((TextBlock("We ask about **work**."), ConsentBlock("I am 18 or older."))),
            Page(ids, "Your work"),
            Page((TextBlock("That was all."),)),
        )
    )
    survey = place.survey(layout=layout)
    url = link(place, survey.token)
    assert run("caps", "--epsilon", 100, "--confirm")[0] == 0
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(ANSWERS))
    code, _, err = run("answer", url, "--level", "high", "--answers", file)
    assert code == 1
    assert "I am 18 or older." in err
    assert place.services.surveys.record(survey.token).responses == 0
    code, _, _ = run("answer", url, "--level", "high", "--answers", file, "--agree")
    assert code == 0
    assert place.services.surveys.record(survey.token).responses == 1
    other = link(place, place.survey(layout=layout).token)
    code, out, _ = run("answer", other, typed="3\ny\ny\n2\n4\n7.5\n2\n\ny\n")
    assert code == 0
    for words in ("We ask about work.", "I am 18 or older.", "Your work", "That was all."):
        assert words in out, words
    refused = place.survey(layout=layout)
    code, out, _ = run("answer", link(place, refused.token), typed="3\ny\nn\n")
    assert (code, place.services.surveys.record(refused.token).responses) == (0, 0)
    assert "You did not agree" in out
