// What each view looks like: functions from data and callbacks to elements. No state, no storage.

import { element } from "./dom.js";
import { keepPercent } from "./mask.js";
import { WORDS } from "./words.js";

const heading = (text) => element("h1", { tabIndex: -1 }, text);
const paragraph = (text, className = "") => text && element("p", { className }, text);
const buttons = (...children) => element("div", { className: "actions" }, ...children);

function button(id, text, onclick, kind = "primary") {
  const className = `button ${kind}`.trim();
  return element("button", { id, type: "button", className, onclick }, text);
}

function listCard(name, title, items) {
  const lines = items.map((item) => element("li", {}, item));
  return element(
    "section",
    { className: `card ${name}` },
    element("h2", {}, title),
    element("ul", {}, lines),
  );
}

function keepRange(questions) {
  const percents = questions.map((question) => Math.round(keepPercent(question.device)));
  return [Math.min(...percents), Math.max(...percents)];
}

export function intro(survey, { start }) {
  const { level, guarantee, questions } = survey;
  const words = WORDS.intro;
  return [
    survey.simulated && element("p", { className: "badge simulated" }, words.simulated),
    heading(survey.title),
    paragraph(survey.description, "lead"),
    paragraph(words.questions(questions.length), "muted"),
    element(
      "section",
      { className: "level-card" },
      element("h2", {}, words.level(level.name)),
      paragraph(level.odds),
      paragraph(level.words),
      questions.length > 1 && paragraph(level.words_all ?? ""),
      element(
        "details",
        {},
        element("summary", {}, words.exact),
        paragraph(words.promise(guarantee.epsilon_user, questions.length)),
        questions.length > 1 && paragraph(words.promiseOne(guarantee.epsilon_event)),
        paragraph(words.keeps(...keepRange(questions))),
        paragraph(words.notHidden),
      ),
    ),
    element(
      "div",
      { className: "grid tight" },
      listCard("leaves", words.leaves, words.leavesList(questions.length)),
      listCard("stays", words.stays, words.staysList),
    ),
    buttons(button("start", words.start, start)),
  ];
}

/** There is no form around the answers: no browser can ever put them into an address. */
export function question(survey, index, chosen, { choose, back, next }) {
  const asked = survey.questions[index];
  const words = WORDS.question;
  const count = survey.questions.length;
  const scale = asked.kind === "rating" && asked.labels.every((label) => label.length <= 3);
  const option = (label, code, className, ...notes) =>
    element(
      "label",
      { className },
      element("input", {
        type: "radio",
        name: "answer",
        value: String(code),
        checked: code === chosen,
        autocomplete: "off",
        onchange: () => choose(code),
        // A handler that returns false cancels the key, so this one returns nothing.
        onkeydown: (event) => {
          if (event.key === "Enter") next();
        },
      }),
      element("span", {}, label, ...notes),
    );
  const ends = [asked.low_label, asked.high_label];
  const last = asked.labels.length - 1;
  const options = asked.labels.map((label, code) => {
    const end = (code === 0 && ends[0]) || (code === last && ends[1]);
    const spoken = end && element("span", { className: "visually-hidden" }, `, ${end}`);
    return scale ? option(label, code, "point", spoken) : option(label, code, "option");
  });
  return [
    element(
      "div",
      { className: "progress" },
      element("progress", { max: count, value: index + 1, "aria-hidden": "true" }),
      element("span", {}, words.progress(index + 1, count)),
    ),
    element(
      "fieldset",
      { className: "answers" },
      element("legend", {}, heading(asked.text)),
      scale
        ? [
            element("div", { className: options.length > 7 ? "scale long" : "scale" }, options),
            ends.some(Boolean) &&
              element(
                "div",
                { className: "ends", "aria-hidden": "true" },
                ends.map((end) => element("span", {}, end || "")),
              ),
          ]
        : options,
      asked.allow_skip &&
        option(
          words.skip,
          asked.labels.length,
          "option skip",
          element("small", {}, words.maskedToo),
        ),
    ),
    buttons(button("back", words.back, back, ""), button("next", words.next, next)),
  ];
}

export function seal({ back, confirm }) {
  const words = WORDS.seal;
  return [
    element("div", { className: "motif", "aria-hidden": "true" }),
    heading(words.title),
    paragraph(words.once, "lead"),
    paragraph(words.then),
    paragraph(words.last, "muted"),
    buttons(button("back", words.back, back, ""), button("seal", words.seal, confirm)),
  ];
}

export function review(survey, sealed, failure, { send }) {
  const words = WORDS.review;
  const cell = (className, name, value) =>
    element("div", {}, element("dt", {}, name), element("dd", { className }, value));
  const pair = ({ question: text, mine, sent }) =>
    element(
      "section",
      { className: "pair" },
      element("h2", {}, text),
      element("dl", {}, cell("mine", words.mine, mine), cell("sent", words.sent, sent)),
    );
  return [
    heading(words.title),
    paragraph(`${words.odd} ${words.keeps(...keepRange(survey.questions))}`),
    sealed.pairs.map(pair),
    paragraph(words.please, "muted"),
    failure &&
      element(
        "div",
        { className: "notice", role: "alert" },
        element("strong", {}, failure.refused ? words.refused : words.notYet),
        paragraph(failure.detail || words.unreachable),
      ),
    buttons(button("send", failure ? words.retry : words.send, send)),
  ];
}

/** `again` is true on a later visit. */
export function done(bill, again) {
  const words = WORDS.done;
  const line = (name, epsilon) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, words.epsilon(epsilon)));
  return [
    heading(again ? words.again : words.title),
    paragraph(again ? words.once : words.sent, "lead"),
    bill?.survey_epsilon !== undefined &&
      element(
        "section",
        { className: "bill" },
        element("h2", {}, words.bill),
        element(
          "dl",
          {},
          line(words.here, bill.survey_epsilon),
          bill.total_epsilon !== undefined && line(words.total(bill.surveys), bill.total_epsilon),
        ),
        paragraph(words.meaning(bill.survey_epsilon, bill.total_epsilon, bill.surveys)),
        bill.day && paragraph(words.day(bill.day), "muted"),
      ),
    paragraph(words.close, "muted"),
  ];
}

export function closed() {
  return [heading(WORDS.closed.title), paragraph(WORDS.closed.text, "lead")];
}

/** The survey closed while masked answers wait here, sent or not. */
export function closedUnsent(failure, { send, remove }) {
  const words = WORDS.closed;
  return [
    heading(words.title),
    paragraph(words.unsent, "lead"),
    failure &&
      element(
        "div",
        { className: "notice", role: "alert" },
        paragraph(failure.detail || WORDS.review.unreachable),
      ),
    buttons(button("remove", words.remove, remove, ""), button("send", words.check, send)),
  ];
}

export function deleted() {
  return [heading(WORDS.closed.removedTitle), paragraph(WORDS.closed.removed, "lead")];
}

export function cannot(reason) {
  return [heading(WORDS.cannot.title), paragraph(reason, "lead")];
}
