// What a voter's device sends about a whole set of pairwise choices. The device's half of
// preference/choice_response.py and preference/direction_selection.py, equal to them word for word
// (both halves run tests/vectors/preference.json).
//
// A record is the difference of two alternatives, chosen minus rejected: one whole number a feature,
// all features on their public scales (thousandths of each range, say). A `device` form comes from
// `device_form()` of the mechanism; its name says how to read it. Nothing else of the server is
// needed, and only what `reportPreference` returns may leave the device.

import { uniformBelow } from "./coins.js";
import { move, readDevice } from "./mask.js";

const LENGTH = 1n << 12n; // of a direction, in steps
const PRECISION = 1n << 16n;
const CENTRE = 32n; // mean of the number of ones in 64 random bits
const MOST_CANDIDATES = 1n << 16n;

const MECHANISMS = new Map([
  ["choice-response", reportChoices],
  ["direction-selection", reportDirection],
]);

/**
 * Return the report of one voter.
 *
 * @param {object} device form of the mechanism
 * @param {(number|bigint)[][]} records whole numbers; may be empty
 * @param {{nextWord(): bigint}} source where randomness comes from
 * @returns {bigint[]} choices (1n or -1n a record), or a direction (a number a feature)
 */
export function reportPreference(device, records, source) {
  const report = MECHANISMS.get(device.name);
  if (!report) throw new RangeError(`${device.name} is not a mechanism that this device knows.`);
  return report(device, records.map(readRecord), source);
}

/**
 * Return 1n or -1n: the sign of a record's first number that is not zero, 1n for none.
 *
 * Divided by it, a record and its opposite are the same pair, which the server knows; the sign is
 * the choice, which it must not know.
 */
export function orientation(record) {
  const first = record.find((number) => number !== 0n) ?? 0n;
  return first < 0n ? -1n : 1n;
}

/** Return a record's direction in whole steps; its squares add to at most LENGTH squared. */
export function direction(record) {
  const squares = record.reduce((sum, number) => sum + number * number, 0n);
  if (squares === 0n) return record;
  let length = squareRoot(squares);
  if (length * length < squares) length += 1n;
  return record.map((number) => (number * LENGTH) / length); // towards zero on either side
}

/** Keep each choice or turn it round: randomized response with two options. */
function reportChoices(device, records, source) {
  const { first, last, total, symbols } = readDevice(device);
  if (symbols !== 2n || first !== last) throw impossible();
  return records.map((record) => {
    const answer = orientation(record) < 0n ? 1n : 0n;
    return 1n - 2n * move(answer, first, uniformBelow(source, total), symbols);
  });
}

/**
 * Draw random directions and send one, more often one of those nearest to the voter's own.
 *
 * The candidates are drawn without looking at the records, which only rank them; each then has one
 * of two fixed probabilities.
 */
function reportDirection(device, records, source) {
  const features = readWhole(device.features);
  const candidates = readWhole(device.candidates);
  const best = readWhole(device.best);
  const numerator = readWhole(device.numerator);
  const total = readWhole(device.total);
  const possible =
    features >= 1n && candidates >= 2n && candidates <= MOST_CANDIDATES && best >= 1n &&
    best < candidates && numerator <= total && total >= 1n && total <= 1n << 64n;
  if (!possible) throw impossible();
  if (records.some((record) => BigInt(record.length) !== features)) {
    throw new RangeError("a record has not one number for each feature.");
  }
  const own = records
    .map(direction)
    .reduce((sum, each) => sum.map((number, k) => number + each[k]), zeros(features));
  const points = [];
  for (let i = 0n; i < candidates; i++) points.push(own.map(() => ones(source.nextWord()) - CENTRE));
  const axis = direction(own);
  const near = points.map((point) => shadow(point, axis));
  const order = points.map((_, index) => index);
  order.sort((a, b) => (near[a] > near[b] ? -1 : near[a] < near[b] ? 1 : a - b));
  const inside = uniformBelow(source, total) < numerator;
  const amongBest = uniformBelow(source, best);
  const amongOthers = best + uniformBelow(source, candidates - best);
  return points[order[inside ? amongBest : amongOthers]];
}

/**
 * Return the squared length of a point's shadow on an axis, in small steps, over that of the point:
 * negative on the far side.
 */
function shadow(point, axis) {
  const along = point.reduce((sum, number, k) => sum + number * axis[k], 0n);
  const squares = point.reduce((sum, number) => sum + number * number, 0n);
  const size = (along * along * PRECISION) / (squares > 0n ? squares : 1n);
  return along < 0n ? -size : size;
}

/** Return how many of 64 bits are ones. */
function ones(word) {
  let count = word - ((word >> 1n) & 0x5555555555555555n);
  count = (count & 0x3333333333333333n) + ((count >> 2n) & 0x3333333333333333n);
  count = (count + (count >> 4n)) & 0x0f0f0f0f0f0f0f0fn;
  return BigInt.asUintN(64, count * 0x0101010101010101n) >> 56n;
}

/** Return the largest integer whose square is at most `number`. */
function squareRoot(number) {
  if (number < 2n) return number;
  let root = number;
  let next = (number >> 1n) + 1n;
  while (next < root) {
    root = next;
    next = (root + number / root) >> 1n; // Newton's step, from above
  }
  return root;
}

function zeros(count) {
  return Array.from({ length: `${count}` }, () => 0n);
}

function readRecord(record) {
  return record.map((number) => {
    if (typeof number === "bigint") return number;
    // The message must not carry the number: messages end up in logs.
    if (!Number.isSafeInteger(number)) throw new RangeError("a record holds no whole number.");
    return BigInt(number);
  });
}

/** Return a whole number from 0 up, given as a number or as a text of digits. */
function readWhole(value) {
  if (!Number.isSafeInteger(value) && !(typeof value === "string" && /^\d+$/.test(value))) {
    throw impossible();
  }
  const whole = BigInt(value);
  if (whole < 0n) throw impossible();
  return whole;
}

function impossible() {
  return new RangeError("this is not a mechanism for preferences: its numbers do not fit together.");
}
