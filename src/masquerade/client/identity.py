"""A participant's identity: 128 random bits, drawn here, that no server gives or keeps."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from masquerade.client.atomic_files import create_file, make_folder
from masquerade.client.recovery import secret_of, words_of
from masquerade.errors import UnreadableFile

_SECRET = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Identity:
    """A participant's secret. Whoever holds it is that person, so it is not printed.

    Use another one on each server: a secret that two servers know is a name by which they can put
    together what they know.

    Examples
    --------
    >>> Identity("0" * 32)
    Identity()
    """

    secret: str = field(repr=False)  # 32 hexadecimal digits in lower case

    def __post_init__(self) -> None:
        words_of(self.secret)  # raises where it is no secret

    @classmethod
    def create(cls) -> Identity:
        """Return a new identity, drawn from the operating system's randomness."""
        return cls(secrets.token_hex(16))

    @classmethod
    def from_words(cls, words: str) -> Identity:
        """Return the identity that nine recovery words stand for.

        Raises
        ------
        ParameterError
            They are not nine words that belong together.
        """
        return cls(secret_of(words))

    @property
    def words(self) -> tuple[str, ...]:
        """The nine recovery words, to be written down; they are the secret."""
        return words_of(self.secret)

    @property
    def folder(self) -> str:
        """Name for a folder of this person's records, from which the secret cannot be told."""
        return hashlib.sha256(f"masquerade records {self.secret}".encode()).hexdigest()[:16]

    @classmethod
    def read(cls, path: Path) -> Identity:
        """Return the identity in a file: nine recovery words, or the secret in hexadecimal.

        Raises
        ------
        UnreadableFile
            The file cannot be read.
        ParameterError
            It holds something else.
        """
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
