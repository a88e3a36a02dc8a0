// A comparison of two items, side by side.

import { element } from "../dom.js";
import { inOrder, labelKind, option, skipOption } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";

export const kind = {
  ...labelKind,
  name: "comparison",
  texts: ["item_a", "item_b", "tie"],
  shuffled: () => 2,
  fields: ["item_a", "item_b", "tie", "allow_skip"],

  form: ({ item_a: a, item_b: b, tie }) => ({
    labels: tie ? [a, b, tie] : [a, b],
    item_a: a,
    item_b: b,
  }),

  check({ tie }, form) {
    requireThat(isText(tie), "what is compared");
    labelKind.check(null, form);
  },

  draw(place, answering) {
    const [, , ...tie] = place.asked.labels;
    const sides = inOrder(place.asked).filter((code) => code < 2);
    return [
      element(
        "div",
        { className: "versus" },
        sides.map((code) => option(place, answering, code, "option item", place.asked.labels[code])),
      ),
      tie.map((name) => option(place, answering, 2, "option", name)),
      skipOption(place, answering),
    ];
  },
};
