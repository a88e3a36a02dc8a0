// The list of questions: choose one, move it by keyboard or buttons, remove it.

import { element } from "../app/dom.js";
import { button } from "./fields.js";

/**
 * Draw the list.
 *
 * @param {{questions: object[], title: string, chosen: number, names: object, faulty: (place: number) => boolean}} known
 *   `chosen` is -1 for the survey itself
 * @param {{choose: Function, move: Function, remove: Function}} acts
 */
export function drawOutline(list, { questions, title, chosen, names, faulty }, { choose, move, remove }) {
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
          move(place, event.key === "ArrowUp" ? -1 : 1);
        },
      },
      element("small", {}, note, faulty(place) && element("b", { className: "bad" }, " · to do")),
      element("span", { dir: "auto" }, name),
    );
  const tools = (place) =>
    element(
      "div",
      { className: "outline-tools" },
      button("↑", () => move(place, -1), { kind: "quiet", label: "Move up", disabled: place === 0 }),
      button("↓", () => move(place, 1), {
        kind: "quiet",
        label: "Move down",
        disabled: place === questions.length - 1,
      }),
      button("Remove", () => remove(place), { kind: "quiet" }),
    );
  list.replaceChildren(
    element("li", {}, entry(-1, title || "Untitled", "Survey")),
    ...questions.map((question, place) =>
      element(
        "li",
        {},
        entry(
          place,
          question.text || "No text yet",
          `${place + 1} · ${names[question.kind]}${question.show_if ? " · sometimes" : ""}`,
        ),
        place === chosen && tools(place),
      ),
    ),
  );
}
