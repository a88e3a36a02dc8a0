// How far sums of Renyi divergences and of clocks may go under a cap: the device's half of
// accounting/caps.py, with the proof. Both give the same whole numbers.

import { ceil } from "./fractions.js";
import { ORDERS, tail } from "./loss.js";
import { BITS, GUARD, ln, normalDelta } from "./portable.js";

/** The delta of this app: a millionth. */
export const DELTA = [1n, 1000000n];
export const DELTA_NUMBER = 1e-6;

const MILLION = 1000000n;
const HALVES = 2000000n; // of one in a million
const LARGEST_EPSILON = 700e6;
const LEAST_CLOCK = 31250; // 1/32
const [OF_ORDER, OF_CLOCK] = [2n, 3]; // fifths of delta
const [WIDER, LESS] = [1 + 1e-12, 1 - 1e-9];

const rooms = new Map();

/**
 * Return the order whose divergences count, and the most that they and the clocks may come to.
 *
 * @param {number} epsilon of the cap, in millionths
 * @returns {{place: number, divergence: number, clock: number}} place of the order in ORDERS
 */
export function roomOf(epsilon, delta = DELTA) {
  const size = Math.min(epsilon, LARGEST_EPSILON);
  const key = `${size} ${delta}`;
  if (!rooms.has(key)) rooms.set(key, room(size, delta));
  return rooms.get(key);
}

/**
 * Return a bound, in millionths, that the log ratio of two worlds exceeds with a chance of at most
 * one in a million, by all that the cap admits, chosen on the way; accounting/caps.py says why.
 */
export function tailOfCap(epsilon) {
  const { place, divergence, clock } = roomOf(epsilon);
  const orders = ORDERS.map((_, other) => (other === place ? divergence : Infinity));
  const clocks = ORDERS.map((a) => Math.ceil((a * clock) / 2));
  const bounds = [[divergence, orders], [clock, clocks]].filter(([most]) => most > 0);
  // one of the two decides, and it is not known which: each has half of the chance
  return Math.max(epsilon, ...bounds.map(([, known]) => tail({ pure: Infinity, orders: known }, HALVES)));
}

function room(size, delta) {
  if (delta[0] === 0n) return { place: 0, divergence: 0, clock: 0 };
  let [best, place] = [ofOrder(size, delta, 0), 0];
  for (let other = 1; other < ORDERS.length; other++) {
    const found = ofOrder(size, delta, other);
    if (found * BigInt(ORDERS[place]) > best * BigInt(ORDERS[other])) [best, place] = [found, other];
  }
  return { place, divergence: Math.max(0, Number(best)), clock: clockOf(size, delta) };
}

/** Return epsilon + ln(a / (a - 1)) - ln(1 / (delta_R a)) / (a - 1), rounded down. */
function ofOrder(size, [top, bottom], place) {
  const a = BigInt(ORDERS[place]);
  const [above, below] = [5n * bottom, OF_ORDER * top * a];
  const log = above >= below ? ln(above, below) : -ln(below, above);
  const failure = ceil(log, a - 1n);
  // a shift of whole numbers rounds down, also below 0
  return BigInt(size) + (((ln(a, a - 1n) - failure - GUARD) * MILLION) >> BITS);
}

/** Return the largest clock at which normal noise keeps its share of delta, less 1/32. */
function clockOf(size, [top, bottom]) {
  if (size < 1000) return 0;
  const most = ((OF_CLOCK * Number(top)) / (5 * Number(bottom))) * LESS;
  const fits = (clock) => clock === 0 || normalDelta(size / 1e6, clock / 1e6) * WIDER <= most;
  let [low, high] = [0, 1];
  while (fits(high)) [low, high] = [high, 2 * high];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return Math.max(0, low - LEAST_CLOCK);
}
