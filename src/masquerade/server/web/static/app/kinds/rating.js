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

export const kind = {
  ...labelKind,
  name: "rating",
  texts: ["low_label", "high_label"],
  fields: ["low", "high", "low_label", "high_label", "allow_skip"],

  form({ low, high, low_label: lowLabel, high_label: highLabel }) {
    const count = Math.max(0, Math.min(MOST_POINTS, high - low + 1)) || 0;
    const labels = Array.from({ length: count }, (_, code) => String(low + code));
    return { labels, low_label: lowLabel, high_label: highLabel, min: low, max: high, step: 1 };
  },

  check({ low, high }, form) {
    requireThat(Number.isSafeInteger(low) && Number.isSafeInteger(high), "a scale");
    requireThat(form.labels.length === high - low + 1, "a scale");
    requireThat(isText(form.low_label) && isText(form.high_label), "a scale");
    labelKind.check(null, form);
  },

  draw(place, answering) {
    const { labels } = place.asked;
    if (labels.some((label) => label.length > LONGEST_SHORT)) return labelKind.draw(place, answering);
    return [drawScale(place, answering, labels), skipOption(place, answering)];
  },

  // Noise on the scale can lead beyond its ends.
  text(question, code, said) {
    const onScale = question.device?.points !== undefined;
    return onScale ? numberText(question, code) : labelKind.text(question, code, said);
  },
};
