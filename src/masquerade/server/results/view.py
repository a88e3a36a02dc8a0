"""A result as its pages show it: each question by each estimator, in figures and on an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.results.figures import Axis, Figures
from masquerade.surveys import Question
from masquerade.surveys.survey import Survey

LIKELIEST = "mle"
#: People below which a page says that intervals are wide.
FEW = 30

#: Name on the page and one sentence, for each.
ESTIMATOR_WORDS = {
    "eb": (
        "Balanced",
        "Levels are drawn towards each other, the noisier the more, and then count by their share "
        "of the people.",
    ),
    "respondent": (
        "Everybody alike",
        "Each level counts by its share of the people: right however level and opinion go "
        "together, but noisy.",
    ),
    "ivw": (
        "Sharpest",
        "Who is masked less counts more: precise where level and opinion have nothing to do with "
        "each other, wrong where they have.",
    ),
    LIKELIEST: (
        "Likeliest shares",
        "The shares between 0 and 100 % under which the reports are likeliest: a little off near "
        "the ends, and without an interval.",
    ),
}

_SUMS = ("Estimate", "What two parties added up, with the noise of both.")
_ONE_LEVEL = ("Estimate", "The masks, whose probabilities are known exactly, are taken out.")


def result_view(survey: Survey, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page of results shows of a `ResultCache.result`."""
    from masquerade.results import bibliography, methods_text
    from masquerade.results.methods import quoted

    by_id = {question.id: question for question in survey.questions}
    names = _estimators(result)
    split = _is_split(result)
    questions = [_question(by_id[one["id"]], one, result, names) for one in result["questions"]]
    return {
        "result": result,
        "description": survey.description,
        "in_clear": any(level["name"] == CLEAR for level in result["levels"]),
        "few": 0 < result["responses"] < FEW,
        "estimators": [
            {"name": name, "title": title, "says": says, "headline": name == result["estimator"]}
            for name, (title, says) in names.items()
        ],
        "questions": questions,
        "differing": [quoted(one["short"]) for one in questions if one["differ"] is not None],
        "doubtful": [quoted(one["short"]) for one in questions if one["doubt"]],
        "split": split,
        "cross": _cross_tables(survey, result) if split else [],
        "ranking": _ranking(result["ranking"]),
        "methods": methods_text(result),
        "bibtex": bibliography(result),
    }


def _estimators(result: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    headline = result["estimator"]
    if _is_split(result):
        return {headline: _SUMS}
    if result["labels"]:  # a labelling task has many items, and its labels are what counts
        return {headline: ESTIMATOR_WORDS[headline]}
    options = any(question["options"] for question in result["questions"])
    if result["level"] is not None or len(result["levels"]) == 1:
        names = {headline: _ONE_LEVEL}
    else:
        names = {headline: ESTIMATOR_WORDS[headline]}
        names |= {name: words for name, words in ESTIMATOR_WORDS.items() if name != LIKELIEST}
    return names | ({LIKELIEST: ESTIMATOR_WORDS[LIKELIEST]} if options else {})


def _question(
    question: Question,
    estimates: Mapping[str, Any],
    result: Mapping[str, Any],
    names: Iterable[str],
) -> dict[str, Any]:
    shares = Figures(
        True,
        Axis(0, 1, percent=True),
        _share_digits(estimates["options"]),
        parts=question.parts_of_whole,
    )
    mean = _of_mean(question, estimates)
    heterogeneity = [estimates["heterogeneity"], (estimates["mean"] or {}).get("heterogeneity")]
    differ = [test["probability"] for test in heterogeneity if test and test["differ"]]
    return {
        "id": estimates["id"],
        "text": estimates["text"],
        "short": _short(question),
        "kind": estimates["kind"],
        "n": estimates["n"],
        "differ": min(differ, default=None),
        "doubt": estimates["plausibility"]["reason"],
        "narrower": _narrower(estimates),
        "views": [_view(name, estimates, result, shares, mean) for name in names],
        "by_level": _levels_of_options(estimates, shares),
        "levels": estimates["n_by_level"],
        "quartiles": _quartiles(estimates, mean),
    }


def _quartiles(estimates: Mapping[str, Any], figures: Figures | None) -> list[tuple[str, str, str]]:
    """Return name, value and interval of each quartile, where sums of two parties have them."""
    found = estimates.get("quartiles") or []
    if figures is None:
        return []
    return [
        (name, figures.text(one["value"]), figures.between(one))
        for name, one in zip(("First quartile", "Median", "Third quartile"), found, strict=False)
        if one["value"] is not None
    ]


def _view(
    estimator: str,
    estimates: Mapping[str, Any],
    result: Mapping[str, Any],
    shares: Figures,
    mean: Figures | None,
) -> dict[str, Any]:
    """Return a question by one estimator."""
    from masquerade.results.headline import FEW as FEW_RESPONSES
    from masquerade.results.headline import FEWEST_FOR_HEADLINE, headline_kind

    headline = result["estimator"]
    # The likeliest shares have no interval, so errors are taken from the headline's estimator.
    used = headline if estimator == LIKELIEST else estimator
    likeliest = estimator == LIKELIEST
    bars = shares.rows(
        [
            (
                option["label"],
                _likeliest(option) if likeliest else option["estimators"][estimator],
                {
                    "reported": option["reported_share"],
                    "known": option["known_share"],
                    "top": option["top_probability"] if estimator == headline else None,
                },
            )
            for option in estimates["options"]
        ]
    )
    # By the unbiased values, so that ties at 0 hide no order.
    order = [
        option["likeliest_share"] if likeliest else option["estimators"][estimator]["value"]
        for option in estimates["options"]
    ]
    answered = _of_answered(estimates, shares)
    if any(option.get("of_answered") for option in estimates["options"]):
        # Of those who answered; of nobody where noise leaves none.
        order = [
            estimates["options"][code]["of_answered"]["value"] for code in range(len(answered))
        ]
    best = max(range(len(order)), key=order.__getitem__, default=None)
    view: dict[str, Any] = {
        "estimator": estimator,
        "bars": bars,
        "answered": answered,
        "among": "of those who answered" if answered else "",
        "axis": shares.axis,
        "note": "",
        "mean": None,
        "top": None if best is None else (answered or bars)[best],
        "sure": None,
        "headline": FEW_RESPONSES if estimates["n"] < FEWEST_FOR_HEADLINE else "nothing",
        "instead": "",
    }
    if mean is not None:
        numbers = estimates["mean"]["estimators"][used]
        everybody = mean.row(
            "Everybody", numbers, known=estimates["mean"].get("known_mean"), whole=True
        )
        apart = [
            mean.row(level["level"], level["mean"], people_there=level["n"])
            for level in estimates["by_level"]
            if level["mean"]
        ]
        view["mean"] = {"rows": [everybody, *apart], "axis": mean.axis, **everybody}
        view["headline"] = headline_kind(
            numbers, estimates["n"], width=mean.axis.high - mean.axis.low
        )
        view["instead"] = mean.between(numbers, "and")
        view["sure"] = _certainty(
            mean, numbers, estimates["mean"]["sensitivity"], estimates, result, used
        )
        if estimator == LIKELIEST:
            title, _ = _estimators(result)[headline]
            view["note"] = f"A mean has no likeliest shares; the one above is by “{title}”."
    elif best is not None and estimator != LIKELIEST:
        option = estimates["options"][best]
        numbers = option["of_answered"] if answered else option["estimators"][used]
        view["headline"] = headline_kind(numbers, estimates["n"], width=1)
        view["instead"] = shares.between(numbers, "and")
        view["sure"] = _certainty(shares, numbers, option["sensitivity"], estimates, result, used)
        view["sure"] |= {
            "of": option["label"],
            "among": view["among"],
            "top": option["top_probability"] if estimator == headline else None,
            "together": shares.between(
                {"low": option["simultaneous_low"], "high": option["simultaneous_high"]}
            )
            if estimator == headline
            else None,
        }
    return view


def _certainty(
    figures: Figures,
    numbers: Mapping[str, Any],
    wider: Mapping[str, Any],
    estimates: Mapping[str, Any],
    result: Mapping[str, Any],
    estimator: str,
) -> dict[str, Any]:
    """Return where the error comes from, and what would make it smaller."""
    from masquerade.results import outlook

    outcome = outlook(numbers, estimates["n"], confidence=result["confidence"])
    sure: dict[str, Any] = {
        "of": None,
        "among": "",
        "interval": figures.between(numbers),
        "errors": [],
        "more": [],
        "unmasked": None,
        "forecast": figures.spread(estimates["forecast_standard_error"]),
        "error": figures.spread(numbers.get("standard_error")),
        "top": None,
        "together": None,
        "sensitivity": None,
    }
    if estimator == "eb" and len(estimates["n_by_level"]) > 1:
        sure["sensitivity"] = (figures.text(wider["shown"]), figures.between(wider))
    if outcome is None:
        return sure
    words = {
        "sampling": ("People", "who happened to answer"),
        "mechanism": ("Noise", "what both parties added to the sums")
        if _is_split(result)
        else ("Masks", "how the masks happened to fall"),
        "level": ("Levels", "what is not known of how levels differ"),
    }
    sure["errors"] = [
        {
            "name": words[name][0],
            "says": words[name][1],
            "error": figures.spread(numbers[f"{name}_error"]),
            "part": part,
        }
        for name, part in outcome["parts"].items()
        # Less than 0.05 % would be shown as 0.0 %.
        if part >= 0.0005
    ]
    sure["more"] = [(people, figures.spread(margin)) for people, margin in outcome["more"]]
    sure["margin"] = figures.spread(outcome["margin"])
    sure["unmasked"] = outcome["unmasked"]
    return sure


def _is_split(result: Mapping[str, Any]) -> bool:
    return result.get("trust") == TWO_PARTIES


def _of_answered(estimates: Mapping[str, Any], shares: Figures) -> list[dict[str, Any]]:
    """Return each answer with its share of those who answered, where some did not."""
    found = [
        (option["label"], option.get("of_answered"), option["top_probability"])
        for option in estimates["options"]
    ]
    rows: list[tuple[str, Any, dict[str, Any]]] = [
        (label, one, {"top": top}) for label, one, top in found if one is not None
    ]
    # Noise can leave nobody who seems to have answered: then there is no share of them.
    return shares.rows(rows) if all(one["shown"] is not None for _, one, _ in rows) else []


def _cross_tables(survey: Survey, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of questions that were counted together, row by row."""
    figures = Figures(True, Axis(0, 1, percent=True), 0, parts=False)
    texts = {question.id: question.text for question in survey.questions}
    tables = []
    for place, table in enumerate(result["cross_tables"]):
        first, second = table["questions"]
        columns = survey.encoding.symbols(second)
        cells = [figures.row(cell["label"], cell) for cell in table["cells"]]
        rows = [cells[start : start + len(columns)] for start in range(0, len(cells), len(columns))]
        names = survey.encoding.symbols(first)
        tables.append(
            {
                "id": place,
                "first": texts[first],
                "second": texts[second],
                "columns": columns,
                "rows": list(zip(names, rows, strict=True)),
            }
        )
    return tables


def _short(question: Question) -> str:
    """Return what tells a question from others; many pairs are asked in the same words."""
    return question.short_text


def _levels_of_options(estimates: Mapping[str, Any], shares: Figures) -> list[dict[str, Any]]:
    """Return each answer with its share at every level that is shown."""
    apart = [level for level in estimates["by_level"] if level["options"]]
    # Within a level the answers' percentages add to 100.
    columns = [
        shares.rows(
            [(level["level"], option, {"people_there": level["n"]}) for option in level["options"]]
        )
        for level in apart
    ]
    return [
        {"label": option["label"], "rows": [column[index] for column in columns]}
        for index, option in enumerate(estimates["options"])
        if apart
    ]


def _likeliest(option: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": option["likeliest_share"], "shown": option["likeliest_share"]}


def _narrower(estimates: Mapping[str, Any]) -> str:
    """Return in words what would make a wide interval a quarter of the range."""
    needed = estimates["precision"]
    masked = {name: people for name, people in needed["by_level"].items() if name != CLEAR}
    best = min(masked, key=masked.__getitem__, default=None)
    if needed["people"] is not None:
        words = f"About {needed['people']:,} people would bring it to a quarter of the range"
        if best is not None and len(masked) > 1:
            words += f"; if all of them were at level “{best}”, {masked[best]:,} would do"
    else:
        words = "More people alone would not bring it to a quarter of the range"
        if best is not None and len(masked) > 1:
            words += f"; {masked[best]:,} people who are all at level “{best}” would"
    return f"{words}."


def _of_mean(question: Question, estimates: Mapping[str, Any]) -> Figures | None:
    if not estimates["mean"] or estimates["mean"]["value"] is None:
        return None
    if question.lattice is None:
        return None
    low, high = float(question.lattice.low), float(question.lattice.high)
    digits = 2 if high - low <= 20 else 1 if high - low <= 1000 else 0
    return Figures(False, Axis(low, high), digits, estimates["unit"])


def _share_digits(options: Sequence[Mapping[str, Any]]) -> int:
    """Return as many digits as the widest interval leaves a meaning to."""
    # Half a percentage point: with a larger error a decimal would be noise.
    return 0 if any((option["standard_error"] or 1) > 0.005 for option in options) else 1


def _ranking(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the items of each group that pairs link, best first, on one axis for all."""
    # One axis for all groups, so that bars of two groups can be compared in length.
    axis = Axis.around(end for row in rows for end in (row["low"], row["high"]))
    figures = Figures(False, axis, 2)
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        strength = {**row, "value": row["strength"], "shown": row["strength"]}
        groups.setdefault(row["group"], []).append(figures.row(row["item"], strength))
    return [{"axis": axis, "rows": group} for group in groups.values()]
