// The pages of a draft: which questions and blocks stand on one screen. Questions stand in the order
// of the pages; without pages, each is a page of its own.

import { renamed, withoutBroken } from "./condition_fields.js";
import { partsOf } from "./questions.js";

const blank = (items) => ({ heading: "", shuffle: false, items });

export const isQuestion = (item) => typeof item === "string";

/** Return pages for questions that have none: each on its own, or all on one. */
export const pagesFor = (questions, { one = false } = {}) =>
  one ? [blank(questions.map(({ id }) => id))] : questions.map(({ id }) => blank([id]));

/** Return pages that hold each question once: new ones after the one at `after`, gone ones nowhere. */
export function synced(pages, questions, after = null) {
  if (!pages.length) return pages;
  const ids = questions.map(({ id }) => id);
  const kept = pages.map((page) => ({
    ...page,
    items: page.items.filter((item) => !isQuestion(item) || ids.includes(item)),
  }));
  const held = new Set(kept.flatMap(({ items }) => items.filter(isQuestion)));
  let [page, item] = placeOf(kept, after) ?? [kept.length - 1, kept.at(-1).items.length - 1];
  for (const id of ids.filter((one) => !held.has(one))) {
    kept[page].items.splice(++item, 0, id);
  }
  return kept;
}

/** Return where a question stands, `[page, item]`, or where a page ends; null where there is none. */
export function placeOf(pages, spot) {
  if (spot === null || spot === undefined) return null;
  if (typeof spot === "object") return pages[spot.page] ? [spot.page, spot.item ?? pages[spot.page].items.length - 1] : null;
  const page = pages.findIndex(({ items }) => items.includes(spot));
  return page < 0 ? null : [page, pages[page].items.indexOf(spot)];
}

/** Return questions in the order of the pages. */
export function inPageOrder(pages, questions) {
  if (!pages.length) return questions;
  const order = pages.flatMap(({ items }) => items.filter(isQuestion));
  return [...questions].sort((one, other) => order.indexOf(one.id) - order.indexOf(other.id));
}

/** Return pages after an item moved by one place, onto the next page at the end of its own. */
export function itemMoved(pages, [page, item], by) {
  const moved = structuredClone(pages);
  const { items } = moved[page];
  const to = item + by;
  if (to >= 0 && to < items.length) {
    [items[item], items[to]] = [items[to], items[item]];
    return { pages: moved, spot: [page, to] };
  }
  if (!moved[page + by]) return { pages, spot: [page, item] };
  const [taken] = items.splice(item, 1);
  const other = moved[page + by].items;
  other.splice(by < 0 ? other.length : 0, 0, taken);
  return { pages: moved, spot: [page + by, by < 0 ? other.length - 1 : 0] };
}

/** Return pages after a question went to where another one stands. */
export function questionMoved(pages, id, onto, { below }) {
  const moved = structuredClone(pages);
  const [from, item] = placeOf(moved, id);
  moved[from].items.splice(item, 1);
  const [page, at] = placeOf(moved, onto);
  moved[page].items.splice(at + (below ? 1 : 0), 0, id);
  return moved;
}

export function pageMoved(pages, page, by) {
  const moved = [...pages];
  if (moved[page + by]) [moved[page], moved[page + by]] = [moved[page + by], moved[page]];
  return moved;
}

/** Return pages in which one was joined with the one before; its condition and end are gone. */
export function joined(pages, page) {
  const before = { ...pages[page - 1], items: [...pages[page - 1].items, ...pages[page].items] };
  return [...pages.slice(0, page - 1), before, ...pages.slice(page + 1)];
}

/** Return pages without the conditions that name answers that there are no more. */
export function withoutBrokenEnds(pages, questions) {
  const earlier = new Map();
  const known = new Map(questions.map((question) => [question.id, question]));
  return pages.map((page) => {
    const kept = { ...page };
    if (page.show_if) kept.show_if = withoutBroken(page.show_if, earlier);
    for (const id of page.items.filter((item) => known.has(item))) {
      for (const one of partsOf(known.get(id))) earlier.set(one.id, one);
    }
    if (page.ends) kept.ends = withoutBroken(page.ends, earlier);
    for (const name of ["show_if", "ends"]) if (kept[name] === undefined) delete kept[name];
    return kept;
  });
}

/** Return pages in which a question has another id. */
export const pagesRenamed = (pages, old, id) =>
  pages.map((page) => ({
    ...page,
    items: page.items.map((item) => (item === old ? id : item)),
    ...(page.show_if && { show_if: renamed(page.show_if, old, id) }),
    ...(page.ends && { ends: renamed(page.ends, old, id) }),
  }));

/** Return questions that may be left out where a page or an early end may hide them. */
export function mayBeHidden(pages, questions) {
  let over = false;
  const hidden = new Set();
  for (const { items, show_if: condition, ends } of pages) {
    if (over || condition) for (const id of items.filter(isQuestion)) hidden.add(id);
    over ||= Boolean(ends);
  }
  return questions.map((question) =>
    hidden.has(question.id) && Object.hasOwn(question, "allow_skip") ? { ...question, allow_skip: true } : question,
  );
}

/** Return a draft as it opens: parts of questions by themselves, conditions of pages in their questions. */
export function asItOpens({ questions, pages = [], ...rest }) {
  const parts = new Map(questions.map((question) => [question.id, partsOf(question)]));
  const own = new Map();
  for (const list of parts.values()) for (const one of list) own.set(one.id, one);
  const ends = [];
  const opened = pages.map((page) => {
    const { ends: end, show_if: condition, ...other } = page;
    const over = ends.length ? { none: [...ends] } : undefined;
    const together = all(condition, over);
    const items = other.items.flatMap((item) => (isQuestion(item) ? (parts.get(item) ?? []).map(({ id }) => id) : [item]));
    for (const id of items.filter(isQuestion)) {
      const whole = all(together, own.get(id).show_if);
      if (whole) own.set(id, { ...own.get(id), show_if: whole });
    }
    if (end) ends.push(end);
    return { ...other, items, ...(together && { show_if: together }) };
  });
  return { ...rest, questions: [...own.values()], ...(opened.length && { pages: opened }) };
}

function all(...conditions) {
  const given = conditions.filter(Boolean);
  return given.length < 2 ? given[0] : { all: given };
}
