"""A survey answered at a terminal: level, questions, masks, reports and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from masquerade.cli.terminal import ask_answer, ask_line, ask_one_of, ask_yes, say, show_rows

if TYPE_CHECKING:
    from masquerade.client import Answer, Bill, Client, Participation, Receipt
    from masquerade.surveys.blocks import ConsentBlock


def interview(client: Client, survey: str, level: str | None, *, confirmed: bool) -> None:
    """Lead a person through a survey; `confirmed`: sending answers in clear is agreed to."""
    console = Console()
    part = _begun(console, client, survey, level, confirmed=confirmed)
    if part is None:
        return
    if part.step == "sent":
        say(console, "You have answered this survey; this is what was sent.")
        _show_reports(console, part, {})
        return
    given: dict[str, Answer] = {}
    if part.step in ("reserved", "opened"):
        if len(part.languages) > 1:
            part.read_in(ask_one_of(console, "Which language?", list(part.languages)))
        part.open()
        questions, todo = part.questions, list(range(len(part.questions)))
        while todo:
            if not _ask(console, part, given, todo):
                part.abandon()
                say(console, "You did not agree, so the survey ends here. Nothing was sent.")
                return
            split = questions[0].mechanism is None
            does = "cut your answers into two sealed halves" if split else "mask your answers"
            say(console, "", f"We now {does}, once. This cannot be repeated.")
            todo = _to_answer_again(console, len(questions))
    else:
        say(console, "Your answers were masked or sealed before, and stay as they are.")
    part.seal(given or None)
    if part.reveal == "before_send":
        _show_reports(console, part, given)
        if not ask_yes(console, "Send this? You can send all of it or nothing."):
            part.abandon()
            say(console, "Nothing was sent. The price stays spent.")
            return
    bill = part.send()
    if part.reveal != "before_send":
        _show_reports(console, part, given)
    _say_bill(console, bill)
    _say_reward(console, part)
    say(console, f"{client.me()['battery']['percent_left']} % of your privacy here is left.")


def _to_answer_again(console: Console, n_questions: int) -> list[int]:
    """Return which question somebody wants to answer again, if any; ask until it is clear."""
    while True:
        typed = ask_line(
            console, "Press Enter to do it, or type the number of a question to answer it again."
        )
        if not typed:
            return []
        number = int(typed) if typed.isascii() and typed.isdigit() else 0
        if 1 <= number <= n_questions:
            return [number - 1]
        say(console, f"There is no such question; they have the numbers 1 to {n_questions}.")


def _ask(console: Console, part: Participation, given: dict[str, Answer], todo: list[int]) -> bool:
    """Ask the questions at these places, and those that the new answers lead to.

    Returns whether the person agreed to what the pages ask them to.
    """
    from masquerade.client import is_asked

    questions, layout = part.questions, part.layout
    first = len(todo) == len(questions)
    codes: list[int] = []
    for place, one in enumerate(questions):
        name = one.question.id
        if not is_asked(questions, codes):
            # an answer given before another one was changed: the question is no longer asked
            given.pop(name, None)
            codes.append(one.code(None))
            continue
        if first and not _read_blocks(console, layout.before(name)):
            return False
        if place in todo or name not in given:
            given[name] = ask_answer(console, one, number=place + 1, of=len(questions))
        codes.append(one.code(given[name]))
    return not first or _read_blocks(console, layout.before(""))


def _read_blocks(console: Console, blocks: tuple[str | ConsentBlock, ...]) -> bool:
    """Show headings and texts of a page; return whether each consent among them is given."""
    for block in blocks:
        if isinstance(block, str):
            say(console, "", block)
        elif not ask_yes(console, f"{block.in_words()} Do you agree?"):
            return False
    return True


def _begun(
    console: Console, client: Client, survey: str, level: str | None, *, confirmed: bool
) -> Participation | None:
    """Let a person choose a level and begin; None where they would rather not."""
    known = [p for p in client.participations() if p.survey == survey] if client.joined else []
    # begun before: level and price stand, so that there is nothing to choose
    if known and known[0].step != "ended":
        return client.begin(survey, level, confirm_clear=confirmed)
    invitation = client.invitation(survey)
    count = invitation["questions"]
    say(console, invitation["title"], style="bold")
    if asker := invitation.get("asked_by"):
        say(console, f"Asked by {asker}.", invitation.get("contact") or "")
    say(console, invitation["description"] or "", f"{count} questions, {invitation['topic']}.")
    if consent := invitation.get("consent"):
        say(console, consent)
        if not ask_yes(console, "Do you agree?"):
            return None
    levels = {one["name"]: one for one in invitation["levels"]}
    show_rows(
        console,
        ("level", "what is sent", "what anybody could learn", "epsilon of all"),
        [(n, one["odds"], one["words_all"], one["epsilon_user"]) for n, one in levels.items()],
    )
    if (parties := invitation["two_parties"]) is not None:
        say_parties(console, parties)
    level = level or invitation["fixed_level"]
    if level is None:
        level = ask_one_of(console, "Which level, for all questions?", list(levels))
    if level in levels and levels[level]["epsilon_event"] == "inf" and not confirmed:
        confirmed = ask_yes(console, "Your answers are sent as they are. Are you sure?")
        if not confirmed:
            return None
    say(console, "Once you see the questions, the price of this level is spent.")
    if not ask_yes(console, "Begin?"):
        return None
    # before `begin`, which draws the identity
    first = not client.joined
    part = client.begin(survey, level, confirm_clear=confirmed, agree=bool(consent))
    if first:
        say(console, "", "You are new here. These nine words are your account; write them down:")
        say(console, f"  {' '.join(client.identity.words)}", style="bold")
    return part


def say_parties(console: Console, parties: dict[str, Any]) -> None:
    """Name the two parties of a survey, and the second one's key."""
    digits = parties["fingerprint"]
    groups = " ".join(digits[start : start + 4] for start in range(0, len(digits), 4))
    say(
        console,
        f"Two parties add up your answers: this server, and {parties['operator']} at "
        f"{parties['helper']}. Your answers are cut into two halves here, each sealed for one "
        "party; if both put their halves together, they can read your answers. You have to trust "
        "that one of them is honest.",
    )
    say(console, "The second party's key; compare it at that address, or ask who runs it:")
    say(console, f"  {groups}", style="bold")


def _show_reports(console: Console, part: Participation, given: dict[str, Answer]) -> None:
    if part.sealed_bytes is not None:
        say(
            console,
            f"Sent are two sealed halves of your answers, one for each party: {part.sealed_bytes} "
            "bytes together, whatever anybody answers. Each half alone is pure chance. Until the "
            "survey closes they can be taken back: masquerade withdraw URL.",
        )
        return
    rows = []
    for one, sent in zip(part.questions, part.reports, strict=True):
        name = one.question.id
        without = "not asked" if given and one.show_if else "not kept"
        yours = one.answer_in_words(one.code(given[name])) if name in given else without
        rows.append((one.question.text, yours, sent.text))
    show_rows(console, ("question", "yours (stays here)", "sent"), rows)


def show_sent(part: Participation, receipt: Receipt, given: dict[str, Answer]) -> None:
    """Show the reports of answers from a file, and their cost."""
    console = Console()
    # What was answered now is not what was sent where the masks had been drawn before.
    _show_reports(console, part, {} if receipt.drawn_before else given)
    _say_bill(console, receipt.bill)
    _say_reward(console, part)
    say(console, f"The level was {part.level}.")


def _say_bill(console: Console, bill: Bill) -> None:
    say(
        console,
        f"Sent. This survey cost epsilon {bill.survey_epsilon}. All your surveys together cost "
        f"epsilon {bill.total_epsilon} at delta {bill.total_delta:g} on this server, and "
        f"epsilon {bill.everywhere_epsilon} on all servers, by this computer's own ledger.",
    )


def _say_reward(console: Console, part: Participation) -> None:
    if part.completion_code is not None:
        say(console, f"Your completion code is {part.completion_code}.")
    if part.reward is not None:
        say(console, f"It is worth {part.reward['amount']} {part.reward['currency']}.")
