// Blind RSA signatures: the device's half of RFC 9474, RSABSSA-SHA384-PSS-Randomized.
//
// Numbers of JavaScript do not work in constant time. What could be told by time are the random
// numbers of this one ticket, to somebody who measures on this device, and these hide nothing more
// once it is spent.

import { sha384 } from "./sha384.js";

const EXPONENT = 65537n;
const HASH = 48; // bytes of SHA-384, and of the salt in this variant

/** Return the whole number that bytes are, the highest first. */
export const numberOf = (bytes) =>
  BigInt(`0x0${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`);

/** Return a whole number as so many bytes. */
export function bytesOf(number, length) {
  const digits = number.toString(16).padStart(2 * length, "0");
  return Uint8Array.from({ length }, (_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}

/** Return random bytes of the system. */
export const randomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

function power(base, exponent, modulus) {
  let [result, square] = [1n, base % modulus];
  for (let left = exponent; left; left >>= 1n) {
    if (left & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

/** Return the inverse of a number, or null where it has none. */
function inverseOf(number, modulus) {
  let [above, below, first, second] = [modulus, number % modulus, 0n, 1n];
  while (below) {
    const times = above / below;
    [above, below, first, second] = [below, above - times * below, second, first - times * second];
  }
  return above === 1n ? ((first % modulus) + modulus) % modulus : null;
}

function stretched(seed, length) {
  const made = new Uint8Array(length + HASH);
  for (let at = 0; at < length; at += HASH) {
    made.set(sha384(Uint8Array.of(...seed, ...bytesOf(BigInt(at / HASH), 4))), at);
  }
  return made.subarray(0, length);
}

/** Return EMSA-PSS-ENCODE of a message, for a modulus of whole bytes (RFC 8017, section 9.1.1). */
function encoded(message, size, salt) {
  const digest = sha384(Uint8Array.of(...new Uint8Array(8), ...sha384(message), ...salt));
  const block = new Uint8Array(size - HASH - 1);
  block[block.length - salt.length - 1] = 1;
  block.set(salt, block.length - salt.length);
  const mask = stretched(digest, block.length);
  const masked = block.map((byte, at) => byte ^ mask[at]);
  masked[0] &= 0x7f;
  return Uint8Array.of(...masked, ...digest, 0xbc);
}

/**
 * Return what the signer may see of a message, and what unblinds the signature: hexadecimal texts,
 * to be kept until it has come; null where the message shares a factor with the modulus.
 *
 * Blinding keeps such a factor (RFC 9474, section 4.2): by a modulus of many small primes a signer
 * would tell tickets apart. With a key of two large primes it happens to nobody.
 *
 * @param {string} key the modulus in hexadecimal digits
 * @param {Uint8Array} message
 * @param {{salt?: Uint8Array, inverse?: bigint}} given drawn, but for test vectors
 */
export function blind(key, message, given = {}) {
  const modulus = BigInt(`0x${key}`);
  const size = key.length / 2;
  const salt = given.salt ?? randomBytes(HASH);
  const number = numberOf(encoded(message, size, salt));
  if (!inverseOf(number, modulus)) return null;
  let { inverse = null } = given;
  let factor = inverse && inverseOf(inverse, modulus);
  while (!factor) {
    // Drawn uniformly: what is at or above the modulus is drawn anew.
    inverse = numberOf(randomBytes(size));
    factor = inverse < modulus ? inverseOf(inverse, modulus) : null;
  }
  const blinded = (number * power(factor, EXPONENT, modulus)) % modulus;
  return {
    blinded: blinded.toString(16).padStart(2 * size, "0"),
    inverse: inverse.toString(16),
    expected: number.toString(16),
  };
}

/**
 * Return the signature from that of the blinded message, as bytes; null where it is none.
 *
 * It verifies if its power is the very number that was blinded.
 */
export function finalize(key, { inverse, expected }, signature) {
  const modulus = BigInt(`0x${key}`);
  if (signature.length !== key.length / 2) return null;
  const number = (numberOf(signature) * BigInt(`0x${inverse}`)) % modulus;
  if (power(number, EXPONENT, modulus) !== BigInt(`0x${expected}`)) return null;
  return bytesOf(number, signature.length);
}
