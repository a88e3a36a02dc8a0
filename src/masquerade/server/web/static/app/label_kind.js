// What kinds of question have in common whose answer is one of a few labels: each such kind extends
// `labelKind`. The parts of a kind are listed in kinds/every.js.

import { element } from "./dom.js";
import { words } from "../words/language.js";
import { isText, requireThat } from "./promise.js";

const MOST_LABELS = 100;
const PICTURE = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const LONGEST_PICTURE = 40000;
const IN_CLEAR = /(flip_probability=0|epsilon=inf)(,|$)/;

/** Throw unless labels are different texts, not too few and not too many. */
export function checkLabels(labels) {
  requireThat(Array.isArray(labels), "the answers");
  requireThat(labels.every((label) => isText(label) && label), "an answer");
  requireThat(new Set(labels).size === labels.length, "an answer");
  requireThat(labels.length >= 2 && labels.length <= MOST_LABELS, "the answers");
}

/** Return one answer as a button of a group of which one is pressed. */
export function option({ chosen, group = "answer" }, { choose, next }, code, className, ...inside) {
  return element(
    "label",
    { className },
    element("input", {
      type: "radio",
      name: group,
      value: String(code),
      checked: code === chosen,
      autocomplete: "off",
      onchange: () => choose(code),
      // A handler that returns false cancels the key, so this one returns nothing.
      onkeydown: (event) => {
        if (event.key === "Enter") next();
      },
    }),
    element("span", { dir: "auto" }, ...inside),
  );
}

/** Return an answer as a button with its picture, where it has one. */
export function pictured(place, answering, code, className, picture, label) {
  if (!picture) return option(place, answering, code, className, label);
  // The label under a picture says what is on it, so that the picture itself has no other words.
  const image = element("img", { src: picture, alt: "" });
  return option(place, answering, code, `${className} pictured`, image, label);
}

/** Throw unless there is a small picture for each of so many answers, or none. */
export function checkPictures(pictures, count) {
  requireThat(Array.isArray(pictures) && [0, count].includes(pictures.length), "the pictures");
  requireThat(
    pictures.every((one) => isText(one) && one.length <= LONGEST_PICTURE && PICTURE.test(one)),
    "a picture",
  );
}

/** Return the answer "prefer not to say", where it is offered. */
export function skipOption(place, answering, code = place.asked.labels.length) {
  return place.asked.allow_skip && option(place, answering, code, "option skip", ...skipWords(place.asked));
}

/** Return the words of "prefer not to say". */
export function skipWords({ mechanism }) {
  const { skip, maskedToo } = words().question;
  // Between two parties nothing is masked: there is no mechanism. A preview has none yet.
  const masked = mechanism !== null && !IN_CLEAR.test(mechanism);
  return [skip, masked && element("small", {}, maskedToo)];
}

/** Throw unless a condition names some labels of a question, at most so many. */
export function checkNames({ labels }, leaf, most) {
  requireThat(Object.keys(leaf).length === 2 && Array.isArray(leaf.answers), "a condition");
  requireThat(leaf.answers.every((answer) => labels.includes(answer)), "a condition");
  const count = new Set(leaf.answers).size;
  requireThat(count >= 1 && count <= most, "a condition");
}

/**
 * Return the conditions of a kind whose answers stand in an order: intervals from one to another.
 *
 * @param {(question: object, end: unknown) => number|null} codeOf code of an end of an interval
 * @param {(question: object) => number} pointsOf number of answers
 * @param {(question: object) => number[]} startsOf answers at which the mask begins a new one
 */
export function intervals(codeOf, pointsOf, startsOf = () => [0]) {
  const endsOf = (question, { from, to }) => [from, to].map((end) => codeOf(question, end));
  return {
    leaves: () => ["interval"],

    checkLeaf(question, leaf) {
      const [first, last] = endsOf(question, leaf);
      const named = Object.keys(leaf).length === 3 && first !== null && last !== null && first <= last;
      requireThat(named, "a condition");
      const whole = first === 0 && last === pointsOf(question) - 1;
      requireThat(!whole || question.allow_skip, "a condition");
    },

    meets(question, code, leaf) {
      const [first, last] = endsOf(question, leaf);
      return first !== null && last !== null && first <= code && code <= last && code < pointsOf(question);
    },

    /** The first answer of each stretch that the intervals cut. */
    decidingCodes(question, leaves) {
      const ends = leaves.map((leaf) => endsOf(question, leaf)).filter((pair) => !pair.includes(null));
      const starts = ends.flatMap(([first, last]) => [first, last + 1]);
      const codes = [...new Set([...startsOf(question), ...starts])];
      return codes.filter((code) => code < pointsOf(question)).sort((a, b) => a - b);
    },
  };
}

/** Return the codes of a question's labels in the order in which they stand. */
export const inOrder = ({ labels, order }) => order ?? labels.map((_, code) => code);

export const labelKind = {
  decides: true,

  leaves: () => ["labels"],

  // All labels may be named where "no answer" is left to hide the question.
  checkLeaf: (question, leaf) =>
    checkNames(question, leaf, question.labels.length - 1 + Number(question.allow_skip)),

  meets: ({ labels }, code, { answers }) =>
    Array.isArray(answers) && code < labels.length && answers.includes(labels[code]),

  decidingCodes: ({ labels }) => labels.map((_, code) => code),
  crossable: true,

  check(definition, { labels }) {
    checkLabels(labels);
  },

  answers: ({ labels, allow_skip: skip }) => labels.length + (skip ? 1 : 0),

  skipCode: ({ labels }) => labels.length,

  fits: (question, { most }) => most === undefined,

  draw(place, answering) {
    const options = inOrder(place.asked).map((code) =>
      option(place, answering, code, "option", place.asked.labels[code]),
    );
    return [options, skipOption(place, answering)];
  },

  missing: (question, said) => said.choose,

  text: ({ labels }, code, said) => labels[code] ?? said.skip,

  split: ({ labels }) => ({ shape: "counts", labels: labels.length, answers: labels.length }),
};
