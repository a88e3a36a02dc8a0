// The loss of one report with discrete Gaussian noise at a delta, bounded from above with proof:
// the device's half of exact/epsilon_at_delta.py, where the proof is.
//
// Answers that lie d steps apart are (epsilon, delta)-indistinguishable exactly when
// delta >= F(t) - e^epsilon F(t - d) at the largest t with (d^2 - 2 d t) / (2 v) > epsilon.
//
// Of several masks together it comes from the distribution of their losses, on a grid, as in
// accounting/loss_distribution.py: every number is an upper bound. A part is {losses, chances,
// beyond, count}: a report's losses in epsilon with their probabilities, the probability of all
// others, and how many such reports there are.

import { ceil } from "./fractions.js";
import { DELTA_NUMBER } from "./room.js";

const BLOCKS_PER_SIGMA = 1024;
const SIGMAS = 12;
const FEWEST_TERMS = 48;
const MARGIN = 1e-11; // relative, far above what rounding does to sums of positive terms
const UNDERFLOW = 1e-300;
const POINTS = 1024; // of the grid, over the losses that matter
const DEVIATIONS = 14;
const MOST_LOSSES = 1 << 17; // of one report
const TAIL = 1e-20; // probability that may be cut at each end
const SURE = 1e-9; // relative, of probabilities and of epsilon
const TURNS = 60;

/**
 * Return the smallest epsilon, in millionths, that is proven for one report.
 *
 * @param {bigint} distance largest distance of two answers in steps
 * @param {[bigint, bigint]} variance of the noise, in squared steps
 * @param {number} known an epsilon that holds
 */
export function epsilonOfOneReport(distance, variance, known) {
  const [top, bottom] = variance;
  let [low, high] = [-1, known];
  const v = Number(top) / Number(bottom);
  const total = logTotal(v);
  // How far the logarithm of delta is from the aim, below it and above: the search interpolates.
  const excess = (micro) =>
    Math.log(deltaAtMost(distance, variance, micro, { v, total }) / DELTA_NUMBER);
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

/** Return the losses of a response with whole numbers that are drawn. */
export function pointsOfResponse(keep, other, symbols) {
  return pointsOfThree(keep, other, (symbols - 2n) * other);
}

/** Return the losses of a report that speaks for an answer, for the other, or for neither. */
export function pointsOfThree(keep, other, rest) {
  const [most, least] = keep > other ? [keep, other] : [other, keep];
  const size = Math.log(Number(most) / Number(least));
  const total = Number(keep + other + rest);
  const chances = [most, rest, least].map((share) => Number(share) / total);
  return { losses: [size, 0, -size], chances, beyond: 0 };
}

/** Return the losses of whatever is known by its epsilon alone, in millionths. */
export function pointsOfPure(epsilon) {
  const size = epsilon / 1e6;
  const keep = 1 / (1 + Math.exp(-size));
  return { losses: [size, -size], chances: [keep, keep * Math.exp(-size)], beyond: 0 };
}

/** Return the losses of Laplace noise between two numbers; null where they are too many. */
export function pointsOfLaplace(steps, [top, bottom]) {
  if (steps > BigInt(MOST_LOSSES)) return null;
  const [apart, h] = [Number(steps), Number(bottom) / Number(top)];
  const losses = Array.from({ length: apart + 1 }, (_, n) => h * (apart - 2 * n));
  const rest = (n) => (n === apart ? 1 : -Math.expm1(-h));
  const weight = (n) => (n === 0 ? 1 : Math.exp(-h * n) * rest(n)) / (1 + Math.exp(-h));
  return { losses, chances: losses.map((_, n) => weight(n)), beyond: 0 };
}

/** Return the losses of Gaussian noise between two numbers; null where they are too many. */
export function pointsOfNoise(distance, [top, bottom]) {
  const [apart, v] = [Number(distance), Number(top) / Number(bottom)];
  const reach = Math.ceil(DEVIATIONS * Math.sqrt(v)) + 1;
  if (!(2 * reach < MOST_LOSSES)) return null;
  const steps = Array.from({ length: 2 * reach + 1 }, (_, place) => place - reach);
  const weights = steps.map((x) => Math.exp((-x * x) / (2 * v)));
  const total = weights.reduce((all, weight) => all + weight);
  const losses = steps.map((x) => (apart * apart - 2 * apart * x) / (2 * v));
  return { losses, chances: weights.map((weight) => weight / total), beyond: 1e-40 };
}

/** Return an epsilon, in millionths, of all parts together; Infinity where one is not known. */
export function epsilonOfParts(parts) {
  if (!parts.length || parts.some((part) => !part)) return Infinity;
  let [mean, variance] = [0, 0];
  for (const { losses, chances, count } of parts) {
    const mine = losses.reduce((all, loss, i) => all + loss * chances[i], 0);
    mean += count * mine;
    variance += count * losses.reduce((all, loss, i) => all + (loss - mine) ** 2 * chances[i], 0);
  }
  const step = (mean + DEVIATIONS * Math.sqrt(variance)) / POINTS;
  if (!(step > 0)) return Infinity;
  const all = parts.map((part) => several(onGrid(part, step), part.count)).reduce(added);
  const delta = (epsilon) => deltaAt(all, step, epsilon) * (1 + SURE);
  let [low, high] = [0, (all.start + all.chances.length) * step];
  if (delta(high) > DELTA_NUMBER) return Infinity;
  if (delta(0) <= DELTA_NUMBER) return 0;
  for (let turn = 0; turn < TURNS; turn++) {
    const middle = (low + high) / 2;
    if (delta(middle) > DELTA_NUMBER) low = middle;
    else high = middle;
  }
  return Math.ceil((high + (1 + high) * SURE) * 1e6);
}

function onGrid({ losses, chances, beyond }, step) {
  const places = losses.map((loss) => Math.floor(loss / step));
  const start = places.reduce((least, place) => Math.min(least, place));
  const end = places.reduce((most, place) => Math.max(most, place));
  const total = new Float64Array(end - start + 2);
  places.forEach((place, i) => {
    const rest = Math.min(Math.max(losses[i] - place * step, 0), step);
    const up = Math.expm1(-rest) / Math.expm1(-step);
    total[place - start] += chances[i] * (1 - up);
    total[place - start + 1] += chances[i] * up;
  });
  return trimmed({ start, chances: total, infinite: beyond });
}

/** Return the distribution of so many reports, by doubling. */
function several(one, count) {
  if (count === 1) return one;
  const half = several(one, Math.floor(count / 2));
  const both = added(half, half);
  return count % 2 ? added(both, one) : both;
}

function added(one, other) {
  const chances = new Float64Array(one.chances.length + other.chances.length - 1);
  one.chances.forEach((chance, i) => {
    for (let j = 0; j < other.chances.length; j++) chances[i + j] += chance * other.chances[j];
  });
  return trimmed({
    start: one.start + other.start,
    chances,
    infinite: one.infinite + other.infinite,
  });
}

/** Cut both ends: small losses up to the lowest point kept, large ones to infinity. */
function trimmed({ start, chances, infinite }) {
  let [first, below] = [0, 0];
  while (first < chances.length - 1 && below + chances[first] <= TAIL) below += chances[first++];
  let [last, above] = [chances.length, 0];
  while (last > first + 1 && above + chances[last - 1] <= TAIL) above += chances[--last];
  const kept = chances.slice(first, last);
  kept[0] += below;
  return { start: start + first, chances: kept, infinite: infinite + above };
}

function deltaAt({ start, chances, infinite }, step, epsilon) {
  let delta = infinite;
  chances.forEach((chance, i) => {
    const loss = (start + i) * step;
    if (loss > epsilon) delta -= chance * Math.expm1(epsilon - loss);
  });
  return delta;
}
