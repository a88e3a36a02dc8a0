"""``masquerade privacy`` and ``masquerade audit``: what a mechanism promises, and tests of it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, MechanismText
from masquerade.cli.terminal import ask_back, show
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.accounting import Auditable
    from masquerade.mechanisms import Mechanism


def privacy(
    spec: MechanismText,
    answers: Annotated[int, typer.Option(min=0, help="How many answers a person reports.")] = 1,
    json: AsJson = False,
) -> None:
    """Show the exact privacy loss of a mechanism: for a single report, one answer, one person.

    Example: masquerade privacy randomized-response:options=4,epsilon=1 --answers 20
    """
    from masquerade.accounting import explain, keep_in_words
    from masquerade.mechanisms import CategoricalMechanism, parse_mechanism

    mechanism = parse_mechanism(spec)
    guarantee = mechanism.guarantee(answers=answers)
    result = {"mechanism": str(mechanism), **guarantee.to_json()}
    ask_back(guarantee)
    if not json and answers:
        words = explain(guarantee)
        sentences = [words.one_answer, words.all_answers]
        if isinstance(mechanism, CategoricalMechanism):
            sentences.insert(0, keep_in_words([mechanism]))
        result["in words"] = "\n".join(dict.fromkeys(sentences))
    show(result, as_json=json, title="Privacy")


_OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

Spec = Annotated[
    str,
    typer.Argument(
        help="For example randomized-response:options=4,epsilon=1; or module:Class, a mechanism of "
        "your own in a module that can be imported from here.",
        metavar="SPEC",
        show_default=False,
    ),
]


def audit(
    spec: Spec,
    answers: Annotated[int, typer.Option(min=1, help="How many answers a person reports.")] = 1,
    samples: Annotated[
        int,
        typer.Option(min=2_000, help="Reports to draw for each answer compared, fewer of many."),
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same reports.")] = 0,
    json: AsJson = False,
) -> None:
    """Check a mechanism's promise against its probabilities and its reports.

    The verdict is "holds" where all probabilities were enumerated for the promise and every answer
    was drawn for; "refuted"; or else "not refuted". What was tried, and what was not looked at,
    stands below it. Ends with code 1, and the reasons on standard error, only where the promise is
    refuted or there is none. Sampling refutes a true promise once in a million seeds at most.

    Example: masquerade audit randomized-response:options=2,epsilon=1
    """
    import numpy as np

    from masquerade.accounting import audit as run_audit

    report = run_audit(
        _named(spec), answers=answers, samples=samples, rng=np.random.default_rng(seed)
    )
    result = report.to_json()
    if not json:  # all digits: a table would round losses down
        exact = report.exact_epsilon
        result["claimed_epsilon"] = str(report.claimed_epsilon)
        result["exact_epsilon"] = None if exact is None else str(exact)
    show(result, as_json=json, title="Audit")
    if report.verdict == "refuted":
        for reason in report.reasons:
            sys.stderr.write(f"refuted: {reason}\n")
        raise typer.Exit(1)


def _named(spec: str) -> Mechanism | Auditable:
    """Return the mechanism of a text form, or an object of a module of the caller's own."""
    from masquerade.mechanisms import parse_mechanism
    from masquerade.mechanisms.registry import MECHANISMS

    if not _OWN.fullmatch(spec) or spec.partition(":")[0] in MECHANISMS:
        return parse_mechanism(spec)
    import importlib

    module, _, name = spec.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, as for python -m
    try:
        member = getattr(importlib.import_module(module), name)
        own: Any = member() if isinstance(member, type) else member
    except (ImportError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"{spec} cannot be used: {error}. Expected module:Class, a class that is made without "
            "arguments, or module:object."
        ) from error
    mechanism: Mechanism | Auditable = own  # what it lacks, the audit says
    return mechanism
