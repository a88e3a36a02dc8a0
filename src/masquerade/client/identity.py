"""A participant's identity: 128 random bits, drawn here, that no server gives, keeps or sees.

What a server sees is an HMAC of them and of its own address, so that it is useless at another
server, and recovery words that were typed at a wrong one give nothing away.

Nine recovery words stand for it, to be read out and written down. A word is 16 bits as consonant,
vowel, consonant, vowel, consonant (proquints, Wilkerson 2009). Eight words are the secret, the
ninth is the first 16 bits of a SHA-256, which finds slips of the pen: a word that is changed goes
unnoticed with probability 1 in 65,536. The other half is ``recovery.js``; both run the same test
vectors.

Secrets that were drawn before servers had one each have another ninth word and no ``w`` before
their digits: they were sent as they are, and are a last time when their account moves.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from masquerade.client.atomic_files import create_file, delete_file, make_folder
from masquerade.client.connection import Connection
from masquerade.errors import BrokenPromise, ParameterError, UnreadableFile
from masquerade.surveys.two_parties import require_origin

#: How many words stand for a secret.
WORD_COUNT = 9

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
_WORD = re.compile(f"[{_CONSONANTS}][{_VOWELS}][{_CONSONANTS}][{_VOWELS}][{_CONSONANTS}]")
_SECRET = re.compile(r"w?[0-9a-f]{32}")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Identity:
    """A participant's secret. Its holder can act as that person, so it is not printed.

    Examples
    --------
    >>> Identity("0" * 32)
    Identity()
    """

    secret: str = field(repr=False)  # ``w`` and 32 hexadecimal digits in lower case

    def __post_init__(self) -> None:
        words_of(self.secret)  # raises where it is no secret

    @classmethod
    def create(cls) -> Identity:
        """Return a new identity, drawn from the operating system's randomness."""
        return cls("w" + secrets.token_hex(16))

    @classmethod
    def from_words(cls, words: str) -> Identity:
        """Return the identity that nine recovery words stand for; see `secret_of`."""
        return cls(secret_of(words))

    @property
    def words(self) -> tuple[str, ...]:
        """The nine recovery words, to be written down; they are the secret."""
        return words_of(self.secret)

    def secret_at(self, server: str) -> str:
        """Return the secret for the server at an address, 32 hexadecimal digits."""
        text = f"masquerade account {origin_of(server)}".encode()
        drawn = bytes.fromhex(self.secret.removeprefix("w"))
        return hmac.digest(drawn, text, "sha256").hex()[:32]

    @property
    def former(self) -> str | None:
        """The secret of before, as it was sent to every server; None where there was none."""
        return None if self.secret.startswith("w") else self.secret

    @property
    def folder(self) -> str:
        """Name for a folder of this person's records, from which the secret cannot be told."""
        return hashlib.sha256(f"masquerade records {self.secret}".encode()).hexdigest()[:16]

    @classmethod
    def read(cls, path: Path) -> Identity:
        """Return the identity in a file: nine recovery words, or the secret in hexadecimal."""
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"{path} cannot be read: {type(error).__name__}.") from error
        return cls(text) if _SECRET.fullmatch(text) else cls.from_words(text)

    @classmethod
    def read_or_create(cls, path: Path) -> Identity:
        """Return the identity in a file, which is made where it is not there."""
        if not path.exists():
            make_folder(path.absolute().parent)
            # Where another process was first, its identity is the one.
            create_file(path, " ".join(cls.create().words) + "\n")
        return cls.read(path)


def words_of(secret: str) -> tuple[str, ...]:
    """Return the nine words of a secret of 32 hexadecimal digits in lower case after a ``w``.

    Examples
    --------
    >>> words_of("w" + "0" * 32)[:2]
    ('babab', 'babab')
    """
    if not _SECRET.fullmatch(secret):
        raise ParameterError("the secret is not w and 32 hexadecimal digits in lower case.")
    digits = secret.removeprefix("w") + _check(secret)
    return tuple(_word(int(digits[at : at + 4], 16)) for at in range(0, len(digits), 4))


def secret_of(words: str) -> str:
    """Return the secret that words stand for; the inverse of `words_of`.

    Capitals, spaces, commas and hyphens do not matter. Where they are not nine of ours that belong
    together, `ParameterError` names a word that is none of ours and nothing else of what was typed.
    """
    typed = [word for word in re.split(r"[\s,.;·-]+", words.lower()) if word]
    for number, word in enumerate(typed, start=1):
        if not _WORD.fullmatch(word):
            raise ParameterError(f"word {number} is {word!r}, which is none of our words.")
    if len(typed) != WORD_COUNT:
        raise ParameterError(f"these are {len(typed)} words, expected {WORD_COUNT}.")
    *digits, check = (f"{_bits(word):04x}" for word in typed)
    for secret in ("w" + "".join(digits), "".join(digits)):
        if _check(secret) == check:
            return secret
    raise ParameterError(
        "these words do not belong together; one is mistyped, or they are in another order."
    )


def origin_of(address: str) -> str:
    """Return an address's scheme, host and port as browsers write them.

    Examples
    --------
    >>> origin_of("HTTPS://Example.org:443/s/5a"), origin_of("http://[::1]:8000")
    ('https://example.org', 'http://[::1]:8000')
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _check(secret: str) -> str:
    # Other bits than of a secret without `w`, so that words tell which of the two they are.
    text = b"masquerade words " if secret.startswith("w") else b""
    return hashlib.sha256(text + bytes.fromhex(secret.removeprefix("w"))).hexdigest()[:4]


def _word(bits: int) -> str:
    return "".join(
        (
            _CONSONANTS[bits >> 12],
            _VOWELS[bits >> 10 & 3],
            _CONSONANTS[bits >> 6 & 15],
            _VOWELS[bits >> 4 & 3],
            _CONSONANTS[bits & 15],
        )
    )


def _bits(word: str) -> int:
    consonants = [_CONSONANTS.index(word[place]) for place in (0, 2, 4)]
    vowels = [_VOWELS.index(word[place]) for place in (1, 3)]
    return (
        consonants[0] << 12 | vowels[0] << 10 | consonants[1] << 6 | vowels[1] << 4 | consonants[2]
    )


_ADDRESS = "/.well-known/masquerade-address"


class MovedAccount:
    """The names of a person's secret that a server sees.

    It is an HMAC of the secret and the server's address. An account that began with another secret
    is let to it first: one of before servers had one each, or one of an address that the server had
    earlier, where that address itself says so; else any server could have what is made for another.

    Parameters
    ----------
    identity : callable
        Returns who takes part.
    url : str
        Of the server.
    folder : Path
        Where a move is remembered.
    earlier : str, optional
        Address that the server had before.
    """

    def __init__(
        self,
        identity: Callable[[], Identity],
        *,
        url: str,
        folder: Path,
        earlier: str | None = None,
    ) -> None:
        self._identity = identity
        self._earlier = earlier
        self._url = url
        self._folder = folder
        self._settled = False

    def sent(self, connection: Connection) -> str:
        """Return the names to send; the account of a former secret is moved first."""
        identity = self._identity()
        own = identity.secret_at(self._url)
        if self._mark.exists():
            return f"m{own}"
        if not self._settled and any(
            self._move(connection, own, former) for former in self._formers(connection, identity)
        ):
            make_folder(self._folder.absolute())
            create_file(self._mark, "")
            return f"m{own}"
        self._settled = True
        return f"w{own}"

    def refused(self) -> bool:
        """Return whether to try again: the server was restored from before an account moved."""
        if not self._mark.exists():
            return False
        delete_file(self._mark)
        return True

    @property
    def _mark(self) -> Path:
        return self._folder / f"moved-{self._identity().folder}"

    def _move(self, connection: Connection, own: str, former: str) -> bool:
        return bool(
            connection.as_person(f"w{own}", "POST", "/me/move", {"former": former})["moved"]
        )

    def _formers(self, connection: Connection, identity: Identity) -> list[str]:
        formers = [] if identity.former is None else [identity.former]
        if self._earlier is None:
            return formers
        here, before = origin_of(self._url), origin_of(self._earlier)
        require_origin(before)
        told = connection.elsewhere(f"{before}{_ADDRESS}").get("address")
        if told != here:
            raise BrokenPromise(
                f"{before} says that its server is at {told!r} and not at {here}, so nothing that "
                "was made for it is sent. Ask whoever runs the server."
            )
        return [*formers, f"w{identity.secret_at(before)}"]
