// The extendable output function of the draft (VDAF draft 20, 6.2.1): XofTurboShake128.

import { TurboShake128 } from "./turboshake.js";

export const SEED_SIZE = 32;
const VERSION = 18; // of the wire format: drafts 18 to 20 share it
const CLASS_VDAF = 0;

/** Return byte strings one after another. */
export function joined(...parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}

/** Return a whole number in this many bytes, the highest first. */
export function bigEndian(value, size) {
  const bytes = new Uint8Array(size);
  let left = BigInt(value);
  for (let place = size - 1; place >= 0; place--) {
    bytes[place] = Number(left & 0xffn);
    left >>= 8n;
  }
  if (left !== 0n) throw new RangeError(`${value} does not fit in ${size} bytes.`);
  return bytes;
}

/** Return the tag of one use of the function by one algorithm (6.2.3). */
export function domainSeparationTag(algorithm, usage, context) {
  const head = [VERSION, CLASS_VDAF, ...bigEndian(algorithm, 4), ...bigEndian(usage, 2)];
  return joined(head, context);
}

function stream(seed, tag, binder) {
  // each length before its part, so that no two inputs give the same message
  const lengths = [[tag.length & 0xff, tag.length >> 8], [seed.length]];
  return new TurboShake128(joined(lengths[0], tag, lengths[1], seed, binder), 1);
}

/** Return a new seed from another. */
export function deriveSeed(seed, tag, binder) {
  return stream(seed, tag, binder).read(SEED_SIZE);
}

/** Return elements of a field from a seed, uniform on it by rejection (6.2). */
export function expand(field, seed, tag, binder, length) {
  const source = stream(seed, tag, binder);
  let values = field.unpack(source.read(length * field.size));
  // A number at or above the modulus is left out, and as many are read on.
  while (values.some((value) => value >= field.modulus)) {
    values = values.filter((value) => value < field.modulus);
    values.push(...field.unpack(source.read((length - values.length) * field.size)));
  }
  return values;
}
