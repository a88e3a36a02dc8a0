"""``masquerade collect``: labels while they are collected, kept in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, read_column, read_levels
from masquerade.cli.terminal import ask_back, show
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.truth import StoppingRule

collect = typer.Typer(
    no_args_is_help=True,
    help="Labels while they are collected: which task next, whom to ask, when to stop.",
)

Folder = Annotated[
    Path,
    typer.Argument(help="Where the collection is kept.", metavar="FOLDER", show_default=False),
]
Count = Annotated[int, typer.Option(help="How many, at most.")]
Out = Annotated[
    Path | None, typer.Option(help="Where to write them (CSV or Parquet); - prints them.")
]


@collect.command()
def begin(
    folder: Folder,
    tasks: Annotated[Path, typer.Option(help="All tasks: a table with a column task.")],
    options: Annotated[str, typer.Option(help="All labels, separated by commas.")],
    mechanism: Annotated[str | None, typer.Option(help="What masks the answers.")] = None,
    levels: Annotated[
        Path | None,
        typer.Option(help="In place of --mechanism: a table of levels (level,mechanism)."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="Known truths (task,truth), mixed in to judge workers by.")
    ] = None,
    gold_share: Annotated[float, typer.Option(help="How often one of these is offered.")] = 0.1,
    rule: Annotated[
        str,
        typer.Option(help="lmu, entropy, information-gain, thompson (shows others least), votes."),
    ] = "lmu",
    stop: Annotated[
        str, typer.Option(help="total, posterior or gain: which tasks need no further answer.")
    ] = "total",
    answers_per_task: Annotated[
        float, typer.Option(help="Of the stop total: answers in all, over the tasks.")
    ] = 3.5,
    probability: Annotated[
        float, typer.Option(help="Of the stop posterior: that of the label.")
    ] = 0.98,
    worth: Annotated[
        float | None, typer.Option(help="Of the stop gain: what one more right label is worth.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="Of the stop gain: what one answer costs.")
    ] = None,
    most: Annotated[int, typer.Option(help="Most answers on one task.")] = 10,
    most_per_worker: Annotated[int | None, typer.Option(help="Most answers of one person.")] = None,
    public_answers: Annotated[
        bool,
        typer.Option(
            "--public-answers",
            help="Nothing was promised to the people who answer: assign from clear answers.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides among tasks that are wanted alike.")] = 0,
    json: AsJson = False,
) -> None:
    """Begin a collection.

    A note asks back where a mechanism hides hardly anything, or where its reports say nothing.

    Example: masquerade collect begin labels --tasks truth.csv --options 0,1,2
    --mechanism randomized-response:options=3,epsilon=2
    """
    from masquerade.answers import Truths
    from masquerade.errors import NotEmpty
    from masquerade.mechanisms import parse_mechanism
    from masquerade.truth import Collection

    if folder.exists() and any(folder.iterdir()):
        raise NotEmpty(f"{folder} holds something; name a new folder.")
    if mechanism is not None and levels is not None:
        raise ParameterError("--mechanism is one for all answers, --levels several; give one.")
    known = None
    if gold is not None:
        table = Truths.read(gold).table
        known = dict(zip(table["task"].to_pylist(), table["truth"].to_pylist(), strict=True))
    masks: Any = None
    if levels is not None:
        masks = read_levels(levels)
        for mask in masks.values():
            ask_back(mask.guarantee(answers=1))
    elif mechanism is not None:
        masks = parse_mechanism(mechanism)
        ask_back(masks.guarantee(answers=1))
    collection = Collection(
        tasks=list(dict.fromkeys(read_column(tasks, "task"))),
        options=[name.strip() for name in options.split(",")],
        mechanism=masks,
        gold=known,
        gold_share=gold_share,
        rule=rule,  # type: ignore[arg-type]
        stop=_stop(stop, answers_per_task, probability, worth, price, most),
        most_per_worker=most_per_worker,
        public_answers=public_answers,
        seed=seed,
    )
    collection.save(folder)
    show(_facts(folder, collection), as_json=json, title="Collection")


@collect.command()
def add(
    folder: Folder,
    batch: Annotated[
        Path, typer.Argument(help="Answers: task, worker, label (and level).", metavar="BATCH")
    ],
    json: AsJson = False,
) -> None:
    """Close a batch: add its answers, and rank all tasks anew.

    Example: masquerade collect add labels claims.csv
    """
    from masquerade.answers.frames import read_table

    collection = _loaded(folder)
    collection.partial_fit(read_table(batch)).save(folder)
    show(_facts(folder, collection), as_json=json, title="Collection")


@collect.command(name="next")
def next_tasks(
    folder: Folder,
    worker: Annotated[str, typer.Option(help="Who is to be asked.")],
    count: Count = 1,
    json: AsJson = False,
) -> None:
    """Say which tasks somebody is to be asked next, and keep them as offered.

    Example: masquerade collect next labels --worker w1 --count 5
    """
    collection = _loaded(folder)
    tasks = collection.next_tasks(worker, count=count)
    collection.save(folder)
    show({"worker": worker, "tasks": tasks}, as_json=json, title="Next tasks")


@collect.command()
def ask(
    folder: Folder,
    task: Annotated[str, typer.Option(help="The task.")],
    workers: Annotated[
        Path, typer.Option(help="Who can be asked: a table with a column worker (and price).")
    ],
    count: Count = 1,
    json: AsJson = False,
) -> None:
    """Say whom to ask a task, and keep it as offered.

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
    """Infer the labels so far.

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
    """Say whose answers are odd, with the evidence.

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
        Path, typer.Argument(help="Claims on other tasks: task, worker, label.", metavar="CLAIMS")
    ],
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Label other tasks by the workers as they are known, without learning from them.

    Example: masquerade collect predict labels claims.csv --out more.csv
    """
    from masquerade.answers.frames import read_table, write_table

    table = _loaded(folder).predict(read_table(claims))
    found: dict[str, Any] = {"tasks": table.num_rows}
    _written(table, out, found, write_table)
    show(found, as_json=json, title="Labels")


def _loaded(folder: Path) -> Any:
    from masquerade.truth import Collection

    return Collection.load(folder)


def _facts(folder: Path, collection: Any) -> dict[str, Any]:
    """Return how far a collection is."""
    claims = collection.claims_
    return {
        "folder": str(folder),
        "tasks": claims.n_tasks,
        "answers": len(claims),
        "workers": claims.n_workers,
        "open_tasks": len(collection.open_tasks_),
    }


def _written(table: Any, out: Path | None, found: dict[str, Any], write: Any) -> None:
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
    from masquerade.truth import GainStop, PosteriorStop, TotalStop

    if name == "total":
        return TotalStop(answers_per_task=answers_per_task, most=most)
    if name == "posterior":
        return PosteriorStop(probability=probability, most=most)
    if name != "gain":
        raise ParameterError(f"stop is {name!r}, expected 'total', 'posterior' or 'gain'.")
    if worth is None or price is None:
        raise ParameterError("--stop gain needs --worth and --price.")
    return GainStop(worth=worth, price=price, most=most)
