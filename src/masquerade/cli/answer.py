"""``masquerade answer``, ``withdraw``, ``me`` and ``caps``: taking part, and its cost."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson
from masquerade.cli.terminal import (
    say,
    show,
    show_rows,
)
from masquerade.errors import ParameterError, UnreadableFile

if TYPE_CHECKING:
    from rich.console import Console

    from masquerade.client import Answer, Client, Participation
    from masquerade.client.participation import Receipt

IdentityFile = Annotated[
    Path | None,
    typer.Option(
        "--identity",
        help="File with the nine recovery words of your identity. If it does not exist, the "
        "command makes it with new words. Default: a file for each server in --home.",
    ),
]
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder for your identities, your ledger and the state of each survey that you "
        "began. Default: ~/.local/share/masquerade.",
    ),
]


UrlArgument = Annotated[
    str,
    typer.Argument(help="Link of the survey.", metavar="URL", show_default=False),
]
LevelOption = Annotated[
    str | None,
    typer.Option(
        "--level",
        help="Level of protection for all questions, such as high. Default: the command asks "
        "you. With --answers or --questions it does not ask; then give the level, "
        "unless the survey has only one.",
    ),
]
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        "--answers",
        help="JSON file with one object, from question ids to answers; null means “prefer "
        "not to say”. The command then asks nothing, and sends.",
    ),
]
QuestionsOption = Annotated[
    bool,
    typer.Option(
        "--questions",
        help="Show the questions and their ids, and send nothing. The cost of the survey is "
        "spent from then on, because you have seen the questions.",
    ),
]
AgreeOption = Annotated[
    bool,
    typer.Option(
        "--agree",
        help="Confirm that you agree to what the survey asks your consent for. With --answers it "
        "needs this; else the command asks you.",
    ),
]
SendInClearOption = Annotated[
    bool,
    typer.Option(
        "--send-in-clear",
        help="Confirm that your answers are sent as they are, without a mask. The level none "
        "needs this.",
    ),
]


def answer(
    url: UrlArgument,
    level: LevelOption = None,
    answers: AnswersOption = None,
    questions: QuestionsOption = False,
    send_in_clear: SendInClearOption = False,
    agree: AgreeOption = False,
    identity: IdentityFile = None,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Take part in a survey. Answers are masked on this computer; only the reports are sent.

    In a survey between two parties, this computer first asks the second party itself whether it
    agreed to exactly this survey. Then it cuts your answers into two sealed halves, one for each
    party, and sends these.

    If the command is interrupted, run it again. It sends the reports that it drew before, and draws
    none again.

    Example: masquerade answer https://example.org/s/5a5a5a5a5a5a5a5a --level high
    """
    from masquerade.cli.interview import interview, say_parties, show_sent
    from masquerade.client import survey_of

    if json and answers is None and not questions:
        raise ParameterError(
            "--json asks nothing at the terminal. Give the answers in a file with "
            "--answers, or see the questions with --questions."
        )
    given = None if answers is None else _read_answers(answers)
    _, survey = survey_of(url)
    with _client(url, identity, home) as client:
        if given is None and not questions:
            interview(client, survey, level, confirmed=send_in_clear)
            return
        if not json and not (
            client.joined and survey in {p.survey for p in client.participations()}
        ):
            parties = client.invitation(survey)["two_parties"]
            if parties is not None:
                from rich.console import Console

                say_parties(Console(), parties)
        part = client.begin(survey, level, confirm_clear=send_in_clear, agree=agree)
        if questions:
            _show_questions(part, as_json=json)
            return
        _require_consent(part, agree=agree)
        receipt = part.answer(given)
        if receipt.drawn_before:
            _note("Your answers were masked or sealed before; these earlier answers count.")
        if not json:
            show_sent(part, receipt, given or {})
            return
        show(_sent(part, receipt), as_json=True, title="")


def _require_consent(part: Participation, *, agree: bool) -> None:
    """Raise where a consent of the survey is missing; consents are never sent."""
    if agree or part.step not in ("reserved", "opened"):
        return
    part.open()
    if texts := part.layout.consents:
        raise ParameterError(
            f"this survey asks for your consent: {' '.join(texts)} Give --agree if you agree; "
            "nothing was sent."
        )


def _sent(part: Participation, receipt: Receipt) -> dict[str, object]:
    sealed = {} if receipt.sealed_bytes is None else {"sealed_bytes": receipt.sealed_bytes}
    return {
        "survey": part.survey,
        "level": part.level,
        "sent": {one.question.id: one.text for one in receipt.reports},
        "drawn_before": receipt.drawn_before,
        "bill": receipt.bill.to_json(),
        "reward": receipt.reward,
        "completion_code": receipt.completion_code,
        **sealed,
    }


def withdraw(
    url: Annotated[
        str,
        typer.Argument(help="Link of the survey.", metavar="URL", show_default=False),
    ],
    identity: IdentityFile = None,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Take back your response to a survey, as long as the survey is open. Its cost stays spent.

    Example: masquerade withdraw https://example.org/s/5a5a5a5a5a5a5a5a
    """
    from masquerade.client import survey_of

    _, survey = survey_of(url)
    with _client(url, identity, home) as client:
        client.participation(survey).withdraw()
    if json:
        show({"survey": survey, "withdrawn": True}, as_json=True, title="")
        return
    _note("Your answers were taken back. What they cost stays spent.")


MeUrlArgument = Annotated[
    str,
    typer.Argument(
        help="Address of the server, or link of a survey on it.",
        metavar="URL",
        show_default=False,
    ),
]
OnServerOption = Annotated[
    bool,
    typer.Option(
        "--on-server",
        help="Show what the server's ledger says instead. It includes what you sent from "
        "other devices with the same identity.",
    ),
]


def me(
    url: MeUrlArgument,
    on_server: OnServerOption = False,
    identity: IdentityFile = None,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Show your spending on a server and on all servers, the remaining budget, and your caps.

    The figures come from the ledger on this computer. The server has a ledger of its own, which
    --on-server shows.

    Example: masquerade me https://example.org --on-server
    """
    with _client(url, identity, home) as client:
        if not client.joined:
            raise ParameterError(
                f"you have taken part in nothing on {client.url} from this computer. If your "
                "identity is in another place, name it with --identity or --home."
            )
        if on_server:
            account, entries = client.me_on_server(), client.ledger_on_server()
        else:
            account, entries = client.me(), client.ledger()
        if json:
            show({**account, "ledger": entries}, as_json=True, title="")
            return
        from rich.console import Console

        console, battery, caps = Console(), account["battery"], account["caps"]
        if on_server:
            say(console, f"This is the word of {client.url}:", style="bold")
        say(console, f"{battery['percent_left']} % of your privacy here is left.", style="bold")
        say(console, *account["statement"])
        say(console, f"Caps: epsilon {caps['epsilon']}, {caps['clear']} answers in clear.")
        rows = [
            (
                entry["day"],
                entry["kind"],
                entry["title"] or entry["survey"] or "–",
                # What two parties add up has a ρ, and no ε without a chance of more.
                "–"
                if entry["epsilon_user"] == "inf" and not entry["clear"]
                else entry["epsilon_user"],
                entry["rho"],
                entry["clear"],
            )
            for entry in entries
        ]
        show_rows(console, ("day", "what", "survey", "epsilon", "rho", "in clear"), rows)
        _say_halves(console, entries)


EpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        help="Largest epsilon that all answers sent from this computer may cost together. "
        "Default: no change.",
    ),
]
DeltaOption = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="Delta of this cap: the probability with which it may fail. Default: no change.",
    ),
]
ClearOption = Annotated[
    int | None,
    typer.Option(
        "--clear",
        help="How many answers may be sent as they are, without a mask. Default: no change.",
    ),
]
ConfirmOption = Annotated[
    bool,
    typer.Option(
        "--confirm",
        help="Allow a cap to rise. This weakens what was promised to you, also for answers "
        "that you have sent.",
    ),
]


def caps(
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    clear: ClearOption = None,
    confirm: ConfirmOption = False,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Show or change the caps of this computer: the most that your answers may cost in privacy.

    These caps are for all servers together. At first they are epsilon 10 at delta 1e-6, and no
    answer without a mask. A lower cap holds at once; a higher cap needs --confirm. This computer
    sends nothing above them, whatever a server says. Each server has caps of its own, too.

    Example: masquerade caps --epsilon 5
    """
    from masquerade.client import DeviceLedger
    from masquerade.client.client import home_of

    device = DeviceLedger(home_of(home))
    device.set_caps(epsilon=epsilon, delta=delta, clear=clear, confirm=confirm)
    account = device.account()
    if json:
        show(account, as_json=True, title="")
        return
    from rich.console import Console

    console, allowed = Console(), account["caps"]
    say(
        console,
        f"This computer allows epsilon {allowed['epsilon']} at delta {allowed['delta']:g} and "
        f"{allowed['clear']} answers in clear, on all servers together.",
        style="bold",
    )
    say(console, *account["statement"])


def _client(url: str, identity: Path | None, home: Path | None) -> Client:
    from masquerade.client import Client, Identity

    known = None if identity is None else Identity.read_or_create(identity)
    return Client(url, known, home)


def _say_halves(console: Console, entries: list[dict[str, Any]]) -> None:
    """Say of each response between two parties its size, its parties and how to take it back."""
    for entry in entries:
        parties = entry.get("two_parties")
        if entry["kind"] != "commit" or parties is None:
            continue
        if parties["bytes"] is None:
            say(console, f"{entry['title']}: between two parties; nothing of it is there now.")
            continue
        say(
            console,
            f"{entry['title']}: two sealed halves were sent, {parties['bytes']} bytes together, "
            f"one for {parties['leader']}, the other for {parties['operator']} at "
            f"{parties['helper']}. You can take them back {parties['take_back']}.",
        )


def _show_questions(part: Participation, *, as_json: bool) -> None:
    part.open()
    rows: dict[str, Any] = {}
    for one in part.questions:
        question = one.question
        rows[question.id] = {
            "kind": question.kind,
            "text": question.text,
            "answers": list(question.labels) or one.choices,
            "allow_skip": question.allow_skip,
            "mechanism": None if one.mechanism is None else str(one.mechanism),
        }
        if one.show_if is not None:
            rows[question.id]["show_if"] = one.show_if.to_json()
    if as_json:
        result = {"survey": part.survey, "level": part.level, "questions": rows}
        show(result, as_json=True, title="")
        return
    from rich.console import Console

    show_rows(
        Console(),
        ("id", "question", "answers"),
        [
            (name, row["text"], one.choices)
            for (name, row), one in zip(rows.items(), part.questions, strict=True)
        ],
    )


def _read_answers(path: Path) -> dict[str, Answer]:
    try:
        answers = json_format.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path} cannot be read as JSON: {type(error).__name__}.") from error
    if not isinstance(answers, dict):
        raise UnreadableFile(
            f"{path} is not one JSON object from question ids to answers, such as "
            '{"ill": "Yes"}; masquerade answer URL --questions shows the ids.'
        )
    return answers


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
