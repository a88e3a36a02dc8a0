"""The identity of a participant: drawn here, kept in a file, one for each server."""

from __future__ import annotations

import ast
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import masquerade.client
from masquerade.client import Client, Identity
from masquerade.client.connection import padded
from masquerade.client.records import Records
from masquerade.errors import ParameterError, UnreadableFile

SOURCE = Path(masquerade.client.__file__).parent


def test_an_identity_is_random_and_not_shown() -> None:
    """Two identities differ, and neither prints its secret."""
    one, other = Identity.create(), Identity.create()
    assert one != other
    assert one.secret not in repr(one) + str(one) + one.folder
    assert Identity.from_words(" ".join(one.words)) == one
    with pytest.raises(ParameterError):
        Identity("guess")


def test_an_identity_is_kept_in_words(tmp_path: Path) -> None:
    """The file holds the recovery words, can be read by its owner only, and is written once."""
    path = tmp_path / "new" / "identity"
    made = Identity.read_or_create(path)
    assert path.read_text().split() == list(made.words)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert Identity.read_or_create(path) == made
    assert [file.name for file in path.parent.iterdir()] == ["identity"]
    path.write_text(made.secret + "\n")
    assert Identity.read(path) == made
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableFile):
        Identity.read(path)
    with pytest.raises(UnreadableFile):
        Identity.read(tmp_path / "nothing")


def test_each_server_has_its_own_identity(tmp_path: Path) -> None:
    """Two servers cannot put their knowledge together by a secret that both were told."""
    here = Client("https://one.example", home=tmp_path)
    before = here.joined
    there = Client("https://two.example", home=tmp_path)
    assert here.identity != there.identity
    assert (before, here.joined) == (False, True)
    assert Client("https://one.example/s/5a", home=tmp_path).identity == here.identity


def test_a_record_is_changed_as_a_whole(tmp_path: Path) -> None:
    """A change that raises leaves the record as it was; a damaged file is told of."""
    records = Records(tmp_path / "records")
    assert records.change("5a", lambda old: {"step": "opened", "n": 1} if old is None else old)
    with pytest.raises(ZeroDivisionError):
        records.change("5a", lambda old: {"step": str(1 // 0)})
    assert records.read("5a") == {"step": "opened", "n": 1}
    assert records.surveys() == ["5a"]
    for content in ("", "[]", "{}"):
        (tmp_path / "records" / "5a.json").write_text(content)
        with pytest.raises(UnreadableFile):
            records.read("5a")
    with pytest.raises(ParameterError):
        records.read("../identity")


def test_lengths_tell_nothing() -> None:
    """Bodies are whole kibibytes, and their number depends on the number of reports only."""
    rest = {"salt": "0" * 32, "survey_hash": "0" * 64}
    for count in (1, 4, 40, 200):
        sizes = {
            len(padded({"reports": [report] * count, "level": level, **rest}))
            for report in (0, 7, -123456, 2**53 - 1, -(2**53))
            for level in ("low", "medium", "a" * 32)
        }
        assert len(sizes) == 1
        assert sizes.pop() % 1024 == 0
    assert len(padded({"reports": [0] * 200, "level": "low", **rest})) == 5120


def test_the_client_knows_the_library_and_not_the_server() -> None:
    """No module here imports the server or the command line; the page's half is not ours."""
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert not name.startswith(("masquerade.server", "masquerade.cli.")), path.name
                assert name != "masquerade.cli"


def test_the_network_is_loaded_when_it_is_needed() -> None:
    """Importing the package, or this room, loads neither httpx nor the server."""
    program = (
        "import sys, masquerade, masquerade.client, masquerade.cli\n"
        "print(sorted({'httpx', 'masquerade.server'} & set(sys.modules)))\n"
        "import masquerade; print('masquerade.client' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == "[]"
