"""``masquerade collect``: labels while they are collected, kept in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, read_column, read_levels
from masquerade.cli.terminal import ask_back, show
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.truth.collection.task_rules import StoppingRule

collect = typer.Typer(
    no_args_is_help=True,
    help="Collect labels batch by batch. It says which task to offer next, whom to ask, "
    "and when to stop.",
)

Folder = Annotated[
    Path,
    typer.Argument(help="Folder of the collection.", metavar="FOLDER", show_default=False),
]
Count = Annotated[int, typer.Option(help="How many to name, at most.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="File for the labels, with the columns task and label (CSV, CSV.gz, Parquet or "
        ".xlsx). The name - prints them as CSV on standard output. Default: the first "
        "ten labels are printed."
    ),
]


OptionsOption = Annotated[
    str,
    typer.Option(help="All labels that workers can give, separated by commas, such as yes,no."),
]
MechanismOption = Annotated[
    str | None,
    typer.Option(
        help="Mechanism that masks the answers on the workers' devices, before they are "
        "added here. Default: the answers are not masked."
    ),
]
LevelsOption = Annotated[
    Path | None,
    typer.Option(
        help="Table with the columns level and mechanism, in place of --mechanism: what "
        "masks the answers of each level. Each batch then needs a column level."
    ),
]
GoldOption = Annotated[
    Path | None,
    typer.Option(
        help="Table of known truths of some of the tasks, with the columns task and truth. "
        "These tasks are offered among the others, to judge the workers."
    ),
]
GoldShareOption = Annotated[
    float, typer.Option(help="Probability that an offered task is one of --gold, from 0 to 1.")
]
StopOption = Annotated[
    str,
    typer.Option(
        help="When tasks need no further answer. total: all tasks stop when the collection "
        "has --answers-per-task answers for each task on average. posterior: a task "
        "stops when its label is at least as probable as --probability. gain: a task "
        "stops when one more answer costs more than it is expected to be worth "
        "(--worth, --price)."
    ),
]
AnswersPerTaskOption = Annotated[
    float,
    typer.Option(help="For --stop total: number of all answers, divided by the number of tasks."),
]
ProbabilityOption = Annotated[
    float,
    typer.Option(
        help="For --stop posterior: estimated probability that the label is right, from 0 to 1."
    ),
]
WorthOption = Annotated[
    float | None,
    typer.Option(
        help="For --stop gain: what one more correct label is worth, in the unit of --price."
    ),
]
PriceOption = Annotated[
    float | None,
    typer.Option(help="For --stop gain: what one answer costs, in the unit of --worth."),
]
MostOption = Annotated[
    int, typer.Option(help="Largest number of answers to one task, under every --stop.")
]
MostPerWorkerOption = Annotated[
    int | None, typer.Option(help="Largest number of answers of one worker. Default: no limit.")
]
PublicAnswersOption = Annotated[
    bool,
    typer.Option(
        "--public-answers",
        help="State that the workers were promised no privacy. Without this option, the "
        "commands next and ask refuse answers that are not masked, because workers "
        "could learn other people's answers from the tasks that they are offered.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        help="Seed of the random choices: among tasks of equal rank, and where the tasks of "
        "--gold come."
    ),
]


@collect.command()
def begin(
    folder: Folder,
    tasks: Annotated[Path, typer.Option(help="Table with the column task: all tasks.")],
    options: OptionsOption,
    mechanism: MechanismOption = None,
    levels: LevelsOption = None,
    gold: GoldOption = None,
    gold_share: GoldShareOption = 0.1,
    stop: StopOption = "total",
    answers_per_task: AnswersPerTaskOption = 3.5,
    probability: ProbabilityOption = 0.98,
    worth: WorthOption = None,
    price: PriceOption = None,
    most: MostOption = 10,
    most_per_worker: MostPerWorkerOption = None,
    public_answers: PublicAnswersOption = False,
    seed: SeedOption = 0,
    json: AsJson = False,
) -> None:
    """Begin a collection of labels in a new folder.

    A note on standard error warns if the mechanism hides hardly anything, or if its reports say
    nothing; the command goes on.

    Example: masquerade collect begin labels --tasks truth.csv --options 0,1,2
    --mechanism randomized-response:options=3,epsilon=2
    """
    from masquerade.answers import Truths
    from masquerade.errors import NotEmpty
    from masquerade.truth import Collection

    if folder.exists() and any(folder.iterdir()):
        raise NotEmpty(f"{folder} is not empty; name a new folder for the collection.")
    known = None
    if gold is not None:
        table = Truths.read(gold).table
        known = dict(zip(table["task"].to_pylist(), table["truth"].to_pylist(), strict=True))
    collection = Collection(
        tasks=list(dict.fromkeys(read_column(tasks, "task"))),
        options=[name.strip() for name in options.split(",")],
        mechanism=_masks(mechanism, levels),
        gold=known,
        gold_share=gold_share,
        stop=_stop(stop, answers_per_task, probability, worth, price, most),
        most_per_worker=most_per_worker,
        public_answers=public_answers,
        seed=seed,
    )
    collection.save(folder)
    show(_facts(folder, collection), as_json=json, title="Collection")


def _masks(mechanism: str | None, levels: Path | None) -> Any:
    """Return the mechanism, or the mechanism of each level; warn of those that hide nothing."""
    from masquerade.mechanisms import parse_mechanism

    if mechanism is not None and levels is not None:
        raise ParameterError(
            "--mechanism and --levels were both given. Give --mechanism if one mechanism "
            "masks all answers, or --levels if there are several levels."
        )
    if levels is not None:
        masks = read_levels(levels)
        for mask in masks.values():
            ask_back(mask.guarantee(answers=1))
        return masks
    if mechanism is None:
        return None
    mask = parse_mechanism(mechanism)
    ask_back(mask.guarantee(answers=1))
    return mask


@collect.command()
def add(
    folder: Folder,
    batch: Annotated[
        Path,
        typer.Argument(
            help="Table of the answers, with the columns task, worker and label, and level if "
            "the collection has levels.",
            metavar="BATCH",
        ),
    ],
    json: AsJson = False,
) -> None:
    """Add a batch of answers, and rank all tasks again.

    The answers are added as they are: this command masks nothing.

    Example: masquerade collect add labels claims.csv
    """
    from masquerade.answers.frames import read_table

    collection = _loaded(folder)
    collection.partial_fit(read_table(batch)).save(folder)
    show(_facts(folder, collection), as_json=json, title="Collection")


@collect.command(name="next")
def next_tasks(
    folder: Folder,
    worker: Annotated[str, typer.Option(help="The worker to whom the tasks are offered.")],
    count: Count = 1,
    json: AsJson = False,
) -> None:
    """Say which tasks to offer to a worker next, and record them as offered.

    Until the next batch is added, no other worker is offered these tasks, except those of --gold.
    No worker is offered a task twice.

    Example: masquerade collect next labels --worker w1 --count 5
    """
    collection = _loaded(folder)
    tasks = collection.next_tasks(worker, count=count)
    collection.save(folder)
    show({"worker": worker, "tasks": tasks}, as_json=json, title="Next tasks")


@collect.command()
def ask(
    folder: Folder,
    task: Annotated[str, typer.Option(help="The task to be answered.")],
    workers: Annotated[
        Path,
        typer.Option(
            help="Table with the column worker: everybody who can be asked. An optional column "
            "price says what an answer of each worker costs; the default is 1."
        ),
    ],
    count: Count = 1,
    json: AsJson = False,
) -> None:
    """Say which workers to ask about a task, and record the task as offered to them.

    Example: masquerade collect ask labels --task t1 --workers claims.csv
    """
    from masquerade.answers.frames import read_table

    collection, table = _loaded(folder), read_table(workers)
    names = read_column(workers, "worker")
    prices = None
    if "price" in table.column_names:
        prices = dict(zip(names, map(float, read_column(workers, "price")), strict=True))
    chosen = collection.next_workers(task, list(dict.fromkeys(names)), count=count, prices=prices)
    collection.save(folder)
    show({"task": task, "workers": chosen}, as_json=json, title="Whom to ask")


@collect.command()
def labels(folder: Folder, out: Out = None, json: AsJson = False) -> None:
    """Infer the labels from the answers so far.

    Example: masquerade collect labels labels --out labels.csv
    """
    from masquerade.answers.frames import write_table

    collection = _loaded(folder)
    table = collection.truths_
    found = _facts(folder, collection)
    found["remarks"] = [str(remark) for remark in collection.remarks_]
    _written(table, out, found, write_table)
    show(found, as_json=json, title="Labels")


@collect.command()
def advice(folder: Folder, json: AsJson = False) -> None:
    """Name the workers with odd answers, with the evidence.

    Example: masquerade collect advice labels
    """
    rows = _loaded(folder).advice_.to_pylist()
    show(
        {"advice": rows if rows or json else "nobody to doubt"},
        as_json=json,
        title="Advice on workers",
    )


@collect.command()
def predict(
    folder: Folder,
    claims: Annotated[
        Path,
        typer.Argument(
            help="Table of claims about other tasks, with the columns task, worker and label.",
            metavar="CLAIMS",
        ),
    ],
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Label other tasks from claims of the same workers, by these workers' estimated confusions.

    The collection does not change, and learns nothing from these claims.

    Example: masquerade collect predict labels claims.csv --out more.csv
    """
    from masquerade.answers.frames import read_table, write_table

    table = _loaded(folder).predict(read_table(claims))
    found: dict[str, object] = {"tasks": table.num_rows}
    _written(table, out, found, write_table)
    show(found, as_json=json, title="Labels")


def _loaded(folder: Path) -> Any:
    from masquerade.truth import Collection

    return Collection.load(folder)


def _facts(folder: Path, collection: Any) -> dict[str, object]:
    """Return how far a collection is."""
    claims = collection.claims_
    return {
        "folder": str(folder),
        "tasks": claims.n_tasks,
        "answers": len(claims),
        "workers": claims.n_workers,
        "open_tasks": len(collection.open_tasks_),
    }


def _written(table: Any, out: Path | None, found: dict[str, object], write: Any) -> None:
    """Write labels where asked, else show the first of them."""
    if out is None:
        found["labels"] = {str(row["task"]): row["label"] for row in table.slice(0, 10).to_pylist()}
        return
    write(table, out)
    found["out"] = str(out)


def _stop(
    name: str,
    answers_per_task: float,
    probability: float,
    worth: float | None,
    price: float | None,
    most: int,
) -> StoppingRule:
    from masquerade.truth import PosteriorStop, TotalStop
    from masquerade.truth.collection.task_rules import GainStop

    if name == "total":
        return TotalStop(answers_per_task=answers_per_task, most=most)
    if name == "posterior":
        return PosteriorStop(probability=probability, most=most)
    if name != "gain":
        raise ParameterError(f"--stop is {name!r}, expected 'total', 'posterior' or 'gain'.")
    if worth is None or price is None:
        raise ParameterError("--stop gain needs --worth and --price.")
    return GainStop(worth=worth, price=price, most=most)
