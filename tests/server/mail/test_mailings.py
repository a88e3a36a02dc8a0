"""Invitations by e-mail, against a real mail server."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.patience import PATIENCE_SECONDS
from tests.server.devices import everything
from tests.server.mail.mail_box import MailBox, listening
from tests.server.surveys.test_tickets import Holder, document, rows_of

from masquerade.errors import OperationError, ParameterError, WrongState
from masquerade.server import Services
from masquerade.server.db.reach_tables import MAILING, RECIPIENT, TICKET
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.keys import ServerKey
from masquerade.server.mail.mailings import Letter
from masquerade.server.mail.smtp import MailServer
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.reach import read_ticket_link

pytest.importorskip("aiosmtpd.controller")
smtp = pytest.importorskip("aiosmtpd.smtp")

LINK = "https://surveys.example/s/"
LETTER = Letter("Invitation", "Please come:\n{link}\nThank you")


@pytest.fixture
def box() -> MailBox:
    """An empty mail box."""
    return MailBox()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the key and certificate of a mail server on this computer."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("mail") / "mail.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    return file


@pytest.fixture
def mail_server(box: MailBox, certificate: Path) -> Iterator[MailServer]:
    """A mail server that offers STARTTLS, asks for it, and for a password."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    def known(_server: Any, _session: Any, _envelope: Any, _how: Any, given: Any) -> Any:
        right = (given.login, given.password) == (b"surveys", b"secret")
        return smtp.AuthResult(success=right, handled=False)  # else it answers nothing

    asked: dict[str, Any] = {
        "tls_context": context,
        "require_starttls": True,
        "authenticator": known,
        "auth_required": True,
    }
    with listening(box, **asked) as port:
        yield MailServer(
            *("127.0.0.1", port, "starttls", "surveys", "secret", "ask@surveys.example"),
            str(certificate),
        )


class Clock:
    """A clock that tests set."""

    now = 1_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


@pytest.fixture
def services(database_url: str, mail_server: MailServer, clock: Clock) -> Iterator[Services]:
    """Services with a mail server and a server key."""
    found = Services.open(
        database_url,
        today=lambda: "2026-03-14",
        clock=clock,
        server_key=ServerKey("ab" * 32),
        mail=mail_server,
    )
    yield found
    found.close()


def opened(services: Services, **tickets: Any) -> SurveyRecord:
    """Open a survey that needs a ticket."""
    asked = document(
        tickets={"phases": 1, **tickets}, asked_by="Café, the “team”", contact="ask@cafe.example"
    )
    draft, _ = services.drafts.create(asked, team=FIRST_TEAM)
    return services.drafts.open(draft.token, team=FIRST_TEAM)


def people(count: int) -> list[str]:
    """Return addresses."""
    return [f"person{n}@people.example" for n in range(count)]


def send_all(services: Services) -> int:
    """Send due messages until there are none."""
    taken = 0
    while found := services.post.deliver():
        taken += found
    return taken


def code_in(message: Any) -> str:
    """Return the code of the ticket in a message."""
    [link] = re.findall(r"https://\S+", message.get_content())
    found = read_ticket_link(link)
    assert found is not None
    return found[0]


@pytest.mark.both_databases
def test_300_people_are_invited_one_bounces_and_nothing_stays(
    services: Services, box: MailBox
) -> None:
    """Each gets one message with a ticket of their own; a bounce is seen; closing deletes all."""
    survey = opened(services)
    addresses = people(300)
    box.gone = {addresses[7]}
    link = LINK + survey.token
    assert services.mailings.invite(survey, LETTER, "\n".join(addresses), link) == 300
    assert send_all(services) == 299
    assert set(box.taken) == set(addresses) - box.gone
    codes = [code_in(message) for [message] in box.taken.values()]
    assert len(set(codes)) == 299
    message = box.taken[addresses[0]][0]
    assert message["To"] == addresses[0]
    assert message["Reply-To"] == "ask@cafe.example"
    assert "Café, the “team”" in str(message["From"])
    found = services.mailings.progress(survey.token)
    assert found is not None
    assert found.counts == {"sent": 299, "bounced": 1}
    assert found.unreached == [(addresses[7], "550 5.1.1 <(address)>: nobody of this name here")]
    # The tickets work, and the list and they are joined nowhere.
    holder = Holder(codes[0])
    holder.exchange(services, survey)
    holder.begin(services, survey)
    rows = repr(everything(services))
    assert not any(text in rows for text in (*addresses, *codes))
    # One reminder, with the same ticket.
    assert services.mailings.remind(survey, LETTER) == 299
    assert send_all(services) == 299
    assert all(code_in(both[0]) == code_in(both[1]) for both in box.taken.values())
    with pytest.raises(WrongState, match="one reminder"):
        services.mailings.remind(survey, LETTER)
    services.surveys.close(survey)
    assert not rows_of(services, MAILING, RECIPIENT, TICKET)


def test_the_file_of_the_database_keeps_no_address(
    services: Services, box: MailBox, database_url: str
) -> None:
    """Before closing addresses are sealed in the file, and after it not even that is there."""
    if not database_url.startswith("sqlite"):
        pytest.skip("of a file of SQLite")
    survey = opened(services)
    services.mailings.invite(survey, LETTER, "\n".join(people(20)), LINK + survey.token)
    send_all(services)
    names = [row[0] for row in everything(services)["recipient"]]
    services.surveys.close(survey)
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    file = Path(database_url.removeprefix("sqlite:///"))
    kept = file.read_bytes() + b"".join(
        one.read_bytes() for one in file.parent.glob(f"{file.name}-wal")
    )
    for text in (*people(20), *map(str, names), "Please come"):
        assert text.encode() not in kept


def test_words_of_a_mail_server_keep_no_address(services: Services, box: MailBox) -> None:
    """Replies and returned messages name addresses; their words are kept without them."""
    survey = opened(services)
    gone, busy, returned, *_ = people(5)
    box.gone, box.busy, box.closed = {gone}, {busy: 9}, 1
    services.mailings.invite(survey, LETTER, "\n".join(people(5)), LINK + survey.token)
    send_all(services)
    services.mailings.returned(survey, RETURNED.format(address=returned, action="failed").encode())
    outcomes = [row.outcome for row in rows_of(services, RECIPIENT)]
    assert sum("(address)" in one for one in outcomes) >= 3
    kept = repr(everything(services))
    assert not any(text in kept for text in (*people(5), "person0", "person1", "person2"))


def test_a_reminder_goes_to_those_who_have_not_come_where_people_were_told(
    services: Services, box: MailBox
) -> None:
    """Where a survey says that it is watched, holders of exchanged tickets get no reminder."""
    survey = opened(services, watched=True)
    services.mailings.invite(survey, LETTER, "\n".join(people(10)), LINK + survey.token)
    send_all(services)
    came = people(10)[:4]
    for address in came:
        Holder(code_in(box.taken[address][0])).exchange(services, survey)
    assert services.mailings.remind(survey, LETTER) == 6
    send_all(services)
    assert {one for one, messages in box.taken.items() if len(messages) == 2} == set(people(10)[4:])


def test_what_is_refused_for_now_is_tried_again(
    services: Services, box: MailBox, clock: Clock
) -> None:
    """A busy address gets its message later, with the same ticket; others do not wait for it."""
    survey = opened(services)
    first, second, third = people(3)
    box.busy = {first: 2}
    services.mailings.invite(survey, LETTER, "\n".join(people(3)), LINK + survey.token)
    assert send_all(services) == 2
    assert services.post.deliver() == 0
    clock.now += 61
    assert services.post.deliver() == 0  # refused once more
    clock.now += 301
    assert services.post.deliver() == 1
    assert set(box.taken) == {first, second, third}
    assert all(len(messages) == 1 for messages in box.taken.values())


def test_a_mail_server_that_refuses_everything_bounces_nobody(
    services: Services, box: MailBox, clock: Clock
) -> None:
    """A fault of the message, and not of the address, is tried again until it is given up."""
    survey = opened(services)
    box.closed = 100
    services.mailings.invite(survey, LETTER, people(1)[0], LINK + survey.token)
    for _ in range(20):
        services.post.deliver()
        clock.now += 100_000
    found = services.mailings.progress(survey.token)
    assert found is not None
    assert found.counts == {"failed": 1}
    assert found.unreached[0][1].startswith("554 5.7.1")


def test_a_mail_server_that_is_away_loses_nothing(
    database_url: str, box: MailBox, mail_server: MailServer, clock: Clock
) -> None:
    """With a wrong port, password or certificate messages wait, and a restart sends them."""
    wrong = [
        MailServer("127.0.0.1", 1, "starttls", "", "", mail_server.sender),
        MailServer(
            "127.0.0.1",
            mail_server.port,
            "starttls",
            "surveys",
            "no",
            mail_server.sender,
            mail_server.certificates,
        ),
        MailServer("127.0.0.1", mail_server.port, "starttls", "", "", mail_server.sender),
        MailServer("127.0.0.1", mail_server.port, "none", "", "", mail_server.sender),
    ]
    token = ""
    for server in (*wrong, mail_server):
        services = Services.open(
            database_url,
            today=lambda: "2026-03-14",
            clock=clock,
            server_key=ServerKey("ab" * 32),
            mail=server,
        )
        if not token:
            survey = opened(services)
            token = survey.token
            services.mailings.invite(survey, LETTER, "\n".join(people(3)), LINK + token)
        if server is not mail_server:
            with pytest.raises(OperationError):
                services.mailings.try_out(survey, LETTER, "me@people.example", LINK)
        expected = 3 if server is mail_server else 0
        assert services.post.deliver() == expected
        services.close()
    assert set(box.taken) == set(people(3))


def test_a_test_message_has_no_ticket(services: Services, box: MailBox) -> None:
    """It goes out at once, with the survey's link; a wrong address is refused."""
    survey = opened(services)
    services.mailings.try_out(survey, LETTER, " me@people.example ", LINK + survey.token)
    [message] = box.taken["me@people.example"]
    assert "#ticket" not in message.get_content()
    assert not everything(services)["ticket"]
    with pytest.raises(ParameterError):
        services.mailings.try_out(survey, LETTER, "me@people", LINK)
    box.gone = {"you@people.example"}
    with pytest.raises(OperationError, match="550"):
        services.mailings.try_out(survey, LETTER, "you@people.example", LINK)


RETURNED = """\
From: MAILER-DAEMON@people.example
To: ask@surveys.example
Subject: Undelivered
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="x"

--x
Content-Type: text/plain

It did not arrive.
--x
Content-Type: message/delivery-status

Reporting-MTA: dns; people.example

Final-Recipient: rfc822; {address}
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <{address}>: no such\tuser

--x--
"""


def test_a_returned_message_is_a_bounce(services: Services, box: MailBox) -> None:
    """A notification of failure bounces its address; delays, strangers and noise do nothing."""
    survey = opened(services)
    services.mailings.invite(survey, LETTER, "\n".join(people(3)), LINK + survey.token)
    send_all(services)

    def returned(address: str, action: str = "failed") -> int:
        text = RETURNED.format(address=address, action=action)
        return services.mailings.returned(survey, text.encode())

    for wrong in (("nobody@people.example", "failed"), (people(3)[0], "delayed")):
        with pytest.raises(ParameterError, match="no address of this survey"):
            returned(*wrong)
    for noise in (b"", b"\xff\xfe", b"Content-Type: multipart/report; boundary=x\n\n--x"):
        with pytest.raises(ParameterError):
            services.mailings.returned(survey, noise)
    assert returned(people(3)[1].upper()) == 1
    found = services.mailings.progress(survey.token)
    assert found is not None
    assert found.counts == {"sent": 2, "bounced": 1}
    assert services.mailings.remind(survey, LETTER) == 2


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("", "{link}"),
        ("x" * 201, "{link}"),
        ("a\nBcc: all@people.example", "{link}"),
        ("ok", "no link"),
        ("ok", "{link}" + "x" * 5000),
        ("ok", "{link}\u202e"),
    ],
)
def test_letters_that_are_none_are_refused(subject: str, text: str) -> None:
    """Without a subject or a link, too long, or with characters that change others."""
    with pytest.raises(ParameterError):
        Letter(subject, text)
