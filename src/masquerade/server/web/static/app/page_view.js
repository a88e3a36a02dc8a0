// A page of a survey: a question by itself, or several with headings, texts, images and consent.
// There is no form around the answers: no browser can ever put them into an address.

import { actions, button, heading } from "./components.js";
import { answerTo, visibility } from "./conditions.js";
import { element } from "./dom.js";
import { kindOf } from "./kinds/kinds.js";
import { spokenIn } from "./languages.js";
import { groupOf, placesOn } from "./pages.js";
import { progress, questionView } from "./question_view.js";
import { richText } from "./rich_text.js";
import { words } from "../words/language.js";

/**
 * Return the screen of a page.
 *
 * @param {object} page of `pagesInOrder`
 * @param {{questions: object[], answers: object, images: object, agreed: object, index: number, count: number}} known
 *   `questions` as they are drawn, those at the places `always` whatever is answered; `agreed` has the consents that were given, by their texts
 * @param {{choose: (asked: object, code: number|null) => void, agree: (text: string, on: boolean) => void, back: Function|null, next: Function}} answering
 */
export function pageView(page, known, answering) {
  const { questions, answers, index, count, always = [] } = known;
  const places = placesOn(page);
  if (isPlain(page)) {
    const asked = questions[places[0]];
    const choose = (code) => answering.choose(asked, code);
    const place = { asked, index, count, chosen: answerTo(answers, asked.id) };
    return questionView(place, { ...answering, choose });
  }
  const said = words().question;
  const given = { ...answers };
  const fields = new Map();
  const show = () => {
    const flags = visibility(questions, given);
    for (const [place, field] of fields) field.hidden = !flags[place] && !always.includes(place);
  };
  const rowOf = (place) => {
    const asked = questions[place];
    const choose = (code) => {
      given[asked.id] = code ?? undefined;
      answering.choose(asked, code);
      show();
    };
    const where = { asked, index, count, chosen: answerTo(answers, asked.id), group: `q${place}` };
    return { place: where, answering: { ...answering, choose } };
  };
  const drawn = together(page.items, questions).map((items) => {
    const [{ place }] = items;
    if (place === undefined) return block(items[0], known, answering);
    const field = questionField(items.map((item) => rowOf(item.place)));
    for (const item of items) fields.set(item.place, field);
    return field;
  });
  show();
  return [
    progress(index, count),
    page.heading
      ? heading(page.heading, { dir: "auto" })
      : heading(said.page(index + 1, count), { className: "visually-hidden" }),
    drawn,
    places.length > 0 && element("p", { className: "hint saved" }, said.saved),
    actions(
      answering.back && button("back", words().common.back, answering.back, ""),
      button("next", words().common.next, answering.next),
    ),
  ];
}

/** Return whether a page is one question and nothing else. */
function isPlain({ heading: title, items }) {
  return title === "" && items.length === 1 && items[0].place !== undefined;
}

/** Return the items of a page, those together that are parts of one, such as rows of a matrix. */
function together(items, questions) {
  const groups = [];
  let last = null;
  for (const item of items) {
    const name = item.place === undefined ? null : groupOf(questions[item.place]);
    if (name !== null && name === last) groups.at(-1).push(item);
    else groups.push([item]);
    last = name;
  }
  return groups;
}

function questionField(rows) {
  const [{ place, answering }] = rows;
  const { asked } = place;
  const kind = kindOf(asked);
  return element(
    "fieldset",
    { className: `answers on-page ${asked.kind}`, id: place.group },
    element("legend", {}, element("h2", { dir: "auto", ...spokenIn(asked.language) }, asked.text)),
    groupOf(asked) === null ? kind.draw(place, answering) : kind.drawGroup(rows),
  );
}

function block({ block: name, text, image, alt }, { images, agreed }, { agree }) {
  if (name === "image") return element("img", { className: "block", src: images[image], alt });
  if (name === "text") return richText(text);
  const box = element("input", {
    type: "checkbox",
    checked: Boolean(agreed[text]),
    autocomplete: "off",
    onchange: () => agree(text, box.checked),
  });
  const label = element("label", { className: "check consent" }, box, words().question.agree);
  return element("section", { className: "card consent-block" }, richText(text), label);
}

/** Return the texts of a page's consents that were not given. */
export function notAgreed({ items }, agreed) {
  return items.filter(({ block: name, text }) => name === "consent" && !agreed[text]).map(({ text }) => text);
}
