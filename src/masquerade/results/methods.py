"""Sentences on how a result was computed, for the methods section of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from masquerade.estimation import WITHIN
from masquerade.exact.number import quantity
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.results.question_figures import QuestionResult
from masquerade.results.two_party_result import epsilon_text, split_methods
from masquerade.results.typed_result import LevelSummary, SurveyResult

#: BibTeX entries by key, as templates of `str.format`.
REFERENCES = {
    "masquerade": """@software{{masquerade,
  title = {{Masquerade: privacy-preserving crowdsourcing}},
  version = {{{version}}},
  note = {{Computed from the reports with SHA-256 {inputs}}}
}}""",
    "warner1965": """@article{{warner1965,
  author = {{Warner, Stanley L.}},
  title = {{Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias}},
  journal = {{Journal of the American Statistical Association}},
  volume = {{60}}, number = {{309}}, pages = {{63--69}}, year = {{1965}}
}}""",
    "canonne2020": """@inproceedings{{canonne2020,
  author = {{Canonne, Cl{{\\'e}}ment L. and Kamath, Gautam and Steinke, Thomas}},
  title = {{The Discrete {{Gaussian}} for Differential Privacy}},
  booktitle = {{Advances in Neural Information Processing Systems}},
  volume = {{33}}, year = {{2020}}
}}""",
    "owen1988": """@article{{owen1988,
  author = {{Owen, Art B.}},
  title = {{Empirical Likelihood Ratio Confidence Intervals for a Single Functional}},
  journal = {{Biometrika}},
  volume = {{75}}, number = {{2}}, pages = {{237--249}}, year = {{1988}}
}}""",
    "hung2019": """@article{{hung2019,
  author = {{Hung, Kenneth and Fithian, William}},
  title = {{Rank Verification for Exponential Families}},
  journal = {{The Annals of Statistics}},
  volume = {{47}}, number = {{2}}, pages = {{758--782}}, year = {{2019}}
}}""",
    "bradley1952": """@article{{bradley1952,
  author = {{Bradley, Ralph Allan and Terry, Milton E.}},
  title = {{Rank Analysis of Incomplete Block Designs: I. The Method of Paired Comparisons}},
  journal = {{Biometrika}},
  volume = {{39}}, number = {{3/4}}, pages = {{324--345}}, year = {{1952}}
}}""",
    "kim2012": """@inproceedings{{kim2012,
  author = {{Kim, Hyun-Chul and Ghahramani, Zoubin}},
  title = {{Bayesian Classifier Combination}},
  booktitle = {{Proceedings of the 15th International Conference on Artificial Intelligence and
    Statistics}},
  pages = {{619--627}}, year = {{2012}}
}}""",
}


_NOISE = "discrete-gaussian"

_LEVEL_WORDS = {
    "within": "They allow that people at no level differ from everybody by more than "
    f"{100 * WITHIN:g} % of the range.",
    "own": "They let people at each level answer in whatever way.",
    "alike": "They take people at all levels to answer alike.",
}


def quoted(text: str) -> str:
    """Return a text in quotation marks, or as it is where it begins with one.

    Examples
    --------
    >>> quoted("Rain?"), quoted("“Never again.”")
    ('“Rain?”', '“Never again.”')
    """
    return text if text[:1] in ("“", "„", "«", '"') else f"“{text}”"


def methods_text(result: SurveyResult) -> str:
    """Return a paragraph on how a result was come by, ready to be pasted.

    It has the names and years of what `bibliography` gives in full.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> methods_text(result)[:40]
    '900 people answered a survey of 2 questi'
    """
    split = result.split
    n, asked = result.responses, len(result.levels[0].mechanisms)
    if split:
        asked = len(result.questions)
    made = "simulated " if result.simulated else ""
    people = quantity(n, f"{made}person", f"{made}people")
    sentences = [
        f"{people} answered a survey of {quantity(asked, 'question')} ({quoted(result.title)}).",
        *(split_methods(result) if split else (_masking(result), _promise(result))),
        *_figures(result),
        *_checks(result),
        *_models(result),
        f"Computed with Masquerade {result.version}; the definition that was shown to "
        f"participants has the SHA-256 hash {result.hash[:16]}…, the "
        f"{'sums' if split else 'reports'} {result.inputs[:16]}….",
    ]
    return " ".join(sentences)


def _figures(result: SurveyResult) -> Iterator[str]:
    """Yield the sentences on estimates and intervals."""
    split = result.split
    if not split and any(level.name != CLEAR for level in result.levels):
        yield "Estimates undo the masks, whose probabilities are known exactly."
    yield (
        f"Intervals are of {100 * result.confidence:g} % and hold the errors of sampling and of "
        f"{'the noise' if split else 'masking'}: they are those of the likelihood ratio of the "
        f"{'sums' if split else 'reports'}, with half a person added at the far end (Owen, 1988)."
    )
    if len(result.levels) > 1:
        yield f"{_LEVEL_WORDS[result.estimator]} This was fixed before the first answer."
    yield (
        "Shares are shown as the nearest that are at least 0 and sum to 1, means within their "
        "scale, and no point is shown where the interval is wider than a quarter of the range."
    )
    if any(question.headline.option is not None for question in result.questions):
        yield (
            "An option is said to be ahead where it is so of the second in a two-sided test (Hung "
            "and Fithian, 2019); its interval holds for all options at once."
        )
    if any(_NOISE in question.mechanism for question in result.questions):
        yield (
            "What one noisy report counts is bounded a few standard deviations of the noise "
            "beyond the scale, with a bias of at most a twentieth of a level’s standard error."
        )


def _checks(result: SurveyResult) -> Iterator[str]:
    """Yield the sentences on reports that no mask makes, and on differences between levels."""
    doubtful = [q.text for q in result.questions if q.plausibility.doubtful]
    if doubtful:
        named = ", ".join(quoted(text) for text in doubtful)
        yield (
            f"Reports were not such as the masks make of any answers (p < "
            f"{result.rules.false_alarm:g}) in {named}; some devices did not mask, or lied."
        )
    if any(question.heterogeneity for question in result.questions):
        differ = ", ".join(quoted(one.text) for one in result.questions if _differs(one))
        yield (
            "Whether levels differed was tested, and corrected for the number of questions (Holm, "
            f"1979): at p < 0.05 they did in {differ or 'no question'}."
        )


def _models(result: SurveyResult) -> Iterator[str]:
    """Yield the sentences on rankings, leaderboards and labels."""
    if result.ranking:
        yield (
            "Compared items were put on one scale from the estimated shares of all pairs (Bradley "
            "and Terry, 1952), ties counted half."
        )
    if result.leaderboards:
        yield _ranked_list(split=result.split)
    if result.labels:
        yield (
            "An item has the label that is surely ahead of the others by its counts, else none."
            if result.split
            else "Labels were inferred together with the accuracy of each person by Bayesian "
            "combination (Kim and Ghahramani, 2012), through the masks; a known label was left "
            "out while its own item was inferred."
        )


def _ranked_list(*, split: bool) -> str:
    """Return the sentence on the leaderboards of lists."""
    fitted = (
        "each person’s device drew pairs without an item in common, and how often each item won "
        "and lost was added up with noise; errors hold the votes, the draw of pairs and the noise "
        "of both parties"
        if split
        else "fitted to the scores that the masks leave unbiased; errors are at least those "
        "clustered by person"
    )
    return (
        f"Items of a list were ranked by votes on pairs (Davidson, 1970): {fitted}. The ranks of "
        "all items hold together in 95 of 100 leaderboards."
    )


def bibliography(result: SurveyResult) -> str:
    """Return the BibTeX entries of the works in `methods_text`, and of the program.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> bibliography(result).startswith("@")
    True
    """
    known = {"version": result.version, "inputs": result.inputs}
    text = methods_text(result)
    named = {
        "warner1965": "Warner, 1965",
        "canonne2020": "Canonne",
        "owen1988": "Owen, 1988",
        "hung2019": "Fithian, 2019",
        "bradley1952": "Bradley and Terry",
        "kim2012": "Ghahramani",
    }
    # Looked up in the paragraph itself, so that it cites nothing that is missing here.
    keys = ["masquerade", *(key for key, words in named.items() if words in text)]
    return "\n\n".join(REFERENCES[key].format(**known) for key in keys)


def _masking(result: SurveyResult) -> str:
    masked = [level for level in result.levels if level.name != CLEAR]
    clear = [level for level in result.levels if level.name == CLEAR]
    sent = "were sent as they were given"
    if not masked:
        return f"Nothing was masked: answers {sent}."
    # a mechanism's name stands before the colon, its parameters after it
    masks = {text.partition(":")[0] for level in masked for text in level.mechanisms}
    ways = []
    if masks - {_NOISE}:
        ways.append("answers were replaced at random with known probability (Warner, 1965)")
    if _NOISE in masks:
        cited = "Canonne, Kamath and Steinke, 2020"
        ways.append(f"discrete Gaussian noise was added to numbers ({cited})")
    each = f"But for people who chose the level “{CLEAR}”, each" if clear else "Each"
    how = f"{each} answer was masked on the participant’s own device before it was sent: "
    rest = f"The answers of the others {sent}" if clear else "No true answer was collected"
    return f"{how}{', and '.join(ways)}. {rest}."


def _promise(result: SurveyResult) -> str:
    def one(level: LevelSummary) -> str:
        promise, count = level.guarantee, level.responses
        delta = f", δ = {promise.delta:g}" if promise.delta else ""
        if level.name == CLEAR:
            loss = "nothing is promised"
        else:
            loss = f"ε = {epsilon_text(promise.epsilon_user)}{delta}"
        # Few people at a level are withheld, see `shown_counts`; so is their number here.
        few = "not counted apart" if count is None else f"{count:,} people"
        return loss if len(result.levels) == 1 else f"{level.name}: {loss}, {few}"

    promises = "; ".join(map(one, result.levels))
    chosen = ", chosen by the participants" if len(result.levels) > 1 else ""
    return (
        "Local differential privacy of all answers of a participant, against everybody but their "
        f"own device{chosen}: {promises}."
    )


def _differs(question: QuestionResult) -> bool:
    found = question.heterogeneity
    return bool(found and found.differ)
