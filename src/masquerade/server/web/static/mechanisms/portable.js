// Logarithms, exponentials and normal tails that are the same in every language: the device's half
// of exact/portable.py. `ln` and `exp` use whole numbers alone, in units of 2^-160; `normalDelta`
// uses doubles with + - * / and the square root alone. Both give the same digits by construction.

export const BITS = 160n;
export const ONE = 1n << BITS;
export const GUARD = 1n << 30n; // 2^-130, above every rounding error of `ln`

/** Return ln(n / m) in units of 2^-160, for n >= m > 0. */
export function ln(n, m = 1n) {
  let twos = BigInt(lengthOf(n) - lengthOf(m));
  if (n < m << twos) twos -= 1n;
  const x = (n << BITS) / (m << twos); // n / m = x 2^twos, with x from 1 to 2
  return twiceArtanh(x - ONE, x + ONE) + twos * LN_2;
}

/** Return e^(n / m) in units of 2^-(160 + more), for n >= 0 and m > 0. */
export function exp(n, m = 1n, more = 0n) {
  return more ? longExp(n, m, BITS + more) : shortExp(n, m);
}

function shortExp(n, m) {
  const whole = (n << BITS) / m;
  const twos = whole / LN_2;
  const rest = whole - twos * LN_2;
  let [total, term] = [ONE, ONE];
  for (let k = 1n; term > 0n; k++) {
    term = ((term * rest) >> BITS) / k;
    total += term;
  }
  return total << twos;
}

/** The series of a fraction of the exponent, squared as often as it was halved. */
function longExp(n, m, bits) {
  const one = 1n << bits;
  const halvings = BigInt(lengthOf(n / m));
  const x = (n << bits) / (m << halvings);
  let [total, term] = [one, one];
  for (let k = 1n; term > 0n; k++) {
    term = ((term * x) >> bits) / k;
    total += term;
  }
  for (let k = 0n; k < halvings; k++) total = (total * total) >> bits;
  return total;
}

/** 2 artanh(n / m). */
function twiceArtanh(n, m) {
  let power = (n << BITS) / m;
  const square = (power * power) >> BITS;
  let total = 0n;
  for (let k = 1n; power > 0n; k += 2n) {
    total += power / k;
    power = (power * square) >> BITS;
  }
  return 2n * total;
}

const LN_2 = twiceArtanh(1n, 3n);

/** Return how many bits a whole number from 0 on has. */
export function lengthOf(number) {
  if (number === 0n) return 0;
  const digits = number.toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

const LN_2_HIGH = 0.693145751953125; // 20 binary digits, so that a multiple is exact
const LN_2_LOW = 1.42860682030941723212e-6;
const FACTORIALS = [1];
for (let k = 1; k < 15; k++) FACTORIALS.push(FACTORIALS[k - 1] * k);
const LEAST_EXPONENT = -700;

/** Return e^x by the four basic operations; below -700, e^-700, which is above it. */
export function doubleExp(given) {
  const x = Math.max(given, LEAST_EXPONENT);
  const twos = Math.floor(x / (LN_2_HIGH + LN_2_LOW) + 0.5);
  const rest = x - twos * LN_2_HIGH - twos * LN_2_LOW;
  let total = 1 / FACTORIALS[14];
  for (let k = 13; k >= 0; k--) total = total * rest + 1 / FACTORIALS[k];
  const factor = twos > 0 ? 2 : 0.5;
  for (let k = 0; k < Math.abs(twos); k++) total *= factor;
  return total;
}

/** Return e^(x^2) erfc(x) (Cody, 1969, Rational Chebyshev approximations). */
export function scaledErrors(x) {
  if (x < -0.46875) return 2 * doubleExp(x * x) - scaledErrors(-x);
  if (x <= 0.46875) return doubleExp(x * x) * (1 - x * ratio(x * x, NEAR));
  if (x <= 4) return ratio(x, MIDDLE);
  const square = 1 / (x * x);
  return (1 / Math.sqrt(Math.PI) - square * ratio(square, FAR)) / x;
}

/** Return delta at `epsilon` of Gaussian noise with mu^2 = variance (Balle and Wang, 2018). */
export function normalDelta(epsilon, variance) {
  const [root, s] = [Math.sqrt(2), Math.sqrt(variance)];
  const a = (epsilon / s - s / 2) / root;
  const b = (epsilon / s + s / 2) / root;
  return (doubleExp(-a * a) * (scaledErrors(a) - scaledErrors(b))) / 2;
}

function ratio(x, [top, bottom]) {
  const at = (coefficients) => coefficients.reduce((total, one) => total * x + one);
  return at(top) / at(bottom);
}

const NEAR = [
  [1.85777706184603153e-1, 3.1611237438705656, 113.864154151050156, 377.485237685302021, 3209.37758913846947],
  [1, 23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062],
];
const MIDDLE = [
  [
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 66.1191906371416295, 298.635138197400131,
    881.95222124176909, 1712.04761263407058, 2051.07837782607147, 1230.33935479799725,
  ],
  [
    1, 15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019, 3290.79923573345963,
    4362.61909014324716, 3439.36767414372164, 1230.33935480374942,
  ],
];
const FAR = [
  [
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
    1.60837851487422766e-2, 6.58749161529837803e-4,
  ],
  [1, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3],
];
