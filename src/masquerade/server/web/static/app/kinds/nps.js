// Would recommend, 0 to 10: what is masked is the class of the answer, unless each is to be shown.

import { intervals, labelKind, skipOption } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";
import { drawScale } from "./rating.js";

const POINTS = Array.from({ length: 11 }, (_, point) => String(point));
const CLASSES = ["0–6", "7–8", "9–10"];

const FIRST = [0, 7, 9]; // of each class

const classOf = (point) => (point >= 9 ? 2 : point >= 7 ? 1 : 0);

const within = intervals(
  (question, end) => (Number.isInteger(end) && end >= 0 && end < POINTS.length ? end : null),
  () => POINTS.length,
  ({ labels }) => (labels.length === POINTS.length ? [...POINTS.keys()] : FIRST),
);

export const kind = {
  ...labelKind,
  name: "nps",
  /** The ends of a first interval: whoever would not recommend. */
  ends: () => [0, 6],
  fields: ["low_label", "high_label", "each", "allow_skip"],
  texts: ["low_label", "high_label"],

  form: ({ low_label: low, high_label: high, each }) => ({
    labels: each ? POINTS : CLASSES,
    low_label: low,
    high_label: high,
  }),

  check({ each }, { low_label: low, high_label: high }) {
    requireThat(isText(low) && isText(high) && typeof each === "boolean", "a scale");
  },

  skipCode: () => POINTS.length,

  answers: ({ allow_skip: skip }) => POINTS.length + (skip ? 1 : 0),

  maskedAnswers: ({ labels, allow_skip: skip }) => labels.length + (skip ? 1 : 0),

  maskedCode({ labels }, code) {
    if (labels.length === POINTS.length || code === undefined) return code;
    return code === POINTS.length ? CLASSES.length : classOf(code);
  },

  // A condition names classes, or an interval of 0 to 10.
  leaves: () => ["interval", "labels"],

  checkLeaf: (question, leaf) => (leaf.answers ? labelKind : within).checkLeaf(question, leaf),

  meets: (question, code, leaf) =>
    leaf.answers ? labelKind.meets(question, kind.maskedCode(question, code), leaf) : within.meets(question, code, leaf),

  decidingCodes: within.decidingCodes,

  draw: (place, answering) => [
    drawScale(place, answering, POINTS),
    skipOption(place, answering, POINTS.length),
  ],

  text: (question, code, said) => POINTS[code] ?? said.skip,

  sentText: ({ labels }, report, said) => labels[report] ?? said.skip,

  split: () => ({ shape: "counts", labels: POINTS.length, answers: POINTS.length }),
};
