"""Mechanisms and methods of another installed package are used by their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from masquerade import plugins
from masquerade.errors import MechanismSyntaxError, ParameterError
from masquerade.mechanisms import parse_mechanism
from masquerade.mechanisms.registry import MECHANISMS, parse_mask
from masquerade.truth import METHODS, method_named

ADDED = Path(__file__).parent / "added"
ENTRY_POINTS = """
[masquerade.mechanisms]
half-truth = half_truth:HalfTruth
another-name = half_truth:HalfTruth
randomized-response = half_truth:HalfTruth
not-there = half_truth:Nothing
no-class = half_truth:ASSUMPTIONS
not-whole = unfinished:Unfinished

[masquerade.methods]
first-leader = first_leader:FirstLeader
not-a-method = half_truth:HalfTruth
"""
UNFINISHED = """
from masquerade.mechanisms import Mechanism

class Unfinished(Mechanism):
    name = "not-whole"
"""


def wheel(folder: Path, name: str, entry_points: str) -> Path:
    """Return a wheel of the modules that tests add, with these entry points."""
    path, info = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    texts = {
        **{one.name: one.read_text(encoding="utf-8") for one in ADDED.glob("[fh]*.py")},
        "unfinished.py": UNFINISHED,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": entry_points,
    }
    texts[f"{info}/RECORD"] = "".join(f"{one},,\n" for one in [*texts, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in texts.items():
            archive.writestr(place, text)
    return path


def install(into: Path, made: Path) -> None:
    """Install a wheel into a folder."""
    words = ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--target", str(into)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words, str(made)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which pip installed a package with a mechanism and a method."""
    pytest.importorskip("pip", reason="installing a package needs pip")
    folder = tmp_path_factory.mktemp("packages")
    install(folder / "installed", wheel(folder, "additions", ENTRY_POINTS))
    return folder / "installed"


@pytest.fixture
def installed(packages: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let this process see the package, and forget it afterwards."""
    monkeypatch.syspath_prepend(packages)
    plugins._entry_points.cache_clear()
    yield packages
    plugins._entry_points.cache_clear()
    for name in ("half_truth", "first_leader", "unfinished"):
        sys.modules.pop(name, None)


def test_a_name_of_another_package_is_read(installed: Path) -> None:
    """The text form and the method's name give the package's classes; ours stay what they are."""
    mechanism = parse_mechanism("half-truth:options=3")
    assert type(mechanism).__module__ == "half_truth"
    assert str(mechanism) == "half-truth:options=3"
    assert method_named("First Leader").__module__ == "first_leader"
    ours = parse_mechanism("randomized-response:options=2,epsilon=1")
    assert type(ours) is MECHANISMS["randomized-response"]
    assert "half-truth" not in MECHANISMS
    assert "first-leader" not in {one.name for one in METHODS}


def test_a_refusal_lists_names_of_other_packages(installed: Path) -> None:
    """A misspelt name is corrected to one of another package, and a parameter too."""
    with pytest.raises(MechanismSyntaxError, match="Did you mean 'half-truth'"):
        parse_mechanism("half-truths:options=3")
    with pytest.raises(MechanismSyntaxError, match="it has no 'options'; half-truth takes options"):
        parse_mechanism("half-truth:")
    with pytest.raises(ParameterError, match="Did you mean 'first-leader'"):
        method_named("first-leaders")


def test_no_survey_takes_a_mechanism_of_another_package(installed: Path) -> None:
    """Browsers do not have it; its module is not even imported."""
    with pytest.raises(MechanismSyntaxError, match="'half-truth' is unknown"):
        parse_mask("half-truth:options=3")
    assert "half_truth" not in sys.modules


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("another-name", "calls itself 'half-truth'; its entry point needs that name"),
        ("not-there", "cannot be imported: AttributeError: .*Nothing"),
        ("no-class", "is no class below masquerade.mechanisms.mechanism.Mechanism"),
        ("not-whole", "does not define .*guarantee"),
    ],
)
def test_what_is_no_mechanism_is_refused(installed: Path, name: str, reason: str) -> None:
    """The message names the package, its entry point and what is wrong."""
    with pytest.raises(ParameterError, match=rf"'{name}' of the package additions \(.*{reason}"):
        parse_mechanism(f"{name}:options=3")


def test_what_is_no_method_is_refused(installed: Path) -> None:
    """A mechanism under a method's group is no method."""
    with pytest.raises(ParameterError, match=r"is no class below masquerade\.truth\.estimator"):
        method_named("not-a-method")


def test_two_packages_of_one_name_are_refused(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them is meant cannot be known."""
    install(tmp_path / "more", wheel(tmp_path, "others", ENTRY_POINTS))
    monkeypatch.syspath_prepend(tmp_path / "more")
    plugins._entry_points.cache_clear()
    with pytest.raises(ParameterError, match="'half-truth' is added by additions and others"):
        parse_mechanism("half-truth:options=3")


def test_commands_use_what_another_package_adds(packages: Path, tmp_path: Path) -> None:
    """The method infers labels; the mechanism is priced and audited, as somebody else's word."""
    (tmp_path / "claims.csv").write_text("task,worker,label\na,x,yes\na,y,no\nb,x,yes\n")

    def command(*words: str) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-m", "masquerade", *words, "--json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    assert command("truth", "claims.csv", "--method", "first-leader")["method"] == "first-leader"
    priced = command("privacy", "half-truth:options=3", "--answers", "2")
    assert (priced["epsilon_user"], priced["status"]) == (2.772589, "assumed")
    assert "half_truth states" in str(priced["assumptions"])
    mask = ("randomize", "claims.csv", "--mechanism", "half-truth:options=2", "--options", "yes,no")
    assert '"assumed"' in json.dumps(command(*mask, "--out", "reports.csv")["guarantee"])
    report = command("audit", "half-truth:options=3")
    assert (report["verdict"], report["exact_epsilon"]) == ("not refuted", 1.386295)
