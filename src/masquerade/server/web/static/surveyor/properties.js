// What can be set of the chosen question, or of the survey itself.

import { element } from "../app/dom.js";
import { conditionFields, copyFields, linkedInWords, undecidedHint } from "./condition_fields.js";
import { button, check, fold, numberField, selectField, textField } from "./fields.js";
import { lookFields } from "./look_fields.js";
import { drawField, endFields } from "./page_fields.js";
import { decides, partsOf } from "./questions.js";
import { smallPicture } from "./small_picture.js";
import { said } from "./said.js";

const FROM_DEVICE = said("People who are not shown it send a masked “no answer”, so nobody can tell.");

const MOST_TITLE = 200;
const MOST_DESCRIPTION = 2000;
const MOST_TEXT = 500;

/** Return the fields of the survey; `set(name, value)` keeps one. */
export function surveyFields(document, faults, set) {
  return [
    element("h2", {}, said("Survey")),
    ...faults("").map((fault) => element("p", { className: "error" }, fault)),
    textField(said("Title"), document.title, (text) => set("title", text), {
      key: "/title",
      most: MOST_TITLE,
      faults: faults("/title"),
      hint: said("People see it before they choose a level; it should not give a question away."),
    }),
    textField(said("Who asks, and what for"), document.description, (text) => set("description", text), {
      lines: 3,
      key: "/description",
      most: MOST_DESCRIPTION,
      faults: faults("/description"),
    }),
    selectField(
      said("Topic"),
      document.topic,
      [["everyday", said("Everyday")], ["personal", said("Personal")], ["sensitive", said("Sensitive")]],
      (name) => set("topic", name),
      { hint: said("For a sensitive topic people see what was sent only once it is sent.") },
    ),
    check(said("Show it to people who took part in other surveys here"), document.listed, (on) =>
      set("listed", on),
    ),
    lookFields(document.look, faults, (changes) => set("look", { ...document.look, ...changes })),
    drawField(document, faults, set),
    fold(said("The end"), endFields(document, faults, set)),
    fold(
      said("Advanced"),
      selectField(
        said("When people see their masked answers"),
        document.reveal ?? "",
        [
          ["", said("as the topic asks for")],
          ["before_send", said("before they are sent")],
          ["after_send", said("once they are sent")],
        ],
        (name) => set("reveal", name || null),
      ),
      selectField(
        said("How far may people at one level differ from everybody?"),
        document.estimator,
        [
          ["eb", said("by at most 15 points of 100 (default)")],
          ["respondent", said("by any")],
          ["ivw", said("not at all: only if level and opinion have nothing to do with each other")],
        ],
        (name) => set("estimator", name),
        { hint: said("Results allow for this, with wider intervals. It is fixed now, before anybody answers.") },
      ),
      selectField(
        said("Masks of ratings"),
        document.rating_mask,
        [
          ["randomized-response", said("another point at random")],
          ["gaussian", said("noise on the scale")],
        ],
        (name) => set("rating_mask", name),
      ),
      selectField(
        said("Masks of choices"),
        document.masking,
        [
          ["per-answer", said("each answer by itself")],
          ["per-person", said("each person draws a flip probability once")],
        ],
        (name) => set("masking", name),
        { hint: said("By person can help to infer labels, and costs more privacy as people answer more.") },
      ),
    ),
  ];
}

/**
 * Return the fields of a question.
 *
 * @param {object[]} questions all of the draft
 * @param {number} place of the chosen one
 * @param {object} forms of each kind, as the server describes them
 * @param {(field: string) => string[]} faults
 * @param {(drawn: string[]) => string[]} others faults of fields that are not drawn
 * @param {Node[]} extras further fields
 * @param {(ids: string[], condition: object) => void} copy gives other questions a condition
 * @param {(changes: object, again?: boolean) => void} set keeps changes; `again` draws the fields anew
 */
export function questionFields(questions, place, forms, { faults, others, extras = [], copy }, set) {
  const question = questions[place];
  const form = forms[question.kind];
  const fields = [...form.rows.flat(), ...form.advanced];
  // A number that a new question does not have can be taken away again.
  const at = (name) => ({ key: `${question.id}/${name}`, faults: faults(name), optional: (form.blank[name] ?? null) === null });
  const draw = (field) => DRAWN[field.type](field, question, fields, at(field.name), set, form.blank);
  const skippable = Object.hasOwn(form.blank, "allow_skip");
  return [
    element("h2", {}, said("Question {place}", { place: place + 1 })),
    ...others(["text", "id", "allow_skip", "show_if", ...fields.map(({ name }) => name)]).map((fault) =>
      element("p", { className: "error" }, fault),
    ),
    textField(said("Question"), question.text, (text) => set({ text }), { lines: 2, most: MOST_TEXT, ...at("text") }),
    ...form.rows.map((row) =>
      row.length === 1 ? draw(row[0]) : element("div", { className: "row" }, ...row.map(draw)),
    ),
    skippable &&
      check(
        said("Offer “Prefer not to say”"),
        question.allow_skip,
        (on) => set({ allow_skip: on }, true),
        {
          hint: said("It is protected like every other answer."),
          disabled: Boolean(question.show_if),
        },
      ),
    ...faults("allow_skip").map((fault) => element("p", { className: "error" }, fault)),
    extras,
    condition(questions, place, skippable, at("show_if"), { set, copy }),
    fold(
      said("Advanced"),
      ...form.advanced.map(draw),
      textField(said("Name in files"), question.id, (id) => set({ id }), { most: MOST_TEXT, key: `${place}/id`, faults: faults("id") }),
    ),
  ];
}

const OPTION_PICTURE = { width: 480, height: 480, most: 40000, type: "image/jpeg" };
// All pictures of a list, of which every device loads all; a few more fit than there are.
const ALL_PICTURES = 150000;

/** How each type of field is drawn; `fields` are all of the form. */
const DRAWN = {
  text: ({ name, label, hint }, question, fields, at, set) =>
    textField(label, question[name], (value) => set({ [name]: value }), { hint, most: MOST_TEXT, ...at }),

  number: ({ name, label, hint }, question, fields, at, set) =>
    numberField(label, question[name], (value) => set({ [name]: value }), { hint, ...at }),

  whole: ({ name, label, hint }, question, fields, at, set) =>
    numberField(label, question[name], (value) => set({ [name]: value }), { hint, ...at, whole: true }),

  lines({ name, label, hint, instead }, question, fields, at, set, blank) {
    const change = (value) => {
      const lines = value.split("\n").map((line) => line.trim()).filter(Boolean);
      const bound = fields.filter(({ of }) => of === name);
      const others = instead.map((one) => [one, lines.length ? "" : question[one] || blank[one]]);
      set({ [name]: lines, ...Object.fromEntries([...others, ...bound.map((one) => [one.name, kept(one, question, lines)])]) });
    };
    return textField(label, (question[name] ?? []).join("\n"), change, { lines: 4, hint, ...at });
  },

  choice: ({ name, label, hint, choices }, question, fields, at, set) =>
    selectField(label, question[name], choices, (value) => set({ [name]: value }), { hint, ...at }),

  "at-most"({ name, label, hint, of, none, each }, question, fields, at, set) {
    const counts = question[of].slice(1).map((_, place) => [String(place + 1), each.replace("{count}", place + 1)]);
    const value = question[name] === null ? "" : String(question[name]);
    const change = (text) => set({ [name]: text ? Number(text) : null });
    return selectField(label, value, [["", none], ...counts], change, { hint, ...at });
  },

  pictures({ name, label, hint, of }, question, fields, at, set) {
    const now = question[name] ?? [];
    const lines = question[of];
    const put = (place, picture) => {
      const pictures = lines.map((_, other) => (other === place ? picture : now[other] ?? ""));
      set({ [name]: pictures.some(Boolean) ? pictures : [] }, true);
    };
    const status = element("p", { className: "error", role: "status" });
    const most = Math.min(OPTION_PICTURE.most, Math.floor(ALL_PICTURES / lines.length));
    const field = (line, place) =>
      element(
        "div",
        { className: "picture-field" },
        element(
          "label",
          {},
          element("span", {}, line),
          element("input", {
            type: "file",
            accept: "image/png,image/jpeg,image/webp",
            onchange: async ({ target }) => {
              const made = await smallPicture(target.files[0], { ...OPTION_PICTURE, most });
              if (made) put(place, made);
              else status.textContent = said("This file is no picture that can be used. Choose a PNG, JPEG or WebP.");
            },
          }),
        ),
        now[place] && element("img", { src: now[place], alt: line, className: "option-picture" }),
        now[place] && button(said("Remove"), () => put(place, ""), { label: said("Remove the picture of {line}", { line }) }),
      );
    return fold(
      label,
      element("p", { className: "hint" }, hint),
      ...lines.map(field),
      ...at.faults.map((fault) => element("p", { className: "error" }, fault)),
      status,
    );
  },

  "yes-no": ({ name, label, hint }, question, fields, at, set) =>
    check(label, question[name] ?? false, (on) => set({ [name]: on }, true), { hint, ...at }),

  "one-of"({ name, label, hint, of, none }, question, fields, at, set) {
    const choices = [["", none], ...question[of].map((line) => [line, line])];
    return selectField(label, question[name] ?? "", choices, (line) => set({ [name]: line || null }), { hint, ...at });
  },
};

/** Return the value of a field that depends on lines, once the lines are these. */
function kept({ name, type, of }, question, lines) {
  const value = question[name];
  if (value === undefined || value === null) return value; // absent stays absent
  if (type === "pictures") {
    const before = lines.map((line) => value[question[of].indexOf(line)] ?? "");
    return before.some(Boolean) ? before : [];
  }
  if (type === "at-most") return Math.min(value, lines.length);
  return lines.includes(value) ? value : null;
}

/** Return when a question is shown: a tree of conditions, copied to others with a click. */
function condition(questions, place, skippable, at, { set, copy }) {
  const question = questions[place];
  const earlier = questions.slice(0, place).filter(decides).flatMap(partsOf);
  const undecided = undecidedHint(questions.slice(0, place));
  if (!earlier.length) return undecided;
  if (!skippable) {
    return element(
      "p",
      { className: "hint" },
      said("It is always shown: there is no “no answer” that could be masked for it."),
    );
  }
  const now = question.show_if;
  const choose = (show_if) => set(show_if ? { show_if, allow_skip: true } : { show_if }, true);
  const texts = { title: said("When it is shown"), always: said("always"), when: said("Shown"), hint: FROM_DEVICE, key: at.key };
  const others = questions.slice(place + 1).filter((one) => Object.hasOwn(one, "allow_skip"));
  return [
    conditionFields(texts, now, earlier, choose, at.faults),
    undecided,
    copyFields(now, others, (ids) => copy(ids, now)),
    now && element("p", { className: "hint linked" }, linkedInWords(questions)),
  ];
}
