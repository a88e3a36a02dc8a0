// The builder: questions on the left, what is chosen in the middle, a phone on the right.

import { element } from "../app/dom.js";
import "../app/kinds/every.js";
import { kindOf } from "../app/kinds/kinds.js";
import { Draft, inPage } from "./draft.js";
import { renamed } from "./condition_fields.js";
import * as paging from "./draft_pages.js";
import { button, check, group, numberField, unusable } from "./fields.js";
import { drawOutline } from "./outline.js";
import { BLOCKS, blockFields, pageFields } from "./page_fields.js";
import { Phone } from "./phone.js";
import { redraw } from "./redraw.js";
import { questionFields, surveyFields } from "./properties.js";
import { marginShown, newQuestion, partsOf, withoutBrokenConditions } from "./questions.js";
import { said } from "./said.js";

const at = (id) => document.getElementById(id);
const draft = new Draft(inPage("known"), () => draw(), replaced);
const forms = inPage("forms");
const names = Object.fromEntries(Object.entries(forms).map(([kind, { name }]) => [kind, name]));
const phone = new Phone(at("phone"), choose);
const questions = () => draft.document.questions;
let chosen = Math.min(Number(location.hash.slice(1)) || 0, questions().length - 1);
const [, linked] = /^#page-(\d+)$/.exec(location.hash) ?? [];

let spot = linked ? { page: Number(linked) } : null; // the page, or the block on one, that is chosen: `{page, item}`
const pages = () => draft.document.pages ?? [];

function choose(place) {
  spot = null;
  chosen = Math.max(-1, Math.min(place, questions().length - 1));
  draw();
}

function draw() {
  const faulty = (place) =>
    place < 0
      ? ["title", "description", "look", "levels"].some((name) => draft.faults(`/${name}`, { below: true }).length > 0)
      : draft.faults(`/questions/${place}`, { below: true }).length > 0 || unusable.under(`${questions()[place].id}/`);
  const { title } = draft.document;
  const faultyAt = (pointer) => draft.faults(pointer, { below: true }).length > 0;
  const known = { questions: questions(), title, chosen, names, faulty, faultyAt, pages: pages(), spot };
  const acts = { choose: chooseByHand, moveTo, remove, duplicate, chooseSpot, movePage, moveItem };
  drawOutline(at("outline"), known, acts);
  if (spot) drawSpot();
  else drawFields();
  const { images = {}, trust } = draft.document;
  phone.show({ questions: questions(), pages: pages(), images, title, trust }, spot ?? Math.max(0, chosen));
  forecast();
}

/** Draw the fields of what is chosen; where somebody types stays as it is. */
function drawFields() {
  const at_ = (pointer) => draft.faults(pointer, { below: pointer !== "" });
  const base = `/questions/${chosen}`;
  const faults = (name) => at_(`${base}/${name}`);
  const others = (drawn) => [
    ...draft.faults(base),
    ...draft.known.errors
      .filter(({ pointer }) => pointer.startsWith(`${base}/`) && !drawn.includes(pointer.split("/")[3]))
      .map(({ detail }) => detail),
  ];
  const made =
    chosen < 0
      ? surveyFields(draft.document, at_, (name, value) => {
          draft.document[name] = value;
          draft.touch(name);
          draw();
        })
      : [
          ...questionFields(questions(), chosen, forms, { faults, others, extras: orderField(), copy: copyCondition }, change),
          learnt(),
          element("div", { className: "actions add-after" }, button(said("Add another question"), openAdding)),
        ];
  // Another question has no field in common with the one before.
  if (at("properties").dataset.of !== String(questions()[chosen]?.id)) at("properties").replaceChildren();
  at("properties").dataset.of = String(questions()[chosen]?.id);
  redraw(at("properties"), made);
}

/** Unfold the kinds of question, which a narrow screen has above the fields. */
function openAdding() {
  const fold = document.querySelector(".add");
  fold.open = true;
  fold.scrollIntoView({ block: "start" });
  fold.querySelector("summary").focus();
}

/** What the chosen question will tell, and of how many people where a condition lets some see it. */
function learnt() {
  const { id } = questions()[chosen];
  const margin = draft.known.forecast?.questions.find((one) => one.id === id);
  if (!margin) return null;
  const { plan } = draft.document;
  const share = numberField(said("About how many of 100 are shown this?"), plan.shown[id] ?? margin.of_100, (count) => {
    plan.shown = { ...plan.shown, [id]: count };
    draft.touch("plan");
    draw();
  }, { whole: true, min: 1, max: 100, key: `${id}/shown`, hint: said("At first as the condition says if all answers were equally frequent. Nobody who answers sees it.") });
  return group(said("What it will tell"), marginShown(margin), margin.of_100 === null ? null : share);
}

function change(changes) {
  const list = [...questions()];
  const old = list[chosen];
  const changed = { ...old, ...changes };
  if ("show_if" in changes && changes.show_if === undefined) delete changed.show_if;
  list[chosen] = changed;
  if ("id" in changes) {
    at("properties").dataset.of = changes.id; // the same question, by another name
    for (const [place, one] of list.entries()) {
      if (one.show_if) list[place] = { ...one, show_if: renamed(one.show_if, old.id, changes.id) };
    }
    keepPages(paging.pagesRenamed(pages(), old.id, changes.id));
    const order = draft.document.order ?? [];
    if (order.includes(old.id)) keepField("order", order.map((id) => (id === old.id ? changes.id : id)));
    const together = draft.document.together ?? [];
    if (together.flat().includes(old.id)) {
      keepField("together", together.map((ids) => ids.map((id) => (id === old.id ? changes.id : id))));
    }
  }
  keep(list);
  draw();
}

function keep(list) {
  at("undo").replaceChildren(); // what it would bring back is older than this change
  const after = spot ?? questions()[chosen]?.id;
  if (pages().length) {
    keepPages(paging.synced(pages(), list, after));
    list = paging.mayBeHidden(pages(), paging.inPageOrder(pages(), list));
  }
  draft.document.questions = withoutBrokenConditions(list);
  draft.touch("questions");
  if (pages().length) keepPages(paging.withoutBrokenEnds(pages(), questions()));
  const order = draft.document.order ?? [];
  const known = order.filter((id) => list.some((one) => one.id === id));
  if (known.length < order.length) keepField("order", known);
  keepTogether(list);
}

function keepField(name, value) {
  draft.document[name] = value;
  draft.touch(name);
}

/** Leave questions that are gone out of those that are asked together. */
function keepTogether(list) {
  const { together = [] } = draft.document;
  const ids = new Set(list.flatMap(partsOf).map(({ id }) => id));
  const left = together.map((group) => group.filter((id) => ids.has(id))).filter(({ length }) => length > 1);
  if (JSON.stringify(left) !== JSON.stringify(together)) keepField("together", left);
}

function keepPages(list) {
  if (JSON.stringify(list) !== JSON.stringify(pages())) keepField("pages", list);
}

/** Change pages, and what follows from it for the questions. */
function changePages(list, where = spot) {
  keepPages(list);
  keep([...questions()]);
  spot = where;
  draw();
}

function chooseSpot(where) {
  spot = where;
  draw();
  at("outline").querySelector('[aria-current="true"]')?.focus();
  if (matchMedia("(max-width: 60rem)").matches) at("properties").scrollIntoView({ block: "start" });
}

function movePage(page, by) {
  if (!pages()[page + by]) return;
  changePages(paging.pageMoved(pages(), page, by), { page: page + by });
  at("outline").querySelector('[aria-current="true"]')?.focus();
}

function moveItem(where, by) {
  const { pages: list, spot: [page, item] } = paging.itemMoved(pages(), where, by);
  const moved = list[page].items[item];
  changePages(list, paging.isQuestion(moved) ? null : { page, item });
  if (paging.isQuestion(moved)) choose(questions().findIndex(({ id }) => id === moved));
  at("outline").querySelector('[aria-current="true"]')?.focus();
}

/** Draw the fields of the page or block that is chosen. */
function drawSpot() {
  const { page, item } = spot;
  const block = pages()[page]?.items[item];
  if (!pages()[page] || (item !== undefined && !block)) return choose(chosen);
  const base = item === undefined ? `/pages/${page}` : `/pages/${page}/items/${item}`;
  const set = (changes) => {
    const list = structuredClone(pages());
    const target = item === undefined ? list[page] : list[page].items[item];
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || (name === "moves" && !value)) delete target[name];
      else target[name] = value;
    }
    changePages(list);
  };
  const without = () => pages().map((one, at_) => (at_ === page ? { ...one, items: one.items.filter((_, place) => place !== item) } : one));
  const made =
    item === undefined
      ? pageFields(draft.document, page, () => draft.faults(base), {
          set,
          join: () => changePages(paging.joined(pages(), page), { page: page - 1 }),
          remove: () => changePages(pages().filter((_, at_) => at_ !== page), { page: Math.max(0, page - 1) }),
        })
      : blockFields(block, { images: draft.document.images ?? {}, key: `block-${page}-${item}`, faults: draft.faults(base, { below: true }) }, {
          set,
          put: (picture) => {
            const name = Object.entries(draft.document.images ?? {}).find(([, one]) => one === picture)?.[0] ?? `image-${Date.now().toString(36)}`;
            keepField("images", { ...draft.document.images, [name]: picture });
            set({ image: name });
          },
          remove: () => changePages(without(), { page }),
        });
  const name = JSON.stringify(spot);
  if (at("properties").dataset.of !== name) at("properties").replaceChildren();
  at("properties").dataset.of = name;
  return redraw(at("properties"), made);
}

function addPage() {
  const none = !pages().length && !questions().length;
  const list = pages().length || none ? [...pages()] : paging.pagesFor(questions(), { one: true });
  const after = paging.placeOf(list, spot ?? questions()[chosen]?.id)?.[0] ?? list.length - 1;
  list.splice(after + 1, 0, { heading: "", shuffle: false, items: [] });
  changePages(list, { page: after + 1 });
  at("properties").querySelector("input")?.focus();
}

/** Add a block, blank or with this text. */
function addBlock(name, text = null) {
  const list = structuredClone(pages().length ? pages() : paging.pagesFor(questions()));
  if (!list.length) list.push({ heading: "", shuffle: false, items: [] });
  const [page, item] = paging.placeOf(list, spot ?? questions()[chosen]?.id) ?? [0, -1];
  const place = spot ? item + 1 : Math.max(0, item);
  list[page].items.splice(place, 0, { ...structuredClone(BLOCKS[name].blank), ...(text && { text }) });
  changePages(list, { page, item: place });
  at("properties").querySelector("textarea, input")?.focus();
}

/** Give other questions a condition. */
function copyCondition(ids, condition) {
  keep(questions().map((one) => (ids.includes(one.id) ? { ...one, show_if: structuredClone(condition), allow_skip: true } : one)));
  draw();
  draft.state.textContent = ids.length === 1 ? said("1 more question has the condition") : said("{count} more questions have the condition", { count: ids.length });
}

/** Return the field that lets options, or rows of a matrix, stand in another order for each person. */
function orderField() {
  const question = questions()[chosen];
  const kind = kindOf(question);
  if (!kind.shuffled && !kind.group) return [];
  const order = draft.document.order ?? [];
  const text = kind.group ? said("Rows in another order for each person") : said("Options in another order for each person");
  return [
    check(text, order.includes(question.id), (on) => {
      keepField("order", on ? [...order, question.id] : order.filter((id) => id !== question.id));
      draw();
    }),
  ];
}

function chooseByHand(place) {
  choose(place);
  at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  if (matchMedia("(max-width: 60rem)").matches) at("properties").scrollIntoView({ block: "start" });
}

function moveTo(place, to) {
  if (place < 0 || to < 0 || to >= questions().length) return;
  const list = [...questions()];
  if (pages().length) {
    keepPages(paging.questionMoved(pages(), list[place].id, list[to].id, { below: to > place }));
    keep(list);
  } else {
    list.splice(to, 0, ...list.splice(place, 1));
    keep(list);
  }
  choose(to);
  at("outline").querySelector(`[data-place="${to}"]`)?.focus();
  draft.state.textContent = said("Question is now number {place}", { place: to + 1 });
}

function duplicate(place) {
  const list = [...questions()];
  list.splice(place + 1, 0, newQuestion("", null, list, list[place]));
  keep(list);
  choose(place + 1);
  at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  draft.state.textContent = said("Question {copy} is a copy of question {place}", { copy: place + 2, place: place + 1 });
}

function remove(place) {
  const before = questions();
  const [removed] = before.slice(place, place + 1);
  keep(before.filter((_, other) => other !== place));
  unusable.forget(`${removed.id}/`);
  choose(Math.min(place, questions().length - 1));
  at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  const changed = before.filter(
    (one) => one.show_if && questions().some(({ id, show_if }) => id === one.id && !show_if),
  );
  offerUndo(removed, changed, () => {
    draft.step("past");
    choose(place);
  });
}

/** Say what was removed and what else that changed, with a button that brings it back. */
function offerUndo(removed, changed, undo) {
  const box = at("undo");
  const quoted = ({ text }) => `“${text || said("No text yet")}”`;
  const also = changed.length
    ? said("{questions} was shown only after certain answers to it, and is now always shown.", { questions: changed.map(quoted).join(", ") })
    : "";
  const back = button(said("Undo"), () => {
    box.replaceChildren();
    undo();
    at("outline").querySelector(`[data-place="${chosen}"]`)?.focus();
  }, { label: said("Undo the removal") });
  box.replaceChildren(`${said("Removed {question}.", { question: quoted(removed) })} ${also} `, back);
}

function add(kind) {
  const made = newQuestion(kind, forms[kind].blank, questions());
  keep([...questions(), made]);
  choose(questions().findIndex(({ id }) => id === made.id));
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
  const both = place > 0 && before && after;
  if (both && (!picked || question[picked.of].includes(after))) {
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
  if (margin) at("forecast").replaceChildren(marginShown(margin), said(" with {count} people", { count: known.asked }));
  else {
    const [first] = errors;
    at("forecast").replaceChildren(toDo(errors.length), ...(first ? [": ", button(first.detail, () => goTo(first.pointer), { kind: "link" })] : []));
  }
}

const toDo = (count) =>
  count === 1 ? said("1 thing to do before a forecast")
  : count ? said("{count} things to do before a forecast", { count })
  : said("Some things to do before a forecast");

/** Show the fields in which something is to do. */
function goTo(pointer) {
  const [, where, place, , item] = pointer.split("/");
  if (where === "pages" && pages()[place]) return chooseSpot({ page: Number(place), ...(item && { item: Number(item) }) });
  if (["two_parties", "plan", "tickets", "panel", "origins"].includes(where)) return document.querySelector('.steps a[href$="/audience"]').click();
  return chooseByHand(where === "questions" ? Number(place) : -1);
}

/** The document is another one: after Undo, or where somebody else changed it. */
function replaced() {
  at("undo").replaceChildren();
  document.activeElement?.blur();
  at("properties").replaceChildren();
  choose(chosen);
}

at("kinds").replaceChildren(
  ...Object.entries(forms).map(([kind, { name, glyph }]) => {
    const made = button(name, () => add(kind), { kind: "kind" });
    made.prepend(Object.assign(document.createElement("span"), { textContent: glyph, ariaHidden: "true", className: "glyph" }));
    return made;
  }),
);
at("blocks").replaceChildren(
  ...[["", { name: said("Page"), glyph: "▭" }], ...Object.entries(BLOCKS)].map(([block, { name, glyph }]) => {
    const made = button(name, () => (block ? addBlock(block) : addPage()), { kind: "kind" });
    made.prepend(Object.assign(document.createElement("span"), { textContent: glyph, ariaHidden: "true", className: "glyph" }));
    return made;
  }),
);
at("add-lines").addEventListener("click", addLines);
at("add-link").addEventListener("click", () =>
  addBlock("text", said("[A form elsewhere](https://example.org/form) takes your own words. What you write there is not protected by a mask.")));
for (const link of document.querySelectorAll("#next, .steps a")) draft.guard(link);
draw();
