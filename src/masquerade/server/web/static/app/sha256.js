// SHA-256 (FIPS 180-4), of short texts. Written out because browsers offer theirs over https only,
// and a survey among neighbours may run over plain http.

const primes = [];
for (let number = 2; primes.length < 64; number++) {
  if (primes.every((prime) => number % prime)) primes.push(number);
}
const first32 = (root) => ((root % 1) * 2 ** 32) | 0;
const START = primes.slice(0, 8).map((prime) => first32(Math.sqrt(prime)));
const ROUND = primes.map((prime) => first32(Math.cbrt(prime)));

const turn = (word, by) => (word >>> by) | (word << (32 - by));

/**
 * Return the SHA-256 of bytes, as 64 hexadecimal digits.
 *
 * @param {Uint8Array} bytes
 */
export function sha256(bytes) {
  const length = ((bytes.length + 8) >> 6) * 64 + 64;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, bytes.length << 3);
  const state = [...START];
  for (let block = 0; block < length; block += 64) mix(state, view, block);
  return state.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Return the HMAC-SHA256 (RFC 2104) of bytes under a key of at most 64 bytes. */
export function hmacSha256(key, bytes) {
  const padded = (value) => Uint8Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ value);
  const inner = sha256(Uint8Array.of(...padded(0x36), ...bytes)).match(/../g);
  return sha256(Uint8Array.of(...padded(0x5c), ...inner.map((pair) => Number.parseInt(pair, 16))));
}

/** Return the SHA-256 of a text's UTF-8, as 64 hexadecimal digits. */
export function sha256OfText(text) {
  return sha256(new TextEncoder().encode(text));
}

function mix(state, view, block) {
  const words = [];
  for (let t = 0; t < 64; t++) {
    if (t < 16) {
      words.push(view.getInt32(block + 4 * t));
      continue;
    }
    const [early, late] = [words[t - 15], words[t - 2]];
    const low = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const high = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words.push((words[t - 16] + low + words[t - 7] + high) | 0);
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const choose = (e & f) ^ (~e & g);
    const most = (a & b) ^ (a & c) ^ (b & c);
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choose + ROUND[t] + words[t]) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + most) | 0;
    [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index] = (state[index] + word) | 0;
  });
}
