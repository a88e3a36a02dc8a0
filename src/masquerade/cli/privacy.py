"""``masquerade privacy``: the guarantee of a mechanism."""

from __future__ import annotations

from typing import Annotated

import typer

from masquerade.cli.options import AsJson, MechanismText
from masquerade.cli.output import show


def privacy(
    spec: MechanismText,
    answers: Annotated[int, typer.Option(min=0, help="How many answers a person reports.")] = 1,
    json: AsJson = False,
) -> None:
    """Show the exact privacy loss of a mechanism: for a single report, one answer, one person."""
    from masquerade.accounting import explain, keep_in_words
    from masquerade.mechanisms import CategoricalMechanism, parse_mechanism

    mechanism = parse_mechanism(spec)
    guarantee = mechanism.guarantee(answers=answers)
    result = {"mechanism": str(mechanism), **guarantee.to_json()}
    if not json and answers:
        words = explain(guarantee)
        sentences = [words.one_answer, words.all_answers]
        if isinstance(mechanism, CategoricalMechanism):
            sentences.insert(0, keep_in_words([mechanism]))
        result["in words"] = "\n".join(dict.fromkeys(sentences))
    show(result, as_json=json, title="Privacy")
