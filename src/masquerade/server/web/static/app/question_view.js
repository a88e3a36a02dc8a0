// One question by itself. There is no form around the answers: no browser can ever put them into an
// address.

import { element } from "./dom.js";
import { actions, button, heading } from "./components.js";
import { spokenIn } from "./languages.js";
import { kindOf } from "./kinds/kinds.js";
import { words } from "../words/language.js";

/**
 * Return the screen of a question.
 *
 * @param {{asked: object, index: number, count: number, chosen: number|undefined}} place
 * @param {{choose: (code: number|null) => void, back: Function|null, next: Function}} answering
 *   `choose(null)` says that what is typed is no answer
 */
export function questionView(place, answering) {
  const { asked, index, count } = place;
  const said = words().question;
  return [
    progress(index, count),
    element(
      "fieldset",
      { className: `answers ${asked.kind}` },
      element("legend", {}, heading(asked.text, { dir: "auto", ...spokenIn(asked.language) })),
      kindOf(asked).draw(place, answering),
    ),
    element("p", { className: "hint saved" }, said.saved),
    actions(
      answering.back && button("back", words().common.back, answering.back, ""),
      button("next", words().common.next, answering.next),
    ),
  ];
}

/** Return how far a person has come. */
export const progress = (index, count) =>
  element(
    "div",
    { className: "progress" },
    element("progress", { max: count, value: index + 1, "aria-hidden": "true" }),
    element("span", {}, words().question.progress(index + 1, count)),
  );

/** Return what to say where the person goes on without an answer. */
export const missingAnswer = (asked) => kindOf(asked).missing(asked, words().question);
