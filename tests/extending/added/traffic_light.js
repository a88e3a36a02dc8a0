// A traffic light: red, amber or green.

import { element } from "../dom.js";
import { labelKind } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";

export const kind = {
  ...labelKind,
  name: "traffic_light",
  fields: ["topic", "allow_skip"],

  form: ({ topic }) => ({ labels: ["Red", "Amber", "Green"], topic }),

  check({ topic }, form) {
    requireThat(isText(topic) && topic, "a topic");
    labelKind.check(null, form);
  },

  draw: (place, answering) => [
    element("p", { className: "topic", dir: "auto" }, place.asked.topic),
    ...labelKind.draw(place, answering),
  ],
};
