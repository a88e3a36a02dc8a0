// The small pieces that views are made of.

import { element } from "./dom.js";
import { words } from "../words/language.js";

export const heading = (text, attributes = {}) =>
  element("h1", { tabIndex: -1, ...attributes }, text);

export const paragraph = (text, className = "") => text && element("p", { className }, text);

export const actions = (...children) => element("div", { className: "actions" }, ...children);

/** Text that people wrote, in whatever language and direction. */
export const userText = (text, tag = "span", className = "", language = null) =>
  element(tag, { dir: "auto", className, ...(language && { lang: language }) }, text);

export function button(id, text, onclick, kind = "primary") {
  const className = `button ${kind}`.trim();
  return element("button", { id, type: "button", className, onclick }, text);
}

export function link(href, text, className = "button") {
  return element("a", { href: ownPath(href), className }, text);
}

/** Return the address of a page of the person's own; a second party has them by leader. */
export function ownPath(path) {
  const leader = globalThis.document?.documentElement?.dataset?.leader;
  if (!leader || !/^\/me(?![^/#])/.test(path)) return path;
  const [page, anchor] = path.split("#");
  return `${page}?leader=${encodeURIComponent(leader)}${anchor ? `#${anchor}` : ""}`;
}

/** Say that nothing was asked of the server, as this device is enrolled until a day; null for "". */
export function enrolledNotice(until, ask) {
  const { tickets: said, day } = words();
  return until
    ? element(
        "div",
        { className: "notice", id: "not-asked" },
        paragraph(said.notAsked(day(until))),
        actions(button("ask-now", said.askNow, ask, "")),
      )
    : null;
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
export function reasonOf({ status, slug }) {
  const { common, cannot, intro, done } = words();
  if (status === 0 && slug !== "helper-away") return common.unreachable;
  if (status === 429) return common.tooMany;
  const known = {
    "privacy-cap-exceeded": intro.cap,
    "clear-cap-exceeded": intro.cap,
    "own-cap": intro.ownCap,
    "ticket-refused": words().tickets.refused,
    "ticket-used": words().tickets.used,
    "already-participated": intro.elsewhere,
    "budget-exhausted": intro.full,
    "too-many-reservations": intro.unopened,
    "not-found": cannot.gone,
    "commitment-mismatch": words().ended.elsewhere[1],
    "survey-closed": done.late,
    "not-as-agreed": cannot.server,
    "helper-away": words().parties?.away,
  };
  // A server's own sentences are not shown: whoever lies would lie in them too.
  return Object.hasOwn(known, slug) ? known[slug] : common.failed;
}

/** How much of a lifetime's privacy is left; the battery leads to the ledger unless `still`. */
export function battery(state, { still = false } = {}) {
  if (!state) return null;
  const left = Math.max(0, Math.min(100, Math.floor(Number(state.percent_left))));
  const { battery: said } = words();
  const inside = [
    element(
      "span",
      { className: "battery-case", "aria-hidden": "true" },
      element("progress", { max: 100, value: left, className: left < 20 ? "low" : "" }),
    ),
    element(
      "span",
      { className: "battery-text" },
      element("strong", {}, said.left(left)),
    ),
  ];
  if (still) return element("div", { className: "battery" }, inside);
  return element("a", { className: "battery", href: ownPath("/me/ledger") }, inside);
}
