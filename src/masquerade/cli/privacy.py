"""``masquerade privacy`` and ``masquerade audit``: promises of mechanisms, and tests of them."""

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
    """Show the exact privacy guarantee of a mechanism.

    It states three losses (epsilon). epsilon_single is for a person who gives a single answer.
    epsilon_event is for one answer of a person who gives several. epsilon_user is for all answers
    of a person (--answers).

    Example: masquerade privacy randomized-response:options=4,epsilon=1 --answers 20
    """
    from masquerade.accounting import explain
    from masquerade.accounting.words import board_in_words, odds_in_words
    from masquerade.mechanisms.registry import parse_mechanism, printed_guarantee

    mechanism = parse_mechanism(spec)
    guarantee = printed_guarantee(mechanism, mechanism.guarantee(answers=answers))
    result = {"mechanism": str(mechanism), **guarantee.to_json()}
    ask_back(guarantee)
    # Sentences tell what is proven; what is assumed stands in the table, with its assumptions.
    if not json and answers and guarantee.status == "proven":
        words = explain(guarantee)
        sentences = [odds_in_words([mechanism]), words.one_answer, words.all_answers]
        result["in words"] = "\n".join(dict.fromkeys(filter(None, sentences)))
        result["for an ethics board"] = "\n".join(board_in_words(guarantee))
    show(result, as_json=json, title="Privacy")


_OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

Spec = Annotated[
    str,
    typer.Argument(
        help="A mechanism in its text form, for example "
        "randomized-response:options=4,epsilon=1. Or module:Class, a mechanism of your "
        "own in a Python module that can be imported from the current folder.",
        metavar="SPEC",
        show_default=False,
    ),
]


def audit(
    spec: Spec,
    answers: Annotated[int, typer.Option(min=1, help="How many answers a person reports.")] = 1,
    samples: Annotated[
        int,
        typer.Option(
            min=2_000,
            help="How many reports to draw for each answer. With more than 20 answers, fewer are "
            "drawn for each.",
        ),
    ] = 100_000,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Seed of the random numbers. The same seed draws the same reports."
        ),
    ] = 0,
    json: AsJson = False,
) -> None:
    """Test whether the privacy guarantee of a mechanism is true.

    It compares the claimed loss with the mechanism's probabilities and with reports that it draws.
    The verdict is "holds", "not refuted" or "refuted". "holds" means that the table of
    probabilities of a mechanism of the package was enumerated for the claim, that reports were
    drawn for every answer, and that nothing speaks against the claim. "not refuted" means that
    nothing speaks against the claim, but something was not checked: a class of your own can be
    refuted, never proven. The output also lists what was tried and what was not looked at. The
    command ends with code 1 only if the verdict is "refuted"; the reasons are then on standard
    error. A mechanism without a guarantee is always refuted. Drawn reports refute a true claim for
    at most one in a million seeds.

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
