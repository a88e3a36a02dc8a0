// Zero-concentrated loss, rho: levels are named by it, and surveyors choose the noise of two parties
// by it. What is charged and promised is in loss.js.
//
// Amounts are millionths, rounded up. Where a supremum or an order is searched in floats, the
// margin is far above what rounding does: the search can cost precision, never the proof.

import {
  FIXED_ONE,
  amountOf,
  ceil,
  exp,
  floor,
  fractionOfFloat,
  log,
} from "./fractions.js";
import { DELTA } from "./room.js";

const MILLION = 1000000n;
const GUARD = 10n ** 30n;
const SLACK = 1e-7; // how far above the supremum the search may stop
const ERROR = 1e-12;
const SEARCH_TURNS = 200;
const SMALLEST_EXCESS = 1e-9;

/**
 * Return the rho of whatever is epsilon-private: epsilon tanh(epsilon / 2).
 *
 * @param {number} epsilon millionths
 */
export function rhoOfPure(epsilon) {
  if (epsilon === Infinity || epsilon === 0) return epsilon;
  if (epsilon > 200e6) return epsilon; // tanh is 1 to 80 digits
  const [, growth] = exp(BigInt(epsilon), MILLION); // tanh grows with it
  const bound = ceil(BigInt(epsilon) * (growth - FIXED_ONE), growth + FIXED_ONE);
  return Math.min(epsilon, amountOf(bound));
}

/**
 * Return the rho of randomized response, never below the true one.
 *
 * The supremum over orders of the Renyi divergence per order is enclosed: the divergence grows with
 * the order, so between two orders it is at most that of the larger over the smaller one.
 *
 * @param {number} symbols how many different reports there are
 * @param {number} epsilon of one report, in millionths
 */
export function rhoOfResponse(symbols, epsilon) {
  const closed = rhoOfPure(epsilon);
  if (symbols === 2 || closed === 0 || closed === Infinity) return closed;
  const size = epsilon / 1e6;
  const kullbackLeibler = (size * -Math.expm1(-size)) / (1 + (symbols - 1) * Math.exp(-size));
  const last = Math.max(2, size / kullbackLeibler) / 1e-3;
  const excess = Array.from({ length: 256 }, (_, i) => 1e-3 * last ** (i / 255));
  const points = [0, ...excess].map((x) => [x, divergence(x, size, symbols)]);
  let found = Math.max(...points.map(([x, d]) => d / (1 + x)));
  let open = points.slice(1).map((high, i) => [points[i], high]);
  for (;;) {
    const enough = found * (1 + SLACK / 10) + SLACK;
    open = open.filter(([[low], [, atHigh]]) => atHigh / (1 + low) > enough);
    if (!open.length) return Math.min(closed, Math.ceil(enough * (1 + ERROR) * 1e6));
    open = open.flatMap(([low, high]) => {
      const middle = (low[0] + high[0]) / 2;
      const at = [middle, divergence(middle, size, symbols)];
      found = Math.max(found, at[1] / (1 + middle));
      return [[low, at], [at, high]];
    });
  }
}

/** Return the Renyi divergence of order 1 + excess between the reports of two answers. */
function divergence(excess, epsilon, symbols) {
  const others = Math.log1p((symbols - 1) * Math.exp(-epsilon));
  if (excess === 0) return epsilon * -Math.expm1(-epsilon) * Math.exp(-others);
  const growth = excess * epsilon;
  const logX =
    growth + Math.log(-Math.expm1(-growth)) + Math.log(-Math.expm1(-(1 + excess) * epsilon)) - others;
  return Math.max(logX, 0) / excess + Math.log1p(Math.exp(-Math.abs(logX))) / excess;
}

/**
 * Return an epsilon with which every mechanism of this rho is (epsilon, delta)-private.
 *
 * It is the smallest over orders a > 1 of a rho + ln(1 - 1/a) - ln(delta a) / (a - 1) (Canonne,
 * Kamath and Steinke, 2020, Proposition 12). Each order gives a bound.
 *
 * @param {number} rho millionths
 * @param {[bigint, bigint]} delta
 */
export function epsilonOfRho(rho, delta = DELTA) {
  if (rho === 0 || rho === Infinity) return rho;
  const [top, bottom] = fractionOfFloat(bestOrder(rho / 1e6, delta));
  const [least] = log(top, top - bottom);
  const [logs] = log(delta[0] * top, delta[1] * bottom);
  const failure = floor(logs * bottom, top - bottom);
  const bound = ceil(top * BigInt(rho) * FIXED_ONE, bottom * MILLION) - least - failure;
  return Math.max(0, amountOf(ceil((bound + FIXED_ONE / GUARD) * MILLION, FIXED_ONE)));
}

/** Return nearly the order with the smallest bound, by golden section over ln(order - 1). */
function bestOrder(rho, [top, bottom]) {
  const logDelta = Math.log(Number(top)) - Math.log(Number(bottom));
  const bound = (logExcess) => {
    const order = 1 + Math.exp(logExcess);
    const entropy = logExcess - Math.log(order);
    return order * rho + entropy - (logDelta + Math.log(order)) / Math.exp(logExcess);
  };
  const middle = 0.5 * Math.log(-logDelta / rho);
  let [low, high] = [middle - 10, middle + 10];
  const ratio = (Math.sqrt(5) - 1) / 2;
  for (let turn = 0; turn < SEARCH_TURNS; turn++) {
    const [left, right] = [high - ratio * (high - low), low + ratio * (high - low)];
    if (bound(left) < bound(right)) high = right;
    else low = left;
  }
  return 1 + Math.max(Math.exp(low), SMALLEST_EXCESS);
}
