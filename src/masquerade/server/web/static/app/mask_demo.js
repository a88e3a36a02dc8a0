// The mask at work on made-up people: one answer becomes another, and the average comes back. The
// masking is the real one.

import { SystemCoins, uniformBelow } from "../mechanisms/coins.js";
import { element } from "./dom.js";
import { maskAnswers } from "../mechanisms/mask.js";
import { words } from "../words/language.js";

const MINE = 3; // the code of 4
const POINTS = 5;
const PEOPLE = 2000;
// Four of five other reports at 10 of 100 each: 60 of 100 send what they think.
const DEVICE = {
  name: "randomized-response",
  symbols: POINTS,
  first: "10",
  last: "10",
  total: "100",
};
const KEPT = 0.5; // how much of a deviation from the middle is left in the average of reports
const PAUSE_MILLISECONDS = 500;

/** Return a crowd's answers, reports and the average worked out from the reports. */
export function crowd(source, people = PEOPLE) {
  // Each answer is the lower of two throws, moved up: a crowd with an opinion.
  const answers = Array.from({ length: people }, () => {
    const throws = [0, 1].map(() => Number(uniformBelow(source, BigInt(POINTS))));
    return POINTS - 1 - Math.min(...throws);
  });
  const reports = maskAnswers(DEVICE, answers, source);
  const mean = (codes) => 1 + codes.reduce((sum, code) => sum + code, 0) / codes.length;
  const middle = (1 + POINTS) / 2;
  const seen = mean(reports);
  return { truth: mean(answers), seen, estimate: middle + (seen - middle) / KEPT };
}

/** Return a report of the answer, another one: the demonstration is of a mask that changes it. */
function changedReport(source) {
  for (;;) {
    const [report] = maskAnswers(DEVICE, [MINE], source);
    if (report !== MINE) return report;
  }
}

/** Return the demonstration; it plays once when it is first seen, and again when asked. */
export function maskDemo() {
  const said = words().mask;
  const figure = (value) => words().number(value, 2);
  const faces = element("div", { className: "demo-faces" });
  const bars = element("div", { className: "demo-bars" });
  const spoken = element("p", { className: "visually-hidden" });
  const again = element("button", { type: "button", className: "button quiet" }, said.again);

  const face = (name, value, className) =>
    element(
      "div",
      { className: `demo-face ${className}` },
      element("small", {}, name),
      element("strong", {}, value),
    );
  const bar = (name, value, className) => {
    const filled = element("progress", { max: POINTS, value, className });
    return element(
      "div",
      { className: "demo-bar" },
      element("span", {}, name),
      filled,
      element("span", { className: "figure" }, figure(value)),
    );
  };

  function play() {
    const source = new SystemCoins();
    const sent = changedReport(source);
    const { truth, seen, estimate } = crowd(source);
    faces.replaceChildren(
      face(said.you, String(MINE + 1), "mine"),
      element("span", { className: "demo-mask" }),
      face(said.sent, String(sent + 1), "sent"),
    );
    bars.replaceChildren(
      element("p", { className: "hint" }, said.crowd(PEOPLE)),
      bar(said.truth, truth, "mine"),
      bar(said.seen, seen, "sent"),
      bar(said.estimate, estimate, "again"),
    );
    spoken.textContent = said.said(MINE + 1, sent + 1, figure(truth), figure(estimate));
    demo.classList.remove("playing");
    requestAnimationFrame(() => demo.classList.add("playing"));
  }
  again.addEventListener("click", () => {
    again.disabled = true;
    play();
    setTimeout(() => {
      again.disabled = false;
      again.focus();
    }, PAUSE_MILLISECONDS);
  });
  const demo = element(
    "section",
    { className: "demo" },
    element("h2", {}, said.title),
    element("div", { "aria-hidden": "true" }, faces, bars),
    spoken,
    again,
  );
  play();
  return demo;
}
