// A choice: one of several options, each of which can have a picture.

import { element } from "../dom.js";
import { checkPictures, inOrder, labelKind, pictured, skipOption } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";

export const kind = {
  ...labelKind,
  name: "choice",
  texts: ["options", "other", "dont_know"],
  shuffled: ({ options }) => options.length,
  fields: ["options", "allow_skip"],
  optional: { other: "", dont_know: "", pictures: [] },

  form: ({ options, other = "", dont_know: cannot = "", pictures = [] }) => ({
    labels: [...(Array.isArray(options) ? options : []), ...[other, cannot].filter(Boolean)],
    pictures,
  }),

  check({ options, other = "", dont_know: cannot = "", pictures = [] }, form) {
    requireThat(isText(other) && isText(cannot) && Array.isArray(options), "an answer");
    checkPictures(pictures, options.length);
    labelKind.check(null, form);
  },

  draw(place, answering) {
    const { labels, pictures = [] } = place.asked;
    if (!pictures.length) return labelKind.draw(place, answering);
    const shown = inOrder(place.asked).map((code) =>
      pictured(place, answering, code, "option", pictures[code], labels[code]),
    );
    return [
      element("div", { className: "pictures" }, shown.slice(0, pictures.length)),
      shown.slice(pictures.length),
      skipOption(place, answering),
    ];
  },
};
