// SHA-384 (FIPS 180-4), of short texts; written out for the same reason as SHA-256.

const WORD = (1n << 64n) - 1n;
const primes = [];
for (let number = 2n; primes.length < 80; number++) {
  if (primes.every((prime) => number % prime)) primes.push(number);
}

/** Return the first 64 bits behind the point of the root of a number, of degree 2 or 3. */
function fraction(number, degree) {
  const power = number << (64n * degree);
  let root = 1n << 72n;
  for (let bit = 1n << 71n; bit; bit >>= 1n) {
    if ((root - bit) ** degree > power) root -= bit;
  }
  return (root - 1n) & WORD;
}

const START = primes.slice(8, 16).map((prime) => fraction(prime, 2n));
const ROUND = primes.map((prime) => fraction(prime, 3n));
const turn = (word, by) => (word >> by) | ((word << (64n - by)) & WORD);

/** Return the SHA-384 of bytes, as 48 bytes. */
export function sha384(bytes) {
  const length = ((bytes.length + 16) >> 7) * 128 + 128;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(length - 8, 8n * BigInt(bytes.length));
  let state = START;
  for (let block = 0; block < length; block += 128) state = mixed(state, view, block);
  const result = new DataView(new ArrayBuffer(48));
  state.slice(0, 6).forEach((word, place) => result.setBigUint64(8 * place, word));
  return new Uint8Array(result.buffer);
}

function mixed(state, view, block) {
  const words = [];
  for (let t = 0; t < 80; t++) {
    if (t < 16) {
      words.push(view.getBigUint64(block + 8 * t));
      continue;
    }
    const [early, late] = [words[t - 15], words[t - 2]];
    const low = turn(early, 1n) ^ turn(early, 8n) ^ (early >> 7n);
    const high = turn(late, 19n) ^ turn(late, 61n) ^ (late >> 6n);
    words.push((words[t - 16] + low + words[t - 7] + high) & WORD);
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 80; t++) {
    const choose = (e & f) ^ (~e & WORD & g);
    const most = (a & b) ^ (a & c) ^ (b & c);
    const one = h + (turn(e, 14n) ^ turn(e, 18n) ^ turn(e, 41n)) + choose + ROUND[t] + words[t];
    const two = (turn(a, 28n) ^ turn(a, 34n) ^ turn(a, 39n)) + most;
    [a, b, c, d, e, f, g, h] = [(one + two) & WORD, a, b, c, (d + one) & WORD, e, f, g];
  }
  return [a, b, c, d, e, f, g, h].map((word, place) => (state[place] + word) & WORD);
}
