"""A thief that tries to begin a survey with tickets that were used, replayed or made up."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import func, select
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.errors import TicketRefused, TicketUsed
from masquerade.server import Services
from masquerade.server.db.tables import PARTICIPATION
from masquerade.surveys.blind_rsa import EXPONENT, PREFIX_BYTES, PrivateKey
from masquerade.surveys.reach import Reach, TicketTerms

if TYPE_CHECKING:
    from masquerade.server.surveys.survey_records import SurveyRecord


def ticket_key() -> PrivateKey:
    """Return a new key; smaller than those of surveys, which take a second."""
    numbers = rsa.generate_private_key(EXPONENT, 2048).private_numbers()
    return PrivateKey(numbers.p, numbers.q)


def signed_message(key: PrivateKey, terms: TicketTerms, survey: str) -> tuple[bytes, bytes]:
    """Return the prefix of a message, and its signature as a device gets it."""
    message = terms.message(survey, secrets.token_bytes(PREFIX_BYTES))
    blinded, inverse = key.public.blind(message)
    signature = key.public.finalize(message, key.sign_blinded(blinded), inverse)
    return message[:PREFIX_BYTES], signature


class Forger:
    """Makes tickets of ten kinds from true ones, none of which is true.

    `true`: prefixes and signatures at hand.
    """

    def __init__(self, key: PrivateKey, true: Sequence[tuple[bytes, bytes]], *, seed: int) -> None:
        self._modulus, self._size = key.public.modulus, key.public.size
        self._true = true
        self._rng = np.random.default_rng(seed)

    def forged(self, number: int) -> str:
        """Return a ticket of the kind that a number stands for."""
        modulus, size = self._modulus, self._size
        places = self._rng.choice(len(self._true), 2, replace=False)
        (prefix, signature), (other, second) = (self._true[int(place)] for place in places)
        fresh, value = secrets.token_bytes(PREFIX_BYTES), int.from_bytes(signature, "big")
        product = value * int.from_bytes(second, "big") % modulus
        kinds = (
            fresh + secrets.token_bytes(size),
            fresh + signature,
            other + signature,
            fresh + product.to_bytes(size, "big"),
            prefix + product.to_bytes(size, "big"),
            prefix + (modulus - value).to_bytes(size, "big"),
            fresh + (number % 3).to_bytes(size, "big"),
            prefix + ((value + modulus) % 2 ** (8 * size)).to_bytes(size, "big"),
            prefix[:-1] + bytes([prefix[-1] ^ 1 << number % 8]) + signature,
            prefix + signature[:-1] + bytes([signature[-1] ^ 1 << number % 8]),
        )
        return base64.b64encode(kinds[number % len(kinds)]).decode()


@dataclass(frozen=True, eq=False)
class Thief:
    """A holder of all used tickets of a survey, and of those of another survey.

    Attributes
    ----------
    services : Services
    survey : SurveyRecord
    devices : list of Device
        Of those who began with the tickets.
    used, foreign : list of str
        Their tickets, and tickets of another survey with the same key.
    forger : Forger
    """

    services: Services
    survey: SurveyRecord
    devices: list[Device]
    used: list[str]
    foreign: list[str]
    forger: Forger

    @classmethod
    def of(cls, services: Services, *, holders: int, seed: int) -> Thief:
        """Let so many people begin with tickets, and return a thief that saw all of them."""
        key = ticket_key()
        terms = TicketTerms(key.public.hex())
        survey = services.surveys.open_survey(define(reach=Reach(invitations=terms)))
        true = [signed_message(key, terms, survey.token) for _ in range(holders)]
        other = [signed_message(key, terms, "another") for _ in range(holders)]
        used, foreign = (
            [base64.b64encode(prefix + signature).decode() for prefix, signature in pairs]
            for pairs in (true, other)
        )
        forger = Forger(key, true, seed=seed)
        thief = cls(services, survey, [Device() for _ in used], used, foreign, forger)
        for device, ticket in zip(thief.devices, used, strict=True):
            thief.begin(device, ticket)
        return thief

    def begin(self, device: Device, ticket: str) -> None:
        """Go through the step that begins the survey."""
        self.services.participations.reserve(
            self.services.identity(device.participant),
            self.survey.token,
            self.survey.survey.levels[0].name,
            idempotency_key=secrets.token_hex(16),
            ticket=ticket,
        )

    def begun(self) -> int:
        """Return how many people have begun the survey."""
        query = select(func.count()).select_from(PARTICIPATION)
        return int(self.services.transactions.read(lambda c: c.execute(query).scalar_one()))

    def attempt(self, number: int) -> str:
        """Try one way to begin: again as another, again as oneself, a foreign or a forged ticket.

        Returns the name of the refusal, or that the participation of before came back.
        """
        way, place = number % 5, number // 5 % len(self.used)
        device, ticket = Device(), self.used[place]
        if way == 1:
            device = self.devices[place]
        elif way == 2:
            ticket = self.foreign[place]
        elif way > 2:
            ticket = self.forger.forged(number // 5 * 2 + way)
        try:
            self.begin(device, ticket)
        except (TicketRefused, TicketUsed) as refusal:
            return type(refusal).__name__
        return "the same" if way == 1 else "begun"
