"""The locked packages: each with its hashes, and enough for the project's requirements."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "requirements"
FILES = ("build.txt", "server.txt", "test.txt")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """Return the packages of a lock file, each with its hashes."""
    text = (FOLDER / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    return [
        (Requirement(line.partition("--hash")[0]), re.findall(r"--hash=sha256:([0-9a-f]+)", line))
        for line in lines
    ]


def wanted(extras: tuple[str, ...]) -> Iterator[Requirement]:
    """Yield the project's requirements, with those of its extras in turn."""
    groups = PROJECT["project"]["optional-dependencies"]
    yield from map(Requirement, PROJECT["project"]["dependencies"])
    waiting = [one for extra in extras for one in groups[extra]]
    for line in waiting:
        one = Requirement(line)
        if one.name == "masquerade":
            waiting += [more for extra in one.extras for more in groups[extra]]
        else:
            yield one


@pytest.mark.parametrize("name", FILES)
def test_every_locked_package_has_hashes(name: str) -> None:
    """Each line is one version of one package with its SHA-256 hashes; no index is named."""
    found = entries(name)
    assert found
    for one, hashes in found:
        assert [part.operator for part in one.specifier] == ["=="], one
        assert one.url is None
        assert hashes, one
        assert all(len(digest) == 64 for digest in hashes)
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert "index-url" not in text
    assert "://" not in text
    assert "find-links" not in text


@pytest.mark.parametrize(
    ("name", "extras"),
    [("server.txt", ("postgres", "passkeys", "sso")), ("test.txt", ("test", "docs"))],
)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_locks_satisfy_the_project(name: str, extras: tuple[str, ...], python: str) -> None:
    """Each requirement of the project is locked, once, in an allowed version, on each Python."""
    place = {name: str(value) for name, value in default_environment().items()}
    place |= {"python_version": python, "python_full_version": f"{python}.0"}
    locked = defaultdict(list)
    for one, _ in entries(name):
        if one.marker is None or one.marker.evaluate(place):
            locked[canonicalize_name(one.name)].append(next(iter(one.specifier)).version)
    assert all(len(versions) == 1 for versions in locked.values())
    for one in wanted(extras):
        if one.marker is not None and not one.marker.evaluate(place):
            continue
        (version,) = locked[canonicalize_name(one.name)]
        assert one.specifier.contains(version, prereleases=True), (one, version)


def test_the_build_is_locked_too() -> None:
    """The build requirements are locked, in versions that the project allows."""
    locked = {one.name: next(iter(one.specifier)).version for one, _ in entries("build.txt")}
    for line in PROJECT["build-system"]["requires"]:
        one = Requirement(line)
        assert one.specifier.contains(locked[one.name])


def test_the_image_installs_only_what_is_locked() -> None:
    """Every installation in the image asks for hashes or takes nothing from an index."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"/pip (install|wheel) ([^&\n]*)", text)
    assert len(commands) == 4
    for name, words in commands:
        assert "--require-hashes" in words or "--no-deps" in words
        assert name == "install" or "--no-build-isolation" in words
    assert "FROM ${PYTHON_IMAGE}" in text  # whose digest whoever builds can give
    assert re.search(r"^ARG PYTHON_IMAGE=python:\S+@sha256:[0-9a-f]{64}$", text, re.M)
    assert text.count("FROM ") == 2
