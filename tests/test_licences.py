"""Each file has a licence, and a release has a bill of materials."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[1]


def _annotations() -> list[dict[str, Any]]:
    reuse = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))
    assert reuse["version"] == 1
    annotations: list[dict[str, Any]] = reuse["annotations"]
    return annotations


def test_every_file_has_a_licence() -> None:
    """All files are annotated, and the text of each licence stands in LICENSES."""
    first, *others = _annotations()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert first["path"] == "**"
    assert first["SPDX-License-Identifier"] == project["license"]
    named = {one["SPDX-License-Identifier"] for one in (first, *others)}
    assert named == {path.stem for path in (ROOT / "LICENSES").iterdir()}
    assert (ROOT / "LICENSES" / "Apache-2.0.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_work_of_others_has_its_own_licence() -> None:
    """The works of others that NOTICE names are annotated apart from the rest, and are there."""
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = re.findall(r"^- .*\((tests/[^)]+)\)", notice, re.MULTILINE)
    folders = [one["path"].removesuffix("/**") for one in _annotations()[1:]]
    for path in named:
        above = {path, *(str(parent) for parent in PurePosixPath(path).parents)}
        assert above & {*folders}, f"REUSE.toml does not name the licence of {path}"
    assert all((ROOT / folder).is_dir() for folder in folders)
    assert len(named) == len(folders)


def test_a_release_has_its_bill_of_materials() -> None:
    """The release checklist names the target of the Makefile that reads the locked versions."""
    checklist = (ROOT / "docs" / "reference" / "release-checklist.md").read_text(encoding="utf-8")
    assert "`make sbom`" in checklist
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    _before, rule = makefile.split("\nsbom:\n")
    assert "cyclonedx_py requirements" in rule.split("\n\n")[0]
