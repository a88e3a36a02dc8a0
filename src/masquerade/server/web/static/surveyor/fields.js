// Fields of a form that belongs to no form: each tells what it holds as it changes, and has one
// place for what is wrong with it. Callbacks read what changed from the event, not from the element
// that they were made with: `redraw` lets the element that has the focus stand.

import { element } from "../app/dom.js";
import { said } from "./said.js";

/** What was typed into fields where it is no value: kept, shown again, and said to be wrong. */
class Unusable {
  #texts = new Map(); // by the field's key: `{key, label, text, value}`, with the value that holds
  #heard = () => {};

  listen(heard) {
    this.#heard = heard;
  }

  /** Return what was typed instead of a value; undefined where the value holds. */
  text(key, value) {
    const known = this.#texts.get(key);
    if (!known) return undefined;
    if (known.value === (value ?? null)) return known.text;
    this.delete(key); // another value was given since, as by Undo
    return undefined;
  }

  set(key, label, text, value) {
    this.#texts.set(key, { key, label, text, value: value ?? null });
    this.#heard();
  }

  delete(key) {
    if (this.#texts.delete(key)) this.#heard();
  }

  /** Forget the fields of what is gone. */
  forget(prefix) {
    for (const key of [...this.#texts.keys()]) if (key.startsWith(prefix)) this.delete(key);
  }

  under(prefix) {
    return [...this.#texts.keys()].some((key) => key.startsWith(prefix));
  }

  fill(known) {
    this.#texts = new Map(known.map((one) => [one.key, one]));
  }

  toJSON() {
    return [...this.#texts.values()];
  }
}

export const unusable = new Unusable();

/**
 * Return a labelled field with its hint, how long its text is where that matters, and what is wrong.
 *
 * @param {string} key names it among all fields of the draft
 * @param {number} most characters of a text, 0 where nobody counts
 */
function field(label, control, { hint = "", faults = [], key = label, most = 0 } = {}) {
  const id = control.id || `field-${key.replace(/[^\w-]+/g, "-")}`;
  control.id = id;
  const count = element("p", { className: "hint count", id: `${id}-count`, hidden: true });
  const fault = element("p", { className: "error", id: `${id}-fault`, "aria-live": "polite" });
  control.setAttribute("aria-describedby", [hint && `${id}-hint`, `${id}-count`, `${id}-fault`].filter(Boolean).join(" "));
  const made = element(
    "div",
    { className: "field", "data-key": key },
    element("label", { htmlFor: id }, label),
    control,
    count,
    element("p", { className: "hint", id: `${id}-hint`, hidden: !hint }, hint),
    fault,
  );
  say(made, faults[0] ?? "");
  tally(made, control.value, most);
  return made;
}

/** Say what is wrong at a field, or that nothing is. */
function say(made, text) {
  const fault = made.querySelector(":scope > .error");
  fault.textContent = text;
  fault.hidden = !text;
  const control = made.querySelector("input, select, textarea");
  if (text) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

/** Say how long a text is once it is near what it may be. */
function tally(made, text, most) {
  const count = made.querySelector(":scope > .count");
  const length = [...text.trim()].length;
  count.hidden = !most || length < 0.8 * most;
  count.textContent = count.hidden ? "" : said("{count} of {most} characters", { count: length, most });
  count.classList.toggle("bad", length > most);
}

export function textField(label, value, change, { lines = 1, ...more } = {}) {
  const tag = lines > 1 ? "textarea" : "input";
  const control = element(tag, {
    value: value ?? "",
    autocomplete: "off",
    dir: "auto",
    oninput: ({ target }) => {
      tally(target.closest(".field"), target.value, more.most ?? 0);
      change(target.value);
    },
    ...(lines > 1 ? { rows: lines } : { type: "text" }),
  });
  return field(label, control, more);
}

/** Return what is wrong with a number as it was typed; empty where nothing is. */
export function numberFault(text, { whole = false, min = -Infinity, max = Infinity } = {}) {
  const typed = text.trim();
  const number = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?$/i.test(typed) ? Number(typed) : NaN;
  const fits = Number.isFinite(number) && number >= min && number <= max;
  if (fits && (!whole || Number.isInteger(number))) return "";
  const kind = whole ? said("whole number") : said("number");
  const range = Number.isFinite(max) ? said("Give a {kind} from {min} to {max}", { kind, min, max })
    : Number.isFinite(min) ? said("Give a {kind} of {min} or more", { kind, min })
    : said("Give a {kind}", { kind });
  return typed ? said("{range}; “{typed}” is none.", { range, typed: typed.slice(0, 20) }) : `${range}.`;
}

/**
 * A number; what is typed while it is none is kept, said to be none, and changes nothing. An
 * `optional` one can be empty, and is undefined then.
 */
export function numberField(label, value, change, more = {}) {
  const { key = label, faults = [], optional = false } = more;
  const wrong = unusable.text(key, value);
  const control = element("input", {
    type: "text",
    inputMode: more.whole ? "numeric" : "decimal",
    value: wrong ?? (value === null || value === undefined ? "" : String(value)),
    autocomplete: "off",
    oninput: ({ target }) => {
      const none = optional && !target.value.trim();
      const fault = none ? "" : numberFault(target.value, more);
      say(target.closest(".field"), fault);
      if (fault) {
        unusable.set(key, label, target.value, value);
      } else {
        value = none ? undefined : Number(target.value);
        unusable.delete(key);
        change(value);
      }
    },
  });
  return field(label, control, { ...more, faults: wrong === undefined ? faults : [numberFault(wrong, more)] });
}

export function selectField(label, value, choices, change, more = {}) {
  const control = element(
    "select",
    { onchange: ({ target }) => change(target.value) },
    choices.map(([name, text]) =>
      element("option", { value: name, selected: name === value }, text),
    ),
  );
  return field(label, control, more);
}

export function check(label, checked, change, { hint = "", disabled = false } = {}) {
  const control = element("input", { type: "checkbox", checked, disabled });
  control.addEventListener("change", ({ target }) => change(target.checked));
  const text = element("span", {}, label, hint && element("small", { className: "hint block" }, hint));
  return element("label", { className: "check" }, control, text);
}

export function button(text, onclick, { kind = "", label = "", disabled = false } = {}) {
  const made = element(
    "button",
    { type: "button", className: `button ${kind}`.trim(), onclick, disabled },
    text,
  );
  if (label) made.setAttribute("aria-label", label);
  return made;
}

export function group(title, ...children) {
  return element(
    "fieldset",
    { className: "group-of-fields" },
    element("legend", {}, title),
    ...children,
  );
}

export function fold(title, ...children) {
  return element("details", {}, element("summary", {}, title), ...children);
}
