"""Regressions of reports: an outcome by predictors, some of them seen through masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from masquerade.analysis.design import Design, FitOptions, Masks, read_design
from masquerade.analysis.maximum import fit, maximise
from masquerade.analysis.outcomes import Outcome, outcome_named
from masquerade.analysis.profile import HigherOptimum
from masquerade.analysis.result import Naive, Regression
from masquerade.analysis.terms import Prepared
from masquerade.analysis.variables import ClearColumns, Variable
from masquerade.answers import Frame, to_arrow
from masquerade.errors import InputError, ParameterError
from masquerade.exact.number import one_of

MODELS = ("auto", "logistic", "multinomial", "ordered", "linear")


def regress(
    data: Frame,
    formula: str,
    *,
    mechanisms: Mapping[str, Masks] | None = None,
    model: str = "auto",
    options: Mapping[str, Sequence[Any]] | None = None,
    weights: str | None = None,
    clusters: str | None = None,
    fitting: FitOptions | None = None,
) -> Regression:
    """Return a regression of reports on predictors, each column seen through its own mask.

    Intervals are those of the penalised profile likelihood: half a person on every coefficient.

    Parameters
    ----------
    data : pandas, polars, pyarrow or duckdb table, or dict of arrays
    formula : str
        ``outcome ~ predictor + predictor``. Names of columns need nothing else; functions and
        products of columns in clear need the extra ``analysis``.
    mechanisms : mapping
        Of each masked column its mechanism, or one for each value of the column
        ``fitting.levels`` (None: asked in clear).
    model : {"auto", "logistic", "multinomial", "ordered", "linear"}
        "auto": logistic for two answers, ordered for a masked scale, linear for numbers in clear,
        multinomial for other labels.
    options : mapping, optional
        Answers of a column in the order of its mechanism's codes, no before yes.
    weights, clusters : str, optional
        Columns: errors are then robust, and the curve is scaled.

    Raises
    ------
    InputError, ParameterError
        The message names column, row and value.

    Privacy
    -------
    It reads reports only, and costs nobody anything.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> age = rng.integers(20, 60, 2000)
    >>> yes = rng.random(2000) < 1 / (1 + np.exp(2 - age / 20))
    >>> dice = rng.integers(1, 7, 2000)
    >>> said = np.where(dice == 1, 0, np.where(dice == 6, 1, yes)).astype(int)
    >>> fit = regress(
    ...     {"said": said, "age": age},
    ...     "said ~ age",
    ...     mechanisms={"said": "forced-response:no=1/6,yes=1/6"},
    ... )
    >>> age = fit.term("age")
    >>> round(age.estimate, 2), round(age.low, 2), round(age.high, 2)
    (0.04, 0.03, 0.05)
    """
    fitting = fitting or FitOptions()
    table = to_arrow(data)
    one_of(model, "model", MODELS)
    design = read_design(
        table, formula, mechanisms or {}, options or {}, fitting, model, (weights, clusters)
    )
    return fit_design(design, model=model, fitting=fitting)


def fit_design(
    design: Design,
    *,
    model: str = "auto",
    fitting: FitOptions | None = None,
    outcome: Outcome | None = None,
) -> Regression:
    """Return the regression of variables that were read already; see `regress`.

    `outcome`: a model of one's own, in place of that of the name.
    """
    fitting = fitting or FitOptions()
    named = _model_of(design.outcome, model)
    if named == "linear" and design.outcome.masked:
        from masquerade.analysis.worth import worth_regression

        return worth_regression(design, fitting)
    answers = max(len(design.outcome.options), 2)
    prepared = Prepared.of(design, outcome or outcome_named(named, answers), fitting)
    optimum = fit(prepared.objective)
    for _ in range(3):
        try:
            terms = prepared.terms(optimum, fitting)
            break
        except HigherOptimum as higher:
            optimum = maximise(prepared.objective, higher.theta)
    else:
        raise InputError("the likelihood has several optima, and the best was not found.")
    value = prepared.objective.model.value(optimum.theta) * prepared.mean_weight
    return Regression(
        formula=design.formula,
        model=named,
        outcome=design.outcome.name,
        answers=design.outcome.options,
        terms=terms,
        naive=_naive(design, named, fitting),
        log_likelihood=value,
        parameters=len(optimum.theta),
        people=design.people,
        patterns=prepared.objective.model.people,
        confidence=fitting.confidence,
        penalty=fitting.penalty,
        notes=prepared.notes(terms, fitting),
        _fitted=prepared.fitted(optimum, design),
    )


def _naive(design: Design, named: str, fitting: FitOptions) -> tuple[Naive, ...]:
    """Return the fit that takes reports for answers; none where nothing is masked."""
    variables = [design.outcome, *design.masked]
    if not any(one.masked for one in variables):
        return ()
    known = np.ones(design.people, dtype=bool)
    for one in variables:
        if one.options:
            known &= one.report >= 0
    if int(known.sum()) < 2:
        return ()  # a mask with more reports than answers has no reading without it
    rows = np.flatnonzero(known)
    parts = [design.clear.values[rows]]
    names = list(design.clear.names)
    for one in design.masked:
        coding = one.coding()
        names += coding.names
        parts.append(coding.values[one.report[rows]] + coding.middle)
    outcome = design.outcome.take(rows)
    plain = Design(
        replace(outcome, seen=outcome.naive if outcome.options else outcome.seen, mechanisms=()),
        (),
        ClearColumns(tuple(names), np.concatenate(parts, axis=1)),
        None if design.weight is None else design.weight[rows],
    )
    answers = max(len(design.outcome.options), 2)
    prepared = Prepared.of(plain, outcome_named(named, answers), fitting)
    try:
        optimum = fit(prepared.objective)
    except InputError:
        return ()
    return tuple(
        Naive(row.name, row.answer, float(row.direction @ optimum.theta))
        for row in prepared.rows
        if row.slope
    )


def _model_of(outcome: Variable, model: str) -> str:
    if model == "auto":
        if not outcome.options:
            return "linear"
        if len(outcome.options) == 2:
            return "logistic"
        return "ordered" if outcome.scores is not None else "multinomial"
    if model == "linear" and outcome.options and outcome.scores is None:
        raise ParameterError(
            f"model is 'linear', and {outcome.name} has the answers {list(outcome.options)}, which "
            "are no numbers; use 'multinomial' or 'logistic'.",
            field="model",
        )
    if model == "logistic" and len(outcome.options) != 2:
        raise ParameterError(
            f"model is 'logistic', and {outcome.name} has {len(outcome.options)} answers, expected "
            "2; use 'multinomial' or 'ordered'.",
            field="model",
        )
    return model
