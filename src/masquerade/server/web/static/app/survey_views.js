// The screens of one survey, but for its questions: functions from what is known and callbacks to
// elements. No state, no storage.

import { allow, element } from "./dom.js";
import { isAffordable, levelName, levelPicker, oddsOf } from "./level_view.js";
import { nameOfLanguage, spokenIn, textIn } from "./languages.js";
import { UNMASKED } from "./invitation.js";
import { logoOf } from "./look.js";
import {
  actions,
  battery,
  button,
  failureNotice,
  fold,
  heading,
  link,
  paragraph,
  userText,
} from "./components.js";
import { wayBack } from "./panel.js";
import { NOT_DRAWN } from "./pages.js";
import { richText } from "./rich_text.js";
import { strengthOf } from "./strength.js";
import { isSplit, partyViews } from "./two_parties.js";
import { sentTextOf, textOf, visibility } from "./conditions.js";
import { words } from "../words/language.js";

const motif = () => element("div", { className: "motif", "aria-hidden": "true" });
const list = (items) => element("ul", {}, items.map((item) => element("li", {}, item)));
const home = (kind = "button") => link("/me", words().common.home, kind);

const unmasked = ({ level }) => level === UNMASKED;

export function topicBadge(topic) {
  const name = words().home.topics[topic];
  return name && element("span", { className: `topic ${topic}` }, name);
}

/** Return how many questions a person is asked at most. */
function mostAsked({ questions, draw }) {
  if (!draw) return questions;
  const sizes = draw.blocks.map(({ length }) => length).sort((one, other) => other - one);
  return sizes.slice(0, draw.asked).reduce((all, one) => all + one, 0);
}

export function intro(invitation, state, answering) {
  const { chosen, budget, left, failure, language = null, around = {} } = state;
  const said = words().intro;
  const { topic, simulated, levels, reach = {} } = invitation;
  const questions = mostAsked(invitation);
  const [title, description] = ["title", "description"].map((name) => textIn(invitation, name, language));
  const possible = levels.some((level) => isAffordable(level, budget));
  const full = failure?.slug === "budget-exhausted" && wayBack(around.panel, "full", around.given);
  return [
    simulated && element("p", { className: "badge simulated" }, said.simulated),
    logoOf(invitation.look),
    languagePicker(invitation, language, answering.prefer),
    heading(title, { dir: "auto", ...spokenIn(language) }),
    asker(invitation, language),
    description && userText(description, "p", "lead", language),
    element(
      "p",
      { className: "facts-line muted" },
      topicBadge(topic),
      element("span", {}, words().home.questions(questions)),
      element("span", {}, words().home.minutes(minutesFor(questions))),
    ),
    battery(left),
    rewardPromise(invitation),
    invitation.parties
      ? partyViews().partiesIntro(invitation, budget)
      : masksIntro(invitation, chosen, budget, answering),
    paragraph(levels.length > 1 ? said.locked : said.lockedFixed, "muted"),
    ticketNote(reach.invitations),
    consent(invitation, language, around, answering),
    failureNotice(failure),
    full && actions(full),
    beginning(possible, reach, around, answering),
  ];
}

/** What leads to the questions, or says why nothing does. */
function beginning(possible, { invitations }, { ticket, panel, given }, { start }) {
  const said = words();
  const notice = (text) => element("div", { className: "notice" }, element("p", {}, text));
  const out = wayBack(panel, "screened_out", given);
  if (!possible) return [notice(said.intro.nothingFits), out && actions(out)];
  if (invitations && ticket === null) return [notice(said.tickets.needed), out && actions(out)];
  return actions(button("start", said.intro.start, start));
}

/** Who asks, and where one can ask back. */
function asker(invitation, language) {
  const said = words().intro;
  const line = (label, name) => {
    const text = textIn(invitation, name, language);
    const shown = text && element("dd", {}, userText(text, "span", "", language));
    return shown && element("div", {}, element("dt", {}, label), shown);
  };
  const lines = [line(said.askedBy, "asked_by"), line(said.contact, "contact")].filter(Boolean);
  return lines.length > 0 && element("dl", { className: "asker" }, lines);
}

/** What the person agrees to before a question is shown. */
function consent(invitation, language, { agreed = false, panel, given }, { agree }) {
  const text = textIn(invitation, "consent", language);
  if (!text) return null;
  const said = words().intro;
  const box = element("input", {
    type: "checkbox", id: "agree", checked: agreed, onchange: () => agree?.(box.checked),
  });
  const out = wayBack(panel, "screened_out", given);
  return element(
    "section",
    { className: "card consent" },
    element("h2", {}, said.consent),
    userText(text, "p", "text-of-others", language),
    element("label", { className: "check", htmlFor: "agree" }, box, element("span", {}, said.agree)),
    out && fold(said.disagree, actions(out)),
  );
}

/** What of a ticket is kept apart from what. */
function ticketNote(terms) {
  if (!terms) return null;
  const said = words().tickets;
  const day = terms.answers_from && words().day(terms.answers_from);
  return element(
    "section",
    { className: "card ticket" },
    element("h2", {}, said.title),
    paragraph(day ? said.twoPhases(day) : said.onePhase),
    terms.watched && paragraph(said.watched),
  );
}

/** Until people answer, those who are invited enrol. */
export function enrolment(invitation, language, ticket, failure, { enrol }) {
  const said = words().tickets;
  const { reach } = invitation;
  const [title, description] = ["title", "description"].map((name) => textIn(invitation, name, language));
  const day = words().day(reach.invitations.answers_from);
  const enrolled = Boolean(ticket?.ticket);
  return [
    heading(title, { dir: "auto", ...spokenIn(language) }),
    asker(invitation, language),
    description && userText(description, "p", "lead", language),
    enrolled
      ? [element("p", { className: "notice good", id: "enrolled" }, said.enrolled), paragraph(said.comeBack(day))]
      : paragraph(said.enrol(day)),
    ticketNote(reach.invitations),
    failureNotice(failure),
    !enrolled && (ticket ? actions(button("enrol", said.enrolDo, enrol)) : paragraph(said.needed, "notice")),
  ];
}

/** The choice of the language in which the survey is read, where it has several. */
function languagePicker({ languages: spoken = null }, language, prefer) {
  if (!prefer || (spoken?.languages.length ?? 0) < 2) return null;
  const options = spoken.languages.map((code) =>
    element("option", { value: code, lang: code, selected: code === language }, nameOfLanguage(code)),
  );
  const onchange = ({ target }) => prefer(target.value);
  return element(
    "p",
    { className: "field survey-language" },
    element("label", { htmlFor: "survey-language" }, words().frame.language),
    element("select", { id: "survey-language", autocomplete: "off", onchange }, options),
  );
}

/** The choice of a level, and what leaves this device at it. */
function masksIntro(invitation, chosen, budget, answering) {
  const said = words().intro;
  const { levels, questions } = invitation;
  const clear = levels.some((level) => level.clear && level.name === chosen.name);
  const leaves = clear ? words().clear : said;
  return [
    levelPicker(invitation, chosen, budget, answering),
    element(
      "div",
      { className: "grid tight" },
      element(
        "section",
        { className: "card leaves" },
        element("h2", {}, said.leaves),
        list([leaves.leavesAnswers(questions), leaves.leavesLevel]),
      ),
      element(
        "section",
        { className: "card stays" },
        element("h2", {}, said.stays),
        list(clear ? words().clear.stays : said.staysList),
      ),
    ),
    paragraph(said.notHidden, "hint"),
    demonstration(),
  ];
}

/** The mask at work on made-up people: loaded when somebody wants to see it. */
function demonstration() {
  const folded = fold(words().welcome.how);
  const show = async () => {
    allow("mask-demo");
    const shown = await import("./mask_demo.js").then(
      ({ maskDemo }) => maskDemo(),
      () => paragraph(words().common.unreachable),
    );
    folded.append(shown);
  };
  folded.addEventListener("toggle", show, { once: true });
  return folded;
}

export function minutesFor(questions) {
  return Math.max(1, Math.ceil(questions / 6));
}

/** The level is chosen, and the questions were not shown yet. */
export function resume(record, failure, { go, giveBack }) {
  const said = words().resume;
  return [
    heading(said.title),
    paragraph(said.text(levelName(record.strength)), "lead"),
    failureNotice(failure),
    actions(button("give-back", said.giveBack, giveBack, ""), button("go", said.go, go)),
  ];
}

export function seal(record, { back, confirm }) {
  const clear = unmasked(record);
  const said = { ...words().seal, ...(clear && words().clear), ...(isSplit(record) && words().parties.seal) };
  const after = record.reveal === "after_send";
  return [
    !clear && motif(),
    heading(clear ? said.sealTitle : said.title),
    paragraph(clear ? said.seal : said.once, clear ? "lead warning" : "lead"),
    paragraph(after ? said.after : said.before),
    paragraph(said.last, "muted"),
    actions(
      button("back", words().common.back, back, ""),
      button("seal", after ? said.doSend : said.do, confirm),
    ),
  ];
}

/** Somebody did not agree to what a page asks them to: the survey ends here, or they go back. */
export function refused({ back, end }) {
  const said = words().refused;
  return [
    heading(said.title),
    paragraph(said.text, "lead"),
    actions(button("back", words().common.back, back), button("end", said.end, end, "")),
  ];
}

/** Return what the button that seals says while it is at work. */
export function sealing(record) {
  return isSplit(record) ? words().parties.seal.doing : words().seal.doing;
}

/** The masks are drawn, and the server does not know it yet. */
export function waiting(record, failure, { retry }) {
  const said = isSplit(record) ? { ...words().waiting, ...words().parties.waiting } : words().waiting;
  const clear = unmasked(record);
  return [
    !clear && motif(),
    heading(clear ? words().clear.waitingTitle : said.title),
    paragraph(clear ? words().clear.waiting : said.text, "lead"),
    failure ? failureNotice(failure) : paragraph(said.working, "muted"),
    failure && actions(button("retry", words().common.retry, retry)),
  ];
}

/** `sending` is true where it is being sent already, as was asked for before. */
export function reveal(record, sending, failure, { send, dont }) {
  const said = words().reveal;
  const clear = unmasked(record);
  const sendButton = button("send", failure ? words().common.retry : said.send, send);
  if (sending) Object.assign(sendButton, { disabled: true, textContent: said.sending });
  const split = isSplit(record);
  const title = clear ? words().clear.revealTitle : said.title;
  return [
    heading(split ? words().parties.reveal.title : title),
    split ? sealedHalves(record) : [whatToExpect(record), pairs(record, said.toSend)],
    !clear && !split && paragraph(said.please, "muted"),
    failureNotice(failure),
    actions(sendButton),
    fold(
      said.dont,
      paragraph(split ? words().parties.reveal.dontSure : clear ? words().clear.dontSure : said.dontSure),
      actions(button("dont", said.dontDo, dont, "danger")),
    ),
  ];
}

/** What was sent, and what the answers were; shown once they have arrived. */
export function revealSent(record, spent, { finish }) {
  const said = words().reveal;
  return [
    heading(said.titleSent),
    isSplit(record) ? sealedHalves(record) : [whatToExpect(record), pairs(record, said.sent)],
    bill(record, spent),
    actions(button("finish", said.done, finish)),
  ];
}

/** The answers, which nobody sees, and the two halves that go in their place. */
function sealedHalves(record) {
  const { halves, ownAnswers } = partyViews();
  return [paragraph(words().reveal.mine, "muted"), ownAnswers(record), halves(record)];
}

function whatToExpect(record) {
  if (unmasked(record)) return paragraph(words().clear.reveal, "warning");
  const odds = oddsOf(record.questions.map(({ mechanism }) => mechanism), record.questions);
  return paragraph([words().reveal.odd, ...odds].join(" "));
}

function pairs({ questions, answers, reports }, sentName) {
  const said = words().reveal;
  const shown = visibility(questions, answers);
  const mine = (question, index) =>
    shown[index] ? textOf(question, answers[question.id], words().question) : said.notAsked;
  const cell = (className, name, value) =>
    element(
      "div",
      {},
      element("dt", {}, name),
      element("dd", { className }, element("bdi", {}, value)),
    );
  return questions.map((question, index) =>
    reports[index] !== NOT_DRAWN &&
    element(
      "section",
      { className: "pair" },
      userText(question.text, "h2"),
      question.row && element("p", { className: "row" }, userText(question.row)),
      element(
        "dl",
        {},
        cell("mine", said.mine, mine(question, index)),
        cell("sent", sentName, sentTextOf(question, reports[index], words().question)),
      ),
    ),
  );
}

/** `again` is true on a later visit; `left` is the battery, where it is known. */
export function done(record, state, { withdraw }) {
  const { again, left, spent, open, failure, language = null, around = {} } = state;
  const said = { ...words().done, ...(isSplit(record) && words().parties.done) };
  const back = wayBack(around.panel, "complete", around.given, record.code);
  return [
    !again && motif(),
    heading(again ? said.again : said.title),
    paragraph(again ? said.once : unmasked(record) ? words().clear.done : said.sent, "lead"),
    lastWords(record, language),
    rewardReceipt(record),
    bill(record, spent),
    battery(left),
    failureNotice(failure),
    toResults(around.results),
    actions(back ?? returnLink(record), home(back || record.ending?.address ? "button" : "button primary")),
    open &&
      fold(
        said.withdraw,
        paragraph(said.withdrawText),
        actions(button("withdraw", said.withdrawDo, withdraw, "danger")),
      ),
  ];
}

function lastWords({ ending }, language) {
  const text = ending?.others?.[language] ?? ending?.thanks;
  return text ? element("section", { className: "card thanks" }, richText(text)) : null;
}

/** The link to where the surveyor wants people to go on; it says nothing of them. */
function returnLink({ ending }) {
  if (!ending?.address) return null;
  const { host } = new URL(ending.address);
  const attributes = { href: ending.address, className: "button primary", rel: "noopener noreferrer" };
  return element("a", { id: "return", ...attributes }, words().done.back(host));
}

/** What it cost, as this device counts: `spent` is `{here, total}` in millionths of epsilon. */
function bill({ day }, spent) {
  if (!spent) return null;
  const said = words().done;
  const line = (name, percent) =>
    element(
      "div",
      {},
      element("dt", {}, name),
      element("dd", {}, said.percent(percent)),
    );
  return element(
    "section",
    { className: "bill" },
    element("h2", {}, said.bill),
    // No share of a limit says what answers in clear give away.
    element("dl", {}, !(spent.clear > 0) && line(said.here, spent.here), line(said.total, spent.total)),
    spent.clear > 0 && paragraph(words().ledger.without(spent.clear), "warning"),
    day && paragraph(said.day(words().day(day)), "muted"),
  );
}

export function ended(reason, { again }) {
  const said = words().ended;
  const [title, text] = said[reason] ?? said.other;
  return [
    heading(title),
    paragraph(text, "lead"),
    actions(home(), again && button("again", said.again, again)),
  ];
}

export function closed({ panel, given, results } = {}) {
  const said = words().closed;
  return [
    heading(said.title),
    paragraph(said.text, "lead"),
    toResults(results),
    actions(wayBack(panel, "full", given), home()),
  ];
}

/** The way to results that everybody may see; null where there are none. */
function toResults(address) {
  const said = words().closed;
  if (!address) return null;
  return element("p", {}, element("a", { href: address, id: "results" }, said.results));
}

/** The survey closed while masked answers wait here. */
export function closedUnsent({ remove }, { results } = {}) {
  const said = words().closed;
  return [
    heading(said.title),
    paragraph(said.late, "lead"),
    toResults(results),
    actions(button("remove", said.remove, remove)),
  ];
}

export function missing() {
  const said = words().missing;
  return [heading(said.title), paragraph(said.text, "lead"), actions(home())];
}

export function cannot(reason, { giveBack = null } = {}) {
  const back = giveBack && button("give-back", words().resume.giveBack, giveBack, "");
  return [heading(words().cannot.title), paragraph(reason, "lead"), actions(back, home())];
}

/** Nothing of the survey is on this device, and the server did not give it. */
export function away(failure, { retry }) {
  const said = words().away;
  return [
    heading(said.title),
    failure.status === 0 && paragraph(said.text, "lead"),
    failureNotice(failure),
    actions(home(), button("retry", words().common.retry, retry)),
  ];
}

export function opening() {
  return [element("p", { className: "muted" }, words().frame.loading)];
}

/** What a survey gives, before a level is chosen; null where it gives nothing. */
function rewardPromise({ reward, levels }) {
  if (!reward) return null;
  const said = words().reward;
  const { amount } = words();
  const money = (name) => said.amount(amount(reward.amounts[name] ?? 0), reward.currency);
  const names = levels.map(({ name }) => name);
  const worth = names.some((name) => reward.amounts[name] > 0);
  const same = new Set(names.map((name) => reward.amounts[name])).size <= 1;
  return element(
    "section",
    { className: "card reward" },
    element("h2", {}, said.title),
    paragraph(said.code),
    worth &&
      (same
        ? element("p", { className: "sum", dir: "auto" }, money(names[0]))
        : element(
            "ul",
            {},
            levels.map(({ name, losses }) =>
              element("li", {}, said.at(money(name), levelName(strengthOf(losses)))),
            ),
          )),
    worth && !same && paragraph(said.tells, "hint"),
  );
}

/** What somebody got for the reports that have arrived. */
function rewardReceipt({ reward, code }) {
  const said = words().reward;
  const { amount } = words();
  if (!code) return null;
  return element(
    "section",
    { className: "card reward", id: "reward" },
    element("h2", {}, said.yours),
    element("p", {}, element("code", { className: "sum", dir: "ltr" }, code)),
    reward?.amount > 0 &&
      element("p", { className: "sum", dir: "auto" }, said.amount(amount(reward.amount), reward.currency)),
    paragraph(said.codeHint, "hint"),
  );
}

