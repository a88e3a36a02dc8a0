"""Ours beside other libraries: the same task, data, convergence and one thread, in one run.

    python benchmarks/peers.py [TASK ...]

Libraries of Python are measured in the interpreter that ``BENCH_PEER`` names (``pip install
crowd-kit peerannot arena-rank choix statsmodels opendp pure-ldp svy samplics "scikit-learn<1.7"
"pandas<3"`` into an environment of its own), libraries of R where ``Rscript`` finds them: RRreg,
rr, survey. A library that is not there has no figure.

Each side begins with its own form of the same data in memory, and ends with what the task asks
for. Seconds are processor time of all threads, the least of five runs after one that is not
counted; runs that last are fewer. Each side is asked for one thread. How far the two answers are
apart is on the card: where it is large, the two do not compute the same thing.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from card import PEER, Cards, sized
from masquerade import Comparisons
from masquerade.analysis import regress
from masquerade.analysis.design import FitOptions
from masquerade.exact import Coins
from masquerade.exact.noise import discrete_gaussian, discrete_laplace
from masquerade.mechanisms import RandomizedResponse
from masquerade.preference import Leaderboard, made_up_voters
from masquerade.preference.pooled_fit import fit_pooled
from masquerade.results import Codebook, SurveyReports, Weighting, weighted_result
from masquerade.simulate import crowd
from masquerade.surveys import Choice
from masquerade.surveys.survey import Survey
from masquerade.truth import DawidSkene, MajorityVote, OneCoinDawidSkene

CARDS = Cards(__file__)
HERE = Path(__file__).parent
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    **dict.fromkeys(("RAYON_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
RUNS, ENOUGH = 5, 3.0
NUMBERS, CLAIMS, VOTES, RECORDS, PEOPLE = sized(
    (10_000, 100_000, 20_000, 20_000, 3_000), (100_000, 1_000_000, 200_000, 100_000, 20_000)
)
Data = dict[str, Any]
#: Names of what a task finds, and the numbers.
Answer = dict[str, np.ndarray]


class Task(NamedTuple):
    """A task: its data, our work on it, and the divisor of its time."""

    what: str
    data: Callable[[], Data]
    ours: Callable[[Data], Callable[[], Answer]]
    libraries: tuple[str, ...]
    unit: str = "s"
    share: float = 1.0


def no_answer(_: object) -> Answer:
    """Return an empty answer: draws are not compared."""
    return {}


def answers() -> Data:
    """Return answers of four, one a person."""
    return {"answer": np.random.default_rng(1).integers(0, 4, sized(1_000, 10_000)).tolist()}


def mask_one_by_one(data: Data) -> Callable[[], Answer]:
    """Return the masking of answers, a call each."""
    mechanism, coins = RandomizedResponse(4, epsilon=1), Coins()
    return lambda: no_answer([mechanism.mask_for_one([one], coins) for one in data["answer"]])


def bits() -> Data:
    """Return bits, of which each is masked by itself."""
    return {"bit": np.random.default_rng(1).integers(0, 2, NUMBERS).astype(np.int32)}


def mask_bits(data: Data) -> Callable[[], Answer]:
    """Return the masking of all bits in one call, each kept with probability 3/4."""
    mechanism = RandomizedResponse(2, flip_probability=Fraction(1, 4))
    persons = np.zeros(len(data["bit"]), dtype=np.int32)
    return lambda: no_answer(mechanism.mask(data["bit"], persons, Coins()))


def zeros() -> Data:
    """Return whole numbers to which noise is added."""
    return {"number": [0] * NUMBERS}


def add_noise(draw: Callable[..., Any], parameter: Fraction) -> Callable[[Data], Any]:
    """Return our work of adding noise to a list, which gives a list."""
    return lambda data: (
        lambda: no_answer((np.array(data["number"]) + draw(Coins(), parameter, NUMBERS)).tolist())
    )


def claims() -> Data:
    """Return labels of a crowd, ten a task, with five options."""
    found, _ = crowd(
        np.random.default_rng(1),
        tasks=CLAIMS // 10,
        workers=max(CLAIMS // 500, 50),
        options=5,
        answers_per_task=10,
    )
    return {"task": found.task, "worker": found.worker, "label": found.value}


def infer(method: Any) -> Callable[[Data], Callable[[], Answer]]:
    """Return our work of inferring labels from a table, with all its checks."""
    return lambda data: (
        lambda: {
            "labels": np.array([label for _, label in sorted(labels_of(method, data).items())])
        }
    )


def labels_of(method: Any, data: Data) -> dict[int, int]:
    """Return the label of each task."""
    truths = method.fit(data).truths_
    return dict(zip(truths["task"].to_pylist(), truths["label"].to_pylist(), strict=True))


def votes(ties: bool) -> Callable[[], Data]:
    """Return votes between two of a hundred items, with or without ties."""

    def made() -> Data:
        rng, items = np.random.default_rng(3), 100
        strength = rng.normal(size=items)
        first = rng.integers(0, items, VOTES)
        second = (first + rng.integers(1, items, VOTES)) % items
        won = rng.random(VOTES) < 1 / (1 + np.exp(strength[second] - strength[first]))
        winner = np.where(won, "model_a", "model_b")
        if ties:
            winner = np.where(rng.random(VOTES) < 0.25, "tie", winner)
        names = np.array([f"item {place:03}" for place in range(items)])
        return {"model_a": names[first], "model_b": names[second], "winner": winner}

    return made


def rank(data: Data) -> Callable[[], Answer]:
    """Return our leaderboard: strengths in log-odds with mean 0, and their standard errors."""

    def work() -> Answer:
        board = Leaderboard.fit(data, ties="halves")
        order = np.argsort(board.items)
        strength = board.strengths - board.strengths.mean()
        return {"strengths": strength[order]}

    return work


def choices() -> Data:
    """Return choices between two alternatives with ten features, fifty a voter."""
    found = made_up_voters(np.random.default_rng(1), voters=RECORDS // 50, features=10).choose(
        np.random.default_rng(2), 50
    )
    return {"difference": found.scaled(), "voter": found.voter, "records": found}


def probit(data: Data) -> Callable[[], Answer]:
    """Return our pooled probit fit, with errors clustered by voter."""
    records: Comparisons = data["records"]

    def work() -> Answer:
        fit = fit_pooled(records, tolerance=1e-12)
        assert fit.covariance is not None
        return {"coefficients": fit.weights, "standard errors": np.sqrt(np.diag(fit.covariance))}

    return work


def dice() -> Data:
    """Return answers of yes or no by a die: a one says no, a six yes."""
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=PEOPLE), rng.integers(0, 2, PEOPLE)
    yes = rng.random(PEOPLE) < 1 / (1 + np.exp(1 - 0.8 * x - 0.5 * z))
    die = rng.integers(1, 7, PEOPLE)
    return {"y": np.where(die == 1, 0, np.where(die == 6, 1, yes)).astype(int), "x": x, "z": z}


def regression(data: Data) -> Callable[[], Answer]:
    """Return our logistic regression of masked answers, by plain maximum likelihood."""
    options = FitOptions(penalty=0, intervals=False)
    masks = {"y": "forced-response:no=1/6,yes=1/6"}

    def work() -> Answer:
        fit = regress(data, "y ~ x + z", mechanisms=masks, model="logistic", fitting=options)
        return {
            "coefficients": np.array([term.estimate for term in fit.terms]),
            "standard errors": np.array([term.error for term in fit.terms]),
            "the log-likelihood": np.array([fit.log_likelihood]),
        }

    return work


MARGINS = {"sex": (0.51, 0.49), "age": (0.3, 0.4, 0.3)}


def sample() -> Data:
    """Return people of a sample in which too many are young men."""
    rng = np.random.default_rng(5)
    sex = (rng.random(PEOPLE) < 0.35).astype(int)
    age = rng.choice(3, PEOPLE, p=[0.5, 0.3, 0.2])
    ill = (rng.random(PEOPLE) < 0.3 + 0.2 * sex + 0.1 * age).astype(int)
    return {"sex": sex, "age": age, "ill": ill}


def raking(data: Data) -> Callable[[], Answer]:
    """Return our share of the ill, raked to the margins of sex and age, of answers in clear."""
    asked = tuple(
        Choice(name, "?", tuple(str(code) for code in range(codes)))
        for name, codes in (("sex", 2), ("age", 3), ("ill", 2))
    )
    survey = Survey.at_levels(title="Sample", questions=asked, levels=("none",))
    book = Codebook("aa", survey, survey.content_hash())
    rows = np.stack([data[question.id] for question in asked], axis=1).tolist()
    people = [f"p{place}" for place in range(PEOPLE)]
    reports = SurveyReports.from_rows(book, people, ["none"] * PEOPLE, rows)
    weighting = Weighting(
        {name: {str(c): s for c, s in enumerate(shares)} for name, shares in MARGINS.items()}
    )

    def work() -> Answer:
        found = weighted_result(reports, weighting).question("ill").option("1").share
        return {
            "the share": np.array([found.value]),
            "the standard error": np.array([found.standard_error]),
        }

    return work


def ten(method: Any) -> Any:
    """Return a method that stops after exactly ten iterations."""
    return method(max_iterations=10, tolerance=0)


#: With the libraries that have each.
TASKS: dict[str, Task] = {
    "one": Task(
        "randomized response of 4 options, one answer a call",
        answers,
        mask_one_by_one,
        ("pure-ldp", "opendp"),
        "microseconds",
        1e-6 * sized(1_000, 10_000),
    ),
    "bits": Task(
        f"randomized response of {NUMBERS:,} bits in one call",
        bits,
        mask_bits,
        ("opendp",),
        "ns a bit",
        1e-9 * NUMBERS,
    ),
    "laplace": Task(
        f"discrete Laplace noise, scale 4, added to a list of {NUMBERS:,} integers",
        zeros,
        add_noise(discrete_laplace, Fraction(4)),
        ("opendp",),
        "ns a number",
        1e-9 * NUMBERS,
    ),
    "gaussian": Task(
        f"discrete Gaussian noise, sigma 3, added to a list of {NUMBERS:,} integers",
        zeros,
        add_noise(discrete_gaussian, Fraction(9)),
        ("opendp",),
        "ns a number",
        1e-9 * NUMBERS,
    ),
    "majority": Task(
        f"majority vote, table of {CLAIMS:,} claims to labels",
        claims,
        infer(MajorityVote()),
        ("crowd-kit", "peerannot"),
    ),
    "dawid-skene": Task(
        f"Dawid-Skene, 10 iterations, table of {CLAIMS:,} claims to labels",
        claims,
        infer(ten(DawidSkene)),
        ("crowd-kit", "peerannot"),
    ),
    "one-coin": Task(
        f"one-coin Dawid-Skene, 10 iterations, table of {CLAIMS:,} claims to labels",
        claims,
        infer(ten(OneCoinDawidSkene)),
        ("crowd-kit",),
    ),
    "pairs": Task(
        f"Bradley-Terry of 100 items, table of {VOTES:,} votes to strengths",
        votes(ties=False),
        rank,
        ("choix", "arena-rank"),
    ),
    "ties": Task(
        f"Bradley-Terry of 100 items, a quarter of {VOTES:,} votes ties, which count half",
        votes(ties=True),
        rank,
        ("arena-rank",),
    ),
    "probit": Task(
        f"probit of {RECORDS:,} choices on 10 features, errors clustered by voter",
        choices,
        probit,
        ("statsmodels",),
    ),
    "regression": Task(
        f"logistic regression of {PEOPLE:,} forced responses on two predictors",
        dice,
        regression,
        ("RRreg", "rr"),
    ),
    "raking": Task(
        f"a share of {PEOPLE:,} people raked to two margins, with its error",
        sample,
        raking,
        ("samplics", "svy", "survey"),
    ),
}


def least_time(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Return the least processor time of a few runs, after one that is not counted."""
    found, taken = work(), list[float]()
    while len(taken) < RUNS and sum(taken) < ENOUGH:
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken), found


def theirs(name: str, data: Data) -> dict[str, dict[str, Any]]:
    """Return seconds, version and answer of each other library that has the task and is there."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        arrays = {key: value for key, value in data.items() if key != "records"}
        if PEER is not None:
            path = Path(folder) / "data.npz"
            np.savez(path, **arrays)
            found |= said([PEER, str(HERE / "peers_of_python.py"), name, str(path)])
        if name in ("regression", "raking"):
            path = Path(folder) / "data.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(
                    [list(arrays), *zip(*(one.tolist() for one in arrays.values()), strict=True)]
                )
            found |= said(["Rscript", str(HERE / "peers_of_r.R"), name, str(path)])
    return found


def said(command: list[str]) -> dict[str, dict[str, Any]]:
    """Return the lines of JSON of a program, by library; nothing where it is not there."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return {}
    return {line["library"]: line for line in map(json.loads, done.stdout.splitlines())}


def apart(ours: Answer, other: dict[str, Any]) -> str:
    """Return in words how far two answers are apart."""
    words = []
    for name, value in ours.items():
        if name not in other:
            continue
        numbers = np.array(other[name])
        if name == "labels":
            words.append(f"{int((value != numbers).sum()):,} of {len(value):,} labels differ")
        else:
            words.append(f"{name} {np.abs(value - numbers).max():.1e} apart at most")
    return "; ".join(words)


def main() -> None:
    """Measure the tasks that are named, or all."""
    if any(os.environ.get(key) != value for key, value in ONE_THREAD.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    for name in sys.argv[1:] or TASKS:
        task = TASKS[name]
        data = task.data()
        seconds, found = least_time(task.ours(data))
        others = theirs(name, data)
        for library in task.libraries:
            other = others.get(library, {})
            CARDS.add(
                task.what,
                seconds / task.share,
                task.unit,
                peer=f"{library} {other.get('version', '')}".strip(),
                peer_value=other["seconds"] / task.share if other else None,
                note=apart(found, other),
            )


if __name__ == "__main__":
    main()
