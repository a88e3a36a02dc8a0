// A mechanism's text, name:key=value,..., and the whole numbers that follow from it. Both are sent;
// what runs are the numbers, so this device works them out itself and refuses others.

import { changedBits } from "./mask.js";
import {
  FIXED_ONE,
  ceil,
  divide,
  exp,
  floor,
  fraction,
  isBelow,
  multiply,
  readFraction,
  subtract,
} from "./fractions.js";

const MOST_BITS = 52n;
const MOST_CHOICES = 512n;
const MOST_ITEMS = 12n;
const MOST_SYMBOLS = 1n << 20n;
const LARGEST_TOTAL = 1n << 62n;
const LARGEST_EPSILON = [100n, 1n];
const FEWEST_GRID_POINTS = 1n << 32n;
const MOST_POINTS = 1n << 32n;
const MOST_LEVELS = 1n << 16n;
const LARGEST_SCALE = 1n << 48n;
const GUARD = 10n ** 30n; // the library rounds up what lies this near below

/** What each mechanism can be given, and how its numbers follow. */
const MECHANISMS = {
  "randomized-response": [["options", "epsilon", "flip_probability", "null"], response],
  "two-layer": [["options", "low", "high"], twoLayer],
  "discrete-gaussian": [["low", "high", "step", "sigma"], gaussian],
  "discrete-laplace": [
    ["low", "high", "step", "epsilon", "null", "fill", "scale_rule"],
    laplace,
  ],
  "subset-selection": [["options", "size", "epsilon", "null"], subsets],
  "masked-order": [["items", "top", "size", "epsilon", "null"], orders],
  "bitwise-response": [["options", "most", "epsilon", "null"], bitwise],
  "quantised-response": [["low", "high", "step", "epsilon", "levels", "null"], quantised],
};

/**
 * Return the device form of a mechanism's text, equal to Python's, or throw where this device
 * does not know such a mechanism.
 *
 * @param {string} text
 */
export function deviceOf(text) {
  requireThat(typeof text === "string" && text.length < 5000);
  const [name, rest = ""] = split(text, ":");
  requireThat(Object.hasOwn(MECHANISMS, name));
  const [known, read] = MECHANISMS[name];
  const given = {};
  for (const part of rest.split(",")) {
    const [key, value] = split(part, "=");
    requireThat(known.includes(key) && value && !Object.hasOwn(given, key));
    given[key] = value;
  }
  return { name, ...read(given) };
}

/** Return the lowest answer and the step of a mechanism on a lattice, as fractions. */
export function latticeOfText(text) {
  const { low, step = "1" } = Object.fromEntries(
    split(text, ":")[1].split(",").map((part) => split(part, "=")),
  );
  return { low: readFraction(low), step: readFraction(step) };
}

function response({ options, epsilon, flip_probability: flip, null: mask = "false" }) {
  const symbols = wholeOf(options, 2n, MOST_SYMBOLS) + (truth(mask) ? 1n : 0n);
  requireThat((epsilon === undefined) !== (flip === undefined));
  const [other, total] =
    flip === undefined ? fromEpsilon(epsilon, symbols) : fromFlip(readFraction(flip), symbols);
  return formOf(symbols, other, other, total);
}

function twoLayer({ options, low: lowText, high: highText }) {
  const symbols = wholeOf(options, 2n, MOST_SYMBOLS);
  const [low, high] = [readFraction(lowText), readFraction(highText)];
  requireThat(low[0] >= 0n && !isBelow(high, low) && high[0] <= high[1]);
  if (low[0] * high[1] === high[0] * low[1]) {
    const [other, total] = fromFlip(low, symbols);
    return formOf(symbols, other, other, total);
  }
  const total = gridTotal(symbols);
  const first = ceil(low[0] * total, low[1] * (symbols - 1n));
  const last = floor(high[0] * total, high[1] * (symbols - 1n));
  requireThat(last - first >= FEWEST_GRID_POINTS);
  return formOf(symbols, first, last, total);
}

function gaussian(given) {
  const { points, step } = latticeOf(given);
  const sigma = divide(readFraction(given.sigma), step);
  requireThat(sigma[0] > 0n);
  const variance = multiply(sigma, sigma);
  return { points: Number(points), variance: variance.map(String) };
}

function laplace(given) {
  const { points, low, high, step } = latticeOf(given);
  const epsilon = readFraction(given.epsilon);
  requireThat(epsilon[0] > 0n && isBelow(epsilon, [(1n << 20n) + 1n, 1n]));
  const { scale_rule: rule = "width" } = given;
  requireThat(["width", "paper"].includes(rule));
  const width = subtract(high, low);
  requireThat(rule === "width" || !isBelow([points, 1n], width));
  const published = rule === "paper" ? [points, 1n] : width;
  const scale = roundedUp(divide(divide(published, epsilon), step));
  const masked = truth(given.null ?? "false");
  requireThat(masked || given.fill === undefined);
  const fill = masked ? fillOf(given.fill ?? "midpoint", { points, low, step }) : null;
  return { points: Number(points), null: masked, fill, scale: scale.map(String) };
}

function fillOf(text, { points, low, step }) {
  if (text === "midpoint") return Number((points - 1n) / 2n);
  if (text === "uniform") return text;
  const [place, parts] = divide(subtract(readFraction(text), low), step);
  requireThat(parts === 1n && place >= 0n && place < points);
  return Number(place);
}

function quantised(given) {
  const { points } = latticeOf(given);
  const most = points < MOST_LEVELS ? points : MOST_LEVELS;
  const levels = wholeOf(given.levels, 2n, most);
  const masked = truth(given.null ?? "false");
  requireThat(given.epsilon !== "inf");
  const epsilon = readFraction(given.epsilon);
  requireThat(epsilon[0] > 0n);
  const symbols = levels + (masked ? 1n : 0n);
  const [other, total] = fromEpsilon(given.epsilon, symbols);
  return {
    ...formOf(symbols, other, other, total),
    points: Number(points),
    levels: Number(levels),
    null: masked,
  };
}

function bitwise({ options: count, most: limit = count, epsilon, null: mask = "false" }) {
  const masked = truth(mask);
  const options = wholeOf(count, 2n, masked ? MOST_BITS - 1n : MOST_BITS);
  const shape = {
    options: Number(options),
    most: Number(wholeOf(limit, 1n, options)),
    null: masked,
  };
  const [other, total] = fromEpsilon(epsilon, 2n, BigInt(changedBits(shape)));
  return { ...shape, other: String(other), total: String(total) };
}

function subsets({ options, size: count, epsilon: text, null: mask = "false" }) {
  const masked = truth(mask);
  const symbols = wholeOf(options, 2n, MOST_CHOICES - (masked ? 1n : 0n)) + (masked ? 1n : 0n);
  const size = wholeOf(count, 1n, symbols - 1n);
  requireThat(text !== "inf");
  let epsilon = readFraction(text);
  requireThat(epsilon[0] >= 0n);
  if (isBelow(LARGEST_EPSILON, epsilon)) epsilon = LARGEST_EPSILON;
  const total = (LARGEST_TOTAL / symbols) * symbols;
  const [growth] = exp(...epsilon);
  const [top, bottom] = [total * size * growth, size * growth + (symbols - size) * FIXED_ONE];
  const below = floor(top * GUARD - bottom, bottom * GUARD);
  const least = (size * total) / symbols;
  const inside = below > least ? below : least;
  const form = { choices: Number(symbols), size: Number(size) };
  return { ...form, inside: String(inside), total: String(total) };
}

function orders({ items: count, top = count, size: drawn, epsilon, null: mask = "false" }) {
  const masked = truth(mask);
  const items = wholeOf(count, 2n, MOST_ITEMS);
  const ranked = wholeOf(top, 1n, items);
  const size = wholeOf(drawn, 2n, items < 3n ? items : 3n);
  const [other, total] = fromEpsilon(epsilon, (size === 2n ? 2n : 6n) + (masked ? 1n : 0n));
  const form = { items: Number(items), ranked: Number(ranked), size: Number(size), null: masked };
  return { ...form, other: String(other), total: String(total) };
}

function formOf(symbols, first, last, total) {
  return {
    symbols: Number(symbols),
    first: String(first),
    last: String(last),
    total: String(total),
  };
}

/** Return the largest total below 2^62 on which the uniform channel is exact. */
function gridTotal(symbols) {
  const unit = symbols * (symbols - 1n);
  return (LARGEST_TOTAL / unit) * unit;
}

/** Each other symbol has total / (symbols - 1 + e^(epsilon / shares)) chances, rounded up. */
function fromEpsilon(text, symbols, shares = 1n) {
  const total = gridTotal(symbols);
  if (text === "inf") return [0n, total];
  let epsilon = divide(readFraction(text), [shares, 1n]);
  requireThat(epsilon[0] >= 0n);
  if (epsilon[0] === 0n) return [total / symbols, total];
  if (isBelow(LARGEST_EPSILON, epsilon)) epsilon = LARGEST_EPSILON;
  const [growth] = exp(...epsilon);
  const [top, bottom] = [total * FIXED_ONE, (symbols - 1n) * FIXED_ONE + growth];
  const other = ceil(top * GUARD + bottom, bottom * GUARD);
  const uniform = total / symbols;
  return [other < uniform ? other : uniform, total];
}

function fromFlip(flip, symbols) {
  requireThat(flip[0] >= 0n && flip[0] <= flip[1]);
  const share = divide(flip, [symbols - 1n, 1n]);
  if (share[1] <= LARGEST_TOTAL) return share;
  const total = gridTotal(symbols);
  const more = flip[0] * symbols <= (symbols - 1n) * flip[1];
  return [(more ? ceil : floor)(share[0] * total, share[1]), total];
}

function roundedUp(scale) {
  const [top, bottom] = scale;
  if (top <= LARGEST_SCALE && bottom <= LARGEST_SCALE) return scale;
  requireThat(isBelow(scale, [LARGEST_SCALE / 2n, 1n]));
  const whole = ceil(top, bottom);
  const parts = LARGEST_SCALE / (2n * (whole > 1n ? whole : 1n));
  return fraction(ceil(top * parts, bottom), parts);
}

function latticeOf({ low: lowText, high: highText, step: stepText = "1" }) {
  const [low, high, step] = [lowText, highText, stepText].map(readFraction);
  requireThat(step[0] > 0n && isBelow(low, high));
  const [steps, parts] = divide(subtract(high, low), step);
  requireThat(parts === 1n && steps < MOST_POINTS);
  return { low, high, step, points: steps + 1n };
}

function wholeOf(text, low, high) {
  requireThat(/^\d{1,12}$/.test(text ?? ""));
  const value = BigInt(text);
  requireThat(value >= low && value <= high);
  return value;
}

function truth(text) {
  requireThat(text === "true" || text === "false");
  return text === "true";
}

function split(text, by) {
  const place = text.indexOf(by);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + by.length)];
}

function requireThat(condition) {
  if (!condition) throw new RangeError("this is not a mechanism that this device knows.");
}
