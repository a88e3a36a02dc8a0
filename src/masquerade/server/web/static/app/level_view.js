// The choice of a level: what each hides, what it costs, what anybody could still see. Every number
// is this device's own, worked out from the masks.

import { admits, chargeOf, percentOf } from "./budget.js";
import { element } from "./dom.js";
import { beliefPercent } from "../words/formats.js";
import { keepPercent, keepPercentOfBits } from "../mechanisms/mask.js";
import { deviceOf, latticeOfText } from "../mechanisms/text.js";
import { fold, paragraph } from "./components.js";
import { keepProbabilityAt, strengthOf } from "./strength.js";
import { words } from "../words/language.js";
import { tail } from "../mechanisms/loss.js";
import { stepsOfMost } from "../mechanisms/loss_tail.js";

const POINTS = 5; // of the example's scale
const MINE = 3;

/** Return the name of a strength; see `strengthOf`. */
export const levelName = (strength) => words().levels.names[strength] ?? "";

/**
 * Return the levels as a group of answers to choose from.
 *
 * @param {object} invitation of `readInvitation`
 * @param {object} chosen `{name, clear}`; `clear` is the consent to sending without a mask
 * @param {{caps: {epsilon: number, clear: number}, charges: object[]}} budget the lower of the
 *   device's caps and the server's, and what this device has spent
 */
export function levelPicker(invitation, chosen, budget, { choose, accept }) {
  const { levels, questions } = invitation;
  const said = words().levels;
  const single = levels.length === 1;
  const cards = levels.map((level) => {
    const checked = level.name === chosen.name;
    const input = element("input", {
      type: "radio",
      name: "level",
      value: level.name,
      checked,
      disabled: !isAffordable(level, budget),
      autocomplete: "off",
      onchange: () => choose(level.name),
    });
    return element(
      "div",
      { className: single ? "level single" : "level" },
      element(
        "label",
        {},
        !single && input,
        element("span", { className: "level-text" }, sentences(level, budget)),
      ),
      promise(level, questions),
    );
  });
  const consent = levels.some((level) => level.clear && level.name === chosen.name);
  return element(
    "fieldset",
    { className: "levels" },
    element("legend", {}, single ? levelName(strengthOf(levels[0].losses)) : said.legend),
    single && paragraph(said.fixed, "muted"),
    levels.some(({ clear }) => !clear) && paragraph(said.scale, "hint"),
    cards,
    consent &&
      element(
        "label",
        { className: "check" },
        element("input", {
          id: "accept-clear",
          type: "checkbox",
          checked: chosen.clear,
          onchange: (event) => accept(event.target.checked),
        }),
        said.confirmClear,
      ),
  );
}

/** Return whether what is left allows a response at a level. */
export function isAffordable({ losses }, { caps, charges }) {
  return admits(charges, chargeOf(losses), caps);
}

function sentences(level, budget) {
  const { losses, clear } = level;
  const said = words().levels;
  const line = (text, className) => element("span", { className }, text);
  const name = element("strong", {}, levelName(strengthOf(losses)));
  const beyond = !isAffordable(level, budget);
  if (clear) {
    return [name, line(said.clear, "warning"), beyond && line(said.clearBeyond, "level-price")];
  }
  const kept = keepProbabilityAt(losses.each, POINTS);
  return [
    element("span", { className: "level-name" }, name, blur(kept)),
    line(said.example(Math.round(100 * kept)), "level-example"),
    line(beyond ? beyondText(losses, budget) : priceOf(losses, budget), "level-price"),
  ];
}

/** Five bars: how often each report is sent by somebody who thinks 4. */
function blur(kept) {
  const other = (1 - kept) / (POINTS - 1);
  const bars = Array.from({ length: POINTS }, (_, code) => {
    const share = code === MINE ? kept : other;
    return element(
      "span",
      { className: code === MINE ? "bar mine" : "bar" },
      // By script, which the page's policy allows: a style attribute it does not.
      element("span", { className: "fill", style: `height: ${5 * Math.round(share * 20)}%` }),
      element("small", {}, String(code + 1)),
    );
  });
  return element("span", { className: "blur", "aria-hidden": "true" }, bars);
}

function priceOf(losses, { caps, charges }) {
  const percent = percentOf(chargeOf(losses), caps, charges);
  return words().levels.price(words().number(percent, 1));
}

function beyondText(losses, { caps, charges }) {
  const said = words().levels;
  const percent = percentOf(chargeOf(losses), caps, charges);
  return percent <= 100 ? said.beyondRest(words().number(percent, 1)) : said.priceBeyond;
}

function promise({ losses, clear, mechanisms }, questions) {
  const said = words().levels;
  if (clear) return null;
  const { loss, eventLoss } = losses;
  const [all, one] = [tail(loss), tail(eventLoss)];
  return fold(
    said.seen,
    questions > 1 && paragraph(said.belief(beliefPercent(one / 1e6))),
    paragraph((questions > 1 ? said.beliefTogether : said.beliefAlone)(beliefPercent(all / 1e6))),
    paragraph(said.together(all / 1e6)),
    (all < loss.pure || (questions > 1 && one < eventLoss.pure)) && paragraph(said.rarely),
    oddsOf(mechanisms).map((sentence) => paragraph(sentence)),
    paragraph(said.own, "hint"),
  );
}

/** Return a share in whole percent; 0 and 100 only where it is that. */
function inHundred(percent) {
  return percent === 0 || percent === 100 ? percent : Math.min(99, Math.max(1, Math.round(percent)));
}

/** Return in words where a number in the middle of its scale is sent, 4 times in 5. */
function movedText(mechanism, device, unit) {
  const { levels, number } = words();
  const { low, step } = latticeOfText(mechanism);
  const [first, width] = [low, step].map(([top, bottom]) => Number(top) / Number(bottom));
  const middle = Math.floor((device.points - 1) / 2);
  const far = stepsOfMost(device.variance);
  const at = (steps) => number(first + width * steps, 6);
  const ends = [at(middle - far), at(middle + far)];
  return unit ? levels.noiseIn(at(middle), unit, ...ends) : levels.noise(at(middle), ...ends);
}

/**
 * Return in sentences how often answers are sent as they are, and how far numbers are moved.
 *
 * @param {string[]} mechanisms
 * @param {object[]} questions that they mask, where these are known, for their units
 */
export function oddsOf(mechanisms, questions = []) {
  const { reveal } = words();
  const devices = [...new Set(mechanisms)].map(deviceOf);
  const kept = devices
    .filter(({ symbols }) => symbols !== undefined)
    .map((device) => inHundred(keepPercent(device)));
  const ticked = devices
    .filter(({ name }) => name === "bitwise-response")
    .map((device) => inHundred(keepPercentOfBits(device)));
  const orders = devices
    .filter(({ name }) => name === "masked-order")
    .map(({ size, null: masked, other, total }) =>
      inHundred(100 - Number(((size === 2 ? 1n : 5n) + (masked ? 1n : 0n)) * BigInt(other) * 10000n / BigInt(total)) / 100),
    );
  const sets = devices
    .filter(({ name }) => name === "subset-selection")
    .map(({ size, inside, total }) => reveal.keepsSet(size, inHundred(Number((BigInt(inside) * 10000n) / BigInt(total)) / 100)));
  const widest = mechanisms
    .map((mechanism, place) => ({ mechanism, device: deviceOf(mechanism), unit: questions[place]?.unit }))
    .filter(({ device }) => device.variance !== undefined)
    .map((one) => ({ ...one, part: stepsOfMost(one.device.variance) / (one.device.points - 1) }))
    .sort((one, other) => other.part - one.part);
  const [least, most] = [Math.min(...kept), Math.max(...kept)];
  const keeps = least === most ? reveal.keepsAbout(least) : reveal.keepsBetween(least, most);
  return [
    kept.length > 0 && keeps,
    ...new Set(sets),
    orders.length > 0 && reveal.keepsOrder(Math.min(...orders)),
    ticked.length > 0 && reveal.keepsTicks(Math.min(...ticked)),
    widest.length > 0 && movedText(widest[0].mechanism, widest[0].device, widest[0].unit),
  ].filter(Boolean);
}
