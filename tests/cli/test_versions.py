"""A report of a fault can name all versions by one command."""

from __future__ import annotations

import platform
import subprocess
import sys
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


def test_the_version_loads_no_package_of_others() -> None:
    """``masquerade --version`` answers before Typer or numpy are loaded, as checked names do."""
    script = (
        "import sys\n"
        "from masquerade.cli import main\n"
        "from masquerade.truth.methods import name_of_method\n"
        "sys.argv = ['masquerade', '--version']\n"
        "main()\n"
        "print(name_of_method('DawidSkene'))\n"
        "print(sorted({'typer', 'rich', 'numpy', 'pyarrow', 'pydantic'} & set(sys.modules)))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert said.split("\n") == [f"masquerade {__version__}", "dawid-skene", "[]", ""]


def test_a_named_method_loads_no_other() -> None:
    """Looking a method up by its name loads its module and not those of all methods."""
    script = (
        "import sys\n"
        "from masquerade.truth import method_named\n"
        "print(method_named('mv').name, 'masquerade.truth.glad' in sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert said == "majority-vote False\n"
