// A number on a public scale: a field, two buttons and a slider for the same number.

import { userText } from "../components.js";
import { element } from "../dom.js";
import { intervals, skipOption } from "../label_kind.js";
import { codeOfNumber, latticeOf, numberText, pointsOf } from "../numbers.js";
import { isText, requireThat } from "../promise.js";
import { words } from "../../words/language.js";

const MOST_POINTS = 2 ** 32;

export const kind = {
  name: "number",
  /** The ends of a first interval: the lower half. */
  ends({ low, high, step = 1 }) {
    const steps = Math.max(1, Math.floor((high - low) / step / 2));
    return [low, Number((low + steps * step).toFixed(6))];
  },
  texts: ["unit"],
  fields: ["low", "high", "step", "unit"],
  optional: { allow_skip: false },
  decides: true,
  crossable: true,

  form: ({ low, high, step, unit }) => ({ labels: [], min: low, max: high, step, unit }),

  check({ low, high, step, unit }) {
    requireThat([low, high, step].every(Number.isFinite) && isText(unit), "a scale");
    const steps = (high - low) / step;
    requireThat(step > 0 && Math.round(steps) >= 1 && steps < MOST_POINTS, "a scale");
    requireThat(Math.abs(steps - Math.round(steps)) < 1e-6 * steps, "a scale");
  },

  ...intervals((question, end) => (Number.isFinite(end) ? codeOfNumber(question, String(end)) : null), pointsOf),

  answers: (question) => pointsOf(question) + (question.allow_skip ? 1 : 0),

  skipCode: pointsOf,

  // Noise on a scale has no report for "no answer"; levels have.
  fits: (question, { most, points, null: masked = false }) =>
    most === undefined && (points === undefined || masked === question.allow_skip),

  /** Untouched, field and slider stand for no answer. */
  draw(place, answering) {
    const { asked, chosen, group = "" } = place;
    const { choose, next } = answering;
    const said = words().question;
    const points = pointsOf(asked);
    const { step } = latticeOf(asked);
    const [low, high] = [numberText(asked, 0), numberText(asked, points - 1)];
    let code = chosen === undefined || chosen === points ? null : chosen;
    const skip = skipOption(place, { ...answering, choose: skipIt }, points);

    const field = element("input", {
      id: `number${group}`,
      type: "text",
      inputMode: Number(asked.min) < 0 ? "text" : "decimal",
      autocomplete: "off",
      dir: "ltr",
      "aria-describedby": `number-range${group}`,
      "aria-label": asked.text,
      oninput: () => take(codeOfNumber(asked, field.value), { typing: true }),
      onkeydown: (event) => {
        if (event.key === "Enter") next();
        else if (event.key === "ArrowUp") nudge(1, event);
        else if (event.key === "ArrowDown") nudge(-1, event);
      },
    });
    const slider = element("input", {
      id: `slider${group}`,
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
      if (skip) skip.querySelector("input").checked = false;
      paint(typing);
      choose(code);
    }

    function skipIt(value) {
      code = null;
      paint(false);
      choose(value);
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
        step1(`less${group}`, said.less, "−", -1),
        element("span", { className: "number-value" }, field, unit),
        step1(`more${group}`, said.more, "+", 1),
      ),
      slider,
      element("div", { className: "ends", "aria-hidden": "true" }, userText(low), userText(high)),
      element(
        "p",
        { id: `number-range${group}`, className: "hint" },
        step === 1 ? range : `${range}, ${said.step(step)}`,
      ),
      skip,
    ];
  },

  missing(question, said) {
    const last = pointsOf(question) - 1;
    return said.notNumber(numberText(question, 0), numberText(question, last), latticeOf(question).step);
  },

  text(question, code, said) {
    if (question.allow_skip && code === pointsOf(question)) return said.skip;
    return question.unit ? `${numberText(question, code)} ${question.unit}` : numberText(question, code);
  },

  // Where a number can be skipped, a report is one of a few levels, or "no answer" after the last.
  sentText(question, report, said) {
    const { levels } = question.device ?? {};
    if (levels === undefined) return kind.text(question, report, said);
    if (report === levels) return said.skip;
    const at = (report * (pointsOf(question) - 1)) / (levels - 1);
    const value = Number((Number(question.min) + at * Number(question.step)).toPrecision(6));
    const number = String(value).replace("-", "−");
    return question.unit ? `${number} ${question.unit}` : number;
  },

  split(question, { bins, summed }) {
    const points = pointsOf(question);
    if (summed) return { shape: "total", answers: points };
    return { shape: "counts", labels: Math.min(bins, points), answers: points };
  },
};
