"""The suggested words of an invitation and a reminder, in the languages of a survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from masquerade.server.mail.mailings import LINK, LONGEST_SUBJECT, Letter
from masquerade.server.surveys.survey_records import SurveyRecord

#: Between two languages of one message.
_LINE: Final = "\n\n----------\n\n"


@dataclass(frozen=True, slots=True)
class _Words:
    """The sentences of one language; ``{link}`` stands for each person's link."""

    invitation: str
    reminder: str
    hello: str
    invited: str
    again: str
    once: str
    enrol: str
    closes: str
    protected: str


_WORDS: Final = {
    "en": _Words(
        "Invitation: {title}",
        "Reminder: {title}",
        "Hello,",
        "you are invited to take part in “{title}”:",
        "a few days ago we invited you to take part in “{title}”. If you have answered, thank you. "
        "If not, you still can:",
        "This link is yours alone and works once; please do not pass it on.",
        "Open it before {day} to enrol, and again from that day on to answer.",
        "The survey closes on {day}.",
        "Your answers are protected on your own device before anything is sent.",
    ),
    "de": _Words(
        "Einladung: {title}",
        "Erinnerung: {title}",
        "Guten Tag,",
        "Sie sind eingeladen, an „{title}“ teilzunehmen:",
        "vor einigen Tagen haben wir Sie eingeladen, an „{title}“ teilzunehmen. Wenn Sie schon "
        "geantwortet haben: vielen Dank. Wenn nicht, können Sie es noch tun:",
        "Dieser Link gehört nur Ihnen und gilt einmal; bitte geben Sie ihn nicht weiter.",
        "Öffnen Sie ihn vor dem {day}, um sich anzumelden, und ab diesem Tag noch einmal, um zu "
        "antworten.",
        "Die Umfrage endet am {day}.",
        "Ihre Antworten werden auf Ihrem eigenen Gerät geschützt, bevor etwas gesendet wird.",
    ),
    "fr": _Words(
        "Invitation : {title}",
        "Rappel : {title}",
        "Bonjour,",
        "vous êtes invité(e) à participer à « {title} » :",
        "il y a quelques jours, nous vous avons invité(e) à participer à « {title} ». Si vous avez "
        "déjà répondu, merci. Sinon, vous pouvez encore le faire :",
        "Ce lien est à vous seul(e) et sert une fois ; ne le transmettez pas.",
        "Ouvrez-le avant le {day} pour vous inscrire, puis de nouveau à partir de ce jour pour "
        "répondre.",
        "Le sondage se termine le {day}.",
        "Vos réponses sont protégées sur votre propre appareil avant tout envoi.",
    ),
    "es": _Words(
        "Invitación: {title}",
        "Recordatorio: {title}",
        "Hola:",
        "Le invitamos a participar en «{title}»:",
        "Hace unos días le invitamos a participar en «{title}». Si ya ha respondido, gracias. Si "
        "no, todavía puede hacerlo:",
        "Este enlace es solo para usted y sirve una vez; por favor, no lo comparta.",
        "Ábralo antes del {day} para inscribirse, y otra vez desde ese día para responder.",
        "La encuesta se cierra el {day}.",
        "Sus respuestas se protegen en su propio dispositivo antes de enviar nada.",
    ),
    "ar": _Words(
        "دعوة: {title}",
        "تذكير: {title}",
        "مرحبًا،",
        "ندعوك إلى المشاركة في «{title}»:",
        "دعوناك قبل أيام إلى المشاركة في «{title}». إن كنت قد أجبت فشكرًا لك، وإن لم تُجب فما زال "
        "بإمكانك ذلك:",
        "هذا الرابط لك وحدك ويعمل مرة واحدة، فلا تعطه لغيرك من فضلك.",
        "افتحه قبل {day} للتسجيل، ثم افتحه مرة أخرى ابتداءً من ذلك اليوم للإجابة.",
        "ينتهي الاستطلاع في {day}.",
        "تُحمى إجاباتك على جهازك قبل إرسال أي شيء.",
    ),
}


def invitation_of(record: SurveyRecord, *, zone: str) -> Letter:
    """Return the message that is suggested, once in each language of the survey that has words.

    `zone` is the server's, in which the survey closes; people enrol and answer by days of UTC.
    """
    return _letter(record, zone, again=False)


def reminder_of(record: SurveyRecord, sent: Letter, *, zone: str) -> Letter:
    """Return the reminder that is suggested; of words of one's own, those once more."""
    if sent == invitation_of(record, zone=zone):
        return _letter(record, zone, again=True)
    [code, *_] = _spoken(record)
    subject = _WORDS[code].reminder.format(title=sent.subject)
    return Letter(subject[:LONGEST_SUBJECT], sent.text)


def _spoken(record: SurveyRecord) -> list[str]:
    """Return the languages of a survey of which there are words here; English where none is."""
    languages = record.survey.languages
    codes = [] if languages is None else [one for one in languages.codes if _base(one) in _WORDS]
    return list(dict.fromkeys(map(_base, codes))) or ["en"]


def _base(code: str) -> str:
    return code.partition("-")[0]


def _title(record: SurveyRecord, code: str) -> str:
    languages = record.survey.languages
    named = [] if languages is None else [one for one in languages.codes if _base(one) == code]
    given = languages.of(named[0]) if languages is not None and named else {}
    return given.get("title", record.survey.title)


def _letter(record: SurveyRecord, zone: str, *, again: bool) -> Letter:
    codes = _spoken(record)
    words, title = _WORDS[codes[0]], _title(record, codes[0])
    subject = (words.reminder if again else words.invitation).format(title=title)
    text = _LINE.join(_text(record, code, zone, again=again) for code in codes)
    return Letter(subject[:LONGEST_SUBJECT], text + "\n")


def _text(record: SurveyRecord, code: str, zone: str, *, again: bool) -> str:
    words, terms, title = _WORDS[code], record.survey.reach.invitations, _title(record, code)
    day = terms.answers_from if terms else None
    further = [
        words.once if terms else "",
        words.enrol.format(day=f"{day} (UTC)") if day else "",
        words.closes.format(day=f"{record.closes} ({zone})") if record.closes else "",
        words.protected,
    ]
    said = (words.again if again else words.invited).format(title=title)
    rest = "\n".join(filter(None, further))
    parts = (words.hello, said, LINK, rest, record.survey.reach.asked_by)
    return "\n\n".join(filter(None, parts))
