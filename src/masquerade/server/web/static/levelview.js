// The choice of a level: what each hides, what it costs, what anybody could still see.

import { element } from "./dom.js";
import { beliefPercent, isKnown } from "./figures.js";
import { fold, paragraph, servers } from "./pieces.js";
import { amount, keptAt } from "./promise.js";
import { words } from "./words.js";

const POINTS = 5; // of the example's scale
const MINE = 3;

/** Return the name of a level. */
export const levelName = (name) => words().levels.names[name] ?? name;

export const isClear = ({ epsilon_event: loss }) => amount(loss) === Infinity;

/**
 * Return the levels as a group of answers to choose from.
 *
 * @param {object} invitation
 * @param {object} chosen `{name, clear}`; `clear` is the consent to sending without a mask
 * @param {{rho: number, epsilon: number}|null} caps of a lifetime, where they are known
 * @param {{choose: Function, accept: Function}} answering
 */
export function levelPicker(invitation, chosen, caps, { choose, accept }) {
  const { levels, questions, fixed_level: fixed } = invitation;
  const said = words().levels;
  const single = fixed || levels.length === 1;
  const cards = levels.map((level) => {
    const checked = level.name === chosen.name;
    const input = element("input", {
      type: "radio",
      name: "level",
      value: level.name,
      checked,
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
        element(
          "span",
          { className: "level-text" },
          sentences(level, questions, caps),
        ),
      ),
      promise(level, questions),
    );
  });
  const consent = levels.some((level) => isClear(level) && level.name === chosen.name);
  return element(
    "fieldset",
    { className: "levels" },
    element("legend", {}, single ? levelName(levels[0].name) : said.legend),
    single && paragraph(said.fixed, "muted"),
    paragraph(said.scale, "hint"),
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

function sentences(level, questions, caps) {
  const said = words().levels;
  const line = (text, className) => element("span", { className }, text);
  const name = element("strong", {}, levelName(level.name));
  if (isClear(level)) return [name, line(said.clear, "warning")];
  const rho = amount(level.rho);
  const kept = isKnown(rho) ? keptAt(rho / questions, POINTS) : null;
  return [
    element("span", { className: "level-name" }, name, kept !== null && blur(kept)),
    kept !== null && line(said.example(Math.round(100 * kept)), "level-example"),
    line(priceOf(level, caps), "level-price"),
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
      element("span", { className: `fill s${Math.round(share * 20)}` }),
      element("small", {}, String(code + 1)),
    );
  });
  return element("span", { className: "blur", "aria-hidden": "true" }, bars);
}

/** A cap holds where either of two sums does: that of rho, or that of epsilons that hold outright. */
function priceOf(level, caps) {
  const said = words().levels;
  const percent = percentOf(level, caps);
  if (percent === null) return said.priceUnknown(words().amount(level.rho));
  if (percent > 100) return said.priceBeyond;
  return said.price(words().number(percent, 1));
}

/** Return the share of a lifetime's privacy in percent, rounded up to tenths; null if not known. */
export function percentOf({ rho, epsilon_user: epsilon, delta = 0 }, caps) {
  if (!isKnown(rho) || !isKnown(caps?.rho)) return null;
  const shares = [rho / caps.rho, delta > 0 ? Infinity : amount(epsilon) / caps.epsilon];
  return Math.ceil(1000 * Math.min(...shares) - 1e-6) / 10;
}

function promise(level, questions) {
  const { levels: said, amount: shown, code } = words();
  const { epsilon_event: event, epsilon_user: user, delta = 0 } = level;
  if (isClear(level)) return null;
  return fold(
    said.seen,
    paragraph(said.belief(beliefPercent(amount(event)))),
    code === "en" && level.odds && servers(level.odds),
    code === "en" && level.blur && servers(level.blur),
    paragraph(said.together(shown(amount(user)), amount(user))),
    questions > 1 && paragraph(said.single(shown(amount(event)), amount(event))),
    delta > 0 && paragraph(said.butFor(words().number(1 / delta))),
    paragraph(said.rho(shown(amount(level.rho))), "hint"),
  );
}
