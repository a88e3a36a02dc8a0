"""Sending messages over SMTP: one connection for many, and the mail server's reply to each."""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formataddr, formatdate, make_msgid
from typing import Literal

from masquerade.errors import ParameterError, WrongState
from masquerade.server.mail.address_list import in_few_words, is_address

_PATIENCE_SECONDS = 20.0
Security = Literal["starttls", "tls", "none"]


@dataclass(frozen=True, slots=True)
class MailServer:
    """The mail server through which invitations are sent; without a host none are."""

    host: str = ""
    port: int = 587
    security: Security = "starttls"
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str = ""  # the address that messages come from, and go back to
    # Of the certificates that are trusted; None: those of the system.
    certificates: str | None = None

    def __post_init__(self) -> None:
        if self.host and not is_address(self.sender):
            raise ParameterError(
                f"smtp_host is set and mail_from is {self.sender!r}; give the address that "
                "invitations come from."
            )
        if self.user and self.security == "none":
            raise ParameterError(
                "smtp_user is set and smtp_security is none: the password would pass in clear. "
                "Set starttls or tls."
            )

    @property
    def ready(self) -> bool:
        """Whether messages can be sent."""
        return bool(self.host)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mail server's reply to one message."""

    sent: bool
    final: bool  # it is no use trying again
    words: str


def message_to(
    server: MailServer, address: str, *, subject: str, text: str, name: str, reply_to: str
) -> EmailMessage:
    """Return a message to one address, in plain text."""
    message = EmailMessage()
    message["From"] = formataddr((name, server.sender)) if name else server.sender
    message["To"] = address
    message["Subject"] = subject
    message["Date"] = formatdate()
    # Made of nothing but chance: it would else tell who writes, and when.
    message["Message-ID"] = make_msgid(idstring="survey", domain=server.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    if is_address(reply_to):
        message["Reply-To"] = reply_to
    message.set_content(text)
    return message


@contextlib.contextmanager
def connected(server: MailServer) -> Iterator[smtplib.SMTP]:
    """Open a connection to a mail server.

    Raises `OSError`, `smtplib.SMTPException`, or `WrongState` (none is set).
    """
    if not server.ready:
        raise WrongState("this server sends no e-mail; its operator sets smtp_host and mail_from.")
    context = ssl.create_default_context(cafile=server.certificates)
    if server.security == "tls":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=_PATIENCE_SECONDS, context=context
        )
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=_PATIENCE_SECONDS)
    with connection:
        if server.security == "starttls":
            # It raises where the server offers none: nobody on the way can take it out.
            connection.starttls(context=context)
        if server.user:
            connection.login(server.user, server.password)
        yield connection


def deliver(connection: smtplib.SMTP, server: MailServer, message: EmailMessage) -> Outcome:
    """Send a message and return the outcome; a connection that broke raises `OSError`."""
    address = str(message["To"])
    try:
        connection.send_message(message, from_addr=server.sender, to_addrs=[address])
    except smtplib.SMTPRecipientsRefused as refused:
        code, said = next(iter(refused.recipients.values()))
        # What the server of the address says for good; a code of 4 asks to come again.
        words = in_few_words(f"{code} {_text(said)}", address=address)
        return Outcome(False, 500 <= code < 600, words)
    except smtplib.SMTPServerDisconnected as error:
        raise ConnectionError(str(error)) from None
    except smtplib.SMTPResponseException as error:
        with contextlib.suppress(smtplib.SMTPException, OSError):
            connection.rset()
        # Of the message or of the sender, so not of the address.
        words = f"{error.smtp_code} {_text(error.smtp_error)}"
        return Outcome(False, False, in_few_words(words, address=address))
    return Outcome(True, True, "sent")


def fault_of(error: Exception) -> str:
    """Return in a few words why a mail server could not be used."""
    if isinstance(error, smtplib.SMTPResponseException):
        return in_few_words(f"{error.smtp_code} {_text(error.smtp_error)}")
    if isinstance(error, ssl.SSLError):
        return "the certificate or TLS of the mail server is wrong"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return in_few_words(str(error))
    if isinstance(error, TimeoutError):
        return "the mail server did not answer in time"
    return f"no connection to the mail server ({type(error).__name__})"


def _text(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
