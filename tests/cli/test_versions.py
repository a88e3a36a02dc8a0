"""A report of a fault can name all versions by one command."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from masquerade import __version__


def test_all_versions_are_printed(run: Any) -> None:
    """The package, Python, the system and each dependency stand on a line of their own."""
    found = run("--versions")
    lines = found.out.splitlines()
    assert found.code == 0
    assert lines[0] == f"masquerade {__version__}"
    assert lines[1].startswith(f"Python {platform.python_version()}")
    assert f"numpy {version('numpy')}" in lines
    assert not any(line.startswith(("pytest ", "sphinx ")) for line in lines)
