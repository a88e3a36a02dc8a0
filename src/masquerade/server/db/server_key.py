"""The server's key: it seals secrets within the database, and vouches for backups.

It lies outside the database, so that a copy of the database, or of a backup, has neither the
secrets of one-time codes and webhooks in it nor what makes a backup genuine. All that is done with
it is done with keys derived from it, one for each purpose.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Connection, Table, insert, select, update

from masquerade.errors import OperationError, UnreadableFile
from masquerade.server.db.database_key import checked_key
from masquerade.server.db.tables import SettingRow, table_of

_PREFIX = "sealed1:"
_NONCE = 12  # bytes; drawn at random, which is safe for 2**32 secrets under one key (SP 800-38D)
_CHECK = "server_key_check"
_SETTING = table_of(SettingRow)


@dataclass(frozen=True, slots=True)
class ServerKey:
    """A key of 256 bits.

    Parameters
    ----------
    hexadecimal : str
        64 digits; not shown.
    """

    hexadecimal: str = field(repr=False)

    def derived(self, purpose: str) -> bytes:
        """Return the key for one purpose (HMAC-SHA256 of its name; RFC 5869, expansion)."""
        name = f"masquerade {purpose}".encode() + b"\x01"
        return hmac.digest(bytes.fromhex(self.hexadecimal), name, hashlib.sha256)


class Seals:
    """Seals texts that the database holds, with AES-256-GCM.

    Each is bound to its place: moved to another row, it cannot be opened.

    Parameters
    ----------
    key : ServerKey or None
        Without one texts are kept as they are.
    """

    def __init__(self, key: ServerKey | None) -> None:
        self._cipher = None if key is None else AESGCM(key.derived("secrets in the database"))

    def seal(self, text: str, place: str) -> str:
        """Return what is kept of `text` at `place`."""
        if self._cipher is None:
            return text
        nonce = os.urandom(_NONCE)
        sealed = nonce + self._cipher.encrypt(nonce, text.encode(), place.encode())
        return _PREFIX + base64.b64encode(sealed).decode()

    def unseal(self, kept: str, place: str) -> str:
        """Return the text of which `kept` is at `place`.

        Raises
        ------
        OperationError
            It was sealed with another key or for another place, or was changed.
        """
        if not is_sealed(kept):  # of before there was a key; the next start seals it
            return kept
        try:
            if self._cipher is None:
                raise ValueError("there is no key")
            sealed = base64.b64decode(kept.removeprefix(_PREFIX), validate=True)
            nonce, content = sealed[:_NONCE], sealed[_NONCE:]
            return self._cipher.decrypt(nonce, content, place.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error) as error:
            raise OperationError(
                "a secret in the database was sealed with another server key, or was changed. "
                "Check server_key_file; without the right key: masquerade new-key --forget."
            ) from error


def is_sealed(kept: str) -> bool:
    """Return whether a text of the database is a sealed one."""
    return kept.startswith(_PREFIX)


def read_server_key(file: Path) -> ServerKey:
    """Return the key in a file.

    Raises
    ------
    UnreadableFile
        The file is not there or cannot be read.
    ParameterError
        There is no key in it.
    """
    try:
        content = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UnreadableFile(
            f"cannot read the server's key in {file}: {why}. It was made when the server first "
            "started; put it there, or name its place with server_key_file."
        ) from error
    return ServerKey(checked_key(f"the file {file}", content))


def make_server_key(file: Path) -> ServerKey:
    """Return the key in a file, which is made for this account's eyes only where it is not there.

    Of several processes one makes it: it appears whole.

    Raises
    ------
    OperationError
        It cannot be made.
    """
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            write_private(draft, f"{secrets.token_hex(32)}\n")
            try:
                os.link(draft, file)  # unlike a renaming, never over another's
                flush_folder(file.parent)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
    except OSError as error:
        raise OperationError(
            f"cannot make the server's key in {file}: {error.strerror}. Name a place that can be "
            "written with server_key_file, or make one with: openssl rand -hex 32."
        ) from error
    return read_server_key(file)


def copy_server_key(source: Path, file: Path) -> None:
    """Put the key in `source` into `file`, where that is not there."""
    if not file.exists():
        key = read_server_key(source)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file, f"{key.hexadecimal}\n")


def write_private(file: Path, content: str) -> None:
    """Write a new file for this account's eyes only, and see it on the disk."""
    number = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(number, "w", encoding="ascii") as writing:
        writing.write(content)
        writing.flush()
        os.fsync(writing.fileno())
    flush_folder(file.parent)


def flush_folder(folder: Path) -> None:
    """See on the disk which files a folder has, where the system can."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def require_same_key(connection: Connection, key: ServerKey | None) -> bool:
    """Return whether a database was ever used with a server key.

    Raises
    ------
    OperationError
        It was, and with another one.
    """
    query = select(_SETTING.c.value).where(_SETTING.c.key == _CHECK)
    known = connection.execute(query).scalar()
    if known is None:
        return False
    if key is None or not hmac.compare_digest(known, _check(key)):
        raise OperationError(
            f"this database was sealed with {'a' if key is None else 'another'} server key. Put "
            "that key into the file that server_key_file names. Where it is lost: masquerade "
            "new-key --forget, which ends one-time codes and webhooks."
        )
    return True


def set_key(connection: Connection, key: ServerKey) -> None:
    """Let a database belong to `key` from now on."""
    query = select(_SETTING.c.key).where(_SETTING.c.key == _CHECK)
    if connection.execute(query).first() is None:
        connection.execute(insert(_SETTING), {"key": _CHECK, "value": _check(key)})
    else:
        change = update(_SETTING).where(_SETTING.c.key == _CHECK)
        connection.execute(change.values(value=_check(key)))


def reseal(
    connection: Connection, table: Table, column: str, *, before: Seals, after: Seals
) -> None:
    """Seal every text of a column anew; its rows have an ``id``."""
    place = table.c[column]
    for row in connection.execute(select(table.c.id, place).where(place.is_not(None))).all():
        where = place_of(table, column, row[0])
        text = after.seal(before.unseal(row[1], where), where)
        connection.execute(update(table).where(table.c.id == row[0]).values({column: text}))


def place_of(table: Table, column: str, id_: str) -> str:
    """Return the name of a place in the database."""
    return f"{table.name}.{column}:{id_}"


def _check(key: ServerKey) -> str:
    return key.derived("check").hex()
