"""The result of a survey between two parties, from noisy sums, in the form of `survey_result`."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from scipy.special import ndtri

from masquerade.aggregate.estimates import Quantile, top_probability
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.aggregate.score_intervals import Design, SumEstimate
from masquerade.estimation.estimate import Estimate, shown_shares
from masquerade.exact import Micro
from masquerade.results.headline import (
    FEWEST_FOR_HEADLINE,
    WIDEST_HEADLINE,
    headline,
    range_width,
)
from masquerade.results.labels import labelling_items
from masquerade.results.question_figures import (
    Figure,
    MeanFigures,
    OptionFigures,
    PeopleNeeded,
    QuartileFigure,
    QuestionResult,
    ReportTest,
)
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.typed_result import (
    AddedNoise,
    BlockNoise,
    CountedTable,
    CrossCell,
    ItemLabel,
    LevelSummary,
    PrintedGuarantee,
    ResultLedger,
    ResultRules,
    SurveyResult,
)
from masquerade.surveys import Question, QuestionSums
from masquerade.surveys.codebook import LABEL_TEMPLATE
from masquerade.surveys.survey import RESPONDENT, Survey
from masquerade.surveys.two_parties import expected_margin

CODEBOOK_FORMAT, CODEBOOK_VERSION = "masquerade-sums", 1
_NOISE = "discrete-gaussian"


def split_result(
    survey: Survey,
    sums: Sequence[Sequence[int]],
    *,
    token: str,
    count: int,
    refused: int,
    population: int | None = None,
    known: Mapping[str, Sequence[float]] | None = None,
) -> SurveyResult:
    """Return the result of a survey between two parties.

    Parameters
    ----------
    survey : Survey
    sums : sequence of sequences of int
        Of each block, with the noise of both parties.
    token : str
        Of the survey.
    count : int
        Responses in the sums.
    refused : int
        Responses whose proof did not hold; they are in no sum.
    population : int, optional
        How many people could have answered, where the result is about them alone.
    known : mapping, optional
        Question id to the share of people behind each answer, of a made-up crowd.

    Returns
    -------
    SurveyResult
        With ``trust``, ``parties``, ``noise``, ``refused`` and ``cross_tables``. The errors of a
        figure by sampling and by noise stand apart, the latter as its ``mechanism_error``.
    """
    noise, level = survey.split_noise, survey.levels[0]
    cost = level.cost(token)
    rho = Micro.of_amount(noise.rho)
    design = Design(max(count, 1), CONFIDENCE, population)
    found = survey.encoding.estimates(sums, noise=noise, design=design) if count else []
    asked, promise = len(survey.questions), PrintedGuarantee.of(level.guarantee())
    minimum = survey.two_parties.minimum if survey.two_parties else 0
    inputs = json.dumps([token, count, [list(one) for one in sums]], separators=(",", ":"))
    return SurveyResult(
        survey=token,
        title=survey.title,
        responses=count,
        refused=refused,
        trust=TWO_PARTIES,
        parties=survey.two_parties,
        confidence=CONFIDENCE,
        # Everybody counts once; there are no levels to weigh.
        estimator=RESPONDENT,
        level=level.name,
        levels=(
            LevelSummary(
                name=level.name,
                responses=count,
                share=1.0 if count else None,
                pool=population,
                guarantee=promise,
                rho_each=rho.to_json(),
                rho_total=(rho * count).to_json(),
                mechanisms=tuple(cost.mechanisms),
            ),
        ),
        guarantee_per_participant=promise,
        noise=AddedNoise(
            _NOISE,
            2,
            tuple(
                BlockNoise(block.outputs, str(one), str(2 * one))
                for block, one in zip(noise.blocks, noise.variances, strict=True)
            ),
        ),
        ledger=ResultLedger(
            count, promise.epsilon_user, {level.name: (rho * count).to_json()}, clear_disclosures=0
        ),
        rules=ResultRules(
            fewest_at_level=minimum,
            fewest_in_cell=minimum,
            fewest_for_headline=FEWEST_FOR_HEADLINE,
            widest_headline=WIDEST_HEADLINE,
            false_alarm=0.0,
        ),
        simulated=known is not None,
        hash=survey.content_hash(),
        inputs=hashlib.sha256(inputs.encode()).hexdigest(),
        version=version("masquerade"),
        questions=tuple(
            _question(
                survey,
                place,
                one,
                counts=sums[place],
                design=design,
                known=(known or {}).get(one.question),
            )
            for place, one in enumerate(found[:asked])
        ),
        cross_tables=tuple(
            CountedTable(
                survey.encoding.cross[place],
                tuple(
                    CrossCell(label, Figure.of(_estimate(share)))
                    for label, share in zip(one.symbols, one.shares, strict=True)
                ),
            )
            for place, one in enumerate(found[asked:])
        ),
        labels=_labels(survey, sums, design) if count and survey.template == LABEL_TEMPLATE else (),
        ranking=(),
    )


def _labels(survey: Survey, sums: Sequence[Sequence[int]], design: Design) -> tuple[ItemLabel, ...]:
    """Return the label that most people gave each item, by its counts alone.

    No single answer is anywhere, so nobody's accuracy can be inferred.
    """
    found = []
    for place, item in enumerate(labelling_items(survey.questions)):
        labels = len(item.labels)
        chance = _top_probability(survey, place, sums[place], design, contenders=labels)
        best = max(range(labels), key=sums[place].__getitem__)
        found.append(
            ItemLabel(
                id=item.id,
                item=item.text,
                label=item.labels[best],
                probability=chance[best],
                known_label=item.right_answer,
                orientation_ambiguous=False,
            )
        )
    return tuple(found)


def _top_probability(
    survey: Survey,
    place: int,
    counts: Sequence[int],
    design: Design,
    *,
    contenders: int | None = None,
) -> list[float]:
    chance = top_probability(
        counts,
        variance=float(2 * survey.split_noise.variances[place]),
        design=design,
        contenders=contenders,
    )
    # Rounding may take a sum of shares above 1.
    return [min(one, 1.0) for one in chance.tolist()]


def split_codebook(survey: Survey, *, token: str, count: int | None) -> dict[str, Any]:
    """Return the codebook of the sums of a survey, as a JSON object."""
    noise, encoding = survey.split_noise, survey.encoding
    guarantee = survey.levels[0].guarantee()
    names = [question.id for question in survey.questions]
    names += [f"{first} x {second}" for first, second in encoding.cross]
    # Of questions with several answers that some people do not answer: who did.
    names += [f"{name}: answered" for name in encoding.states]
    return {
        "format": CODEBOOK_FORMAT,
        "format_version": CODEBOOK_VERSION,
        "survey": token,
        "title": survey.title,
        "hash": survey.content_hash(),
        "trust": TWO_PARTIES,
        "parties": None if survey.two_parties is None else survey.two_parties.to_json(),
        "guarantee": guarantee.to_json(),
        "n": count,
        "sums": [
            {
                "of": name,
                "symbols": _symbols(survey, place),
                "noise": _NOISE,
                "variance_each": str(noise.variances[place]),
                "variance": str(2 * noise.variances[place]),
            }
            for place, name in enumerate(names)
        ],
        "definition": survey.to_json(),
    }


def _symbols(survey: Survey, place: int) -> list[str]:
    encoding = survey.encoding
    if place < len(survey.questions):
        question = survey.questions[place]
        return list(encoding.of(question.id).counted)
    place -= len(survey.questions)
    if place >= len(encoding.cross):
        return list(list(encoding.states.values())[place - len(encoding.cross)])
    first, second = encoding.cross[place]
    return [f"{x} x {y}" for x in encoding.symbols(first) for y in encoding.symbols(second)]


def _question(
    survey: Survey,
    place: int,
    found: QuestionSums,
    *,
    counts: Sequence[int],
    design: Design,
    known: Sequence[float] | None,
) -> QuestionResult:
    question, n, noise = survey.questions[place], design.count, survey.split_noise
    others = found.shares[len(found.answered) :]
    # The part of all people who answered, where others were not asked or did not.
    part = min(max(1 - sum(one.value for one in others), 1 / max(n, 1)), 1.0)
    _, margin = expected_margin(noise, place, question, people=max(round(n * part), 1))
    shares = [_estimate(one) for one in found.shares]
    top: Sequence[float | None] = [None] * len(shares)
    if shares and question.parts_of_whole:
        shares = list(shown_shares(shares))
        top = _top_probability(survey, place, counts, design, contenders=len(found.answered))
        top = [*top, *[None] * len(others)]
    # Answers come first; where there are others, some people did not answer.
    answered = found.answered if len(found.answered) < len(shares) else ()
    options = tuple(
        OptionFigures(
            label=label,
            reported_share=share.value,
            known_share=known[code] if known else None,
            share=(figure := Figure.of(share)),
            of_answered=Figure.of(_estimate(answered[code])) if code < len(answered) else None,
            simultaneous_low=None,
            simultaneous_high=None,
            top_probability=top[code],
            likeliest_share=share.shown,
            sensitivity=figure,
            estimators={RESPONDENT: figure},
        )
        for code, (label, share) in enumerate(zip(found.symbols, shares, strict=True))
    )
    mean = None
    if found.mean is not None:
        figure = Figure.of(_estimate(found.mean))
        mean = MeanFigures(figure, None, figure, {RESPONDENT: figure})
    return QuestionResult(
        id=question.id,
        text=question.text,
        kind=question.kind,
        unit=getattr(question, "unit", ""),
        n=n,
        n_by_level={TWO_PARTIES: n},
        estimator=RESPONDENT,
        mechanism=f"{TWO_PARTIES}:variance={2 * noise.variances[place]}",
        options=options,
        heterogeneity=None,
        # What is ill-formed was refused by its proof, and a sum shows nothing more of anybody.
        plausibility=ReportTest(None, doubtful=False, reason=None),
        mean=mean,
        quartiles=None if found.quartiles is None else tuple(map(_quartile, found.quartiles)),
        forecast_standard_error=margin / float(ndtri(0.5 + CONFIDENCE / 2)),
        headline=headline(options, mean, n, question),
        precision=_people_needed(survey, place, question, part=part),
        by_level=(),
    )


def _quartile(found: Quantile) -> QuartileFigure:
    known = math.isfinite(found.value)
    numbers = (found.value, found.low, found.high) if known else (None, None, None)
    return QuartileFigure(found.share, *numbers)


def _people_needed(survey: Survey, place: int, question: Question, *, part: float) -> PeopleNeeded:
    """Return how many people bring the interval to a quarter of the range, as planning has it.

    `part` is the share of them who answer this question.
    """
    wanted = WIDEST_HEADLINE / 2 * range_width(question)
    low, high = 1, 2**24
    # The margin falls with the number of people: bisection.
    while low < high:
        people = (low + high) // 2
        margin = expected_margin(survey.split_noise, place, question, people=people)[1]
        low, high = (low, people) if margin <= wanted else (people + 1, high)
    people = math.ceil(low / part)
    return PeopleNeeded(people, {TWO_PARTIES: people})


def _estimate(found: SumEstimate) -> Estimate:
    return Estimate(
        found.value,
        found.standard_error,
        found.sampling_error,
        found.noise_error,
        found.low,
        found.high,
        0.0,
        found.shown,
    )


def split_methods(result: SurveyResult) -> list[str]:
    """Return sentences on how the answers were split and added up, for `methods_text`."""
    promise, terms = result.guarantee_per_participant, result.parties
    named = (
        [f"One party ran the survey; the other was {terms.operator} ({terms.helper})."]
        if terms
        else []
    )
    return [
        "On each participant’s own device the answers were split into two shares with a proof that "
        "they are well-formed (Prio3; Corrigan-Gibbs and Boneh, 2017; Davis et al., 2023). Two "
        "parties checked the proofs and added up the shares without seeing an answer; "
        f"{result.refused} responses were refused.",
        *named,
        "Each party added discrete Gaussian noise to its sums before it showed them (Canonne, "
        "Kamath and Steinke, 2020).",
        "Zero-concentrated differential privacy of all answers of a participant, against whoever "
        "sees the result and everything that one of the parties sees: "
        f"ρ = {result.levels[0].rho_each:g}, that is "
        f"ε = {epsilon_text(promise.epsilon_user)} at δ = {promise.delta:g}. Should both "
        "parties put their shares together, they can read every answer.",
    ]


def epsilon_text(epsilon: float | str) -> str:
    """Return an epsilon in thousandths, rounded up."""
    if isinstance(epsilon, str):
        return epsilon
    # Amounts are whole millionths; a text never promises more than the guarantee.
    return f"{-(-round(epsilon * 1_000_000) // 1000) / 1000:g}"
