"""The interface and the page of a survey's invitations: tickets, cards, a list joined, e-mail."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, File, Form
from pydantic import Field
from starlette.responses import Response

from masquerade.errors import MasqueradeError, ParameterError
from masquerade.server.http.bodies import StrictBody
from masquerade.server.http.pages import qr_code, qr_file
from masquerade.server.mail.address_list import merged, read_addresses, rows_of
from masquerade.server.mail.mailings import Letter
from masquerade.server.mail.usual_letters import invitation_of, reminder_of
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, base_address, require
from masquerade.server.routes.forms import Text, form, page
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.server.surveys.tickets import MOST_AT_ONCE
from masquerade.surveys.reach import shown_code, ticket_link

#: How many cards are on one page to print.
MOST_CARDS: Final = 500

routes = APIRouter(tags=["invitations"], prefix="/api/v1/surveys/{token}/tickets")
pages = APIRouter(include_in_schema=False, prefix="/surveys/{token}")
Writer = Annotated[Actor, Depends(require("survey:write"))]
_HERE = "/surveys/{token}/invitations"


class Making(StrictBody):
    """How many tickets to make."""

    count: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)]


@dataclass(frozen=True, slots=True)
class Ticket:
    """A new ticket; its code is not shown again."""

    code: str
    link: str


@dataclass(frozen=True, slots=True)
class TicketNumbers:
    """How many tickets a survey has; those exchanged are rounded down to tens."""

    made: int
    exchanged: int


@routes.get("", summary="How many tickets there are, and about how many were exchanged")
def counts(actor: Writer, token: str) -> TicketNumbers:
    found = actor.services.tickets.counts(actor.survey(token).token)
    return TicketNumbers(found.made, found.exchanged)


@routes.post("", status_code=201, summary="Make tickets; their codes are shown this once")
@audited("made tickets")
def make(actor: Writer, token: str, making: Making) -> dict[Literal["tickets"], list[Ticket]]:
    return {"tickets": _made(actor, actor.survey(token), making.count)}


def _made(actor: Actor, record: SurveyRecord, count: int) -> list[Ticket]:
    codes, link = actor.services.tickets.make(record, count), _link(actor, record)
    named = actor.services.surveys.frozen(record.token)[0].hash
    return [Ticket(shown_code(code), ticket_link(link, code, named)) for code in codes]


def _link(actor: Actor, record: SurveyRecord) -> str:
    return f"{base_address(actor.request)}/s/{record.token}"


@page(pages, "/invitations")
def invitations_page(
    actor: Writer,
    token: str,
    *,
    error: MasqueradeError | None = None,
    said: str = "",
    checked: Mapping[str, object] | None = None,
    addresses: str = "",
    subject: str = "",
    text: str = "",
    **_: Any,
) -> Response:
    record = actor.survey(token)
    services, terms = actor.services, record.survey.reach.invitations
    mailing = services.mailings.progress(token)
    zone = actor.request.app.state.settings.time_zone
    letter = mailing.letter if mailing else invitation_of(record, zone=zone)
    context = {
        "record": record,
        "terms": terms,
        "counts": services.tickets.counts(token) if terms else None,
        "mailing": mailing,
        "reminder": reminder_of(record, mailing.letter, zone=zone) if mailing else None,
        "mail_ready": services.mailings.server.ready,
        "sender": services.mailings.server.sender,
        "subject": subject or letter.subject,
        "text": text or letter.text,
        "addresses": addresses,
        "checked": checked,
        "said": said,
        "most": MOST_AT_ONCE,
        "most_cards": MOST_CARDS,
    }
    return actor.page("surveyor/invitations.html", context, error=error)


@form(pages, "/invitations/tickets", then=_HERE, refused=invitations_page)
@audited("made tickets")
def tickets_file(
    actor: Writer,
    token: str,
    count: Annotated[int, Form(ge=1, le=MOST_AT_ONCE)],
    kind: Annotated[Literal["csv", "cards"], Form()] = "csv",
) -> Response:
    record = actor.survey(token)
    if kind == "csv":
        return _csv(f"tickets-{token}.csv", _made(actor, record, count))
    if count > MOST_CARDS:
        raise ParameterError(f"{count} cards are too many for one page; make {MOST_CARDS} at once.")
    cards = [(one, qr_code(one.link)) for one in _made(actor, record, count)]
    return actor.page("surveyor/cards.html", {"record": record, "cards": cards})


def _csv(name: str, tickets: Sequence[Ticket]) -> Response:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("code", "link"))
    writer.writerows((one.code, one.link) for one in tickets)
    return _file(name, out.getvalue())


def _file(name: str, text: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    # With a byte-order mark: spreadsheets else take the text for another code.
    content = text.encode("utf-8-sig")
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


@form(pages, "/invitations/merge", then=_HERE, refused=invitations_page)
@audited("made tickets")
def merge(actor: Writer, token: str, file: Annotated[bytes, File()]) -> Response:
    record, text = actor.survey(token), _text_of(file)
    made = _made(actor, record, rows_of(text))
    return _file(f"invitations-{token}.csv", merged(text, [one.link for one in made]))


def _text_of(file: bytes) -> str:
    try:
        return file.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError("the file is no text in UTF-8; save it as CSV in UTF-8.") from None


def _checked(actor: Actor, token: str, *, result: Any, **values: Any) -> Response:
    """Return the page with the summary of the list, and the button that sends."""
    return invitations_page(actor, token, checked=result, **{**values, "addresses": result["list"]})


@form(pages, "/invitations/check", then=_checked, refused=invitations_page)
@audited(None)
def check(
    actor: Writer,
    token: str,
    addresses: Text = "",
    subject: Text = "",
    text: Text = "",
    file: Annotated[bytes, File()] = b"",
) -> Mapping[str, object]:
    Letter(subject, text)
    typed = f"{addresses}\n{_text_of(file)}" if file else addresses
    found, again = read_addresses(typed)
    return {"people": len(found), "again": again, "list": "\n".join(found)}


@form(pages, "/invitations/send", then=f"{_HERE}#mail", refused=invitations_page)
@audited("invited people by e-mail")
def send(
    actor: Writer, token: str, addresses: Text = "", subject: Text = "", text: Text = ""
) -> None:
    record = actor.survey(token)
    mailings, link = actor.services.mailings, _link(actor, record)
    mailings.invite(record, Letter(subject, text), addresses, link)


def _tried(actor: Actor, token: str, *, to: str, **values: Any) -> Response:
    return invitations_page(actor, token, said=f"A test message is sent to {to}.", **values)


@form(pages, "/invitations/try", then=_tried, refused=invitations_page)
@audited("sent a test message")
def try_out(
    actor: Writer,
    token: str,
    to: Text = "",
    addresses: Text = "",
    subject: Text = "",
    text: Text = "",
) -> None:
    record = actor.survey(token)
    letter, link = Letter(subject, text), _link(actor, record)
    actor.services.mailings.try_out(record, letter, to, link)


@form(pages, "/invitations/remind", then=f"{_HERE}#mail", refused=invitations_page)
@audited("reminded people by e-mail")
def remind(actor: Writer, token: str, subject: Text = "", text: Text = "") -> None:
    actor.services.mailings.remind(actor.survey(token), Letter(subject, text))


@form(pages, "/invitations/returned", then=f"{_HERE}#mail", refused=invitations_page)
@audited("noted returned messages")
def returned(actor: Writer, token: str, file: Annotated[list[bytes], File()]) -> None:
    record = actor.survey(token)
    for message in file:
        actor.services.mailings.returned(record, message)


@pages.get("/qr.svg")
def qr_svg(actor: Writer, token: str) -> Response:
    return qr_file(_link(actor, actor.survey(token)), "svg")


@pages.get("/qr.png")
def qr_png(actor: Writer, token: str) -> Response:
    return qr_file(_link(actor, actor.survey(token)), "png")
