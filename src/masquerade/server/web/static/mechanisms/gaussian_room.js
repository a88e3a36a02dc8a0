// How far sums of rho may go under a cap: of anything, and further where all noise is Gaussian. The
// device's half of accounting/caps.py, where the proof is; the names are those of there.
//
// Amounts are whole millionths. What is searched is worked out in floats with the library's
// margins, which are far above what rounding does.

import { DELTA_NUMBER, rhoOfCap } from "./concentrated.js";

const INFLATION = 0.0007;
const RARELY = 1e-33;
const LEAST_VARIANCE = 120n;
const SHARE = 0.7;
const FOR_RARE = 1e-6;
const LARGEST_EPSILON = 50;
const CELLS = 16384;
const ORDERS = 15;
const MARGIN = 1e-9;
const ERROR = 8e-15;
const ROOT_2 = Math.sqrt(2);

const rooms = new Map();

/**
 * Return how far sums of rho may go.
 *
 * @param {number} epsilon of the cap, in millionths
 * @returns {{rho: number, gaussian: number}} of all charges; of all where each counts as Gaussian
 */
export function roomOf(epsilon) {
  if (!rooms.has(epsilon)) rooms.set(epsilon, room(epsilon));
  return rooms.get(epsilon);
}

/**
 * Return whether noise on a lattice counts as Gaussian.
 *
 * @param {[bigint, bigint]} variance in squared steps
 */
export function isGaussian([top, bottom]) {
  return top >= LEAST_VARIANCE * bottom;
}

function room(epsilon) {
  const plain = rhoOfCap(epsilon);
  const none = { rho: plain, gaussian: plain };
  const thousandths = Math.floor(epsilon / 1000);
  if (thousandths <= 0 || thousandths > 1000 * LARGEST_EPSILON) return none;
  const size = thousandths / 1000;
  const left = DELTA_NUMBER * (1 - 2 * FOR_RARE);
  const together = (1 / leastSigma(size, SHARE * left) ** 2) * (1 - MARGIN);
  const gaussian = Math.floor((together / 2 / (1 + INFLATION)) * 1e6);
  const rare = gaussian * RARELY * (1 + Math.exp(size));
  if (gaussian <= plain || rare > FOR_RARE * DELTA_NUMBER) return none;
  const order = bestOrder(size, left, plain / 1e6, together);
  const rho = largest(plain, (micro) =>
    Math.log(largestDelta(size, order, micro / 1e6, together) / left),
  );
  return rho ? { rho, gaussian } : none;
}

/**
 * Return the largest whole number from 0 to `most` at which `excess`, which grows, is at most 0.
 * Between two places it is nearly straight, so where a line crosses 0 is looked at first.
 */
function largest(most, excess) {
  let [low, high] = [0, most + 1];
  let [below, above] = [-1, 1];
  for (let turn = 0; high - low > 1; turn++) {
    const share = turn < 2 || turn % 4 === 3 ? 0.5 : below / (below - above);
    // A step to either side of the crossing encloses it at once where the line is good.
    const aside = turn % 2 ? 1 : -1;
    const between = Math.round(low + share * (high - low)) + (turn < 4 ? 0 : aside);
    const micro = Math.min(high - 1, Math.max(low + 1, between));
    const found = excess(micro);
    if (found <= 0) [low, below] = [micro, Math.min(found, -1e-15)];
    else [high, above] = [micro, Math.max(found, 1e-15)];
  }
  return low;
}

/** Return the best of some orders: the delta falls up to it, and grows beyond it. */
function bestOrder(epsilon, delta, rho, together) {
  const aim = Math.sqrt(-Math.log(delta) / rho);
  const orderAt = (place) => 1 + aim * (0.6 + (0.7 * place) / (ORDERS - 1));
  const found = (place) => largestDelta(epsilon, orderAt(place), 0.97 * rho, together);
  let [low, high] = [0, ORDERS - 1];
  while (low < high) {
    const between = (low + high) >> 1;
    if (found(between) <= found(between + 1)) high = between;
    else low = between + 1;
  }
  return orderAt(low);
}

/** Return V(0, 0), rounded up. */
function largestDelta(epsilon, order, rho, together) {
  const clock = 2 * (1 + INFLATION) * rho;
  const rest = together - clock;
  if (rest <= 0 || clock <= 0) return 1;
  const [spread, grows] = [Math.sqrt(clock), order - 1];
  const logFactor = grows * Math.log1p(-1 / order) - Math.log(order) - grows * epsilon;
  const bottom = clock / 2 - 12 * spread;
  const step = (clock / 2 + grows * clock + 10 * spread - bottom) / CELLS;
  const valueAt = (end) =>
    Math.max(Math.exp(logFactor + grows * end), deltaOf(epsilon - end, rest));
  let place = (bottom - clock / 2) / spread;
  const below = normal(place) * valueAt(bottom);
  let [total, before] = [0, normal(place)];
  for (let cell = 1; cell <= CELLS; cell++) {
    const end = bottom + cell * step;
    const next = (end - clock / 2) / spread;
    if (next > 0 && place <= 0) before = normal(-place);
    const now = normal(next > 0 ? -next : next);
    total += Math.abs(now - before) * valueAt(end);
    [place, before] = [next, now];
  }
  const beyond =
    Math.exp(logFactor + (grows * order * clock) / 2) * normal(-10) + normal(-place);
  return (total + below + beyond) * (1 + MARGIN);
}

/** Return delta of Gaussian noise with this square of mu at an epsilon of any sign, rounded up. */
function deltaOf(epsilon, squared) {
  const mu = Math.sqrt(squared);
  const first = normal((squared / 2 - epsilon) / mu);
  const far = (squared / 2 + epsilon) / mu;
  const second =
    far > 0
      ? Math.min(1, Math.exp(epsilon - (far * far) / 2) * (scaledErrors(far / ROOT_2) / 2))
      : Math.exp(Math.min(epsilon + Math.log1p(-normal(far)), 0));
  return Math.max(first - second, 0) + 1e-13 * first;
}

/** Return the least standard deviation with which Gaussian noise is private, rounded up. */
function leastSigma(epsilon, delta) {
  const logAim = Math.log(delta);
  let [low, high] = [0, 1];
  while (logDelta(epsilon, 1 / high) > logAim) [low, high] = [high, 2 * high];
  for (;;) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) return high * (1 + 1e-15);
    if (logDelta(epsilon, 1 / middle) > logAim) low = middle;
    else high = middle;
  }
}

function logDelta(epsilon, mu) {
  const [a, b] = [epsilon / mu - mu / 2, epsilon / mu + mu / 2];
  if (a < -5) return 0; // nearly everything is lost
  const [ratioA, ratioB] = [scaledErrors(a / ROOT_2), scaledErrors(b / ROOT_2)];
  const difference = (ratioA - ratioB + ERROR * ratioA) / 2;
  const slope = 1 / Math.sqrt(2 * Math.PI) - (a * ratioA) / 2;
  const fall = mu * (slope + ERROR * (1 + Math.abs(a) * ratioA));
  const error = ERROR * (1 + Math.abs(a) * b);
  return Math.log(Math.min(difference, fall)) - (a * a) / 2 + error;
}

/** The normal distribution function. */
function normal(x) {
  const tail = Math.exp((-x * x) / 2) * (scaledErrors(Math.abs(x) / ROOT_2) / 2);
  return x < 0 ? tail : 1 - tail;
}

/** Return e^(x^2) erfc(x), to the last digits (Cody, 1969, Rational Chebyshev approximations). */
function scaledErrors(x) {
  if (x < -0.46875) return 2 * Math.exp(x * x) - scaledErrors(-x);
  if (x <= 0.46875) return Math.exp(x * x) * (1 - x * near(x * x));
  if (x <= 4) return middle(x);
  const square = 1 / (x * x);
  return (1 / Math.sqrt(Math.PI) - square * far(square)) / x;
}

// Horner's rule is written out: this is where nearly all the time goes.

function near(x) {
  const top =
    (((1.85777706184603153e-1 * x + 3.1611237438705656) * x + 113.864154151050156) * x +
      377.485237685302021) * x + 3209.37758913846947;
  const bottom =
    (((x + 23.6012909523441209) * x + 244.024637934444173) * x + 1282.61652607737228) * x +
    2844.23683343917062;
  return top / bottom;
}

function middle(x) {
  const top =
    (((((((2.15311535474403846e-8 * x + 5.64188496988670089e-1) * x + 8.88314979438837594) * x +
      66.1191906371416295) * x + 298.635138197400131) * x + 881.95222124176909) * x +
      1712.04761263407058) * x + 2051.07837782607147) * x + 1230.33935479799725;
  const bottom =
    (((((((x + 15.7449261107098347) * x + 117.693950891312499) * x + 537.181101862009858) * x +
      1621.38957456669019) * x + 3290.79923573345963) * x + 4362.61909014324716) * x +
      3439.36767414372164) * x + 1230.33935480374942;
  return top / bottom;
}

function far(x) {
  const top =
    ((((1.63153871373020978e-2 * x + 3.05326634961232344e-1) * x + 3.60344899949804439e-1) * x +
      1.25781726111229246e-1) * x + 1.60837851487422766e-2) * x + 6.58749161529837803e-4;
  const bottom =
    ((((x + 2.56852019228982242) * x + 1.87295284992346725) * x + 5.27905102951428412e-1) * x +
      6.05183413124413191e-2) * x + 2.33520497626869185e-3;
  return top / bottom;
}
