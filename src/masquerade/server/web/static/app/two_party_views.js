// The screens of a survey between two parties, where they differ from those of masks: who the two
// are, what each could see, what it costs, and what is sent.

import { element } from "./dom.js";
import { beliefPercent } from "../words/formats.js";
import { chargeOf, percentOf } from "./budget.js";
import { actions, fold, paragraph, userText } from "./components.js";
import { isAffordable } from "./level_view.js";
import { textOf, visibility } from "./conditions.js";
import { tail } from "../mechanisms/loss.js";
import { isolated } from "./two_parties.js";
import { ENGLISH_PARTIES } from "../words/en_parties.js";
import { addEnglish, words } from "../words/language.js";

addEnglish({ parties: ENGLISH_PARTIES });

const GROUP = 4; // digits that people compare at a time

const row = (name, ...value) =>
  element("div", {}, element("dt", {}, name), element("dd", {}, ...value));

const list = (items) => element("ul", {}, items.map((item) => element("li", {}, item)));

const card = (title, ...children) =>
  element("section", { className: "card" }, element("h2", {}, title), ...children);

/** Who adds up the answers, and what that costs and protects, in one screen before the questions. */
export function partiesIntro(invitation, { caps, charges }) {
  const { parties, levels: [level], questions, host } = invitation;
  const said = words().parties;
  const { losses } = level;
  const bound = tail(losses.loss);
  const percent = words().number(percentOf(chargeOf(losses), caps, charges), 1);
  const fits = isAffordable(level, { caps, charges });
  return [
    host && paragraph(said.ownPage(isolated(parties.operator)), "notice"),
    card(
      said.title,
      paragraph(said.cut),
      element(
        "dl",
        { className: "parties" },
        row(said.first, host ? [said.asks, " ", address(host.leader)] : said.site),
        row(said.second, userText(parties.operator, "strong"), " ", address(parties.helper)),
      ),
      paragraph(said.trust, "warning"),
      paragraph(fits ? words().levels.price(percent) : words().levels.beyondRest(percent), "level-price"),
      fold(
        said.compare,
        paragraph(said.compareWhy),
        fingerprint(parties.fingerprint),
        paragraph(host ? said.ownKey : said.compareHow(isolated(parties.operator))),
        paragraph(said.checked, "hint"),
      ),
      fold(
        words().levels.seen,
        paragraph(said.belief(beliefPercent(bound / 1e6))),
        paragraph(words().levels.together(bound / 1e6)),
        paragraph(words().levels.rarely),
        paragraph(said.own, "hint"),
      ),
    ),
    element(
      "div",
      { className: "grid tight" },
      element(
        "section",
        { className: "card leaves" },
        element("h2", {}, words().intro.leaves),
        list([said.leavesHalves(questions), said.leavesResult(words().number(parties.minimum))]),
      ),
      element(
        "section",
        { className: "card stays" },
        element("h2", {}, said.notSeen),
        list(said.notSeenList),
      ),
    ),
    paragraph(words().intro.notHidden, "hint"),
    fold(said.left, left(invitation)),
  ];
}

/** Whom one has to trust whatever the two parties promise: whoever sent this page, above all. */
function left({ token, parties, host }) {
  const said = words().parties;
  if (host) return said.leftThere.map((text) => paragraph(text));
  const there = element(
    "a",
    { className: "button quiet", href: `${parties.helper}/s/${token}`, rel: "noreferrer" },
    said.openThere,
  );
  return [...said.leftList.map((text) => paragraph(text)), actions(there)];
}

const address = (helper) =>
  element("a", { href: helper, target: "_blank", rel: "noopener noreferrer", dir: "ltr" }, helper);

/** The digits in groups, as they are compared aloud. */
function fingerprint(digits) {
  const groups = digits.match(new RegExp(`.{${GROUP}}`, "g"));
  return element("p", {}, element("code", { className: "fingerprint", dir: "ltr" }, groups.join(" ")));
}

/** What is sent: two sealed halves, of the same length whatever was answered. */
export function halves({ bytes, promise }) {
  const said = words().parties;
  return element(
    "section",
    { className: "card" },
    element("h2", {}, said.halves),
    list([said.halfSite, said.halfHelper(isolated(promise.parties.operator))]),
    paragraph(said.length(words().number(bytes)), "hint"),
  );
}

/** The answers, which stay here. */
export function ownAnswers({ questions, answers }) {
  const shown = visibility(questions, answers);
  return element(
    "dl",
    { className: "own-answers" },
    questions.map((question, place) =>
      row(
        userText(question.text),
        element(
          "bdi",
          {},
          shown[place]
            ? textOf(question, answers[question.id], words().question)
            : words().reveal.notAsked,
        ),
      ),
    ),
  );
}
