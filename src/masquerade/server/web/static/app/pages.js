// Pages of a survey: what stands on one screen, in which order on this device, and how it ends. An
// order is drawn once, kept with the participation and never sent; codes of answers do not follow it.

import { checkCondition, isMet, visibility } from "./conditions.js";
import { hangTogether } from "./linked_questions.js";
import { kindOf } from "./kinds/kinds.js";
import { isRecord, isText, requireThat } from "./promise.js";
import { uniformBelow } from "../mechanisms/coins.js";

const MOST_TEXT = 5000;
const MOST_HEADING = 200;
const IMAGE = /^data:image\/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const MOST_IMAGE = 200000;
const ADDRESS = /^https[:]\/\/[^\s<>"'\\]{1,490}$/;
const BLOCKS = { text: ["text"], consent: ["text"], image: ["image", "alt"] };

/** The fields of a survey that its layout is made of, each left out where it says nothing. */
export const LAYOUT_FIELDS = ["pages", "order", "images", "thanks", "return_address"];

/**
 * Return the layout that a survey's fields describe: pages whose items are `{place}` of a question
 * or blocks; throws `BrokenPromise` where it does not fit the questions.
 */
export function readLayout(survey, questions) {
  const { pages = [], order = [], images = {}, thanks = "", return_address: address = "" } = survey;
  requireThat(Array.isArray(pages) && Array.isArray(order) && isRecord(images), "the pages");
  requireThat(isText(thanks) && thanks.length <= MOST_TEXT, "the last words");
  requireThat(address === "" || (isText(address) && ADDRESS.test(address)), "the address at the end");
  for (const image of Object.values(images)) {
    requireThat(isText(image) && image.length <= MOST_IMAGE && IMAGE.test(image), "an image");
  }
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  const free = order.map((id) => {
    const place = places.get(id);
    const kind = place === undefined ? {} : kindOf(questions[place]);
    requireThat(kind.shuffled || kind.group, "an order");
    return [place, kind.group ? null : kind.shuffled(survey.questions[place])];
  });
  const read = pages.length
    ? pages.map((page) => readPage(page, places, images))
    : groupsOf(questions).map((places) => bare(places.map((place) => ({ place }))));
  const earlier = new Map();
  for (const page of read) {
    if (page.condition) checkCondition(page.condition, earlier);
    for (const place of placesOn(page)) earlier.set(questions[place].id, questions[place]);
  }
  const listed = read.flatMap(placesOn);
  requireThat(
    listed.length === questions.length && listed.every((place, at) => place === at),
    "what the pages hold",
  );
  return { pages: read, order: free, images };
}

/** Return the name of what a question stands together with, such as a matrix; null for none. */
export const groupOf = (question) => kindOf(question).group?.(question) ?? null;

/** Return the places of questions, those together that are parts of one, such as rows of a matrix. */
function groupsOf(questions) {
  const groups = [];
  let last = null;
  questions.forEach((question, place) => {
    const name = groupOf(question);
    if (name !== null && name === last) groups.at(-1).push(place);
    else groups.push([place]);
    last = name;
  });
  return groups;
}

const bare = (items) => ({ heading: "", shuffle: false, moves: false, condition: null, items });

function readPage(page, places, images) {
  requireThat(isRecord(page) && Array.isArray(page.items) && page.items.length > 0, "a page");
  const { heading, shuffle, moves = false, show_if: condition = null } = page;
  requireThat(isText(heading) && heading.length <= MOST_HEADING, "a heading");
  requireThat([shuffle, moves].every((flag) => typeof flag === "boolean"), "a page's order");
  const items = page.items.map((item) => {
    if (isText(item)) {
      requireThat(places.has(item), "a question of a page");
      return { place: places.get(item) };
    }
    const fields = isRecord(item) && Object.hasOwn(BLOCKS, item.block) ? BLOCKS[item.block] : null;
    requireThat(fields && Object.keys(item).length === fields.length + 1, "a block");
    requireThat(fields.every((name) => isText(item[name]) && item[name].length <= MOST_TEXT), "a block");
    requireThat(item.block !== "image" || Object.hasOwn(images, item.image), "an image");
    return item;
  });
  return { heading, shuffle, moves, condition, items };
}

/** Return the places of a page's questions. */
export const placesOn = ({ items }) => items.map(({ place }) => place).filter((place) => place !== undefined);

/** Draw in which order pages, questions and options stand; what is not drawn is left out. */
export function drawOrder({ pages, order }, questions, source, draw = null) {
  const moving = [...pages.keys()].filter((at) => pages[at].moves);
  const drawn = {};
  if (draw) drawn.blocks = drawBlocks(draw, source);
  if (moving.length > 1) drawn.pages = shuffled(moving, source);
  const items = pages.flatMap((page, at) => (page.shuffle ? [[at, drawItems(page, questions, source)]] : []));
  if (items.length) drawn.items = Object.fromEntries(items);
  const rows = order.filter(([, free]) => free === null).map(([place]) => groupOf(questions[place]));
  if (rows.length) {
    drawn.rows = rows.map((name) => {
      const places = [...questions.keys()].filter((place) => groupOf(questions[place]) === name);
      return shuffled(places, source);
    });
  }
  const options = order.filter(([, free]) => free !== null);
  if (options.length) {
    drawn.options = options.map(([place, free]) => {
      const { id, labels } = questions[place];
      const rest = labels.slice(free).map((_, code) => free + code);
      return [id, [...shuffled([...Array(free).keys()], source), ...rest]];
    });
  }
  return drawn;
}

/** Stands where a question was not drawn: a whole number that no mask gives. */
export const NOT_DRAWN = -Number.MAX_SAFE_INTEGER;

/** Draw which blocks a person is asked, each set as likely: surveys/drawn_blocks.py does the same. */
export function drawBlocks({ asked, blocks }, source) {
  const left = [...blocks.keys()];
  for (let at = 0; at < asked; at++) {
    const other = at + Number(uniformBelow(source, BigInt(left.length - at)));
    [left[at], left[other]] = [left[other], left[at]];
  }
  return left.slice(0, asked).sort((one, other) => one - other);
}

/** Return the places of the questions that were drawn, ascending; null where all are asked. */
export function placesDrawn(draw, drawn) {
  if (!draw) return null;
  const chosen = drawn?.blocks;
  const known = Array.isArray(chosen) && new Set(chosen).size === draw.asked && chosen.length === draw.asked;
  requireThat(known && chosen.every((at) => draw.blocks[at]), "which questions were drawn");
  return chosen.flatMap((at) => draw.blocks[at]).sort((one, other) => one - other);
}

/**
 * Draw the order of a page's items: questions that hang together stay together, each with the blocks
 * right before it; what stands before the first and after the last question stays there.
 */
function drawItems({ items }, questions, source) {
  const isQuestion = (at) => items[at].place !== undefined;
  const all = [...items.keys()];
  const asked = all.filter(isQuestion);
  if (asked.length < 2) return all;
  const [begin, end] = [asked[0], asked.at(-1)];
  const groups = hangTogether(questions);
  const units = new Map();
  let before = [];
  for (const at of all.slice(begin, end + 1)) {
    before.push(at);
    if (!isQuestion(at)) continue;
    const name = groupOf(questions[items[at].place]);
    const first = questions.findIndex((question) => name !== null && groupOf(question) === name);
    const place = first < 0 ? items[at].place : first;
    const group = groups.findIndex((places) => places.includes(place));
    units.set(group, [...(units.get(group) ?? []), ...before]);
    before = [];
  }
  return [...all.slice(0, begin), ...shuffled([...units.values()], source).flat(), ...all.slice(end + 1)];
}

/** Return values in an order of which each is as likely: Fisher and Yates. */
export function shuffled(values, source) {
  const order = [...values];
  for (let left = order.length; left > 1; left--) {
    const taken = Number(uniformBelow(source, BigInt(left)));
    [order[left - 1], order[taken]] = [order[taken], order[left - 1]];
  }
  return order;
}

/** Return the pages in the order that was drawn; `asked`: places of the questions that were, or null. */
export function pagesInOrder({ pages }, { pages: moved = [], items = {}, rows = [] } = {}, asked = null) {
  const ordered = pages.map((page, at) => ({
    ...page,
    items: withRows((items[at] ?? [...page.items.keys()]).map((item) => page.items[item]), rows),
  }));
  const next = moved.values();
  const all = ordered.map((page) => (page.moves && moved.length ? ordered[next.next().value] : page));
  return asked === null ? all : all.flatMap((page) => onlyWith(page, asked));
}

/** Return a page with these questions alone; without it where it had others and has none of them. */
function onlyWith(page, asked) {
  const items = page.items.filter(({ place }) => place === undefined || asked.includes(place));
  const left = placesOn({ items }).length > 0 || placesOn(page).length === 0;
  return left ? [{ ...page, items }] : [];
}

/** Return items with the rows of each matrix in the order that was drawn, where they stand. */
function withRows(items, rows) {
  const next = rows.map((places) => places.values());
  return items.map((item) => {
    const at = rows.findIndex((places) => places.includes(item.place));
    return at < 0 ? item : { place: next[at].next().value };
  });
}

/** Return a question with the order of its options, where one was drawn. */
export function inDrawnOrder(question, { options = [] } = {}) {
  const [, order] = options.find(([id]) => id === question.id) ?? [];
  return order ? { ...question, order } : question;
}

/** Return whether a page has anything to show after the answers so far. */
export function isShown(page, questions, answers) {
  if (page.condition && !isMet(page.condition, questions, answers)) return false;
  const flags = visibility(questions, answers);
  const places = placesOn(page);
  return places.length === 0 || places.some((place) => flags[place]);
}

/** Return the place of the next page that is shown, from `at` on in steps of `by`; -1 before all. */
export function nextPage(pages, questions, answers, at, by) {
  let next = at;
  do next += by;
  while (next >= 0 && next < pages.length && !isShown(pages[next], questions, answers));
  return next;
}
