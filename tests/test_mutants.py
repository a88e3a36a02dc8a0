"""The list of broken lines is current; `make mutants` tries each."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_each_line_to_break_stands_once_beside_a_test_that_exists() -> None:
    """Each listed line stands in its file exactly once, differs from the broken, has a test."""
    found = importlib.util.spec_from_file_location("mutants", ROOT / "tools/mutants.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["mutants"] = module
    found.loader.exec_module(module)
    listed = module.mutants()
    assert len(listed) >= 40
    for one in listed:
        assert one.occurrences() == 1, f"{one.line!r} is not once in {one.file}"
        assert one.line != one.broken
        file, _, name = one.test.partition("::")
        assert (ROOT / file).exists(), f"{one.test} does not exist"
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / file).read_text()
