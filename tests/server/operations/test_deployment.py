"""The container's files name only commands, options and settings that exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from tools.recipes import instructions

from masquerade.cli import app
from masquerade.server import Services, settings
from masquerade.server.settings import PREFIX, Settings, setting_names

ROOT = Path(__file__).parents[3]
VARIABLES = {PREFIX + name.upper() for name in setting_names()}


def compose() -> dict[str, Any]:
    """Return the content of the compose file."""
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def require_command(words: list[str]) -> None:
    """Fail where a command line of ours names a command or an option that is not there."""
    assert words[0] == "masquerade"
    command: Any = typer.main.get_command(app)
    known = command.commands[words[1]]
    options = {option for parameter in known.params for option in parameter.opts}
    for word in words[2:]:
        if word.startswith("--"):
            assert word.partition("=")[0] in options, word


def commands_in(text: str) -> list[list[str]]:
    """Return the command lines of ours that a page shows in its blocks."""
    found = []
    for block in re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.findall(r"(?:^|\s)(masquerade [a-z].*?)(?:$|[|>&;]|\s#)", line):
                found.append(shlex.split(part))
    return found


def test_the_image_runs_our_command_without_root() -> None:
    """The image starts the server as another user, in a form that gets signals, and is watched."""
    found = instructions()
    last = dict(found)
    require_command(json.loads(last["CMD"]))
    assert last["USER"] not in ("root", "0")
    order = [name for name, _ in found]
    assert order.index("USER") < order.index("CMD")
    assert "/readyz" in last["HEALTHCHECK"]
    assert last["STOPSIGNAL"] == "SIGTERM"


def test_the_image_sets_only_settings_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable of ours in the image is a setting, with a value that it can have."""
    text = " ".join(arguments for name, arguments in instructions() if name == "ENV")
    found = dict(re.findall(r"(\w+)=(\S+)", text))
    ours = {name: value for name, value in found.items() if name.startswith(PREFIX)}
    assert ours
    assert set(ours) <= VARIABLES
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    read = Settings.from_environment(make_folder=False)
    exposed = next(arguments for name, arguments in instructions() if name == "EXPOSE")
    assert (read.host, read.port) == ("0.0.0.0", int(exposed))
    assert settings.unknown_variables() == []


def test_the_image_copies_what_is_there() -> None:
    """Every file that the image takes from here is here, and is not kept from it."""
    copied = [
        word
        for name, arguments in instructions()
        if name == "COPY" and "--from" not in arguments
        for word in arguments.split()[:-1]
    ]
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert copied
    for word in copied:
        assert (ROOT / word).exists()
        assert f"!{word}" in let_in


def test_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server waits for PostgreSQL, runs our command with settings that exist, and is local."""
    services = compose()["services"]
    server, database = services["server"], services["database"]
    require_command(server["command"])
    ours = {name: str(v) for name, v in server["environment"].items() if name.startswith(PREFIX)}
    assert set(ours) <= VARIABLES
    for name, value in ours.items():
        filled = re.sub(r"\$\{(\w+):\?[^}]*\}", "https://surveys.example", value)
        monkeypatch.setenv(name, filled if name.endswith("URL") else value.split("${")[0] + "x@d/m")
    monkeypatch.setenv("MASQUERADE_TRUSTED_PROXIES", ours["MASQUERADE_TRUSTED_PROXIES"])
    read = Settings.from_environment(make_folder=False)
    assert read.database.startswith("postgresql+psycopg://")
    assert server["depends_on"]["database"]["condition"] == "service_healthy"
    assert "healthcheck" in database
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    grace = int(server["stop_grace_period"].removesuffix("s"))
    assert grace > read.shutdown_seconds + 5
    user = database["environment"]["POSTGRES_USER"]
    assert f"//{user}:" in ours["MASQUERADE_DATABASE"]


def test_the_helper_in_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command, port, volume and settings fit each other; nobody is named as its operator."""
    services = compose()["services"]
    helper = services["helper"]
    words = helper["command"]
    require_command(words)
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert int(options["--workers"]) == 2
    host, outside, inside = helper["ports"][0].split(":")
    assert (host, inside) == ("127.0.0.1", options["--port"])
    assert all(outside != port.split(":")[1] for port in services["server"]["ports"])
    assert f":{inside}/healthz" in " ".join(helper["healthcheck"]["test"])
    ours = helper["environment"]
    assert set(ours) <= VARIABLES
    # Only who starts it knows the two: without them its first start refuses.
    assert ours["MASQUERADE_HELPER_OPERATOR"] == "${HELPER_OPERATOR:-}"
    assert ours["MASQUERADE_PUBLIC_URL"] == "${HELPER_URL:-}"
    for name, value in ours.items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value))
    monkeypatch.delenv("MASQUERADE_DATABASE", raising=False)
    read = Settings.from_environment(helper=True, make_folder=False)
    [volume] = helper["volumes"]
    name, place = volume.split(":")
    # Key and database survive the container, in a folder that its user may write.
    assert read.sqlite_file is not None
    assert read.server_key_file is not None
    assert str(read.sqlite_file.parent) == str(read.server_key_file.parent) == place
    assert name in compose()["volumes"]
    made = " ".join(arguments for word, arguments in instructions() if word == "RUN")
    assert place in made
    assert services["server"].get("volumes", []) != helper["volumes"]
    assert int(helper["stop_grace_period"].removesuffix("s")) > read.shutdown_seconds + 5


def test_the_services_name_what_is_declared() -> None:
    """Volumes and networks are declared, and no password is written down."""
    found = compose()
    volumes = {
        volume.split(":")[0]
        for service in found["services"].values()
        for volume in service.get("volumes", ())
    }
    assert volumes == set(found["volumes"])
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert re.findall(r"POSTGRES_PASSWORD: (?!\$\{)", text) == []


def test_the_pages_of_operations_show_commands_that_exist() -> None:
    """Every command line on the pages, and every variable, is one of ours."""
    pages = ("operations", "back-up-a-server", "watch-a-server")
    folder = ROOT / "docs/how-to"
    text = "\n".join((folder / f"{page}.md").read_text(encoding="utf-8") for page in pages)
    found = commands_in(text)
    assert {words[1] for words in found} >= {"serve", "backup", "restore", "migrate", "doctor"}
    for words in found:
        require_command(words)
    named = set(re.findall(r"\bMASQUERADE_[A-Z_]+", text))
    assert named <= VARIABLES | {"MASQUERADE_CONFIG", "MASQUERADE_"}


def test_an_old_file_is_made_private(tmp_path: Path) -> None:
    """A database that others could read is its owner's alone once it was opened."""
    file = tmp_path / "a.sqlite3"
    Services.open(f"sqlite:///{file}").close()
    file.chmod(0o644)
    Services.open(f"sqlite:///{file}").close()
    assert file.stat().st_mode & 0o777 == 0o600
