// A rating: a point of a scale of whole steps, with words at its ends.

import { userText } from "../components.js";
import { element } from "../dom.js";
import { labelKind, option, skipOption } from "../label_kind.js";
import { numberText } from "../numbers.js";
import { isText, requireThat } from "../promise.js";

const LONGEST_SHORT = 3; // characters of a point that stands beside the others
const LONGEST_ROW = 7;
const MOST_POINTS = 100; // of a draft too, in which anything may stand

/** Return points side by side, with words at the two ends. */
export function drawScale(place, answering, labels) {
  const { low_label: low, high_label: high } = place.asked;
  const ends = [low, high];
  const long = labels.length > LONGEST_ROW; // in several rows, where an end stands under another number
  const points = labels.map((label, code) => {
    const end = (code === 0 && low) || (code === labels.length - 1 && high);
    const spoken = end && element("span", { className: "visually-hidden" }, `, ${end}`);
    return option(place, answering, code, "point", label, ...(spoken ? [spoken] : []));
  });
  return [
    element("div", { className: long ? "scale long" : "scale" }, points),
    ends.some(Boolean) &&
      element(
        "div",
        { className: "ends", "aria-hidden": "true" },
        ends.map((end, last) =>
          element(
            "span",
            {},
            long && end && element("strong", {}, `${labels.at(last ? -1 : 0)} `),
            userText(end || ""),
          ),
        ),
      ),
  ];
}

/** Return a point with its word, where it has one. */
export const named = (label, word) => (word ? [element("strong", {}, label), ` ${word}`] : [label]);

export const kind = {
  ...labelKind,
  name: "rating",
  texts: ["low_label", "high_label", "words", "dont_know"],
  fields: ["low", "high", "low_label", "high_label", "allow_skip"],
  optional: { words: [], dont_know: "" },

  form({ low, high, low_label: lowLabel, high_label: highLabel, words = [], dont_know: beside = "" }) {
    const count = Math.max(0, Math.min(MOST_POINTS, high - low + 1)) || 0;
    const points = Array.from({ length: count }, (_, code) => String(low + code));
    const labels = beside ? [...points, beside] : points;
    const scale = { min: low, max: high, step: 1, words, beside: Boolean(beside) };
    return { labels, low_label: lowLabel, high_label: highLabel, ...scale };
  },

  check({ low, high, words = [], dont_know: beside = "" }, form) {
    requireThat(Array.isArray(words) && [0, high - low + 1].includes(words.length), "words of a scale");
    requireThat(words.every((word) => isText(word) && word.trim()) && isText(beside), "words of a scale");
    requireThat(Number.isSafeInteger(low) && Number.isSafeInteger(high), "a scale");
    requireThat(form.labels.length === high - low + 1 + (beside ? 1 : 0), "a scale");
    requireThat(isText(form.low_label) && isText(form.high_label), "a scale");
    labelKind.check(null, form);
  },

  draw(place, answering) {
    const { labels, words = [], beside } = place.asked;
    const points = beside ? labels.slice(0, -1) : labels;
    const long = points.some((label) => label.length > LONGEST_SHORT);
    return [
      long || words.length
        ? points.map((label, code) => option(place, answering, code, "option", ...named(label, words[code])))
        : drawScale(place, answering, points),
      beside && option(place, answering, points.length, "option", labels.at(-1)),
      skipOption(place, answering),
    ];
  },

  // Noise on the scale can lead beyond its ends.
  text(question, code, said) {
    const onScale = question.device?.points !== undefined;
    if (onScale) return numberText(question, code);
    const word = question.words?.[code];
    return word ? `${question.labels[code]} (${word})` : labelKind.text(question, code, said);
  },
};
