"""Passkeys: key pairs with the private half on the surveyor's device (Web Authentication)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypedDict

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import Connection, delete, insert, select, update

from masquerade.errors import NotFound, ParameterError, Unauthenticated
from masquerade.server.accounts.accounts import ACTIVE, Account, account_of, check_name
from masquerade.server.accounts.sessions import spend_once
from masquerade.server.db.account_tables import ACCOUNT, PASSKEY
from masquerade.server.db.transactions import Transactions, writes

CHALLENGE_SECONDS = 300
CREDENTIAL = "[A-Za-z0-9_-]{1,1400}"
_REGISTER, _SIGN_IN = "register", "sign-in"
_NEEDED = (
    "passkeys need a library that is not installed; whoever runs this server adds it "
    "with the extra passkeys. Sign in with a password until then."
)
_CREDENTIAL = re.compile(CREDENTIAL)
_REFUSED = "the passkey was not accepted; try again, or sign in with your password."


@dataclass(frozen=True, slots=True)
class Site:
    """The site to which passkeys are bound."""

    host: str  # name of the computer, without a port
    origin: str  # what browsers say they are at, such as ``https://surveys.example.org``


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey as its owner sees it."""

    credential: str
    name: str
    day: str


def installed() -> bool:
    """Return whether the library that passkeys need is here."""
    return find_spec("webauthn") is not None


class Ceremony(TypedDict):
    """Options for a browser's passkeys, in the form of WebAuthn, and a signed challenge."""

    options: dict[str, Any]
    challenge: str


class Passkeys:
    """All passkeys; `today` gives the ISO date, `key` the server's secret that signs challenges."""

    def __init__(
        self, transactions: Transactions, *, today: Callable[[], str], key: Callable[[], str]
    ) -> None:
        self._transactions = transactions
        self._today = today
        self._key = key

    def of_account(self, account: str) -> list[Passkey]:
        """Return the passkeys of an account, the oldest first."""
        query = (
            select(PASSKEY)
            .where(PASSKEY.c.account == account)
            .order_by(PASSKEY.c.day, PASSKEY.c.credential)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [Passkey(row.credential, row.name, row.day) for row in rows]

    def remove(self, account: str, credential: str) -> None:
        """Forget a passkey of the account."""
        mine = (PASSKEY.c.account == account) & (PASSKEY.c.credential == credential)
        gone = delete(PASSKEY).where(mine)
        if self._transactions.write(lambda c: c.execute(gone).rowcount) != 1:
            raise NotFound("there is no such passkey; it was removed already.")

    def begin_registration(self, account: Account, site: Site) -> Ceremony:
        """Return ``options`` and ``challenge``, with which a browser makes a passkey."""
        webauthn, structs = _library()
        # A device that holds one of them makes no second.
        known = [
            structs.PublicKeyCredentialDescriptor(webauthn.base64url_to_bytes(p.credential))
            for p in self.of_account(account.id)
        ]
        options = webauthn.generate_registration_options(
            rp_id=site.host,
            rp_name="Masquerade",
            user_id=bytes.fromhex(account.id),
            user_name=account.login,
            user_display_name=account.name,
            exclude_credentials=known,
            # Kept on the device, so that signing in names no account first; and opened by a PIN or
            # a finger, as no password is asked for beside it.
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
        )
        return self._begin(options, _REGISTER, account.id)

    def finish_registration(
        self,
        account: Account,
        site: Site,
        *,
        challenge: str,
        credential: Mapping[str, object],
        name: str,
    ) -> None:
        """Keep a new passkey, where the browser's answer fits the challenge."""
        webauthn, _ = _library()
        name = check_name(name, what="the passkey's name")
        nonce = self._challenge(challenge, _REGISTER, account.id)
        try:
            verified = webauthn.verify_registration_response(
                credential=credential,
                expected_challenge=nonce,
                # The browser signs the address that it is at, so no other site can pass the answer
                # on.
                expected_rp_id=site.host,
                expected_origin=site.origin,
                require_user_verification=True,
            )
        except _faults() as error:
            raise Unauthenticated(_REFUSED) from error
        row = {
            "credential": webauthn.helpers.bytes_to_base64url(verified.credential_id),
            "account": account.id,
            "public_key": webauthn.helpers.bytes_to_base64url(verified.credential_public_key),
            "sign_count": verified.sign_count,
            "name": name,
            "day": self._today(),
        }
        self._keep(nonce, row)

    @writes
    def _keep(self, connection: Connection, nonce: bytes, row: dict[str, object]) -> None:
        taken = select(PASSKEY.c.account).where(PASSKEY.c.credential == row["credential"])
        # In the transaction that keeps the key: an answer counts once, also where two come at once.
        self._spend(connection, nonce)
        if connection.execute(taken).first():
            raise ParameterError("this passkey is known already; make a new one.")
        connection.execute(insert(PASSKEY), row)

    def begin_sign_in(self, site: Site) -> Ceremony:
        """Return ``options`` and ``challenge``, with which a browser signs in.

        It names no account, so it tells nobody which there are.
        """
        webauthn, structs = _library()
        options = webauthn.generate_authentication_options(
            rp_id=site.host, user_verification=structs.UserVerificationRequirement.REQUIRED
        )
        return self._begin(options, _SIGN_IN, "")

    def finish_sign_in(
        self, site: Site, *, challenge: str, credential: Mapping[str, object]
    ) -> Account:
        """Return the account of the passkey that answered the challenge, which is then used up."""
        webauthn, _ = _library()
        nonce = self._challenge(challenge, _SIGN_IN, "")
        found = _CREDENTIAL.fullmatch(str(credential.get("id")))
        id_ = found and found[0]
        query = (
            select(PASSKEY.c.public_key, PASSKEY.c.sign_count, PASSKEY.c.credential, ACCOUNT)
            .join(ACCOUNT, ACCOUNT.c.id == PASSKEY.c.account)
            .where(PASSKEY.c.credential == id_, ACCOUNT.c.state == ACTIVE)
        )
        row = self._transactions.read(lambda c: c.execute(query).first()) if id_ else None
        # The same words as for a wrong answer: nobody learns which passkeys are known.
        if row is None:
            raise Unauthenticated(_REFUSED)
        try:
            verified = webauthn.verify_authentication_response(
                credential=credential,
                expected_challenge=nonce,
                expected_rp_id=site.host,
                expected_origin=site.origin,
                credential_public_key=webauthn.base64url_to_bytes(row.public_key),
                # The library refuses a count that does not rise, as that of a copied key.
                credential_current_sign_count=row.sign_count,
                require_user_verification=True,
            )
        except _faults() as error:
            raise Unauthenticated(_REFUSED) from error
        self._count(nonce, row.credential, verified.new_sign_count)
        return account_of(row)

    @writes
    def _count(self, connection: Connection, nonce: bytes, credential: str, count: int) -> None:
        self._spend(connection, nonce)
        counted = update(PASSKEY).where(PASSKEY.c.credential == credential)
        connection.execute(counted.values(sign_count=count))

    def _begin(self, options: Any, purpose: str, account: str) -> Ceremony:
        webauthn, _ = _library()
        # Signed and given to the browser: the server keeps nothing of attempts that are never
        # finished.
        signed = [webauthn.helpers.bytes_to_base64url(options.challenge), account]
        return {
            "options": json.loads(webauthn.options_to_json(options)),
            "challenge": self._signer(purpose).dumps(signed),
        }

    def _challenge(self, signed: str, purpose: str, account: str) -> bytes:
        webauthn, _ = _library()
        try:
            nonce, for_whom = self._signer(purpose).loads(signed, max_age=CHALLENGE_SECONDS)
        except BadSignature as error:
            raise Unauthenticated("this took too long; try again.") from error
        if for_whom != account:
            raise Unauthenticated(_REFUSED)
        return bytes(webauthn.base64url_to_bytes(nonce))

    def _spend(self, connection: Connection, nonce: bytes) -> None:
        if not spend_once(connection, nonce, today=self._today()):
            raise Unauthenticated(_REFUSED)

    def _signer(self, purpose: str) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._key(), salt=purpose)


def _library() -> tuple[Any, Any]:
    if not installed():
        raise ParameterError(_NEEDED)
    import webauthn
    from webauthn.helpers import structs

    return webauthn, structs


def _faults() -> tuple[type[Exception], ...]:
    from webauthn.helpers.exceptions import WebAuthnException

    # The library reads what a stranger sent; what it cannot read can fail in other ways too.
    return (WebAuthnException, ValueError, TypeError, KeyError)
