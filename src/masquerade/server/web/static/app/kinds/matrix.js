// A matrix: rows that are rated on one scale. Each row is a question of its own; those of one matrix
// stand together on a screen, as a table where there is room for one.

import { userText } from "../components.js";
import { element } from "../dom.js";
import { skipWords } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";
import { kind as rating, named } from "./rating.js";

export const kind = {
  ...rating,
  name: "matrix",
  texts: [...rating.texts, "rows"],
  fields: ["low", "high", "low_label", "high_label", "allow_skip", "rows"],
  optional: { words: [], dont_know: "", of: "" },

  form: (definition) => ({
    ...rating.form(definition),
    rows: definition.rows ?? [],
    row: definition.of ? definition.rows?.[0] ?? "" : "",
    of: definition.of ?? "",
  }),

  check(definition, form) {
    const { rows, of = "" } = definition;
    requireThat(Array.isArray(rows) && rows.every((row) => isText(row) && row.trim()), "a row");
    requireThat(isText(of) && of && rows.length === 1, "a row");
    rating.check(definition, form);
  },

  /** Return a matrix as it is asked: a question for each row. */
  parts: (definition) =>
    definition.of
      ? [definition]
      : definition.rows.map((row, place) => ({
          ...definition, id: place ? `${definition.id}-${place + 1}` : definition.id, rows: [row], of: definition.id,
        })),

  /** Return the id of the matrix, whose rows stand together. */
  group: ({ of }) => of || null,

  /** Draw the rows of one matrix; `choose` of each is for its own question. */
  drawGroup(rows) {
    const { labels, words = [], low_label: low, high_label: high, beside } = rows[0].place.asked;
    const last = labels.length - (beside ? 2 : 1);
    const heads = labels.map((label, code) => {
      const word = words[code] || (code === 0 && low) || (code === last && high) || "";
      return { label, word };
    });
    const skip = rows[0].place.asked.allow_skip;
    return element(
      "table",
      { className: words.some(Boolean) ? "matrix worded" : "matrix" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("td", {}),
          heads.map(({ label, word }) => element("th", { scope: "col", dir: "auto" }, ...named(label, word))),
          skip && element("th", { scope: "col", className: "skip" }, ...skipWords(rows[0].place.asked)),
        ),
      ),
      element("tbody", {}, rows.map((row) => drawRow(row, heads))),
    );
  },

  // A preview has the whole matrix in one definition; without it a row stands alone.
  draw: (place, answering) => [
    place.asked.row && element("p", {}, userText(place.asked.row)),
    rating.draw(place, answering),
  ],
};

function drawRow({ place, answering }, heads) {
  const { asked, chosen } = place;
  const cell = (code, words, className) =>
    element(
      "td",
      { className },
      element(
        "label",
        { className: "point" },
        element("input", {
          type: "radio",
          name: `answer-${asked.id}`,
          value: String(code),
          checked: code === chosen,
          autocomplete: "off",
          "aria-label": `${asked.row}: ${asked.labels[code] ?? words[0]}`,
          onchange: () => answering.choose(code),
        }),
        element("span", { dir: "auto" }, ...words),
      ),
    );
  return element(
    "tr",
    {},
    element("th", { scope: "row", dir: "auto" }, asked.row),
    heads.map(({ label, word }, code) => cell(code, named(label, word), asked.beside && code === heads.length - 1 ? "beside" : "")),
    asked.allow_skip && cell(heads.length, skipWords(asked), "skip"),
  );
}
