// Circuits over vectors of bits: each element is checked to be 0 or 1 (VDAF draft 20, 7.4.3).
//
// In chunks, each by one call of a sum of products r^(j+1) x_j (x_j - 1), with a random r that is
// known only once the bits are fixed. The device's half of aggregate/bit_circuits.py.

import { gadgetLength, wireLength } from "./proof.js";

/** The sum of products of pairs of inputs (appendix A.3 over A.1). */
export class SumOfProducts {
  constructor(field, count) {
    Object.assign(this, { field, arity: 2 * count, degree: 2 });
  }

  evaluate(inputs) {
    let sum = 0n;
    for (let place = 0; place < inputs.length; place += 2) {
      sum += inputs[place] * inputs[place + 1];
    }
    return sum % this.field.modulus;
  }
}

/** A circuit whose measurement is a vector of bits; a subclass says how answers become bits. */
export class BitCircuit {
  /**
   * @param {object} field
   * @param {number} bits
   * @param {number} chunk bits that one call of the gadget checks
   * @param {number[]} squared for each sum of squares that a check needs, how many are squared
   */
  constructor(field, bits, chunk, squared = []) {
    Object.assign(this, { field, chunk, measurementLength: bits });
    this.gadgets = [new SumOfProducts(field, chunk)];
    this.jointRandLength = Math.ceil(bits / chunk);
    this.squareCalls = squared.map((numbers) => Math.ceil(numbers / chunk));
    this.calls = [this.squareCalls.reduce((sum, calls) => sum + calls, this.jointRandLength)];
  }

  /** Return the numbers whose squares are summed, one list for each sum. */
  squared() {
    return [];
  }

  /** Return `r^(j+1) x_j` and `x_j - 1` of each bit, then numbers to be squared twice, by call. */
  wires(encoded, joint, shares) {
    const { field } = this;
    const one = field.inverse(BigInt(shares)); // one party's share of the constant 1
    const wires = [];
    // powers[call] is r^(j + 1) for the j-th place of a chunk; each call has an r of its own
    let powers = joint;
    for (const column of this.columns(encoded)) {
      wires.push(column.map((bit, call) => (powers[call] * bit) % field.modulus));
      wires.push(column.map((bit) => field.reduce(bit - one)));
      powers = powers.map((power, call) => (power * joint[call]) % field.modulus);
    }
    for (const numbers of this.squared(encoded, one)) {
      this.columns(numbers).forEach((column, place) => {
        wires[2 * place].push(...column);
        wires[2 * place + 1].push(...column);
      });
    }
    return [wires];
  }

  /** Return for each place in a chunk the values there, by call; 0 beyond the end. */
  columns(values) {
    const calls = Math.ceil(values.length / this.chunk);
    return Array.from({ length: this.chunk }, (_, place) =>
      Array.from({ length: calls }, (_, call) => values[call * this.chunk + place] ?? 0n),
    );
  }
}

/**
 * Return weights of bits of which every subset adds up to a number from 0 to `largest` (7.4.2):
 * powers of two, but for the last, which is what is missing to `largest`.
 */
export function bitWeights(largest) {
  const powers = [];
  for (let power = 1n; 2n * power <= largest; power *= 2n) powers.push(power);
  return [...powers, largest - powers.reduce((sum, power) => sum + power, 0n)];
}

/** Return bits that, by `bitWeights`, stand for a number from 0 to `largest`. */
export function bitsOf(value, largest) {
  requireWhole(value, largest);
  const weights = bitWeights(largest);
  const full = (1n << BigInt(weights.length - 1)) - 1n;
  // the last weight is used only where the powers of two are not enough
  const last = BigInt(value > full);
  const rest = value - last * weights.at(-1);
  return weights.map((_, place) =>
    place === weights.length - 1 ? last : (rest >> BigInt(place)) & 1n,
  );
}

/** Refuse everything but a whole number from 0 to `largest`. */
export function requireWhole(value, largest) {
  if (typeof value !== "bigint" || value < 0n || value > largest) {
    throw new RangeError(`an answer is no whole number from 0 to ${largest}.`);
  }
}

/** Return the whole number that a code is, as a BigInt. */
export function wholeOf(code) {
  if (!Number.isSafeInteger(code)) throw new RangeError("an answer is no whole number.");
  return BigInt(code);
}

/** Return the chunk with the shortest proof, then the fewest nodes, then the smallest. */
export function bestChunk(bits, squared) {
  let best = { size: [Infinity, Infinity] };
  for (let chunk = 1; chunk <= bits; chunk++) {
    // every sum of squares begins with a call of its own, so each is rounded up by itself
    const calls = [bits, ...squared].reduce((sum, numbers) => sum + Math.ceil(numbers / chunk), 0);
    const size = [2 * chunk + gadgetLength(2, calls), wireLength(calls)];
    const difference = size[0] - best.size[0] || size[1] - best.size[1];
    if (difference < 0) best = { chunk, size };
  }
  return best.chunk;
}
