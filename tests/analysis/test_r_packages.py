"""R's packages rr and RRreg agree on the models they fit; where they stop short, ours is higher.

Skipped unless R is there and ``MASQUERADE_R`` names a folder with the sources of both packages
(``rr/R/*.R``, ``RRreg/R/*.R``), from their public repositories SensitiveQuestions/rr and
danheck/RRreg.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.analysis import FitOptions, regress, shares

PLAIN = FitOptions(penalty=0)
FORCED = "forced-response:no=1/6,yes=1/6"
SCRIPT = """
sources <- Sys.getenv("MASQUERADE_R")
for (package in c("rr", "RRreg")) {
  folder <- file.path(sources, package, "R")
  for (file in list.files(folder, pattern = "[.][Rr]$", full.names = TRUE))
    try(source(file), silent = TRUE)
}
data <- read.csv("people.csv")
show <- function(name, values) cat(name, sprintf("%.9f", as.numeric(values)), "\\n")
fit <- rrreg(said ~ female + assets, data = data, p = 2/3, p0 = 1/6, p1 = 1/6,
             design = "forced-known")
show("rr", fit$est)
fit <- RRlog(said ~ female + assets, data = data, model = "FR", p = c(1/6, 1/6), LR.test = FALSE)
show("RRreg", c(fit$coefficients, fit$logLik))
fit <- RRlog(other ~ female + assets, data = data, model = "UQTknown", p = c(.7, .3),
             LR.test = FALSE)
show("unrelated", c(fit$coefficients, fit$logLik))
fit <- RRuni(response = data$said, model = "FR", p = c(1/6, 1/6))
show("share", c(fit$pi, fit$piSE))
"""


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    """A made-up survey: a forced response and an unrelated question of known share."""
    rng = np.random.default_rng(14)
    n = 2000
    female, assets = rng.integers(0, 2, n), rng.integers(0, 10, n)
    yes = rng.random(n) < 1 / (1 + np.exp(0.6 + 0.7 * female - 0.08 * assets))
    die = rng.integers(1, 7, n)
    said = np.where(die == 1, 0, np.where(die == 6, 1, yes)).astype(int)
    other = np.where(rng.random(n) < 0.7, yes, rng.random(n) < 0.3).astype(int)
    return {"said": said, "other": other, "female": female, "assets": assets}


@pytest.fixture(scope="module")
def by_r(
    people: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[float]]:
    """Return the numbers that R prints, by name."""
    sources = os.environ.get("MASQUERADE_R")
    program = shutil.which("Rscript")
    if not sources or not program or not (Path(sources) / "rr" / "R").is_dir():
        pytest.skip("name the folder of R's packages in MASQUERADE_R, and install R")
    folder = tmp_path_factory.mktemp("r")
    rows = zip(*people.values(), strict=True)
    lines = [",".join(people), *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "fit.R").write_text(SCRIPT)
    done = subprocess.run(
        [program, "fit.R"], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    found = {}
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        if name in ("rr", "RRreg", "unrelated", "share"):
            found[name] = [float(one) for one in numbers]
    assert len(found) == 4, done.stderr[-2000:]
    return found


def test_a_forced_response(people: dict[str, Any], by_r: dict[str, list[float]]) -> None:
    """Coefficients to 5e-5, at which both packages stop; our likelihood is at least theirs."""
    fit = regress(people, "said ~ female + assets", mechanisms={"said": FORCED}, fitting=PLAIN)
    ours = [one.estimate for one in fit.terms]
    assert ours == pytest.approx(by_r["rr"], abs=5e-5)
    *coefficients, likelihood = by_r["RRreg"]
    assert ours == pytest.approx(coefficients, abs=5e-5)
    assert fit.log_likelihood >= likelihood - 1e-8


def test_an_unrelated_question(people: dict[str, Any], by_r: dict[str, list[float]]) -> None:
    """The same through another channel."""
    fit = regress(
        people,
        "other ~ female + assets",
        mechanisms={"other": "unrelated-question:p=0.7,q=0.3"},
        fitting=PLAIN,
    )
    *coefficients, likelihood = by_r["unrelated"]
    assert [one.estimate for one in fit.terms] == pytest.approx(coefficients, abs=1e-4)
    assert fit.log_likelihood >= likelihood - 1e-8


def test_a_share(people: dict[str, Any], by_r: dict[str, list[float]]) -> None:
    """The share and its error, to the last digit that is printed."""
    found = shares(np.bincount(people["said"]), FORCED)
    assert (found.value[1], found.error[1]) == pytest.approx(by_r["share"][1::2], abs=1e-8)
