"""The terminal: results and errors for people or machines, and questions to a person.

Words of a server are printed so that they cannot harm a terminal.
"""

from __future__ import annotations

import errno
import json
import math
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from masquerade.errors import ParameterError, UnknownLabel

if TYPE_CHECKING:
    from rich.console import Console

    from masquerade.answers import Progress
    from masquerade.client import Answer, MaskedQuestion
    from masquerade.exact import Guarantee


def note(text: str) -> None:
    """Write a note on standard error, for a second look."""
    sys.stderr.write(f"note: {text}\n")


def ask_back(guarantee: Guarantee) -> None:
    """Say where a promise protects hardly anything, or its reports say nothing."""
    from masquerade.exact.guarantee import PERSONS, question_of_loss

    if guarantee.status != "proven" or not guarantee.answers:
        return
    # Of two parties and of a release the loss is that of the whole unit.
    one = guarantee.trust == "local"
    loss = guarantee.epsilon_event if one else guarantee.epsilon
    of = f" for one {'person' if guarantee.unit in PERSONS else guarantee.unit}"
    of = " for one answer" if one else of
    question = question_of_loss(float(loss.number), of=of)
    if question is not None:
        note(question)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Say warnings of the library as notes, each once and without places in the code."""
    noted: set[str] = set()

    def tell(message: Warning | str, *_place: object, **_more: object) -> None:
        if str(message) not in noted:
            noted.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        # Told to those who write code; other packages' are warnings to users too.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = tell
        yield


def complain(error: Exception) -> None:
    """Write the type and the message of an error on standard error."""
    sys.stderr.write(f"{type(error).__name__}: {plain(error)}\n")


def show(result: Mapping[str, Any], *, as_json: bool, title: str) -> None:
    """Print a result: one JSON object, or a table of its entries.

    Where ``--out -`` has printed a table, the result goes to standard error.
    """
    files = ("out", "workers_out", "probabilities", "advice")
    printed = "-" in [result.get(name) for name in files]
    screen = sys.stderr if printed else sys.stdout
    if as_json:
        text = json.dumps(_finite(result), ensure_ascii=False, allow_nan=False)
        screen.write(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for key, value in result.items():
        table.add_row(escape(key.replace("_", " ")), escape(_text(value)))
    Console(file=screen).print(table)


@contextmanager
def progress_bar(what: str, *, at_once: bool = True) -> Iterator[Progress | None]:
    """Show on standard error how far long work is; nothing where that is no terminal.

    `what`: a verb for work whose total is known, and what is counted where it is not. Unless
    `at_once`, nothing is shown before the work says that it is long.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # Standard output stays as it is: by default all that is printed would go to standard error.
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = bar.add_task(what, total=None)
    if at_once:
        bar.start()
    try:

        def tell(done: int, total: int) -> None:
            text = (
                f"{what} {done:,} of {total:,}" if total else f"{done:,} {what}" if done else what
            )
            bar.update(task, completed=done, total=total or None, description=text)
            bar.start()

        yield tell
    finally:
        bar.stop()


def _finite(value: Any) -> Any:
    """Return a result that JSON can hold: infinite numbers as texts, NaN as null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _text(value: Any) -> str:
    if isinstance(value, float):
        if 1e-3 <= abs(value) < 1e9:  # all digits of an amount of loss: never rounded down
            return f"{value:.6f}".rstrip("0").rstrip(".")
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "\n".join(f"{key.replace('_', ' ')}: {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(_text(item) for item in value) or "none"
    return "–" if value is None else plain(value)


def disk_trouble(error: BaseException) -> str | None:
    """Return the fault of a disk or database that ended something, in words; None for another."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _DISK_ERRORS:
            place = "" if cause.filename is None else f" at {cause.filename}"
            return (
                f"nothing can be written{place}: {cause.strerror}. Free some space, or name "
                "another place."
            )
        if (said := _database_trouble(cause)) is not None:
            return said
        cause = cause.__cause__ or cause.__context__
    return None


_DISK_ERRORS = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT)
_DATABASES = ("sqlite3", "sqlcipher3.dbapi2", "psycopg", "psycopg.errors")


def _database_trouble(error: BaseException) -> str | None:
    if type(error).__module__ not in _DATABASES:
        return None
    from masquerade.server.http.database_faults import driver_cause, fault_of

    said = next(iter(str(error).splitlines()), "it gives no reason").strip().rstrip(".")
    cause = driver_cause(error)
    fault = fault_of(cause)
    if fault is not None:
        return f"the database cannot work now, {fault.words}: {said} ({cause}). {fault.remedy}"
    # A connection to PostgreSQL that never was has no SQLSTATE.
    if cause == "OperationalError":
        return f"the database does not answer now: {said}. Nothing is lost; start it again."
    if "OperationalError" in {one.__name__ for one in type(error).__mro__}:
        return f"the database refused: {said} ({cause}). masquerade doctor looks for the reason."
    return None


# What `plain` leaves out and JSON leaves as it is, to be written as JSON writes controls.
_STEERING = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def plain(text: object) -> str:
    """Return a text of a server without the characters by which it could steer a terminal.

    Examples
    --------
    >>> plain("Work" + chr(27) + "[2J" + chr(0x202E))
    'Work[2J'
    """
    control = ("Cc", "Cf", "Cs", "Co")
    return "".join(c for c in str(text) if c == "\n" or unicodedata.category(c) not in control)


def say(console: Console, *lines: object, style: str = "") -> None:
    """Print lines; none of them is read as markup."""
    for line in lines:
        console.print(plain(line), style=style, markup=False, highlight=False)


def ask_line(console: Console, question: str) -> str:
    """Return the line that a person types."""
    try:
        return console.input(f"{question} ", markup=False).strip()
    except EOFError as error:
        raise ParameterError(
            "there is nobody to ask: standard input has ended. What you began is kept. Run "
            "the command again in a terminal, or give your answers in a file with "
            "--answers."
        ) from error


def ask_yes(console: Console, question: str) -> bool:
    """Return whether a person says yes; anything but yes or no is asked again."""
    while True:
        typed = ask_line(console, f"{question} [y/n]").lower()
        if typed in ("y", "yes", "n", "no"):
            return typed.startswith("y")
        say(console, "Type y or n.")


def ask_one_of(console: Console, question: str, names: Sequence[str]) -> str:
    """Return the name that a person picks, by name or by number from 1."""
    while True:
        typed = ask_line(console, f"{question} [{', '.join(names)}]")
        if typed in names:
            return typed
        if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= len(names):
            return names[int(typed) - 1]
        say(console, "Type one of the names, or its number.")


def ask_answer(console: Console, one: MaskedQuestion, *, number: int, of: int) -> Answer:
    """Return the answer that a person gives to a question."""
    question = one.question
    say(console, "", f"{number} of {of}: {question.text}", style="bold")
    for line in question.prompt:
        say(console, f"  {line}")
    while True:
        try:
            answer = question.typed(ask_line(console, ">"))
            question.code(answer)
        except UnknownLabel:
            say(console, question.typing_hint)
            continue
        return answer


def show_rows(
    console: Console, heads: Sequence[str], rows: Sequence[Sequence[Any]], *, lines: bool = True
) -> None:
    """Print a table."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, show_lines=lines)
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console.print(table)


def p_value(value: float, digits: int) -> str:
    """Return a p-value with a sign, such as ``= 0.031``; it is never 0, so ``< 0.001`` at most."""
    least = 10.0**-digits
    return f"< {least:.{digits}f}" if value < least else f"= {value:.{digits}f}"
