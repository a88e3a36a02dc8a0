// The loss of reports: pure epsilon, Renyi divergences and Gaussian clock, in whole millionths that
// are rounded up. The device's half of exact/loss.py, where each formula is proven; both give the
// same whole numbers. A loss is {pure, orders, clock}; Infinity where nothing bounds an amount.

import { FIXED_ONE, amountOf, ceil, exp as expBounds, sum } from "./fractions.js";
import { BITS, GUARD, ONE, exp, lengthOf, ln } from "./portable.js";

/** Orders of the divergences of a loss. */
export const ORDERS = [2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

const MILLION = 1000000n;
const LARGE = 64000000; // from here on a divergence is the pure epsilon
const RARE = 1000000n; // a chance of 1 in so many
const SLACK = 1e-7; // how far above the supremum the search for a rho may stop
const ERROR = 1e-12; // relative, far above what rounding does to it

export const NO_LOSS = { pure: 0, orders: ORDERS.map(() => 0), clock: 0 };
export const IN_CLEAR = { pure: Infinity, orders: ORDERS.map(() => Infinity), clock: Infinity };

/** Return the loss of all of these together, one after the other. */
export function together(losses) {
  return {
    pure: sum(losses.map(({ pure }) => pure)),
    orders: ORDERS.map((_, place) => sum(losses.map(({ orders }) => orders[place]))),
    clock: sum(losses.map(({ clock }) => clock)),
  };
}

/** Return the loss of `count` reports of one loss each. */
export function times({ pure, orders, clock }, count) {
  if (count === 0) return NO_LOSS;
  const all = (amount) => sum([amount * count]);
  return { pure: all(pure), orders: orders.map(all), clock: all(clock) };
}

/** Return the same loss where a smaller pure epsilon is known for it as a whole. */
export function withinPure(loss, epsilon) {
  const pure = Math.min(loss.pure, epsilon);
  return { ...loss, pure, orders: loss.orders.map((amount) => Math.min(pure, amount)) };
}

const known = new Map();

function cached(key, make) {
  if (!known.has(key)) known.set(key, make());
  return known.get(key);
}

/** Return the loss of whatever is known by this pure epsilon alone, in millionths. */
export function pureLoss(epsilon) {
  if (epsilon === Infinity) return IN_CLEAR;
  if (epsilon === 0) return NO_LOSS;
  return cached(`pure ${epsilon}`, () => {
    const size = BigInt(epsilon);
    const divergence = (a) => {
      const above = exp((2n * a - 1n) * size, MILLION) + ONE;
      return share(above, exp(a * size, MILLION) + exp((a - 1n) * size, MILLION), a);
    };
    return bounded(epsilon, divergence);
  });
}

/** Return the loss of randomized response, of numbers that keep the answer and report another. */
export function responseLoss(keep, other, symbols) {
  return threeWayLoss(keep, other, (symbols - 2n) * other);
}

/** Return the loss of a report that speaks for an answer, for the other one, or for neither. */
export function threeWayLoss(keep, other, neither) {
  if (keep === other) return NO_LOSS;
  if (keep <= 0n || other <= 0n) return IN_CLEAR;
  return cached(`three ${keep} ${other} ${neither}`, () => {
    const divisor = [other, neither].reduce(commonDivisor, keep);
    const [kept, each, between] = [keep / divisor, other / divisor, neither / divisor];
    const total = kept + each + between;
    const [most, least] = kept > each ? [kept, each] : [each, kept];
    const divergence = (a) => {
      const [k, o] = [kept ** (a - 1n), each ** (a - 1n)];
      return share(k * k * kept + o * o * each + between * k * o, total * k * o, a);
    };
    return bounded(share(most, least, 2n), divergence);
  });
}

function commonDivisor(one, other) {
  let [divisor, rest] = [one, other];
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest];
  return divisor;
}

/** Return the loss of discrete Laplace noise; `scale` is a fraction of steps. */
export function laplaceLoss(steps, [bottom, top]) {
  if (steps === 0n) return NO_LOSS;
  return cached(`laplace ${steps} ${bottom}/${top}`, () => {
    const pure = amountOf(ceil(steps * top * MILLION, bottom));
    const lost = 2n * BigInt(Math.max(0, lengthOf(bottom) - lengthOf(top)));
    const power = (count) => exp(count * top, bottom, lost);
    const one = 1n << (BITS + lost);
    const divergence = (a) => {
      const [h, r] = [power(1n), power(2n * a - 1n)];
      const x = power((2n * a - 1n) * steps);
      const above = (x + one) * h * (r - one) + one * (h - one) * (x - r);
      return share(above, (h + one) * (r - one) * power(a * steps), a);
    };
    return bounded(pure, divergence);
  });
}

/**
 * Return the loss of discrete Gaussian noise on a lattice.
 *
 * @param {bigint} squared square of the largest Euclidean change, in squared steps
 * @param {bigint} largest square of the largest change of one coordinate
 * @param {[bigint, bigint]} variance parameter of the noise of each coordinate
 */
export function noiseLoss(squared, largest, [top, bottom]) {
  if (squared === 0n) return NO_LOSS;
  const orders = ORDERS.map((a) =>
    amountOf(ceil(BigInt(a) * squared * bottom * MILLION, 2n * top)),
  );
  // v^2 / 32 >= 2 (v / 32 + largest), so that the clock of Theorem 2 counts
  const fine = top * top >= 2n * bottom * (top + 32n * largest * bottom);
  const clock = fine ? amountOf(ceil(squared * bottom * MILLION, top)) : Infinity;
  return { pure: Infinity, orders, clock };
}

/** Return the loss of what is known by its rho alone, in millionths. */
export function rhoLoss(rho) {
  if (rho === 0) return NO_LOSS;
  return { pure: Infinity, orders: ORDERS.map((a) => sum([a * rho])), clock: Infinity };
}

/**
 * Return a bound, in millionths, that the log ratio of two worlds exceeds with a chance of at most
 * one in so many `chances`, a million; exact/loss.py says why.
 */
export function tail({ pure, orders }, chances = RARE) {
  const rare = ln(chances);
  return Math.min(pure, ...orders.map((amount, place) => amount + rounded(rare, BigInt(ORDERS[place]))));
}

/** Return an epsilon, in millionths, with which a loss is (epsilon, 1e-6)-private. */
export function epsilonOfOrders({ pure, orders }) {
  const bounds = orders.map((amount, place) => {
    if (amount === Infinity) return Infinity;
    const a = BigInt(ORDERS[place]);
    // ln(1 / (delta a)) / (a - 1) - ln(a / (a - 1)), rounded up
    const failure = ceil(ln(RARE, a), a - 1n) - ln(a, a - 1n) + GUARD;
    return Math.max(0, amount + Number(ceil(failure * MILLION, ONE)));
  });
  return Math.min(pure, ...bounds);
}

function bounded(pure, divergence) {
  const orders = ORDERS.map((a) => (pure >= LARGE ? pure : Math.min(pure, divergence(BigInt(a)))));
  return { pure, orders, clock: Infinity };
}

/** Return ln(above / below) / (a - 1) in millionths, rounded up; 0 where it is below 0. */
function share(above, below, a) {
  return above <= below ? 0 : rounded(ln(above, below), a);
}

/** Return log / (a - 1) in millionths, rounded up. */
function rounded(log, a) {
  return amountOf(ceil((log + GUARD) * MILLION, (a - 1n) << BITS));
}

/**
 * Return the rho of whatever is epsilon-private: epsilon tanh(epsilon / 2).
 *
 * @param {number} epsilon millionths
 */
export function rhoOfPure(epsilon) {
  if (epsilon === Infinity || epsilon === 0) return epsilon;
  if (epsilon > 200e6) return epsilon; // tanh is 1 to 80 digits
  const [, growth] = expBounds(BigInt(epsilon), MILLION); // tanh grows with it
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
  return rhoOfKept(1 / (1 + (symbols - 1) * Math.exp(-epsilon / 1e6)), epsilon);
}

/** Return the rho of a report with three losses, of which the first has the probability `kept`. */
export function rhoOfKept(kept, epsilon) {
  const closed = rhoOfPure(epsilon);
  if (closed === 0 || closed === Infinity) return closed;
  const size = epsilon / 1e6;
  const others = -Math.log(kept);
  const kullbackLeibler = size * -Math.expm1(-size) * kept;
  const last = Math.max(2, size / kullbackLeibler) / 1e-3;
  const excess = Array.from({ length: 256 }, (_, i) => 1e-3 * last ** (i / 255));
  const points = [0, ...excess].map((x) => [x, divergencePast(x, size, others)]);
  let found = Math.max(...points.map(([x, d]) => d / (1 + x)));
  let open = points.slice(1).map((high, i) => [points[i], high]);
  for (;;) {
    const enough = found * (1 + SLACK / 10) + SLACK;
    open = open.filter(([[low], [, atHigh]]) => atHigh / (1 + low) > enough);
    if (!open.length) return Math.min(closed, Math.ceil(enough * (1 + ERROR) * 1e6));
    open = open.flatMap(([low, high]) => {
      const middle = (low[0] + high[0]) / 2;
      const at = [middle, divergencePast(middle, size, others)];
      found = Math.max(found, at[1] / (1 + middle));
      return [[low, at], [at, high]];
    });
  }
}

/** Return the Renyi divergence of order 1 + excess between the reports of two answers. */
function divergencePast(excess, epsilon, others) {
  if (excess === 0) return epsilon * -Math.expm1(-epsilon) * Math.exp(-others);
  const growth = excess * epsilon;
  const logX =
    growth + Math.log(-Math.expm1(-growth)) + Math.log(-Math.expm1(-(1 + excess) * epsilon)) - others;
  return Math.max(logX, 0) / excess + Math.log1p(Math.exp(-Math.abs(logX))) / excess;
}
