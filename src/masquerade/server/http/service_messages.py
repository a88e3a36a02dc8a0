"""Messages that services and the library give, in the language of a surveyor's page.

A message is written in English where it is raised, with its values in it. `MESSAGES` has each
message that a page of the builder can show, with named places for the values; `in_language` finds
the message that a text is, and puts the values into the places of its translation. So the
catalogue has what gettext has of them, and no room above this border knows of languages. A text
that is none of them, or of several, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

_ISSUES = """
Give the survey a title.
This has {count} characters; shorten it to {most}.
Add a question.
Offer at least one level.
There is no level {name}; there are {names}.
This server does not let anybody send answers as they are.
This day is over.
People need a ticket, so it cannot be listed for everybody.
This option looks like another one; change one.
This item looks like another one; change one.
This row looks like another one; change one.
This line looks like another one; change one.
The survey does not offer this level.
At least one level needs people.
Another question has this name.
This is a template; begin a survey with it, and open that.
No second party is chosen yet; choose a helper, or add one.
The key of the tickets is missing; choose them once more.
Say from which day on people answer.
Choose a later day: people enrol until then.
The last day of the survey comes before this day.
{name} is no name of a parameter: use letters, digits and _, a letter first.
Two parameters have one name, or one is named code.
A panel's parameters stand beside completion codes; give those.
Write the page's address up to its host, as https://example.org.
{name} is not known here; use {names}.
Write an address that begins with https://.
Nobody could take part: this server lets a person send {count} answers in clear in all. Offer a level that masks.
Nobody could take part: of what everything a person ever answers may cost, one response takes more than all ({levels}). Ask fewer questions, or offer a level that hides more.
Planned for 0 people: the plan's shares or budget leave nobody at a level that people can afford. Plan people at another level, or raise the budget.
Character {place} is one mark too many on a letter; leave it out.
Character {place} ({code}) is invisible or changes the text around it; leave it out.
"""

_QUESTIONS = """
Give 2 to {most} {lines}, not {count}.
options
items
rows
dates
Option {text} stands twice; drop one.
Item {text} stands twice; drop one.
Row {text} stands twice; drop one.
Date {text} stands twice; drop one.
{text} is one of the other answers; name it otherwise.
This is empty; give it some words.
It can be skipped, and a mask drawn once for each person ({person}) does not hide that. Let nobody skip it, or mask each answer ({answer}).
This is {value}, expected {low} to {high}.
This is {value}, expected a whole number.
This is {value}, expected a finite number.
This is {value}, expected 1 to {count}, or all.
This is {value}, expected 1 to {count}, the number of its options.
This is {value}, and {items} items have {pairs} pairs; ask for at most so many.
{text} is no day; write it like {example}.
{text} is no month; write it like {example}.
{text} is no year; write it like {example}.
{last} is not after {first}, where it begins.
There are more than {most} days; give larger steps.
There are more than {most} months; give larger steps.
There is a range too; empty From and To, or these days.
Steps of {step} lead nowhere; give more than 0.
{high} is not above {low}, where it begins.
{low} to {high} has more than {most} numbers in steps of {step}; give larger steps.
Steps of {step} from {low} do not lead to {high}.
It can be left out, and a sum alone does not say who answered. Take it out of the sums, or let nobody skip it.
The third answer {text} is one of the items.
{votes} pairs for each person, and between two parties a list of {items} items allows at most {most}: each item stands in one pair of a person, so that one person moves each sum by 1 at most. Ask for at most {most}, or protect answers on the device.
{low} to {high} has {points} points; a rating has {most} at most.
{count} words for {points} points; give one for each.
It can be skipped, and noise on the scale ({mask}) does not hide that. Let nobody skip it, or send another point at random ({other}).
Noise on the scale ({mask}) has no report for an answer beside it. Take it out, or send another point at random ({other}).
The answers are not all different: {answers}.
The truth {text} is not one of its options {options}.
Nobody can ever be shown this question: no answers meet the condition. Change it, or the conditions of the questions that it names.
The condition has {count} parts; give it at most {most}.
The condition is {depth} levels deep; use at most {most}.
{count} pictures for {lines} {names}; give one for each, or none.
Picture {place} is larger than {most} kB as a text; make it smaller.
The pictures have {size} kB as a text together, expected at most {most}: every device loads all of them. Make them smaller.
"""

_SURVEY = """
The colour is {colour}, expected # and six of 0-9, a-f.
The colour is too light to be read: its contrast is {found}, and text needs {least}. Choose a darker one.
The logo has {count} characters; make it smaller than {most}.
The logo is no plain PNG of at most {most} pixels a side; choose the file again in the builder, which makes one.
Say what the logo shows, in 1 to 200 characters.
There is no logo to describe.
The text of thanks is longer than {most} characters; shorten it.
The return address is {address}, expected one such as https://example.org/thanks, of at most 500 characters.
A heading is longer than {most} characters; shorten it.
Nothing is on this page yet; add a question or a text, or remove the page.
A page has {count} questions and blocks; give it at most {most}.
The survey has {count} images; use at most {most}.
Page {page} depends on a page in random order that may come after it; put it after all of these.
Page {page} is in random order and may come before a page that it depends on; put that page before all of these.
Page {page} depends on another page, and both are in random order; keep one of them in its place.
Page {page} shows the image {image}, which is not there.
Page {page} asks for consent and is in random order; keep it in its place.
The text is empty; give it some words.
The alt is empty; give it some words.
The text has {count} characters; shorten it to {most}.
The alt has {count} characters; shorten it to {most}.
The image '' has no name.
The survey has {count} questions; give 1 to {most}.
Votes on pairs of a list are asked of everybody; ask all questions.
Two parties add up the answers of everybody to all questions, which is more exact; ask all questions.
Everybody is asked all questions, so that all are asked together; name none.
{name} is no question that could be asked together with others.
{names} are to be asked together; name two questions or more, each once.
This is {asked}; the survey has {count} blocks of questions that hang together, so that 1 to {most} of them can be asked.
{mask} does not mask each answer by itself, so that some questions alone cannot be asked; choose another mask, or ask all questions.
Asked_by is longer than {most} characters, or no text.
Contact is longer than {most} characters, or no text.
Consent is longer than {most} characters, or no text.
A cross table of {table} has {cells} cells, expected at most {most}; use fewer bins or questions.
The fingerprint is {fingerprint}, expected the 32 digits that the helper shows.
The token is none; ask the helper's operator.
"""

_FORECAST = """
nobody is asked
tells nothing
ranks known to {width} of {items} places
± {figure} of 100
± {figure} {unit}, of {low} to {high}
± {figure} days
± {figure} months
± {figure} years
points
places
Two parties add up the answers
Level {level} for everybody
none
low
medium
high
Ask each person {asked} of {count} questions, at level {level}
Ask each person {asked} of {count} groups of questions, at level {level}
about as exact, with the same privacy: for people it is shorter
{people} people instead of {total}
Leave it out
{then} % of a lifetime’s privacy instead of {now} %
{then} % of a lifetime’s privacy, instead of {now} %
"""

_PLANS = """
Give a whole number from 1 to {most}.
Give a whole number from 1 to {most}; “{text}” is none.
There is no such survey; check the link.
There is no such draft; it may be open already, or deleted.
This draft was changed in the meantime (version {version}, yours is {yours}); read it again, then change it.
Level {level} has the quota {quota}, expected a number.
Level {level} has the quota {quota}, expected a number from 0 to {most}.
The last day is {day}, expected a day (YYYY-MM-DD) not before {earliest}; an open survey can only be given more time.
The helper forgets this survey on {day}; its last day has to come before.
"""

#: Each message with its places; a text that is no sentence stands in a place of another.
MESSAGES: tuple[str, ...] = tuple(
    line
    for part in (_ISSUES, _QUESTIONS, _SURVEY, _FORECAST, _PLANS)
    for line in part.strip().splitlines()
)
_PLACE = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"[-+±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_DEPTH = 2

Translate = Callable[[str], str]


def in_language(words: Mapping[str, str], *, decimal: str = ",", group: str = ".") -> Translate:
    """Return the function that says a service's text in a language, or leaves it as it is.

    Examples
    --------
    >>> german = in_language({
    ...     "This has {count} characters; shorten it to {most}.":
    ...         "Das sind {count} Zeichen; kürzen Sie es auf {most}.",
    ... })
    >>> german("This has 2,001 characters; shorten it to 2,000.")
    'Das sind 2.001 Zeichen; kürzen Sie es auf 2.000.'
    >>> german("Something else.")
    'Something else.'
    """
    separators = str.maketrans({",": group, ".": decimal})

    def value(text: str, depth: int) -> str:
        if _NUMBER.fullmatch(text):
            return text.translate(separators)
        return said(text, depth + 1)

    def said(text: str, depth: int = 0) -> str:
        if text in words:
            return words[text]
        if depth > _DEPTH:
            return text
        for message, pattern in _patterns():
            match = pattern.fullmatch(text)
            if match and message in words:
                values = {name: value(one, depth) for name, one in match.groupdict().items()}
                return _PLACE.sub(lambda place: values[place[1]], words[message])
        return text

    return said


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the messages with places as patterns, those with the most words of their own first."""
    placed = [one for one in MESSAGES if _PLACE.search(one)]
    placed.sort(key=lambda one: len(_PLACE.sub("", one)), reverse=True)
    return tuple((one, _pattern(one)) for one in placed)


def _pattern(message: str) -> re.Pattern[str]:
    parts = _PLACE.split(message)  # fixed words and names of places by turns
    seen: set[str] = set()
    found = re.escape(parts[0])
    for name, fixed in zip(parts[1::2], parts[2::2], strict=True):
        found += f"(?P={name})" if name in seen else f"(?P<{name}>.+?)"
        found += re.escape(fixed)
        seen.add(name)
    return re.compile(found, re.DOTALL)
