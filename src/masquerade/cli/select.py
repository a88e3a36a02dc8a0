"""``masquerade select`` and ``masquerade plan``: whom to ask, and how many."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import ask_back, show

PoolFile = Annotated[
    Path,
    typer.Argument(
        help="Columns person, cost and level (high, medium, low, none) or noise_variance; "
        "optionally privacy_share and bias_variance. CSV, CSV.gz, Parquet.",
        metavar="POOL",
        show_default=False,
    ),
]


def _number(text: str) -> float:
    """Return a number; of a percentage, say which share it is."""
    try:
        return float(text)
    except ValueError:
        try:
            share = float(text.strip().removesuffix("%")) / 100
        except ValueError:
            share = None
        hint = "" if share is None else f"; five points of a share are 0.05, this is {share:g}"
        raise typer.BadParameter(f"{text!r} is no number{hint}.") from None


def select(
    pool: PoolFile,
    budget: Annotated[float, typer.Option(help="How much may be paid in all.")],
    policy: Annotated[
        str,
        choice(
            *("precision", "loki-greedy", "loki-greedy-paper", "best-predictors", "random"),
            "stratified-random",
            help="precision, loki-greedy, loki-greedy-paper, best-predictors, random or "
            "stratified-random.",
        ),
    ] = "precision",
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="0: cheapest; 1: spread the loss of privacy.")
    ] = 0.0,
    history: Annotated[
        Path | None,
        typer.Option(help="Past reports: person, question, report, noise_variance, in widths."),
    ] = None,
    options: Annotated[
        int | None, typer.Option(min=2, help="The survey asks for one of so many options.")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Stop at this predicted standard error, in widths.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For the policies by chance: repeat a selection.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the chosen people.")] = None,
    json: AsJson = False,
) -> None:
    """Choose whom to invite, for the money and fairly. Sees reports and costs, never an answer.

    Exit code 1 where nobody could be chosen.

    Example: masquerade select pool.csv --budget 5 --out invited.csv
    """
    import numpy as np
    import pyarrow as pa

    from masquerade.answers.frames import write_table
    from masquerade.selection import read_history, read_pool
    from masquerade.selection import select as choose

    people = read_pool(pool, options=options)
    past = None
    if history is not None:
        past = read_history(
            history, people, weighting="plain" if policy == "loki-greedy-paper" else "precision"
        )
    selection = choose(
        people,
        budget=budget,
        policy=policy,
        alpha=alpha,
        history=past,
        rng=None if seed is None else np.random.default_rng(seed),
        precision_target=target,
    )
    result = {**selection.to_json(), "pool": len(people)}
    if out is not None:
        write_table(pa.table({"person": list(selection.people)}), out)
        result["out"] = str(out)
    if not json:
        names = result.pop("selected")
        result = {"people": len(names), **result, "first": ", ".join(names[:10])}
    show(result, as_json=json, title="Selection")
    if not selection.people:
        sys.stderr.write(
            f"nobody was chosen: with a budget of {budget:g} none of the {len(people)} people in "
            "the pool can be asked; raise the budget, or look at their costs and levels.\n"
        )
        raise typer.Exit(1)


def plan(
    spec: Annotated[
        str,
        typer.Argument(
            help="A mechanism, such as randomized-response:options=2,epsilon=1, or "
            "two-parties:questions=10,options=5,rho=0.5 (or epsilon=1, at delta 1e-6).",
            metavar="SPEC",
            show_default=False,
        ),
    ],
    margin: Annotated[
        float | None,
        typer.Option(
            parser=_number,
            metavar="FLOAT",
            help="How many people give this half interval? 0.05 is five points of a share, or on "
            "the scale.",
        ),
    ] = None,
    people: Annotated[
        int | None, typer.Option(min=1, help="What half interval do so many people give?")
    ] = None,
    compare: Annotated[
        float | None,
        typer.Option(
            parser=_number,
            metavar="FLOAT",
            help="How many people in each of two groups show that they differ by this?",
        ),
    ] = None,
    power: Annotated[
        float, typer.Option(help="With --compare: how often the difference is found.")
    ] = 0.8,
    confidence: Annotated[float, typer.Option(help="How often the interval holds.")] = 0.95,
    share: Annotated[float, typer.Option(help="The share expected; 0.5 is the usual worst.")] = 0.5,
    spread: Annotated[
        float | None,
        typer.Option(help="Standard deviation of answers; default a quarter of the range."),
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(min=1, help="The result is about so many people alone, such as a company."),
    ] = None,
    response_rate: Annotated[
        float | None, typer.Option(help="Share of those invited who answer; adds whom to invite.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Say how many participants an interval takes, or what so many give, privacy included.

    Example: masquerade plan randomized-response:options=2,epsilon=1 --margin 0.05
    """
    import math

    from masquerade.selection import TwoPartySums, parse_plan, participants_needed, precision_of
    from masquerade.selection.planning import plan_remarks

    if [margin, people, compare].count(None) != 2:
        raise typer.BadParameter(
            "give one of --margin (how many people?), --people (what margin?) and --compare (how "
            "many people in each group?)."
        )
    if response_rate is not None and not 0 < response_rate <= 1:
        raise typer.BadParameter(f"--response-rate is {response_rate:g}, expected above 0 to 1.")
    planned = parse_plan(spec)
    guarantee = planned.guarantee()
    ask_back(guarantee)
    precision = precision_of(planned, share=share, spread=spread)
    of_group = {}
    if compare is not None:
        if population is not None:
            raise typer.BadParameter("--compare is for large populations; drop --population.")
        participants = precision.participants_of_each_group(
            compare, confidence=confidence, power=power
        )
        of_group = {"compare": compare, "power": power, "participants_each_group": participants}
    elif margin is not None:
        participants = participants_needed(
            planned,
            margin=margin,
            confidence=confidence,
            share=share,
            spread=spread,
            population=population,
        )
    else:
        participants = people or 0
    half, noise, sampling = precision.margins(
        participants, confidence=confidence, population=population
    )
    in_all_groups = 2 * participants if of_group else participants
    result = {
        "participants": in_all_groups,
        **of_group,
        "margin": margin if margin is not None else half,
        "margin_noise": noise,
        "margin_sampling": sampling,
        "confidence": confidence,
        "mechanism": str(planned),
        "trust": guarantee.trust,
        "epsilon_event": guarantee.epsilon_event.to_json(),
        "delta": float(guarantee.delta),
        "remarks": plan_remarks(participants),
    }
    if isinstance(planned, TwoPartySums):
        result["rho"] = float(planned.rho)
    if response_rate is not None:
        result["invite"] = math.ceil(in_all_groups / response_rate)
    show(result, as_json=json, title="Plan")
