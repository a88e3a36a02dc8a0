"""The result of a survey, a function of its reports and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version

from masquerade.errors import ParameterError
from masquerade.estimation.plausibility import FALSE_ALARM
from masquerade.exact import Micro
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.results.cross_tables import FEWEST_IN_CELL
from masquerade.results.labels import label_result
from masquerade.results.leaderboard import leaderboards
from masquerade.results.question_figures import FEWEST_FOR_HEADLINE, WIDEST_HEADLINE
from masquerade.results.question_result import CONFIDENCE, masked_question, tested_together
from masquerade.results.ranking import ranking_result
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import (
    LevelSummary,
    PrintedGuarantee,
    ResultLedger,
    ResultRules,
    SurveyResult,
)
from masquerade.surveys.codebook import LABEL_TEMPLATE
from masquerade.surveys.small_counts import FEWEST_AT_LEVEL, shown_counts


def survey_result(reports: SurveyReports) -> SurveyResult:
    """Return the result of a survey.

    The same reports and codebook give the same object to the last bit, in this version of the
    program and of the numerical libraries; `inputs` names what went in.

    Parameters
    ----------
    reports : SurveyReports

    Returns
    -------
    SurveyResult

    Raises
    ------
    ParameterError
        The pool has other levels than the survey.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, people, ["medium"] * 40, sent)
    >>> [question.id for question in survey_result(reports).questions]
    ['ill']
    """
    codebook = reports.codebook
    n, counts = len(reports), reports.counts()
    shown = shown_counts(counts)
    if codebook.pool is not None:
        _check_pool(codebook.pool, counts)
    guarantees = {name: codebook.survey.level(name).guarantee() for name in codebook.levels}
    weakest = max(guarantees.values(), key=lambda promise: promise.epsilon_user)
    rho = {name: codebook.rho(name) for name in codebook.levels}
    # A level of the pool at which nobody answered still counts among the people.
    pool = codebook.pool
    names = [name for name, n in counts.items() if n or (pool is not None and pool[name])]
    asked = enumerate(codebook.questions) if n else ()
    return SurveyResult(
        survey=codebook.token,
        title=codebook.survey.title,
        responses=n,
        refused=None,
        trust=None,
        parties=None,
        confidence=CONFIDENCE,
        estimator=codebook.survey.estimator,
        level=codebook.survey.fixed_level,
        levels=tuple(
            LevelSummary(
                name=name,
                responses=shown[name],
                share=_share(shown[name], n),
                pool=None if pool is None else pool[name],
                guarantee=PrintedGuarantee.of(guarantees[name]),
                rho_each=rho[name].to_json(),
                rho_total=_total(rho[name], shown[name]),
                mechanisms=tuple(str(mechanism) for mechanism in mechanisms),
            )
            for name, mechanisms in codebook.levels.items()
        ),
        # Of the level that protects least: nobody has less.
        guarantee_per_participant=PrintedGuarantee.of(weakest),
        noise=None,
        ledger=ResultLedger(
            n,
            weakest.epsilon_user.to_json(),
            {name: _total(rho[name], shown[name]) for name in codebook.levels},
            _times(shown.get(CLEAR, 0), len(codebook.questions)),
        ),
        rules=ResultRules(
            fewest_at_level=FEWEST_AT_LEVEL,
            fewest_in_cell=FEWEST_IN_CELL,
            fewest_for_headline=FEWEST_FOR_HEADLINE,
            widest_headline=WIDEST_HEADLINE,
            false_alarm=FALSE_ALARM,
        ),
        simulated=codebook.known_shares is not None,
        hash=codebook.hash,
        inputs=reports.digest(),
        version=version("masquerade"),
        questions=tested_together(
            [
                masked_question(
                    question,
                    {name: reports.sent(name, place) for name in names},
                    estimator=codebook.survey.estimator,
                    pool=None if pool is None else {name: pool[name] for name in names},
                    known=(codebook.known_shares or {}).get(question.id),
                    offered={name: masks[place] for name, masks in codebook.levels.items()},
                )
                for place, question in asked
            ]
        ),
        cross_tables=None,
        labels=label_result(reports) if n and codebook.survey.template == LABEL_TEMPLATE else (),
        ranking=ranking_result(reports) if n else (),
        leaderboards=leaderboards(reports) or None,
    )


def result_bytes(result: SurveyResult) -> bytes:
    """Return a result as JSON text, always the same for the same result.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports, survey_result
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, people, ["medium"] * 40, sent)
    >>> result_bytes(survey_result(reports))[:1]
    b'{'
    """
    # allow_nan=False: an error rather than a text that other programs cannot read
    content = result.to_json()
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _share(count: int | None, n: int) -> float | None:
    return None if count is None or not n else count / n


def _times(count: int | None, each: int) -> int | None:
    return None if count is None else count * each


def _total(each: Micro, count: int | None) -> float | str | None:
    return None if count is None else (each * count).to_json()


def _check_pool(pool: Mapping[str, int], counts: Mapping[str, int]) -> None:
    if set(pool) != set(counts):
        raise ParameterError(
            f"the pool has the levels {sorted(pool)}, the survey {sorted(counts)}; give the number "
            "of people at each."
        )
    for name, count in counts.items():
        if count > pool[name]:
            raise ParameterError(
                f"{count} people answered at level {name!r} of whom the pool has {pool[name]}; "
                "give the number of all who were asked."
            )
