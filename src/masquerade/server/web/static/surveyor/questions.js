// Questions as a draft keeps them, and as the participant's component takes them.

import { element } from "../app/dom.js";
import { kindOf } from "../app/kinds/kinds.js";
import { formOf } from "../app/survey_text.js";
import { withoutBroken } from "./condition_fields.js";

/** Return a new question with these fields, or one like another, with its condition. */
export function newQuestion(kind, blank, questions, like = null) {
  const taken = new Set(questions.map(({ id }) => id));
  let place = questions.length + 1;
  while (taken.has(`q${place}`)) place++;
  return { ...structuredClone(like ?? { kind, ...blank }), kind: like?.kind ?? kind, id: `q${place}` };
}

/** Return what a question can be answered with, in order. */
export const labelsOf = (question) => kindOf(question).form(question).labels;

/** Return whether the answer to a question can decide which others are shown. */
export const decides = (question) => kindOf(question).decides;

/** Return a question in the form in which a device gets it, but for its mask; `unmasked`: it has none. */
export const participantForm = (question, unmasked = false) =>
  formOf({ ...question, text: question.text || "…" }, unmasked ? null : undefined);

/** Return whether a question can be drawn as it is. */
export function isDrawable(question) {
  const kind = kindOf(question);
  try {
    kind.check(question, kind.form(question));
  } catch {
    return false;
  }
  return true;
}

/** Return a margin in words beside a drawing of its range; `null` where there is no forecast. */
export function marginShown({ margin, low, high, tells, words }) {
  const meter = element("meter", {
    min: 0, max: 0.5, low: 0.25, high: 0.45, optimum: 0, value: tells === "nothing" ? 0.5 : margin / (high - low), "aria-hidden": "true",
  });
  return element("span", { className: `margin ${tells}` }, meter, element("b", { className: "figure" }, words));
}

/** Keep conditions in step after questions moved, went or were changed. */
export function withoutBrokenConditions(questions) {
  const earlier = new Map();
  return questions.map((question) => {
    const { show_if: condition, ...rest } = question;
    const left = condition && withoutBroken(condition, earlier);
    const kept = left ? { ...question, show_if: left } : rest;
    for (const one of partsOf(kept)) earlier.set(one.id, one);
    return kept;
  });
}

/** Return a question as it is asked: of a matrix, one for each row. */
export const partsOf = (question) => kindOf(question).parts?.(question) ?? [question];
