// The small pieces that views are made of.

import { element } from "./dom.js";
import { words } from "./words.js";

export const heading = (text, attributes = {}) =>
  element("h1", { tabIndex: -1, ...attributes }, text);

export const paragraph = (text, className = "") => text && element("p", { className }, text);

export const actions = (...children) => element("div", { className: "actions" }, ...children);

/** Text that people wrote, in whatever language and direction. */
export const theirs = (text, tag = "span", className = "") =>
  element(tag, { dir: "auto", className }, text);

/** Sentences of the server, which speaks English. */
export const servers = (text, tag = "p") => element(tag, { lang: "en", dir: "ltr" }, text);

export function button(id, text, onclick, kind = "primary") {
  const className = `button ${kind}`.trim();
  return element("button", { id, type: "button", className, onclick }, text);
}

export function link(href, text, className = "button") {
  return element("a", { href, className }, text);
}

export function card(title, ...children) {
  return element("section", { className: "card" }, element("h2", {}, title), ...children);
}

export function fold(title, ...children) {
  return element("details", {}, element("summary", {}, title), ...children);
}

/** Say why a request did not succeed, to eyes and screen readers alike. */
export function failureNotice(failure) {
  if (!failure) return null;
  return element("div", { className: "notice", role: "alert" }, element("p", {}, reasonOf(failure)));
}

/** Return why a request did not succeed. */
export function reasonOf({ status, slug, data = {} }) {
  const { common, cannot, intro, done } = words();
  if (status === 0) return common.unreachable;
  if (status === 429) return common.tooMany;
  const known = {
    "privacy-cap-exceeded": intro.cap,
    "clear-cap-exceeded": intro.cap,
    "already-participated": intro.elsewhere,
    "not-found": cannot.gone,
    "commitment-mismatch": words().ended.elsewhere[1],
    "survey-closed": done.late,
    "server-error": common.failed,
  };
  return known[slug] ?? servers(String(data.detail ?? common.failed), "span");
}
