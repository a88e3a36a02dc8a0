"""Run crowd-kit's own tests of aggregation on the methods of this project.

    python tools/crowd_kit_tests.py CHECKOUT [PYTEST ARGUMENT ...]

CHECKOUT is a copy of crowd-kit's repository (its tests are not in its wheel); nothing in it is
changed. The tests import ``crowdkit.aggregation``, which is the adapter below: our classes with
crowd-kit's rule for ties (the first label), without smoothing, and with `KeyError` where a column
is missing. Tests of segmentation are left out, which this project does not do. Prints what passed
by file; the exit code is pytest's.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from masquerade.errors import SchemaError
from masquerade.preference import crowd_kit as pairwise
from masquerade.truth import crowd_kit

METHODS = ("fit", "fit_predict", "fit_predict_proba", "fit_predict_score")
PREDICTIONS = ("predict", "predict_proba", "predict_score")

#: Parameters with which a class gives crowd-kit's estimates.
FIXED: dict[str, dict[str, Any]] = {
    name: {"ties": "first"}
    for name in ("MajorityVote", "Wawa", "GoldMajorityVote", "ZeroBasedSkill", "KOS", "MMSR")
}
FIXED |= {name: {"ties": "first"} for name in ("GLAD", "MACE")}
FIXED |= {name: {"ties": "first", "smoothing": 0} for name in ("DawidSkene", "OneCoinDawidSkene")}


def with_key_errors(method: Any) -> Any:
    """Return a method that raises `KeyError` where ours raises `SchemaError`."""

    @wraps(method)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except SchemaError as error:
            raise KeyError(str(error)) from error

    return called


def adapted(kind: type) -> type:
    """Return a class of ours as crowd-kit's tests expect it."""
    fixed = FIXED.get(kind.__name__, {})

    def begin(self: Any, *arguments: Any, **named: Any) -> None:
        kind.__init__(self, *arguments, **(fixed | named))  # type: ignore[misc]

    members = {
        name: with_key_errors(getattr(kind, name))
        for name in METHODS + PREDICTIONS
        if hasattr(kind, name)
    }
    return type(kind.__name__, (kind,), {"__init__": begin, **members})


class Absent:
    """A class that this project does not have; using it fails the test."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise NotImplementedError("there is no such method here")


def install() -> None:
    """Make the modules that crowd-kit's tests import."""
    root, aggregation = ModuleType("crowdkit"), ModuleType("crowdkit.aggregation")
    base, tools = ModuleType("crowdkit.aggregation.base"), ModuleType("crowdkit.aggregation.utils")
    for room in (crowd_kit, pairwise):
        for name in room.__all__:
            setattr(aggregation, name, adapted(getattr(room, name)))
    for name in ("SegmentationEM", "SegmentationMajorityVote", "SegmentationRASA"):
        setattr(aggregation, name, Absent)
    base.BaseClassificationAggregator = object  # type: ignore[attr-defined]
    tools.evaluate = share_equal  # type: ignore[attr-defined]
    tools.evaluate_equal = None  # type: ignore[attr-defined]
    modules = {"crowdkit": root, "crowdkit.aggregation": aggregation}
    sys.modules |= modules | {one.__name__: one for one in (base, tools)}


def share_equal(true: Any, predicted: Any, evaluate_func: Any) -> float:
    """Return the share of tasks whose label is the true one; every task has to be there."""
    joined = true.join(predicted, lsuffix="_true", how="inner")
    assert len(joined) == len(true)
    return float((joined["label_true"] == joined["label"]).mean())


class Counts:
    """Counts how tests end, by file."""

    def __init__(self) -> None:
        self.ended: Counter[tuple[str, str]] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count the end of a test, or an error before it."""
        if report.when == "call" or report.failed:
            self.ended[report.nodeid.split("::")[0].split("/")[-1], report.outcome] += 1

    def lines(self) -> list[str]:
        """Return a line a file, and one of all."""
        files = sorted({file for file, _ in self.ended})
        rows = [(file, self.ended[file, "passed"], self.ended[file, "failed"]) for file in files]
        rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
        return [f"{file}: {good} of {good + bad} passed" for file, good, bad in rows]


def main() -> int:
    """Run the tests of a checkout."""
    if len(sys.argv) < 2:
        sys.exit(str(__doc__))
    tests = Path(sys.argv[1]) / "tests"
    if not (tests / "aggregation").is_dir():
        sys.exit(f"{tests} has no folder aggregation; give a checkout of crowd-kit's repository.")
    install()
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder:
        # A copy: beside the originals, pytest would import the crowd-kit of the checkout.
        shutil.copytree(tests / "aggregation", Path(folder) / "tests/aggregation")
        shutil.copy(tests / "conftest.py", Path(folder) / "tests")
        (Path(folder) / "tests/aggregation/test_image_aggregation.py").unlink()
        chosen = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-k", "not segmentation"]
        code = pytest.main([folder, "--rootdir", folder, *chosen, *sys.argv[2:]], [counts])
    sys.stdout.write("\n".join(counts.lines()) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
