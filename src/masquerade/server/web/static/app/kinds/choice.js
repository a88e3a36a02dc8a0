// A choice: one of several options, each of which can have a picture.

import { element } from "../dom.js";
import { inOrder, labelKind, option, skipOption } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";

const PICTURE = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const LONGEST_PICTURE = 40000;

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
    requireThat(Array.isArray(pictures) && [0, options.length].includes(pictures.length), "the pictures");
    requireThat(
      pictures.every((one) => isText(one) && one.length <= LONGEST_PICTURE && PICTURE.test(one)),
      "a picture",
    );
    labelKind.check(null, form);
  },

  draw(place, answering) {
    const { labels, pictures = [] } = place.asked;
    if (!pictures.length) return labelKind.draw(place, answering);
    const shown = inOrder(place.asked).map((code) => {
      // The label under a picture says what is on it, so that the picture itself has no other words.
      const image = pictures[code] && element("img", { src: pictures[code], alt: "" });
      const className = image ? "option pictured" : "option";
      return option(place, answering, code, className, ...(image ? [image] : []), labels[code]);
    });
    return [
      element("div", { className: "pictures" }, shown.slice(0, pictures.length)),
      shown.slice(pictures.length),
      skipOption(place, answering),
    ];
  },
};
