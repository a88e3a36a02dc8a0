// Fields of a form that belongs to no form: each tells what it holds as it changes.

import { element } from "../app/dom.js";

let numbers = 0;

/** Return a labelled field; `faults` are said beside it. */
function field(label, control, { hint = "", faults = [] } = {}) {
  const id = control.id || `field-${++numbers}`;
  control.id = id;
  const said = [
    hint && element("p", { className: "hint", id: `${id}-hint` }, hint),
    ...faults.map((text) => element("p", { className: "error", id: `${id}-fault` }, text)),
  ].filter(Boolean);
  if (said.length) control.setAttribute("aria-describedby", said.map((one) => one.id).join(" "));
  if (faults.length) control.setAttribute("aria-invalid", "true");
  return element("div", { className: "field" }, element("label", { htmlFor: id }, label), control, said);
}

export function textField(label, value, change, { lines = 1, ...more } = {}) {
  const tag = lines > 1 ? "textarea" : "input";
  const control = element(tag, {
    value: value ?? "",
    autocomplete: "off",
    dir: "auto",
    oninput: () => change(control.value),
    ...(lines > 1 ? { rows: lines } : { type: "text" }),
  });
  return field(label, control, more);
}

/** A number; what is typed while it is none is kept here and changes nothing. */
export function numberField(label, value, change, more = {}) {
  const control = element("input", {
    type: "number",
    step: more.whole ? "1" : "any",
    value: value === null || value === undefined ? "" : String(value),
    autocomplete: "off",
    oninput: () => {
      const typed = control.valueAsNumber;
      if (Number.isFinite(typed) && (!more.whole || Number.isInteger(typed))) change(typed);
    },
  });
  if (more.min !== undefined) control.min = String(more.min);
  if (more.max !== undefined) control.max = String(more.max);
  return field(label, control, more);
}

export function selectField(label, value, choices, change, more = {}) {
  const control = element(
    "select",
    { onchange: () => change(control.value) },
    choices.map(([name, text]) =>
      element("option", { value: name, selected: name === value }, text),
    ),
  );
  return field(label, control, more);
}

export function check(label, checked, change, { hint = "", disabled = false } = {}) {
  const control = element("input", { type: "checkbox", checked, disabled });
  control.addEventListener("change", () => change(control.checked));
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
