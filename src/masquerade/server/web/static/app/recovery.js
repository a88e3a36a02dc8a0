// The participant's secret as nine words that can be read out and written down, and what a server
// sees of it. The device's half of identity.py; both run tests/vectors/recovery.json.
//
// A word is 16 bits as consonant, vowel, consonant, vowel, consonant (proquints, Wilkerson 2009).
// Eight words are the secret, the ninth is the first 16 bits of a SHA-256, which finds slips.
//
// A server sees an HMAC of the secret and its own address, which is useless at another server. Only
// secrets from before servers had one each, which have no "w" before their digits, were sent as they
// are; they are sent a last time when their account moves.

import { hmacSha256, sha256 } from "./sha256.js";

const CONSONANTS = "bdfghjklmnprstvz";
const VOWELS = "aiou";
const WORD = /^[bdfghjklmnprstvz][aiou][bdfghjklmnprstvz][aiou][bdfghjklmnprstvz]$/;

export const WORD_COUNT = 9;

/** Return what the server at an origin sees of a secret: 32 hexadecimal digits. */
export function secretAt(secret, origin) {
  const text = new TextEncoder().encode(`masquerade account ${origin}`);
  return hmacSha256(bytesOf(secret.replace("w", "")), text).slice(0, 32);
}

/** Return the secret of before, as it was sent to every server; null where there was none. */
export function formerSecret(secret) {
  return secret.startsWith("w") ? null : secret;
}

/** Return the nine words of a secret: "w" and 32 hexadecimal digits. */
export function wordsOf(secret) {
  if (!/^w?[0-9a-f]{32}$/.test(secret)) throw new RangeError("a secret has 32 hexadecimal digits.");
  const checked = secret.replace("w", "") + checkOf(secret);
  return checked.match(/.{4}/g).map((digits) => wordOf(Number.parseInt(digits, 16)));
}

/**
 * Return the secret that words stand for.
 *
 * @param {string} text nine words; capitals, and any spaces, hyphens or commas between them
 * @returns {{secret: string} | {fault: "count", given: number} | {fault: "word", word: string}
 *   | {fault: "check"}}
 */
export function secretOf(text) {
  const words = text.toLowerCase().split(/[\s,.;·-]+/).filter(Boolean);
  const unknown = words.find((word) => !WORD.test(word));
  if (unknown !== undefined) return { fault: "word", word: unknown };
  if (words.length !== WORD_COUNT) return { fault: "count", given: words.length };
  const digits = words.map((word) => bitsOf(word).toString(16).padStart(4, "0"));
  const plain = digits.slice(0, 8).join("");
  const secret = [`w${plain}`, plain].find((one) => checkOf(one) === digits[8]);
  return secret ? { secret } : { fault: "check" };
}

/** Other bits than of a secret without "w", so that words tell which of the two they are. */
function checkOf(secret) {
  const text = secret.startsWith("w") ? "masquerade words " : "";
  const bytes = bytesOf(secret.replace("w", ""));
  return sha256(Uint8Array.of(...new TextEncoder().encode(text), ...bytes)).slice(0, 4);
}

function bytesOf(digits) {
  return Uint8Array.from(digits.match(/../g), (pair) => Number.parseInt(pair, 16));
}

function wordOf(bits) {
  const consonant = (shift) => CONSONANTS[(bits >> shift) & 15];
  const vowel = (shift) => VOWELS[(bits >> shift) & 3];
  return consonant(12) + vowel(10) + consonant(6) + vowel(4) + consonant(0);
}

function bitsOf(word) {
  const consonant = (place) => CONSONANTS.indexOf(word[place]);
  const vowel = (place) => VOWELS.indexOf(word[place]);
  return (
    (consonant(0) << 12) | (vowel(1) << 10) | (consonant(2) << 6) | (vowel(3) << 4) | consonant(4)
  );
}
