// What can be set of a page, of a text, a consent or an image on it, and of how the survey ends.

import { element } from "../app/dom.js";
import { conditionFields } from "./condition_fields.js";
import { isQuestion } from "./draft_pages.js";
import { button, check, fold, numberField, textField } from "./fields.js";
import { decides, partsOf } from "./questions.js";
import { smallPicture } from "./small_picture.js";
import { said } from "./said.js";

const MOST_TEXT = 5000;
const PICTURE = { width: 1000, height: 1000, most: 190000, type: "image/jpeg" };
const MARKS = said("**bold**, *italic*, [words](https://address); lines that begin with “- ” are a list.");

/** How each block is called, and what a new one holds. */
export const BLOCKS = {
  text: { name: said("Text"), glyph: "¶", blank: { block: "text", text: "" } },
  consent: { name: said("Consent"), glyph: "☑", blank: { block: "consent", text: "" } },
  image: { name: said("Image"), glyph: "▧", blank: { block: "image", image: "", alt: "" } },
};

/**
 * Return the fields of a page.
 *
 * @param {object} document the draft
 * @param {number} place of the page
 * @param {(field: string) => string[]} faults
 * @param {{set: (changes: object) => void, join: Function, remove: Function}} acts
 */
export function pageFields(document, place, faults, { set, join, remove }) {
  const { pages, questions } = document;
  const page = pages[place];
  const before = (count) => {
    const ids = new Set(pages.slice(0, count).flatMap(({ items }) => items.filter(isQuestion)));
    return questions.filter((question) => ids.has(question.id) && decides(question)).flatMap(partsOf);
  };
  const [earlier, soFar] = [before(place), before(place + 1)];
  const key = `page-${place}`;
  return [
    element("h2", {}, said("Page {place}", { place: place + 1 })),
    ...faults("").map((fault) => element("p", { className: "error" }, fault)),
    textField(said("Heading"), page.heading, (heading) => set({ heading }), { key: `${key}/heading`, most: 200 }),
    check(said("Questions in another order for each person"), page.shuffle, (shuffle) => set({ shuffle })),
    check(said("In random order with the other pages that are"), page.moves ?? false, (moves) => set({ moves })),
    earlier.length > 0 &&
      conditionFields(
        {
          title: said("When this page is shown"), always: said("always"), when: said("Shown"), key: `${key}/show_if`,
          hint: said("It holds for all questions of the page. Who is not shown them sends a masked “no answer”."),
        },
        page.show_if,
        earlier,
        (show_if) => set({ show_if }),
      ),
    soFar.length > 0 && place < pages.length - 1 &&
      conditionFields(
        {
          title: said("When the survey ends after this page"), always: said("never"), when: said("Ends"), key: `${key}/ends`,
          hint: said("No later page is shown then; a masked “no answer” is sent for its questions."),
        },
        page.ends,
        soFar,
        (ends) => set({ ends }),
      ),
    element(
      "div",
      { className: "actions" },
      place > 0 && button(said("Join with the page before"), join),
      !page.items.some(isQuestion) && pages.length > 1 && button(said("Remove this page"), remove, { kind: "quiet" }),
    ),
  ];
}

/** Return the fields of a block; `put` keeps an image under a name and returns it. */
export function blockFields(block, { images, key, faults }, { set, put, remove }) {
  const shared = { lines: 6, most: MOST_TEXT, key: `${key}/text`, hint: MARKS, faults };
  const fields = {
    text: () => [textField(said("Text"), block.text, (text) => set({ text }), shared)],
    consent: () => [
      textField(said("What people agree to"), block.text, (text) => set({ text }), {
        ...shared, hint: `${said("Beside it stands a box “I agree”. Who does not tick it ends the survey; nothing of it is sent.")} ${MARKS}`,
      }),
    ],
    image: () => imageFields(block, { images, key, faults }, { set, put }),
  };
  return [
    element("h2", {}, BLOCKS[block.block].name),
    ...fields[block.block](),
    element("div", { className: "actions" }, button(said("Remove"), remove, { kind: "quiet" })),
  ];
}

function imageFields(block, { images, key, faults }, { set, put }) {
  const status = element("p", { className: "error", role: "status" });
  const choose = element("input", {
    type: "file",
    id: "image-file",
    accept: "image/png,image/jpeg,image/webp",
    onchange: async ({ target }) => {
      const made = await smallPicture(target.files[0], PICTURE);
      if (made) put(made);
      else status.textContent = said("This file is no picture that can be used. Choose a PNG, JPEG or WebP.");
    },
  });
  return [
    ...faults.map((fault) => element("p", { className: "error" }, fault)),
    element(
      "div",
      { className: "field" },
      element("label", { htmlFor: "image-file" }, said("Picture")),
      choose,
      element("p", { className: "hint" }, said("It is made small, and what the camera wrote into it is removed.")),
    ),
    status,
    images[block.image] && element("img", { src: images[block.image], alt: block.alt, className: "option-picture" }),
    textField(said("Words for people who cannot see it"), block.alt, (alt) => set({ alt }), { key: `${key}/alt`, most: 500 }),
  ];
}

/** Return the field of how many blocks of questions each person is asked; masks alone allow it. */
export function drawField(document, faults, set) {
  const asked = document.asked ?? null;
  if (document.trust === "two-parties" && asked === null) {
    return element("p", { className: "hint" }, said("Two parties add up the answers of everybody to all questions: that is the most exact."));
  }
  const most = Math.max(1, document.questions.length - 1);
  return [
    check(said("Ask each person some of the questions only"), asked !== null, (on) => set("asked", on ? Math.min(3, most) : null)),
    asked !== null &&
      numberField(said("How many"), asked, (count) => set("asked", count), {
        whole: true, min: 1, max: 200, key: "/asked", faults: faults("/asked"),
        hint: said("Each device draws them. Questions that depend on each other, and nothing else, are drawn together. The survey is shorter and costs each person less; it is not more exact: each question has fewer answers. Tables and comparisons are made of questions that are drawn together alone."),
      }),
    asked !== null && togetherFields(document, faults, set),
  ];
}

/** Return the questions that are drawn in one block, so that tables of them can be made. */
function togetherFields(document, faults, set) {
  const { questions, together = [] } = document;
  const parts = questions.flatMap(partsOf);
  const named = (id) => {
    const found = parts.find((one) => one.id === id);
    return (found?.of ? found.rows[0] : found?.text) || id;
  };
  const chosen = new Set();
  const made = fold(
    said("Asked of the same people ({count})", { count: together.length }),
    element("p", { className: "hint" }, said("Whoever is asked one of these questions is asked all of them: then tables of them can be made, and groups compared. They cost together.")),
    ...faults("/together").map((fault) => element("p", { className: "error" }, fault)),
    element("ul", {}, together.map((ids, place) =>
      element("li", {}, ids.map(named).join(" + "), " ",
        button(said("Remove"), () => set("together", together.filter((_, other) => other !== place)), { label: said("Do not ask {questions} together", { questions: ids.map(named).join(" + ") }) })))),
    ...parts.map(({ id }) => check(named(id), false, (on) => (on ? chosen.add(id) : chosen.delete(id)))),
    button(said("Ask them together"), () => chosen.size > 1 && set("together", [...together, [...chosen]])),
  );
  if (together.length) made.open = true;
  return made;
}

/** Return the fields of how a survey ends. */
export function endFields(document, faults, set) {
  return [
    textField(said("Last words"), document.thanks, (thanks) => set("thanks", thanks), {
      lines: 3, most: MOST_TEXT, key: "/thanks", hint: MARKS, faults: faults("/thanks"),
    }),
    textField(said("Address to go on to"), document.return_address, (address) => set("return_address", address.trim()), {
      key: "/return_address", faults: faults("/return_address"),
      hint: said("Such as https://example.org/thanks. A link on the last screen leads there; it says nothing of who answered what."),
    }),
  ];
}
