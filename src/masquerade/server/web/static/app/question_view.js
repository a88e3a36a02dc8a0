// One question a screen. There is no form around the answers: no browser can ever put them into an
// address.

import {
  codeOfNumber,
  isTicked,
  latticeOf,
  numberText,
  pointsOf,
  skipCode,
  tickedCount,
} from "./answers.js";
import { element } from "./dom.js";
import { actions, button, heading, userText } from "./components.js";
import { words } from "../words/language.js";

/**
 * Return the screen of a question.
 *
 * @param {{asked: object, index: number, count: number, chosen: number|undefined}} place
 * @param {{choose: (code: number|null) => void, back: Function|null, next: Function}} answering
 *   `choose(null)` says that what is typed is no answer
 */
export function questionView(place, answering) {
  const { asked, index, count } = place;
  const said = words().question;
  const views = { number: numberAnswer, comparison: comparisonAnswers, several: severalAnswers };
  const answers = views[asked.kind] ?? listAnswers;
  return [
    element(
      "div",
      { className: "progress" },
      element("progress", { max: count, value: index + 1, "aria-hidden": "true" }),
      element("span", {}, said.progress(index + 1, count)),
    ),
    element(
      "fieldset",
      { className: `answers ${asked.kind}` },
      element("legend", {}, heading(asked.text, { dir: "auto" })),
      answers(place, answering),
    ),
    element("p", { className: "hint saved" }, said.saved),
    actions(
      answering.back && button("back", words().common.back, answering.back, ""),
      button("next", words().common.next, answering.next),
    ),
  ];
}

function option({ chosen }, { choose, next }, code, className, ...inside) {
  return element(
    "label",
    { className },
    element("input", {
      type: "radio",
      name: "answer",
      value: String(code),
      checked: code === chosen,
      autocomplete: "off",
      onchange: () => choose(code),
      // A handler that returns false cancels the key, so this one returns nothing.
      onkeydown: (event) => {
        if (event.key === "Enter") next();
      },
    }),
    element("span", { dir: "auto" }, ...inside),
  );
}

function listAnswers(place, answering) {
  const { asked } = place;
  const { labels } = asked;
  const scale = asked.kind === "rating" && labels.every((label) => label.length <= 3);
  const ends = [asked.low_label, asked.high_label];
  const long = labels.length > 7; // in several rows, where an end stands under another number
  const options = labels.map((label, code) => {
    const end = (code === 0 && ends[0]) || (code === labels.length - 1 && ends[1]);
    const spoken = end && element("span", { className: "visually-hidden" }, `, ${end}`);
    const className = scale ? "point" : "option";
    return option(place, answering, code, className, label, ...(scale && spoken ? [spoken] : []));
  });
  return [
    scale
      ? [
          element("div", { className: long ? "scale long" : "scale" }, options),
          ends.some(Boolean) &&
            element(
              "div",
              { className: "ends", "aria-hidden": "true" },
              ends.map((end, high) =>
                element(
                  "span",
                  {},
                  long && end && element("strong", {}, `${labels.at(high ? -1 : 0)} `),
                  userText(end || ""),
                ),
              ),
            ),
        ]
      : options,
    skipOption(place, answering),
  ];
}

function skipOption(place, answering) {
  const { allow_skip: offered, labels } = place.asked;
  const { skip, maskedToo } = words().question;
  // Between two parties nothing is masked: there is no mechanism. A preview has none yet.
  const note = place.asked.mechanism !== null && element("small", {}, maskedToo);
  return offered && option(place, answering, labels.length, "option skip", skip, note);
}

/** Boxes to tick; "none of these" and "prefer not to say" each stand alone. */
function severalAnswers({ asked, chosen }, { choose, next }) {
  const said = words().question;
  const { labels, most, allow_skip: offered } = asked;
  const limited = most !== null && most < labels.length;
  const status = element("p", { className: "hint", role: "status" });
  const skip = skipCode(asked);

  const box = (code, checked, className, onchange, ...inside) => {
    const input = element("input", {
      type: "checkbox",
      name: "answer",
      value: String(code),
      checked,
      autocomplete: "off",
      "aria-describedby": "several-hint",
      onchange,
      onkeydown: (event) => {
        if (event.key === "Enter") next();
      },
    });
    const label = element("label", { className }, input, element("span", { dir: "auto" }, ...inside));
    return { input, label };
  };
  const ticked = (place) => chosen !== undefined && chosen < skip && isTicked(chosen, place);
  const boxes = labels.map((label, place) =>
    box(2 ** place, ticked(place), "option tick", () => take(place), label),
  );
  const alone = [
    box(0, chosen === 0, "option tick", () => takeAlone(0, 0), said.none),
    ...(offered
      ? [
          box(
            skip,
            chosen === skip,
            "option tick skip",
            () => takeAlone(1, skip),
            said.skip,
            asked.mechanism !== null && element("small", {}, said.maskedToo),
          ),
        ]
      : []),
  ];

  const codeOfBoxes = () =>
    boxes.reduce((code, { input }, place) => code + (input.checked ? 2 ** place : 0), 0);

  function take(place) {
    const code = codeOfBoxes();
    const over = limited && tickedCount(code, asked) > most;
    status.textContent = over ? said.atMost(most) : "";
    if (over) {
      boxes[place].input.checked = false;
      return;
    }
    for (const { input } of alone) input.checked = false;
    choose(code || null); // nothing ticked is no answer yet: "none of these" has a box of its own
  }

  function takeAlone(at, code) {
    const { checked } = alone[at].input;
    status.textContent = "";
    for (const { input } of [...boxes, ...alone]) input.checked = false;
    alone[at].input.checked = checked;
    choose(checked ? code : null);
  }

  return [
    element("p", { id: "several-hint", className: "hint" }, limited ? said.tickMost(most) : said.tick),
    boxes.map(({ label }) => label),
    alone.map(({ label }) => label),
    status,
  ];
}

function comparisonAnswers(place, answering) {
  const [first, second, ...tie] = place.asked.labels;
  return [
    element(
      "div",
      { className: "versus" },
      [first, second].map((name, code) => option(place, answering, code, "option item", name)),
    ),
    tie.map((name) => option(place, answering, 2, "option", name)),
    skipOption(place, answering),
  ];
}

/** A field, two buttons and a slider for the same number. Untouched, they stand for no answer. */
function numberAnswer({ asked, chosen }, { choose, next }) {
  const said = words().question;
  const points = pointsOf(asked);
  const { step } = latticeOf(asked);
  const [low, high] = [numberText(asked, 0), numberText(asked, points - 1)];
  let code = chosen ?? null;

  const field = element("input", {
    id: "number",
    type: "text",
    inputMode: Number(asked.min) < 0 ? "text" : "decimal",
    autocomplete: "off",
    dir: "ltr",
    "aria-describedby": "number-range",
    "aria-label": asked.text,
    oninput: () => take(codeOfNumber(asked, field.value), { typing: true }),
    onkeydown: (event) => {
      if (event.key === "Enter") next();
      else if (event.key === "ArrowUp") nudge(1, event);
      else if (event.key === "ArrowDown") nudge(-1, event);
    },
  });
  const slider = element("input", {
    id: "slider",
    type: "range",
    min: "0",
    max: String(points - 1),
    step: "1",
    autocomplete: "off",
    "aria-label": said.slider,
    oninput: () => take(Number(slider.value)),
    onpointerup: () => take(Number(slider.value)),
  });
  const unit = asked.unit && userText(asked.unit, "span", "unit");
  const step1 = (id, name, sign, by) =>
    element(
      "button",
      { id, type: "button", className: "button step", "aria-label": name, onclick: () => nudge(by) },
      sign,
    );

  function take(value, { typing = false } = {}) {
    code = value;
    paint(typing);
    choose(code);
  }

  function paint(typing) {
    if (!typing) field.value = code === null ? "" : numberText(asked, code);
    field.toggleAttribute("aria-invalid", false);
    slider.value = String(code ?? Math.floor((points - 1) / 2));
    slider.classList.toggle("untouched", code === null);
    const spoken = code === null ? "–" : numberText(asked, code);
    slider.setAttribute("aria-valuetext", asked.unit ? `${spoken} ${asked.unit}` : spoken);
  }

  function nudge(by, event) {
    event?.preventDefault();
    const from = code ?? Math.floor((points - 1) / 2) - (by > 0 ? by : 0);
    take(Math.max(0, Math.min(points - 1, from + by)));
  }

  paint(false);
  const range = asked.unit ? said.numberIn(low, high, asked.unit) : said.number(low, high);
  return [
    element(
      "div",
      { className: "number-field" },
      step1("less", said.less, "−", -1),
      element("span", { className: "number-value" }, field, unit),
      step1("more", said.more, "+", 1),
    ),
    slider,
    element("div", { className: "ends", "aria-hidden": "true" }, userText(low), userText(high)),
    element(
      "p",
      { id: "number-range", className: "hint" },
      step === 1 ? range : `${range}, ${said.step(step)}`,
    ),
  ];
}

/** Return what to say where the person goes on without an answer. */
export function missingAnswer(asked) {
  const said = words().question;
  if (asked.kind === "several") return said.chooseSeveral;
  if (asked.kind !== "number") return said.choose;
  const { step } = latticeOf(asked);
  return said.notNumber(numberText(asked, 0), numberText(asked, pointsOf(asked) - 1), step);
}
