// The builder: questions on the left, what is chosen in the middle, a phone on the right.

import { Draft, inPage } from "./draft.js";
import { button } from "./fields.js";
import { drawOutline } from "./outline.js";
import { Phone } from "./phone.js";
import { questionFields, surveyFields } from "./properties.js";
import { marginText, newQuestion, withoutBrokenConditions } from "./questions.js";

const at = (id) => document.getElementById(id);
const draft = new Draft(inPage("known"), heard);
const forms = inPage("forms");
const names = Object.fromEntries(Object.entries(forms).map(([kind, { name }]) => [kind, name]));
const phone = new Phone(at("phone"), choose);
const questions = () => draft.document.questions;
let chosen = Math.min(Number(location.hash.slice(1)) || 0, questions().length - 1);

function choose(place) {
  chosen = Math.max(-1, Math.min(place, questions().length - 1));
  draw();
}

function draw({ fields = true } = {}) {
  const faulty = (place) =>
    place < 0
      ? ["title", "description", "levels"].some((name) => draft.faults(`/${name}`).length > 0)
      : draft.faults(`/questions/${place}`, { below: true }).length > 0;
  const { title } = draft.document;
  const known = { questions: questions(), title, chosen, names, faulty };
  drawOutline(at("outline"), known, { choose: chooseByHand, move, remove });
  if (fields) drawFields();
  phone.show(questions(), Math.max(0, chosen));
  forecast();
}

function drawFields() {
  const faults = (pointer) => draft.faults(pointer);
  const made =
    chosen < 0
      ? surveyFields(draft.document, faults, (name, value) => {
          draft.document[name] = value;
          draft.touch(name);
          draw({ fields: false });
        })
      : questionFields(
          questions(),
          chosen,
          forms,
          (name) =>
            name === "options"
              ? draft.faults(`/questions/${chosen}/options`, { below: true })
              : draft.faults(`/questions/${chosen}${name && `/${name}`}`),
          change,
        );
  at("properties").replaceChildren(...made.flat(Infinity).filter(Boolean));
}

function change(changes, again = false) {
  const list = [...questions()];
  const old = list[chosen];
  const changed = { ...old, ...changes };
  if ("show_if" in changes && changes.show_if === undefined) delete changed.show_if;
  list[chosen] = changed;
  if ("id" in changes) {
    for (const [place, one] of list.entries()) {
      if (one.show_if?.question === old.id) {
        list[place] = { ...one, show_if: { ...one.show_if, question: changes.id } };
      }
    }
  }
  keep(list);
  if (!again) return draw({ fields: false });
  const focused = [...at("properties").querySelectorAll("input, select, textarea")].indexOf(
    document.activeElement,
  );
  draw();
  at("properties").querySelectorAll("input, select, textarea")[focused]?.focus();
  return undefined;
}

function keep(list) {
  at("undo").replaceChildren(); // what it would bring back is older than this change
  draft.document.questions = withoutBrokenConditions(list);
  draft.touch("questions");
}

function chooseByHand(place) {
  choose(place);
  at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  if (matchMedia("(max-width: 60rem)").matches) at("properties").scrollIntoView({ block: "start" });
}

function move(place, by) {
  const to = place + by;
  if (place < 0 || to < 0 || to >= questions().length) return;
  const list = [...questions()];
  [list[place], list[to]] = [list[to], list[place]];
  keep(list);
  choose(to);
  at("outline").querySelector(`[data-place="${to}"]`)?.focus();
  draft.state.textContent = `Question is now number ${to + 1}`;
}

function remove(place) {
  const before = questions();
  const [removed] = before.slice(place, place + 1);
  keep(before.filter((_, other) => other !== place));
  choose(Math.min(place, questions().length - 1));
  at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  const changed = before.filter(
    (one) => one.show_if && questions().some(({ id, show_if }) => id === one.id && !show_if),
  );
  offerUndo(removed, changed, () => {
    keep(before);
    choose(place);
  });
}

/** Say what was removed and what else that changed, with a button that brings it back. */
function offerUndo(removed, changed, undo) {
  const box = at("undo");
  const named = ({ text }) => `“${text || "No text yet"}”`;
  const also = changed.length
    ? ` ${changed.map(named).join(", ")} was shown only after certain answers to it, and is now always shown.`
    : "";
  const back = button("Undo", () => {
    box.replaceChildren();
    undo();
    at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  });
  box.replaceChildren(`Removed ${named(removed)}.${also} `, back);
}

function add(kind) {
  keep([...questions(), newQuestion(kind, forms[kind].blank, questions())]);
  choose(questions().length - 1);
  document.querySelector(".add").open = false;
  at("properties").querySelector("textarea")?.focus();
}

/**
 * Return a question with what a line says: its text, or two fields with a sign between them, such
 * as "item = its label" or "one / the other".
 */
function likeLine(question, line) {
  const { line: parts, advanced } = forms[question.kind];
  if (!parts) return { ...question, text: line };
  const [first, sign, second] = parts;
  const picked = advanced.find(({ name }) => name === second); // one of another field's lines
  const place = line.lastIndexOf(sign);
  const [before, after] = [line.slice(0, place).trim(), line.slice(place + sign.length).trim()];
  const said = place > 0 && before && after;
  if (said && (!picked || question[picked.of].includes(after))) {
    return { ...question, [first]: before, [second]: after };
  }
  return { ...question, text: line, ...(picked && { [second]: null }) };
}

function addLines() {
  const field = at("lines");
  const first = Object.keys(forms).find((kind) => forms[kind].line);
  const like = questions()[Math.max(0, chosen)] ?? newQuestion(first, forms[first].blank, []);
  const lines = field.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const list = [...questions()];
  for (const line of lines) {
    list.push(likeLine(newQuestion(like.kind, null, list, like), line));
  }
  field.value = "";
  keep(list);
  choose(list.length - 1);
}

function forecast() {
  const { forecast: known, errors } = draft.known;
  const place = Math.max(0, chosen);
  const margin = known?.questions.find(({ id }) => id === questions()[place]?.id);
  at("forecast").textContent = margin
    ? `Expect ${marginText(margin)} with ${known.asked} people`
    : `${errors.length || "Some"} thing${errors.length === 1 ? "" : "s"} to do before a forecast`;
}

/** The server answered: say what it found, and leave what is being typed alone. */
function heard() {
  const typing = at("properties").contains(document.activeElement);
  draw({ fields: !typing });
  if (typing) markFaults();
}

/** Say what is wrong beside the fields that are there, without drawing them anew. */
function markFaults() {
  const base = chosen < 0 ? "" : `/questions/${chosen}`;
  const all = draft.faults(base, { below: true });
  let box = at("properties").querySelector(".faults");
  if (!box) {
    box = document.createElement("p");
    box.className = "error faults";
    box.setAttribute("role", "status");
    at("properties").append(box);
  }
  box.textContent = chosen < 0 ? draft.faults("/title").join(" ") : all.join(" ");
}

at("kinds").replaceChildren(
  ...Object.entries(forms).map(([kind, { name, glyph }]) => {
    const made = button(name, () => add(kind), { kind: "kind" });
    made.prepend(Object.assign(document.createElement("span"), { textContent: glyph, ariaHidden: "true", className: "glyph" }));
    return made;
  }),
);
at("add-lines").addEventListener("click", addLines);
for (const link of document.querySelectorAll("#next, .steps a")) draft.guard(link);
draw();
