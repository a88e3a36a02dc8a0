"""The recipes of the container image and of the conda package: what they name is the project's."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.server.operations.test_deployment import require_command

pytest.importorskip("yaml")

from tools.recipes import below, instructions, interpreter, pip_names, recipe, without_root

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def bounds(lines: list[str]) -> dict[str, str]:
    """Return the bounds of requirements by name."""
    read = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): str(one.specifier) for one in read}


def test_a_python_that_is_not_here_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in on the path that knows no such version is a sentence, where none is kept."""
    stand_in = tmp_path / "python3.99"
    stand_in.write_text("#!/bin/sh\nexit 127\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit, match=r"Python 3\.99 is not here"):
        interpreter("3.99")


def test_condas_requirements_are_the_projects() -> None:
    """The packages to run and to build, their bounds, Python's, version, command and licence."""
    found, project = recipe(), PROJECT["project"]
    needed = found["requirements"]
    assert bounds(pip_names(needed["run"])) == bounds(project["dependencies"])
    build = bounds([one for one in pip_names(needed["host"]) if one != "pip"])
    assert build == bounds(PROJECT["build-system"]["requires"])
    for part in ("host", "run"):
        assert needed[part][0] == f"python {project['requires-python']}"
    assert found["package"] == {"name": project["name"], "version": project["version"]}
    commands = [" = ".join(one) for one in project["scripts"].items()]
    assert found["build"]["python"]["entry_points"] == commands
    about = found["about"]
    assert (about["summary"], about["license"]) == (project["description"], project["license"])
    assert all((ROOT / name).is_file() for name in about["license_file"])


def test_condas_tests_run_commands_that_exist() -> None:
    """Every line of the recipe's tests is a command of ours with options that it has."""
    lines = [line for test in recipe()["tests"] for line in test.get("script", [])]
    assert len(lines) > 2
    for line in lines:
        words = shlex.split(line)
        if words[1] == "simulate":
            words = [words[0], words[1]]
        if words[1:] != ["--version"]:
            require_command(words)


def test_the_images_steps_leave_this_machine_alone() -> None:
    """Run without an engine, each step of the image names its folders below a new one."""
    folder = Path("/new")
    steps = [below(folder, without_root(words)) for name, words in instructions() if name == "RUN"]
    assert len(steps) == 3
    for step in steps:
        absolute = re.findall(r"(?:^|[\s=])(/\S+)", step)
        assert absolute
        assert all(one.startswith("/new/") for one in absolute)
        assert not {"useradd", "sudo", "chown"} & set(shlex.split(step))
