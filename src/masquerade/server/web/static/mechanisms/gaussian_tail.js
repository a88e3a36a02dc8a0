// The loss of one report with discrete Gaussian noise at a delta, bounded from above with proof:
// the device's half of exact/gaussian_tail.py, where the proof is.
//
// Answers that lie d steps apart are (epsilon, delta)-indistinguishable exactly when
// delta >= F(t) - e^epsilon F(t - d) at the largest t with (d^2 - 2 d t) / (2 v) > epsilon.

import { epsilonOfRho } from "./concentrated.js";
import { amountOfFraction, ceil, fraction } from "./fractions.js";
import { DELTA, DELTA_NUMBER } from "./room.js";

const BLOCKS_PER_SIGMA = 1024;
const SIGMAS = 12;
const FEWEST_TERMS = 48;
const MARGIN = 1e-11; // relative, far above what rounding does to sums of positive terms
const UNDERFLOW = 1e-300;

/**
 * Return the smallest epsilon, in millionths, that is proven for one report.
 *
 * @param {bigint} distance largest distance of two answers in steps
 * @param {[bigint, bigint]} variance of the noise, in squared steps
 */
export function epsilonOfOneReport(distance, variance) {
  return epsilonOfReports(distance, variance, 1);
}

/**
 * Return the smallest epsilon, in millionths, that is proven for some equal reports together: the
 * sum of their noises decides, which is nearly discrete Gaussian itself (exact/epsilon_at_delta.py).
 */
export function epsilonOfReports(one, [aboveOne, belowOne], reports) {
  // each step of the sum is off by at most eta, the largest of them at the first
  const share = Math.exp((-(Math.PI ** 2) * Number(aboveOne)) / Number(belowOne));
  const log = reports === 1 ? 0 : (2.001 * (reports - 1) * 2 * share) / (1 - share) + MARGIN;
  if (log > 0.01) return Infinity;
  const more = Math.exp(log);
  const [distance, top, bottom] = [one * BigInt(reports), aboveOne * BigInt(reports), belowOne];
  const variance = [top, bottom];
  const rho = amountOfFraction(fraction(distance * distance * bottom, 2n * top));
  let [low, high] = [-1, epsilonOfRho(rho, DELTA)];
  if (high === Infinity) return Infinity;
  const v = Number(top) / Number(bottom);
  const total = logTotal(v);
  // How far the logarithm of delta is from the aim, below it and above: the search interpolates.
  const excess = (micro) =>
    Math.log((more * deltaAtMost(distance, variance, micro, { v, total })) / DELTA_NUMBER);
  let [above, below] = [Math.max(excess(0), 1), Math.min(excess(high), -1)];
  for (let turn = 0; high - low > 1; turn++) {
    const share = turn % 3 === 2 ? 0.5 : above / (above - below);
    const between = Math.round(low + share * (high - low));
    const micro = Math.min(high - 1, Math.max(low + 1, between));
    const found = excess(micro);
    if (found <= 0) [high, below] = [micro, Math.min(found, -1e-9)];
    else [low, above] = [micro, found];
  }
  return high;
}

function deltaAtMost(distance, [top, bottom], micro, { v, total: [totalLow, totalHigh] }) {
  // distance / 2 - epsilon variance / distance, exactly
  const parts = 2n * distance * 1000000n * bottom;
  const limit = distance * distance * 1000000n * bottom - 2n * BigInt(micro) * top;
  const t = ceil(limit, parts) - 1n;
  const [farLow] = logTail(Number(distance - t), v);
  const near =
    t < 0n
      ? Math.exp(logTail(Number(-t), v)[1] - totalLow)
      : 1 - Math.exp(logTail(Number(t + 1n), v)[0] - totalHigh);
  const epsilon = micro / 1e6;
  const slack = MARGIN + 1e-15 * (epsilon + Math.abs(farLow));
  const bound = near * (1 + slack) - Math.exp(epsilon + farLow - totalHigh) * (1 - slack);
  return Math.max(bound, 0) + UNDERFLOW;
}

/** Return bounds on the log of the sum of exp(-y^2 / 2v) over all integers. */
function logTotal(v) {
  return logTail(1, v).map((tail) => Math.log1p(2 * Math.exp(tail)));
}

/**
 * Return bounds on the log of the sum of exp(-y^2 / 2v) over y >= first >= 1: point by point up to
 * 1024 points a standard deviation, in blocks of equally many beyond, where a block's mean lies
 * between the value in its middle and the mean of its ends.
 */
function logTail(first, v) {
  const sigma = Math.sqrt(v);
  const block = Math.max(1, Math.floor(sigma / BLOCKS_PER_SIGMA));
  const count = Math.ceil((SIGMAS * sigma + FEWEST_TERMS) / block);
  const relative = (distance) => Math.exp((-distance * (distance + 2 * first)) / (2 * v));
  let [low, high] = [0, 0];
  for (let place = count - 1; place >= 0; place--) {
    const start = place * block;
    const left = relative(start);
    if (block === 1) {
      [low, high] = [low + left, high + left];
      continue;
    }
    const right = relative(start + block - 1);
    const [ends, middle] = [(left + right) / 2, relative(start + (block - 1) / 2)];
    const mixed =
      start + first <= sigma * (1 + 1e-9) && start + first + block - 1 >= sigma * (1 - 1e-9);
    low += block * (mixed ? right : Math.min(ends, middle));
    high += block * (mixed ? left : Math.max(ends, middle));
  }
  const end = count * block;
  const beyond = relative(end) / -Math.expm1(-(2 * (first + end) + 1) / (2 * v));
  const logFirst = -(first ** 2) / (2 * v);
  return [logFirst + Math.log(low), logFirst + Math.log(high + beyond)];
}

/**
 * Return the least number of steps within which at least 4 of 5 draws of discrete Gaussian noise
 * lie, as accounting/words.py does.
 *
 * @param {[string, string]} variance in squared steps
 */
export function stepsOfMost([top, bottom]) {
  const v = Number(top) / Number(bottom);
  if (v > 1e6) return Math.ceil(1.2816 * Math.sqrt(v)) + 1;
  const weights = Array.from({ length: Math.ceil(40 * Math.sqrt(v)) + 2 }, (_, x) =>
    Math.exp(-(x * x) / (2 * v)),
  );
  const total = 2 * weights.reduce((all, each) => all + each) - weights[0];
  let [steps, within] = [0, weights[0]];
  while (within < total * (0.8 + 1e-9)) within += 2 * weights[++steps];
  return steps;
}
