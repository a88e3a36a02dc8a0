"""``masquerade select`` and ``masquerade plan``: people to invite, and sample sizes."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import ask_back, show

PoolFile = Annotated[
    Path,
    typer.Argument(
        help="Table of the people who can be invited, with the columns person, cost, and "
        "level (high, medium, low or none) or noise_variance. Optional columns: "
        "privacy_share and bias_variance. A CSV, CSV.gz, Parquet or .xlsx file.",
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


BudgetOption = Annotated[
    float,
    typer.Option(
        help="Most that may be paid to all chosen people together, in the unit of the column "
        "cost. Above 0."
    ),
]
PolicyChoice = Annotated[
    str,
    choice(
        *("precision", "random", "stratified-random"),
        help="How people are chosen. precision: by how precise a person's report is for its "
        "price. random and stratified-random: by chance.",
    ),
]
AlphaOption = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="What to save. 0: spend the least money. 1: spread the loss of privacy most "
        "evenly. A number in between weighs the two.",
    ),
]
OptionsOption = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Number of options, if the survey asks for a choice. It decides how much noise "
        "a level means. Default: the survey asks for a number or a rating.",
    ),
]
TargetOption = Annotated[
    float | None,
    typer.Option(
        help="With --policy precision: stop as soon as the predicted standard error is this "
        "small. It is a share of the width of the question's range, such as 0.05. "
        "Default: stop when the budget is spent."
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Seed of the policies random and stratified-random, to repeat a selection. "
        "Default: another selection each time.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the chosen people, with the column person, in the order of choice "
        "(CSV, CSV.gz, Parquet or .xlsx). The name - prints it as CSV on standard "
        "output."
    ),
]


def select(
    pool: PoolFile,
    budget: BudgetOption,
    policy: PolicyChoice = "precision",
    alpha: AlphaOption = 0.0,
    options: OptionsOption = None,
    target: TargetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    json: AsJson = False,
) -> None:
    """Choose the people to invite to a survey, within a budget and fairly.

    It reads levels and costs, never an answer. With --policy precision, each privacy
    level gets a quota of people, if there are so many and they can be paid: 8 people, or a
    twentieth of all, whichever is more. If nobody could be chosen, it ends with exit code 1.

    Example: masquerade select pool.csv --budget 5 --out invited.csv
    """
    import numpy as np
    import pyarrow as pa

    from masquerade.answers.frames import write_table
    from masquerade.selection import read_pool
    from masquerade.selection import select as choose

    people = read_pool(pool, options=options)
    selection = choose(
        people,
        budget=budget,
        policy=policy,
        alpha=alpha,
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


SpecArgument = Annotated[
    str,
    typer.Argument(
        help="A mechanism in its text form, such as randomized-response:options=2,epsilon=1. "
        "Or a level of a survey, for a question with options, such as medium:options=2. "
        "Or a survey between two parties, such as "
        "two-parties:questions=10,options=5,rho=0.5; in place of rho, epsilon=1 is the "
        "loss of a whole response at delta 1e-6. Or a leaderboard, such as "
        "battle-scores:items=60,epsilon=1, with votes_each=20 and ties=0.3 after further commas "
        "(no epsilon: no privacy): the margin is that of a difference of two strengths, in "
        "log-odds.",
        metavar="SPEC",
        show_default=False,
    ),
]
MarginOption = Annotated[
    float | None,
    typer.Option(
        parser=_number,
        metavar="FLOAT",
        help="Ask how many people are needed for an interval of plus or minus this margin. "
        "Of a share, 0.05 is five percentage points; of a number or a rating, it is in "
        "units of the scale.",
    ),
]
PeopleOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Ask how wide the interval is with this many people: the answer is half its width.",
    ),
]
CompareOption = Annotated[
    float | None,
    typer.Option(
        parser=_number,
        metavar="FLOAT",
        help="Ask how many people are needed in each of two groups to show that the groups "
        "differ by this much, in the unit of --margin.",
    ),
]
PowerOption = Annotated[
    float,
    typer.Option(
        help="With --compare and --odds: probability that the difference is found, above 0 "
        "and below 1."
    ),
]
ConfidenceOption = Annotated[
    float,
    typer.Option(
        help="Probability that the interval contains the true value, above 0 and below 1."
    ),
]
ShareOption = Annotated[
    float,
    typer.Option(
        help="For shares: the share that you expect, above 0 and below 1. With 0.5 the "
        "interval is usually the widest."
    ),
]
SpreadOption = Annotated[
    float | None,
    typer.Option(
        help="For numbers and ratings: standard deviation of the answers, in units of the "
        "scale. Default: a quarter of the range."
    ),
]
PopulationOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of all people whom the result is about, if it is about these alone, "
        "such as a company. Fewer answers are then enough. Default: a large population.",
    ),
]
ResponseRateOption = Annotated[
    float | None,
    typer.Option(
        help="Share of the invited people who answer, above 0 and at most 1. The output then "
        "also says how many people to invite."
    ),
]
OddsOption = Annotated[
    float | None,
    typer.Option(
        help="Plan a relation: how many people in all find that the odds of yes are so many times "
        "as high in one group as in the other? The share of yes in the other is --share."
    ),
]
ExposedOption = Annotated[
    float,
    typer.Option(
        help="Share of people in the group with the other odds, above 0 and below 1. Only with "
        "--odds."
    ),
]


def plan(
    spec: SpecArgument,
    margin: MarginOption = None,
    people: PeopleOption = None,
    compare: CompareOption = None,
    power: PowerOption = 0.8,
    confidence: ConfidenceOption = 0.95,
    share: ShareOption = 0.5,
    spread: SpreadOption = None,
    population: PopulationOption = None,
    response_rate: ResponseRateOption = None,
    odds: OddsOption = None,
    exposed: ExposedOption = 0.5,
    json: AsJson = False,
) -> None:
    """Say how many participants a result needs, or how precise it is with a given number of them.

    The noise of the privacy mechanism is included. Give exactly one of --margin, --people,
    --compare and --odds.

    Example: masquerade plan randomized-response:options=2,epsilon=1 --margin 0.05
    """
    from masquerade.selection import parse_plan, participants_needed, precision_of
    from masquerade.selection.planning import plan_remarks

    _require_one(margin, people, compare, odds, population)
    _require_rate(response_rate)
    if odds is not None:
        groups = {"odds": odds, "share": share, "exposed": exposed, "power": power}
        _plan_odds(_of_level(spec), groups, response_rate, json)
        return
    if spec.strip().partition(":")[0] == "battle-scores":
        _plan_leaderboard(spec, margin, people, confidence, json)
        return
    planned = parse_plan(_of_level(spec))
    ask_back(planned.guarantee())
    precision = precision_of(planned, share=share, spread=spread)
    of_group = _each_group(precision, compare, confidence, power)
    participants = of_group.get("participants_each_group", people or 0)
    if margin is not None:
        asked = {"confidence": confidence, "share": share}
        participants = participants_needed(
            planned, margin=margin, spread=spread, population=population, **asked
        )
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
        **_protection(planned),
        "remarks": plan_remarks(participants),
        **_invite(in_all_groups, response_rate),
    }
    show(result, as_json=json, title="Plan")


def _of_level(spec: str) -> str:
    """Return the mask that a level gives a question with options; other texts as they are."""
    from masquerade.errors import ParameterError
    from masquerade.mechanisms import LEVELS, level_named

    name, _, given = spec.strip().partition(":")
    if name not in [level.name for level in LEVELS]:
        return spec
    key, _, number = given.partition("=")
    if key.strip() != "options" or not number.strip().isdecimal():
        raise ParameterError(
            f"a level masks each question by itself: say how many options it has, as in "
            f"{name}:options=2. For a number, give the mask itself."
        )
    return str(level_named(name).randomized_response(int(number)))


def _invite(participants: int, response_rate: float | None) -> dict[str, int]:
    """Return the number of people to invite, by the share of them that answers."""
    return {} if response_rate is None else {"invite": math.ceil(participants / response_rate)}


def _each_group(
    precision: Any, compare: float | None, confidence: float, power: float
) -> dict[str, Any]:
    """Return how many people each of two groups needs, where they are compared."""
    if compare is None:
        return {}
    people = precision.participants_of_each_group(compare, confidence=confidence, power=power)
    return {"compare": compare, "power": power, "participants_each_group": people}


def _protection(planned: Any) -> dict[str, object]:
    from masquerade.selection import TwoPartySums

    guarantee = planned.guarantee()
    rho = {"rho": float(planned.rho)} if isinstance(planned, TwoPartySums) else {}
    return {
        "mechanism": str(planned),
        "trust": guarantee.trust,
        "epsilon_event": guarantee.epsilon_event.to_json(),
        "delta": float(guarantee.delta),
        **rho,
    }


def _require_rate(response_rate: float | None) -> None:
    if response_rate is not None and not 0 < response_rate <= 1:
        raise typer.BadParameter(
            f"--response-rate is {response_rate:g}, expected above 0 and at most 1."
        )


def _require_one(
    margin: float | None,
    people: int | None,
    compare: float | None,
    odds: float | None,
    population: int | None,
) -> None:
    if [margin, people, compare, odds].count(None) != 3:
        raise typer.BadParameter(
            "Expected exactly one of --margin (how many people are needed for this "
            "margin?), --people (what is the margin with this many people?), --compare "
            "(how many people in each of two groups?) and --odds (how many to find that one group "
            "says yes more often?)."
        )
    if population is not None and people is None and margin is None:
        name = "--compare" if odds is None else "--odds"
        raise typer.BadParameter(f"{name} assumes large populations; leave out --population.")


def _plan_odds(spec: str, asked: dict[str, float], response_rate: float | None, json: bool) -> None:
    """Print how many people find a difference in odds, their answer masked."""
    from masquerade.analysis import odds_sample
    from masquerade.mechanisms import parse_mechanism

    mechanism = parse_mechanism(spec)
    ask_back(mechanism.guarantee())
    found = odds_sample(mechanism, **asked)
    result = {
        "participants": found.people,
        "participants_in_clear": found.clear,
        **asked,
        "power": found.power,
        "information_kept": found.information,
        "mechanism": str(mechanism),
        "statement": found.statement,
        **_invite(found.people, response_rate),
    }
    show(result, as_json=json, title="Plan")


def _plan_leaderboard(
    spec: str, margin: float | None, people: int | None, confidence: float, json: bool
) -> None:
    """Print how many votes a leaderboard needs, or how precise it is."""
    from masquerade.preference.leaderboard_plan import read_leaderboard_plan

    planned = read_leaderboard_plan(spec)
    if margin is not None:
        votes = planned.votes_for_margin(margin, confidence=confidence)
    elif people is not None:
        votes = people * planned.votes_each
    else:
        raise typer.BadParameter("A leaderboard is planned by --margin or --people.")
    show(planned.to_json(votes, confidence=confidence), as_json=json, title="Plan")
