"""Signing in by an OpenID provider, such as a university's.

An account is joined to somebody at the provider by its owner, signed in already; nobody gets an
account, and none is found by an e-mail address, because a provider says that somebody has one.
What is kept of a joined person is a hash.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote, urlencode

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import Connection, delete, insert, select

from masquerade.errors import NotFound, ParameterError, ServerUnavailable, Unauthenticated
from masquerade.lazy import install_command
from masquerade.server.accounts.accounts import ACTIVE, Account, account_of
from masquerade.server.accounts.sessions import spend_once
from masquerade.server.db.account_tables import ACCOUNT, IDENTITY
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.http.outgoing import TooLongAnswer, exchange, read_address, resolve

TICKET_SECONDS = 600
RETURN_PATH = "/sign-in/openid/return"
_SETTING = "openid_issuer"
_PATIENCE_SECONDS = 10.0
_LONGEST_ANSWER = 1 << 20
_FRESH_SECONDS, _SILENT_SECONDS = 600.0, 15.0
_LONGEST_SUBJECT = 255  # OpenID Connect Core 1.0, section 2
# Signatures with a provider's public key; never "none", and no secret that both sides know.
_ALGORITHMS = ("RS256", "PS256", "ES256", "Ed25519", "EdDSA")
_REFUSED = "the sign-in was not accepted; begin anew, or sign in with your password."


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider, and the name and secret of this server there."""

    issuer: str
    client: str
    secret: str = field(repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        if find_spec("joserfc") is None:
            raise ParameterError(
                "openid_issuer is set and the library that checks its signatures is not installed; "
                f"add it with {install_command('sso')}."
            )
        if not self.client or not self.secret:
            raise ParameterError(
                "openid_issuer is set; set openid_client and openid_client_secret too, as the "
                "provider gave them."
            )
        if not _may_be_asked(self.issuer):
            raise ParameterError(
                f"openid_issuer is {self.issuer!r}, expected an address such as "
                "https://login.example.org; http is for a provider on this computer alone."
            )

    @property
    def shown(self) -> str:
        """The provider's name for people, or its host where it has none."""
        return self.name or self.issuer.partition("://")[2].partition("/")[0]


def _may_be_asked(url: Any) -> bool:
    """Return whether a provider may have this address: https, or http on this computer."""
    try:
        read_address(str(url), private=True, setting=_SETTING, ports=None)
    except ParameterError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that goes on at the provider."""

    address: str  # where the browser goes on
    ticket: str  # what it keeps meanwhile, and shows when it returns


@dataclass(frozen=True, slots=True)
class Ticket:
    """The request with which a sign-in began."""

    state: str
    nonce: str
    verifier: str
    account: str  # to be joined; empty where somebody signs in
    next: str


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses of a provider: for a person's browser, for tokens, and for its keys."""

    authorization: str
    token: str
    keys: str


class Identities:
    """Joined identities of a provider, and sign-in by the authorization code flow.

    OpenID Connect Core 1.0, section 3.1, with a proof key (RFC 7636) and the issuer in the answer
    (RFC 9207) where the provider sends it.
    """

    def __init__(
        self,
        transactions: Transactions,
        provider: Provider | None,
        *,
        today: Callable[[], str],
        key: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._provider = provider
        self._today = today
        self._key = key
        # What the provider said of itself, or that it is silent, and until when that is believed.
        self._asked: tuple[float, Endpoints | ServerUnavailable] | None = None

    @property
    def provider_name(self) -> str:
        """The provider's name for people; an empty text where there is no provider."""
        return "" if self._provider is None else self._provider.shown

    def check(self) -> str:
        """Ask the provider for its description, as a server does when it starts.

        Returns why nobody could sign in by it now; an empty text where all is well, or where there
        is no provider.

        Raises `ParameterError`: the provider calls itself otherwise than the setting does, which
        no waiting mends.
        """
        provider = self._provider
        if provider is None:
            return ""
        try:
            own = self._description(provider).get("issuer")
            if isinstance(own, str) and own != provider.issuer:
                raise ParameterError(
                    f"openid_issuer is {provider.issuer!r}, and the provider there calls itself "
                    f"{own[:200]!r}. Set it to exactly this, slashes too, if it is the provider "
                    "that you mean."
                )
            self._known()
        except ServerUnavailable as error:
            return str(error)
        return ""

    def begin(self, site: str, *, account: str = "", next: str = "") -> Begun:
        """Send somebody to the provider: to sign in, or to join their `account`.

        `site`: how this server is reached, such as ``https://surveys.example.org``.
        """
        provider, endpoints = self._known()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "scope": "openid",  # neither name nor address is asked for
            "client_id": provider.client,
            "redirect_uri": site + RETURN_PATH,
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        address = endpoints.authorization
        address += ("&" if "?" in address else "?") + urlencode(query)
        return Begun(address, self._signer().dumps([state, nonce, verifier, account, next]))

    def ticket(self, signed: str, state: str) -> Ticket:
        """Return the request of a sign-in, if the same browser returns within the time allowed."""
        try:
            found = Ticket(*self._signer().loads(signed, max_age=TICKET_SECONDS))
        except BadSignature as error:
            raise Unauthenticated(
                "this took too long, or began in another browser; begin anew."
            ) from error
        if not hmac.compare_digest(found.state.encode(), state.encode()):
            raise Unauthenticated(_REFUSED)
        return found

    def sign_in(self, site: str, ticket: Ticket, answer: Mapping[str, str]) -> Account:
        """Return the account of the person that the provider's answer names."""
        identity = self._identity(site, ticket, answer)
        query = (
            select(ACCOUNT)
            .join(IDENTITY, ACCOUNT.c.id == IDENTITY.c.account)
            .where(IDENTITY.c.digest == identity, ACCOUNT.c.state == ACTIVE)
        )
        row = self._transactions.read(lambda c: c.execute(query).first())
        if row is None:
            raise Unauthenticated(
                f"nobody has joined this account of {self.provider_name} to one here; sign in with "
                "your password, and join it on the page Account."
            )
        return account_of(row)

    def join(self, account: str, site: str, ticket: Ticket, answer: Mapping[str, str]) -> None:
        """Join the person that the provider's answer names to `account`, which asked for it."""
        if ticket.account != account:
            raise Unauthenticated(_REFUSED)
        self._join(account, self._identity(site, ticket, answer))

    @writes
    def _join(self, connection: Connection, account: str, identity: str) -> None:
        known = select(IDENTITY.c.account).where(IDENTITY.c.digest == identity)
        found = connection.execute(known).scalar()
        if found is not None and found != account:
            raise ParameterError(
                f"this account of {self.provider_name} is joined to another one here; take it "
                "off there first."
            )
        if found is None:
            row = {"digest": identity, "account": account, "day": self._today()}
            connection.execute(insert(IDENTITY), row)

    def of_account(self, account: str) -> list[tuple[str, str]]:
        """Return digest and day of each person joined to an account, the oldest first."""
        query = (
            select(IDENTITY.c.digest, IDENTITY.c.day)
            .where(IDENTITY.c.account == account)
            .order_by(IDENTITY.c.day, IDENTITY.c.digest)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [(row.digest, row.day) for row in rows]

    def remove(self, account: str, digest: str) -> None:
        """Let somebody at the provider sign in as the account no more."""
        mine = (IDENTITY.c.account == account) & (IDENTITY.c.digest == digest)
        gone = delete(IDENTITY).where(mine)
        if self._transactions.write(lambda c: c.execute(gone).rowcount) != 1:
            raise NotFound("there is no such sign-in; it was removed already.")

    def _identity(self, site: str, ticket: Ticket, answer: Mapping[str, str]) -> str:
        """Return the hash of a person's identity, by the provider's signed word."""
        provider, endpoints = self._known()
        # Before anything is asked: whoever took a ticket and an answer away cannot use them again.
        state = ticket.state.encode()
        if not self._transactions.write(lambda c: spend_once(c, state, today=self._today())):
            raise Unauthenticated(_REFUSED)
        # Another provider's answer in this one's name (RFC 9207)
        if "error" in answer or answer.get("iss", provider.issuer) != provider.issuer:
            raise Unauthenticated(_REFUSED)
        form = {
            "grant_type": "authorization_code",
            "code": answer.get("code", ""),
            "redirect_uri": site + RETURN_PATH,
            "code_verifier": ticket.verifier,
        }
        # RFC 6749, section 2.3.1: both are form-encoded before they are put together.
        basic = f"{quote(provider.client, safe='')}:{quote(provider.secret, safe='')}"
        tokens = self._ask(
            endpoints.token,
            body=urlencode(form).encode(),
            headers={
                "Authorization": f"Basic {base64.b64encode(basic.encode()).decode()}",
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        claims = self._claims(provider, endpoints.keys, str(tokens.get("id_token")))
        if not hmac.compare_digest(str(claims.get("nonce")).encode(), ticket.nonce.encode()):
            raise Unauthenticated(_REFUSED)
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
            raise Unauthenticated(_REFUSED)
        # A length before the issuer, so that no two pairs are one text.
        whole = f"{len(provider.issuer)}:{provider.issuer}:{subject}"
        return hashlib.sha256(whole.encode()).hexdigest()

    def _claims(self, provider: Provider, keys_at: str, token: str) -> Mapping[str, object]:
        """Return an ID token's claims, after checks of signature, issuer, audience and times."""
        from joserfc import jwk, jwt
        from joserfc.errors import JoseError

        keys: Any = self._ask(keys_at)
        try:
            read = jwt.decode(token, jwk.KeySet.import_key_set(keys), algorithms=_ALGORITHMS)
            claims = dict(read.claims)
            jwt.JWTClaimsRegistry(
                leeway=60,
                iss={"essential": True, "value": provider.issuer},
                aud={"essential": True, "value": provider.client},
                exp={"essential": True},
                iat={"essential": True},
                sub={"essential": True},
            ).validate(claims)
        # The library reads what another computer sent; what it cannot read can fail in other ways.
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise Unauthenticated(_REFUSED) from error
        # Core 3.1.3.7: of several audiences one is who the token was made for.
        audience = claims["aud"]
        many = isinstance(audience, list) and len(audience) > 1
        if claims.get("azp", None if many else provider.client) != provider.client:
            raise Unauthenticated(_REFUSED)
        return claims

    def _known(self) -> tuple[Provider, Endpoints]:
        """Return the provider and its addresses (OpenID Connect Discovery 1.0)."""
        if self._provider is None:
            raise NotFound("this server knows no OpenID provider; openid_issuer is not set.")
        # Anybody can begin to sign in: they make this server ask the provider now and then only,
        # whether it answers or not.
        now = time.monotonic()
        if self._asked is None or now >= self._asked[0]:
            self._asked = (now + _SILENT_SECONDS, self._silent("it did not answer a moment ago"))
            self._asked = (now + _FRESH_SECONDS, self._described(self._provider))
        if isinstance(self._asked[1], ServerUnavailable):
            raise self._asked[1]
        return self._provider, self._asked[1]

    def _described(self, provider: Provider) -> Endpoints:
        document = self._description(provider)
        if document.get("issuer") != provider.issuer:
            raise self._silent(f"it calls itself {str(document.get('issuer'))[:200]!r}")
        addresses = []
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            address = document.get(name)
            if not isinstance(address, str) or not _may_be_asked(address):
                raise self._silent(f"its {name} is no address of https")
            addresses.append(address)
        return Endpoints(*addresses)

    def _description(self, provider: Provider) -> Mapping[str, object]:
        return self._ask(provider.issuer.rstrip("/") + "/.well-known/openid-configuration")

    def _ask(
        self, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, object]:
        import httpx  # see `exchange`

        # The operator chose the provider, so it may be in their own network.
        target = read_address(url, private=True, setting=_SETTING, ports=None)
        try:
            answer = exchange(
                target,
                resolve(target, private=True, setting=_SETTING),
                method="GET" if body is None else "POST",
                body=body,
                headers={"Accept": "application/json", **(headers or {})},
                seconds=_PATIENCE_SECONDS,
                most=_LONGEST_ANSWER,
            )
        except (OSError, httpx.HTTPError, TooLongAnswer, ParameterError) as error:  # and timeouts
            raise self._silent("no answer came") from error
        # A provider that refuses a code answers 400 (RFC 6749, section 5.2).
        if body is not None and answer.status in (400, 401):
            raise Unauthenticated(_REFUSED)
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):  # no JSON, or nested too deeply
            found = None
        if answer.status != 200 or not isinstance(found, dict):
            raise self._silent(f"it answers {answer.status}, and not as a provider does")
        return found

    def _silent(self, how: str) -> ServerUnavailable:
        return ServerUnavailable(
            f"{self.provider_name} cannot sign anybody in now: {how}. Try again, or sign in with "
            "your password."
        )

    def _signer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._key(), salt="openid")
