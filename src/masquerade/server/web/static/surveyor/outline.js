// The list of questions: choose one, move it by mouse, keyboard or buttons, duplicate or remove it.

import { element } from "../app/dom.js";
import { button } from "./fields.js";
import { redraw } from "./redraw.js";

let dragged = null; // place of the question that is being moved by mouse

/**
 * Draw the list.
 *
 * @param {{questions: object[], title: string, chosen: number, names: object, faulty: (place: number) => boolean}} known
 *   `chosen` is -1 for the survey itself
 * @param {{choose: Function, moveTo: Function, remove: Function, duplicate: Function}} acts
 */
export function drawOutline(list, { questions, title, chosen, names, faulty }, { choose, moveTo, remove, duplicate }) {
  const entry = (place, name, note) =>
    element(
      "button",
      {
        type: "button",
        className: "outline-entry",
        "aria-current": place === chosen ? "true" : "false",
        "data-place": String(place),
        onclick: () => choose(place),
        onkeydown: (event) => {
          if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
          event.preventDefault();
          moveTo(place, place + (event.key === "ArrowUp" ? -1 : 1));
        },
      },
      element("small", {}, note, faulty(place) && element("b", { className: "bad" }, " · to do")),
      element("span", { dir: "auto" }, name),
    );
  const tools = (place) =>
    element(
      "div",
      { className: "outline-tools" },
      button("↑", () => moveTo(place, place - 1), { kind: "quiet", label: "Move up", disabled: place === 0 }),
      button("↓", () => moveTo(place, place + 1), {
        kind: "quiet",
        label: "Move down",
        disabled: place === questions.length - 1,
      }),
      button("Duplicate", () => duplicate(place), { kind: "quiet" }),
      button("Remove", () => remove(place), { kind: "quiet" }),
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
  redraw(list, [
    element("li", {}, entry(-1, title || "Untitled", "Survey")),
    ...questions.map((question, place) =>
      element(
        "li",
        movable(place),
        entry(
          place,
          question.text || "No text yet",
          `${place + 1} · ${names[question.kind]}${question.show_if ? " · sometimes" : ""}`,
        ),
        place === chosen && tools(place),
      ),
    ),
  ]);
}
