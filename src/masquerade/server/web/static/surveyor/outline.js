// The list of questions: choose one, move it by mouse, keyboard or buttons, duplicate or remove it.

import { element } from "../app/dom.js";
import { isQuestion, placeOf } from "./draft_pages.js";
import { button } from "./fields.js";
import { BLOCKS } from "./page_fields.js";
import { redraw } from "./redraw.js";
import { said } from "./said.js";

let dragged = null; // place of the question that is being moved by mouse

/**
 * Draw the list.
 *
 * @param {{questions: object[], title: string, chosen: number, names: object, faulty: (place: number) => boolean}} known
 *   `chosen` is -1 for the survey itself
 * @param {{choose: Function, moveTo: Function, remove: Function, duplicate: Function}} acts
 */
export function drawOutline(list, known, acts) {
  const { questions, title, chosen, names, faulty, pages = [], spot = null } = known;
  const { choose, moveTo, remove, duplicate } = acts;
  const step = (place, by) => (pages.length ? acts.moveItem(placeOf(pages, questions[place].id), by) : moveTo(place, place + by));
  const entry = (place, name, note) =>
    element(
      "button",
      {
        type: "button",
        className: "outline-entry",
        "aria-current": place === chosen && !spot ? "true" : "false",
        "data-place": String(place),
        onclick: () => choose(place),
        onkeydown: (event) => {
          if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
          event.preventDefault();
          step(place, event.key === "ArrowUp" ? -1 : 1);
        },
      },
      element("small", {}, note, faulty(place) && element("b", { className: "bad" }, said(" · to do"))),
      element("span", { dir: "auto" }, name),
    );
  const tools = (place) =>
    element(
      "div",
      { className: "outline-tools" },
      button("↑", () => step(place, -1), { kind: "quiet", label: said("Move up"), disabled: !pages.length && place === 0 }),
      button("↓", () => step(place, 1), {
        kind: "quiet",
        label: said("Move down"),
        disabled: !pages.length && place === questions.length - 1,
      }),
      button(said("Duplicate"), () => duplicate(place), { kind: "quiet" }),
      button(said("Remove"), () => remove(place), { kind: "quiet" }),
    );
  const movable = (place) => ({
    draggable: true,
    ondragstart: (event) => {
      dragged = place;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", questions[place].text);
    },
    ondragover: (event) => {
      if (dragged === null) return;
      event.preventDefault();
      event.currentTarget.classList.toggle("target-above", place < dragged);
      event.currentTarget.classList.toggle("target-below", place > dragged);
    },
    ondragleave: (event) => event.currentTarget.classList.remove("target-above", "target-below"),
    ondragend: () => {
      dragged = null;
    },
    ondrop: (event) => {
      event.preventDefault();
      const from = dragged;
      dragged = null;
      event.currentTarget.classList.remove("target-above", "target-below");
      if (from !== null && from !== place) moveTo(from, place);
    },
  });
  const questionEntry = (place) => {
    const question = questions[place];
    const note = `${place + 1} · ${names[question.kind]}${question.show_if ? ` · ${said("sometimes")}` : ""}`;
    return element(
      "li",
      { ...movable(place), className: pages.length ? "on-page" : "" },
      entry(place, question.text || said("No text yet"), note),
      place === chosen && !spot && tools(place),
    );
  };
  const first = element("li", {}, entry(-1, title || said("Untitled"), said("Survey")));
  if (!pages.length) return redraw(list, [first, ...questions.map((_, place) => questionEntry(place))]);
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  return redraw(list, [
    first,
    ...pages.flatMap((page, number) => [
      spotEntry({ page: number }, page.heading || said("No heading"), pageNote(page, number), known, acts),
      ...page.items.map((item, at) =>
        isQuestion(item)
          ? questionEntry(places.get(item))
          : spotEntry({ page: number, item: at }, (item.text || item.alt || said("Nothing yet")).replaceAll("*", ""), BLOCKS[item.block].name, known, acts),
      ),
    ]),
  ]);
}

const pageNote = ({ show_if: condition, ends, shuffle }, number) =>
  [said("Page {place}", { place: number + 1 }), condition && said("sometimes"), shuffle && said("random order"), ends && said("may end the survey")].filter(Boolean).join(" · ");

/** Return the entry of a page, or of a block on one. */
function spotEntry(where, name, note, { spot, pages, faultyAt }, { chooseSpot, movePage, moveItem }) {
  const isPage = where.item === undefined;
  const current = spot?.page === where.page && spot?.item === where.item;
  const move = (by) => (isPage ? movePage(where.page, by) : moveItem([where.page, where.item], by));
  const pointer = isPage ? `/pages/${where.page}` : `/pages/${where.page}/items/${where.item}`;
  return element(
    "li",
    { className: isPage ? "page-entry" : "on-page" },
    element(
      "button",
      {
        type: "button",
        className: "outline-entry",
        "aria-current": current ? "true" : "false",
        "data-place": isPage ? `page-${where.page}` : `block-${where.page}-${where.item}`,
        onclick: () => chooseSpot(where),
        onkeydown: (event) => {
          if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
          event.preventDefault();
          move(event.key === "ArrowUp" ? -1 : 1);
        },
      },
      element("small", {}, note, faultyAt(pointer) && element("b", { className: "bad" }, said(" · to do"))),
      element("span", { dir: "auto" }, name),
    ),
    current &&
      element(
        "div",
        { className: "outline-tools" },
        button("↑", () => move(-1), { kind: "quiet", label: said("Move up"), disabled: isPage && where.page === 0 }),
        button("↓", () => move(1), { kind: "quiet", label: said("Move down"), disabled: isPage && where.page === pages.length - 1 }),
      ),
  );
}
