"""The result of a survey between two parties, from noisy sums, in the form of `survey_result`."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from masquerade.aggregate.noise import TWO_PARTIES, SumNoise
from masquerade.estimation import Quantile, shown_shares
from masquerade.estimation.sums import SummedPeople
from masquerade.exact import Micro
from masquerade.exact.number import quantity
from masquerade.results.forecasts import answering_share, forecast, split_people_for
from masquerade.results.labels import labelling_items
from masquerade.results.leaderboard import summed_leaderboards
from masquerade.results.question_figures import (
    FEWEST_FOR_HEADLINE,
    WIDEST_HEADLINE,
    Figure,
    QuartileFigure,
    QuestionResult,
)
from masquerade.results.question_reports import QuestionReports
from masquerade.results.question_result import CONFIDENCE, Setting, question_result
from masquerade.results.sum_reports import quartiles_of, question_reports, table_crowd
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
from masquerade.surveys.codebook import LABEL_TEMPLATE
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import RESPONDENT, Survey

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
    rho = Micro.of_amount(noise.rho)
    promise = PrintedGuarantee.of(level.guarantee())
    minimum = survey.two_parties.minimum if survey.two_parties else 0
    people = SummedPeople(count, population)
    # Votes on lists are in their leaderboards.
    places = [place for place, one in enumerate(survey.questions) if count and not one.takes_pair]
    tables = range(len(survey.encoding.cross)) if count else ()
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
        levels=(_level(level, token, people, rho),),
        guarantee_per_participant=promise,
        noise=_added(noise),
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
        inputs=_inputs(token, count, sums),
        version=version("masquerade"),
        questions=tuple(
            _question(survey, place, sums, people, (known or {}).get(survey.questions[place].id))
            for place in places
        ),
        cross_tables=tuple(_table(survey, place, sums, people) for place in tables),
        labels=_labels(survey, sums, people) if count and survey.template == LABEL_TEMPLATE else (),
        ranking=(),
        leaderboards=(summed_leaderboards(survey, sums, count) or None) if count else None,
    )


def _level(level: OfferedLevel, token: str, people: SummedPeople, rho: Micro) -> LevelSummary:
    return LevelSummary(
        name=level.name,
        responses=people.count,
        share=1.0 if people.count else None,
        pool=people.population,
        guarantee=PrintedGuarantee.of(level.guarantee()),
        rho_each=rho.to_json(),
        rho_total=(rho * people.count).to_json(),
        mechanisms=tuple(level.cost(token).mechanisms),
    )


def _added(noise: SumNoise) -> AddedNoise:
    blocks = zip(noise.blocks, noise.variances, strict=True)
    each = tuple(BlockNoise(block.outputs, str(one), str(2 * one)) for block, one in blocks)
    return AddedNoise(_NOISE, 2, each)


def _inputs(token: str, count: int, sums: Sequence[Sequence[int]]) -> str:
    text = json.dumps([token, count, [list(one) for one in sums]], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _labels(
    survey: Survey, sums: Sequence[Sequence[int]], people: SummedPeople
) -> tuple[ItemLabel, ...]:
    """Return the label that is surely ahead for each item, by its counts alone.

    No single answer is anywhere, so nobody's accuracy can be inferred.
    """
    found = []
    for place, item in enumerate(labelling_items(survey.questions)):
        first = _reports(survey, place, sums, people).ahead()
        named = None if first is None else first.named
        label = "" if named is None else item.labels[named]
        found.append(ItemLabel(item.id, item.text, label, None, item.right_answer, False))
    return tuple(found)


def split_codebook(survey: Survey, *, token: str, count: int | None) -> dict[str, Any]:
    """Return the codebook of the sums of a survey, as a JSON object."""
    noise, encoding = survey.split_noise, survey.encoding
    guarantee = survey.levels[0].guarantee()
    names = list(encoding.parts)
    names += [" x ".join(table) for table in encoding.cross]
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
    if place < encoding.tables_from:
        return list(list(encoding.parts.values())[place].counted)
    if place >= encoding.states_from:
        return list(list(encoding.states.values())[place - encoding.states_from])
    return list(encoding.cells(encoding.cross[place - encoding.tables_from]))


def _reports(
    survey: Survey, place: int, sums: Sequence[Sequence[int]], people: SummedPeople
) -> QuestionReports:
    question = survey.questions[place].id
    return question_reports(
        survey.encoding, question, sums, noise=survey.split_noise, people=people
    )


def _question(
    survey: Survey,
    place: int,
    sums: Sequence[Sequence[int]],
    people: SummedPeople,
    known: Sequence[float] | None,
) -> QuestionResult:
    question, noise, n = survey.questions[place], survey.split_noise, people.count
    encoding = survey.encoding.of(question.id)
    own = survey.encoding.place(question.id)
    reports = _reports(survey, place, sums, people)
    part = answering_share(reports)
    expected = forecast(survey, place, {TWO_PARTIES: n}, answering=part)
    needed = split_people_for(survey, place, WIDEST_HEADLINE / 2, answering=part)
    setting = Setting(
        estimator=RESPONDENT,
        mechanism=f"{TWO_PARTIES}:variance={noise.published_variance(own)}",
        n_by_level={TWO_PARTIES: n},
        forecast=expected.standard_error,
        needed={TWO_PARTIES: needed},
        known=known,
    )
    found = quartiles_of(encoding, reports)
    quartiles = None if found is None else tuple(map(_quartile, found))
    return question_result(question, reports, encoding.symbols, setting, quartiles=quartiles)


def _table(
    survey: Survey, place: int, sums: Sequence[Sequence[int]], people: SummedPeople
) -> CountedTable:
    """Return a table that was counted as such, with noise of its own."""
    noise = survey.split_noise
    crowd, labels = table_crowd(survey.encoding, place, sums, noise=noise, people=people)
    shares = shown_shares(crowd.shares().estimates(CONFIDENCE))
    return CountedTable(
        survey.encoding.cross[place],
        tuple(
            CrossCell(label, Figure.of(share, people.count))
            for label, share in zip(labels, shares, strict=True)
        ),
    )


def _quartile(found: Quantile) -> QuartileFigure:
    known = math.isfinite(found.value)
    numbers = (found.value, found.low, found.high) if known else (None, None, None)
    return QuartileFigure(found.share, *numbers)


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
        f"{quantity(result.refused or 0, 'response was', 'responses were')} refused.",
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
