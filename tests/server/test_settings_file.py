"""Settings in a file: the same as in the environment, which wins."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest

from masquerade.accounting import Caps
from masquerade.errors import ParameterError, UnreadableFile
from masquerade.exact import Micro
from masquerade.server import Settings
from masquerade.server.settings import PREFIX

EVERYTHING = """
database = "sqlite:///here.sqlite3"
data_dir = "elsewhere"
public_url = "https://surveys.example/"
host = "0.0.0.0"
port = 8443
workers = 3
shutdown_seconds = 20
trusted_proxies = "10.0.0.1"
metrics = "local"
log_format = "json"
time_zone = "Europe/Berlin"
security_contact = "mailto:security@example.org"
security_expires = "2027-12-31"
cap_epsilon = 2.3
cap_delta = 1e-8
cap_clear = 4
allow_clear = true
reservation_days = 5
rate_participant = 0
rate_address = 77
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start without settings, in an empty folder."""
    for name in [name for name in os.environ if name.startswith("MASQUERADE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def read(content: str, file: str = "masquerade.toml") -> Settings:
    """Return the settings in a file of this content."""
    Path(file).write_text(content, encoding="utf-8")
    return Settings.from_environment(make_folder=False)


def test_every_setting_in_a_file() -> None:
    """Every setting can be in the file here, numbers exactly as they are written."""
    found = read(EVERYTHING)
    assert found == Settings(
        "sqlite:///here.sqlite3",
        "https://surveys.example",
        caps=Caps(Micro(2_300_000), Fraction(1, 10**8), 4),
        allow_clear=True,
        reservation_days=5,
        rate_participant=0,
        rate_address=77,
        host="0.0.0.0",
        port=8443,
        workers=3,
        shutdown_seconds=20,
        trusted_proxies="10.0.0.1",
        metrics="local",
        log_format="json",
        time_zone="Europe/Berlin",
        security_contact="mailto:security@example.org",
        security_expires="2027-12-31",
        config=Path("masquerade.toml"),
        server_key_file=Path("elsewhere/server.key"),
    )


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable wins over the file, setting by setting."""
    monkeypatch.setenv("MASQUERADE_PORT", "9000")
    monkeypatch.setenv("MASQUERADE_ALLOW_CLEAR", "0")
    found = read(EVERYTHING)
    assert (found.port, found.allow_clear, found.workers) == (9000, False, 3)


def test_which_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The argument wins over the variable, and that over the file here."""
    for name, port in (("masquerade", 1), ("named", 2), ("argument", 3)):
        (tmp_path / f"{name}.toml").write_text(f"port = {port}")
    assert Settings.from_environment().port == 1
    monkeypatch.setenv("MASQUERADE_CONFIG", str(tmp_path / "named.toml"))
    assert Settings.from_environment().port == 2
    assert Settings.from_environment(config=tmp_path / "argument.toml").port == 3


def test_a_file_that_is_not_there() -> None:
    """A file that was named must be there."""
    with pytest.raises(UnreadableFile, match=r"none\.toml"):
        Settings.from_environment(config=Path("none.toml"))


def test_a_misspelt_setting() -> None:
    """A setting that does not exist is an error that names the one that was meant."""
    with pytest.raises(ParameterError, match=r"'pubic_url'.*public_url"):
        read('pubic_url = "https://surveys.example"')
    with pytest.raises(ParameterError, match=r"'machine'.*Settings are .*database"):
        read("[machine]\nport = 1")


@pytest.mark.parametrize(
    "line",
    [
        'port = "much"',
        "port = 65536",
        "port = -1",
        "port = true",
        "port = 1.5",
        "workers = 0",
        "host = 3",
        'metrics = "yes"',
        "metrics = true",
        'log_format = "xml"',
        "cap_epsilon = -1",
        "cap_epsilon = inf",
        "cap_epsilon = true",
        "allow_clear = 2",
        "allow_clear = [1]",
        'database = "mysql://somewhere"',
        "public_url = ['a']",
        "shutdown_seconds = 0",
    ],
)
def test_values_that_cannot_be(line: str) -> None:
    """A value of another kind, or out of range, is an error that names setting, file and value."""
    with pytest.raises(ParameterError) as raised:
        read(line)
    name = line.partition(" ")[0]
    if name != "database":
        assert f"{name} in masquerade.toml" in str(raised.value)
        assert "expected" in str(raised.value)


@pytest.mark.parametrize("content", ["port 1", 'host = "', "\x00"])
def test_what_is_no_toml(content: str) -> None:
    """A file that is no TOML is an error that names it."""
    with pytest.raises(UnreadableFile, match=r"masquerade\.toml is no TOML"):
        read(content)


def test_the_demonstration_reads_no_file() -> None:
    """Settings of a real server do not reach the demonstration."""
    Path("masquerade.toml").write_text(EVERYTHING)
    found = Settings.from_environment(demo=True, make_folder=False)
    assert (found.config, found.port) == (None, 8080)
    assert found.database.endswith("demonstration.sqlite3")


def test_a_database_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address of an unsupported kind says which are supported, and shows no password."""
    monkeypatch.setenv(f"{PREFIX}DATABASE", "postgresql://me:geheim@somewhere/name")
    with pytest.raises(ParameterError, match=r"postgresql\+psycopg") as raised:
        Settings.from_environment()
    assert "geheim" not in str(raised.value)


def test_no_folder_is_made_unless_asked(tmp_path: Path) -> None:
    """Reading settings to look at something leaves no trace."""
    Settings.from_environment(make_folder=False)
    assert list(tmp_path.iterdir()) == []
