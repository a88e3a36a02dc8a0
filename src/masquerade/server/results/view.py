"""A result as its pages show it: each question by each estimator, in figures and on an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from masquerade.mechanisms.level import CLEAR
from masquerade.server.results.axis import Axis
from masquerade.surveys import Comparison, Number, Question, Rating
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

_ONE_LEVEL = ("Estimate", "The masks, whose probabilities are known exactly, are taken out.")


@dataclass(frozen=True, slots=True)
class Figures:
    """The written form of a question's numbers."""

    share: bool  # whether they are shares of people
    axis: Axis  # from one end of their range to the other
    digits: int
    unit: str = ""

    def text(self, value: float | None) -> str:
        """Return a value that a person reads, in words."""
        if value is None:
            return "–"
        return f"{self.margin(value)}{self.unit and f' {self.unit}'}"

    def margin(self, value: float | None) -> str:
        """Return an error or an end of an interval in words."""
        if value is None:
            return "–"
        return f"{self._number(100 * value)} %" if self.share else self._number(value)

    def spread(self, value: float | None) -> str:
        """Return half of an interval in words: of shares, percentage points."""
        points = self.share and value is not None
        return f"{100 * value:.{self.digits}f} %-points" if points and value else self.margin(value)

    def between(self, numbers: Mapping[str, Any], joint: str = "to") -> str:
        """Return an interval in words, rounded outwards, so that it holds the rounded estimate."""
        if numbers.get("low") is None:
            return ""
        from masquerade.results.headline import outward_interval

        places = self.digits + 2 * self.share
        ends = outward_interval(numbers["low"], numbers["high"], digits=places)
        low, high = max(ends[0], self.axis.low), min(ends[1], self.axis.high)
        # Cut at the ends of the range: shares outside 0 and 1 mean nothing to a reader.
        if self.share:
            return f"{self._number(100 * low)} {joint} {self._number(100 * high)} %"
        unit = self.unit and f" {self.unit}"
        return f"{self._number(low)} {joint} {self._number(high)}{unit}"

    def row(
        self, label: str, numbers: Mapping[str, Any], *, percent: float | None = None, **more: Any
    ) -> dict[str, Any]:
        """Return one line of a chart and of its table.

        Parameters
        ----------
        label : str
        numbers : mapping
            An estimate of a result.
        percent : float, optional
            Of a share: as it is rounded together with the others of its question.
        more
            Further entries.
        """
        shown, value = numbers["shown"], numbers["value"]
        text = self.text(shown)
        if percent is not None:
            # What is rounded to 0 may be some share, and "0 %" alone would say none.
            text = f"{'' if percent else 'about '}{self._number(percent)} %"
        return {
            "label": label,
            "value": shown,
            "text": text,
            "unbiased": self.margin(value),
            "low": numbers.get("low"),
            "high": numbers.get("high"),
            "between": self.between(numbers),
            "people": self.margin(numbers.get("sampling_error")),
            "masks": self.margin(numbers.get("mechanism_error")),
            "levels": self.margin(numbers.get("level_error")),
            **more,
        }

    def rows(
        self, options: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]
    ) -> list[dict[str, Any]]:
        """Return one line for each answer, whose percentages add to 100."""
        from masquerade.results.headline import whole_percents

        percents = whole_percents([one["shown"] for _, one, _ in options], digits=self.digits)
        return [
            self.row(label, one, percent=percent, **more)
            for (label, one, more), percent in zip(options, percents, strict=True)
        ]

    def _number(self, value: float) -> str:
        text = f"{value:.{self.digits}f}".replace("-", "−")
        # Never "−0".
        return text.removeprefix("−") if not text.strip("−0.") else text


def result_view(definition: Survey, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page of results shows.

    Parameters
    ----------
    definition : Survey
        Of the survey.
    result : mapping
        See `ResultCache.result`.
    """
    from masquerade.results import bibliography, methods_text
    from masquerade.results.methods import quoted

    asked = {question.id: question for question in definition.questions}
    names = _estimators(result)
    questions = [
        _question(asked[found["id"]], found, result, names) for found in result["questions"]
    ]
    return {
        "result": result,
        "description": definition.description,
        "in_clear": any(level["name"] == CLEAR for level in result["levels"]),
        "few": 0 < result["responses"] < FEW,
        "estimators": [
            {"name": name, "title": title, "says": says, "headline": name == result["estimator"]}
            for name, (title, says) in names.items()
        ],
        "questions": questions,
        "differing": [quoted(one["short"]) for one in questions if one["differ"] is not None],
        "doubtful": [quoted(one["short"]) for one in questions if one["doubt"]],
        "ranking": _ranking(result["ranking"]),
        "methods": methods_text(result),
        "bibtex": bibliography(result),
    }


def _estimators(result: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    headline = result["estimator"]
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
    found: Mapping[str, Any],
    result: Mapping[str, Any],
    names: Iterable[str],
) -> dict[str, Any]:
    shares = Figures(True, Axis(0, 1, percent=True), _share_digits(found["options"]))
    mean = _of_mean(question, found)
    heterogeneity = [found["heterogeneity"], (found["mean"] or {}).get("heterogeneity")]
    differ = [test["probability"] for test in heterogeneity if test and test["differ"]]
    return {
        "id": found["id"],
        "text": found["text"],
        "short": _short(question),
        "kind": found["kind"],
        "n": found["n"],
        "differ": min(differ, default=None),
        "doubt": found["plausibility"]["reason"],
        "narrower": _narrower(found),
        "views": [_view(name, found, result, shares, mean) for name in names],
        "by_level": _levels_of_options(found, shares),
        "levels": found["n_by_level"],
    }


def _view(
    estimator: str,
    found: Mapping[str, Any],
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
            for option in found["options"]
        ]
    )
    # By the unbiased values, so that ties at 0 hide no order.
    order = [
        option["likeliest_share"] if likeliest else option["estimators"][estimator]["value"]
        for option in found["options"]
    ]
    best = max(range(len(order)), key=order.__getitem__, default=None)
    view: dict[str, Any] = {
        "estimator": estimator,
        "bars": bars,
        "axis": shares.axis,
        "note": "",
        "mean": None,
        "top": None if best is None else bars[best],
        "sure": None,
        "headline": FEW_RESPONSES if found["n"] < FEWEST_FOR_HEADLINE else "nothing",
        "instead": "",
    }
    if mean is not None:
        numbers = found["mean"]["estimators"][used]
        everybody = mean.row(
            "Everybody", numbers, known=found["mean"].get("known_mean"), whole=True
        )
        apart = [
            mean.row(level["level"], level["mean"], people_there=level["n"])
            for level in found["by_level"]
            if level["mean"]
        ]
        view["mean"] = {"rows": [everybody, *apart], "axis": mean.axis, **everybody}
        view["headline"] = headline_kind(numbers, found["n"], width=mean.axis.high - mean.axis.low)
        view["instead"] = mean.between(numbers, "and")
        view["sure"] = _sure(mean, numbers, found["mean"]["sensitivity"], found, result, used)
        if estimator == LIKELIEST:
            title, _ = _estimators(result)[headline]
            view["note"] = f"A mean has no likeliest shares; the one above is by “{title}”."
    elif best is not None and estimator != LIKELIEST:
        option = found["options"][best]
        numbers = option["estimators"][used]
        view["headline"] = headline_kind(numbers, found["n"], width=1)
        view["instead"] = shares.between(numbers, "and")
        view["sure"] = _sure(shares, numbers, option["sensitivity"], found, result, used)
        view["sure"] |= {
            "of": option["label"],
            "top": option["top_probability"] if estimator == headline else None,
            "together": shares.between(
                {"low": option["simultaneous_low"], "high": option["simultaneous_high"]}
            )
            if estimator == headline
            else None,
        }
    return view


def _sure(
    figures: Figures,
    numbers: Mapping[str, Any],
    wider: Mapping[str, Any],
    found: Mapping[str, Any],
    result: Mapping[str, Any],
    estimator: str,
) -> dict[str, Any]:
    """Return where the error comes from, and what would make it smaller."""
    from masquerade.results import outlook

    sees = outlook(numbers, found["n"], confidence=result["confidence"])
    sure: dict[str, Any] = {
        "of": None,
        "interval": figures.between(numbers),
        "errors": [],
        "more": [],
        "unmasked": None,
        "forecast": figures.spread(found["forecast_standard_error"]),
        "error": figures.spread(numbers.get("standard_error")),
        "top": None,
        "together": None,
        "sensitivity": None,
    }
    if estimator == "eb" and len(found["n_by_level"]) > 1:
        sure["sensitivity"] = (figures.text(wider["shown"]), figures.between(wider))
    if sees is None:
        return sure
    words = {
        "sampling": ("People", "who happened to answer"),
        "mechanism": ("Masks", "how the masks happened to fall"),
        "level": ("Levels", "what is not known of how levels differ"),
    }
    sure["errors"] = [
        {
            "name": words[name][0],
            "says": words[name][1],
            "error": figures.spread(numbers[f"{name}_error"]),
            "part": part,
        }
        for name, part in sees["parts"].items()
        # Less than 0.05 % would be shown as 0.0 %.
        if part >= 0.0005
    ]
    sure["more"] = [(people, figures.spread(margin)) for people, margin in sees["more"]]
    sure["margin"] = figures.spread(sees["margin"])
    sure["unmasked"] = sees["unmasked"]
    return sure


def _short(question: Question) -> str:
    """Return what tells a question from others; many pairs are asked in the same words."""
    if isinstance(question, Comparison):
        return f"{question.text} {question.item_a} / {question.item_b}"
    return question.text


def _levels_of_options(found: Mapping[str, Any], shares: Figures) -> list[dict[str, Any]]:
    """Return each answer with its share at every level that is shown."""
    apart = [level for level in found["by_level"] if level["options"]]
    # Within a level the answers' percentages add to 100.
    columns = [
        shares.rows(
            [(level["level"], option, {"people_there": level["n"]}) for option in level["options"]]
        )
        for level in apart
    ]
    return [
        {"label": option["label"], "rows": [column[place] for column in columns]}
        for place, option in enumerate(found["options"])
        if apart
    ]


def _likeliest(option: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": option["likeliest_share"], "shown": option["likeliest_share"]}


def _narrower(found: Mapping[str, Any]) -> str:
    """Return in words what would make a wide interval a quarter of the range."""
    needed = found["precision"]
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


def _of_mean(question: Question, found: Mapping[str, Any]) -> Figures | None:
    if not found["mean"] or found["mean"]["value"] is None:
        return None
    if not isinstance(question, Number | Rating):
        return None
    low, high = float(question.low), float(question.high)
    digits = 2 if high - low <= 20 else 1 if high - low <= 1000 else 0
    return Figures(False, Axis(low, high), digits, found["unit"])


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
