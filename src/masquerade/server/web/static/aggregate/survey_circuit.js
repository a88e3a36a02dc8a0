// The circuit of a whole survey: one vector of bits, one proof, for all answers of a person.
//
// The device's half of aggregate/survey_circuit.py: blocks stand one after another. What each block
// checks besides is the parties' business; here are the bits, and the numbers of a ball.

import { BitCircuit, bestChunk, bitWeights, bitsOf, requireWhole, wholeOf } from "./bit_circuit.js";
import { FIELD_128 } from "./field.js";
import { Prio3 } from "./prio3.js";
import { bigEndian, joined } from "./xof.js";

/** Identifier of the circuit, from the range for private use (VDAF draft 20, section 10). */
export const SURVEY = 0xffff4d51;

/** Exactly one of `options`; the answer is its place. */
export class One {
  constructor(options) {
    requireParameters(options);
    Object.assign(this, { options, bits: options, squared: 0 });
  }

  /** Largest squared change of the counts when a person answers otherwise: two change by one. */
  get sensitivitySquared() {
    return this.options > 1 ? 2n : 0n;
  }

  encode(answer) {
    requireWhole(wholeOf(answer), BigInt(this.options - 1));
    return Array.from({ length: this.options }, (_, place) => BigInt(place === answer));
  }

  configuration() {
    return joined([1], bigEndian(this.options, 4));
  }
}

/** Any of `options`, at most `most` of them where given; the answer is a flag for each. */
export class Some {
  constructor(options, most = null) {
    requireParameters(options, most ?? 1);
    if (most > options) throw new RangeError(`most is ${most}, expected at most ${options}.`);
    const weights = most ? bitWeights(BigInt(most)).length : 0;
    Object.assign(this, { options, most, bits: options + weights, squared: 0 });
  }

  /** Every count by one; with a limit, those of two answers. */
  get sensitivitySquared() {
    return BigInt(this.most ? Math.min(this.options, 2 * this.most) : this.options);
  }

  encode(answer) {
    requireLength(answer, this.options);
    const flags = answer.map((flag) => {
      if (typeof flag !== "boolean") throw new RangeError("an option is neither on nor off.");
      return BigInt(flag);
    });
    if (!this.most) return flags;
    const chosen = flags.reduce((sum, flag) => sum + flag, 0n);
    return [...flags, ...bitsOf(chosen, BigInt(this.most))];
  }

  configuration() {
    return joined([2], bigEndian(this.options, 4), bigEndian(this.most ?? 0, 4));
  }
}

/** A whole number from 0 to `largest`. */
export class Whole {
  constructor(largest) {
    requireParameters(largest);
    const bits = bitWeights(BigInt(largest)).length;
    Object.assign(this, { largest, bits, squared: 0 });
  }

  /** From one end of the range to the other. */
  get sensitivitySquared() {
    return BigInt(this.largest) ** 2n;
  }

  /** Largest size of an output, where it is not 1. */
  get unit() {
    return BigInt(this.largest);
  }

  encode(answer) {
    return bitsOf(wholeOf(answer), BigInt(this.largest));
  }

  configuration() {
    return joined([3], bigEndian(this.largest, 8));
  }
}

/** Whole numbers from -largest to largest: as a ball, their squares add to at most largest^2. */
export class Vector {
  constructor(length, largest, ball = true) {
    requireParameters(length, largest);
    const width = 2n * BigInt(largest);
    this.weights = bitWeights(width);
    const norm = ball ? bitWeights(BigInt(largest) ** 2n).length : 0;
    const bits = length * this.weights.length + norm;
    Object.assign(this, { length, largest, ball, width, bits, squared: ball ? length : 0 });
  }

  encode(answer) {
    requireLength(answer, this.length);
    const largest = BigInt(this.largest);
    const numbers = answer.map(wholeOf);
    const bits = numbers.flatMap((value) => bitsOf(value + largest, this.width));
    if (!this.ball) return bits;
    const squares = numbers.reduce((sum, value) => sum + value * value, 0n);
    return [...bits, ...bitsOf(squares, largest ** 2n)];
  }

  /** Return the numbers that the bits stand for; `one` is the party's share of 1. */
  numbers(encoded, one) {
    const each = this.weights.length;
    return Array.from({ length: this.length }, (_, place) =>
      this.weights.reduce(
        (sum, weight, bit) => sum + weight * encoded[place * each + bit],
        -BigInt(this.largest) * one,
      ),
    );
  }

  configuration() {
    return joined([4], bigEndian(this.length, 4), bigEndian(this.largest, 8), [Number(this.ball)]);
  }
}

/** A ranking of the first `ranked` of `items`; the answer is the items, the best first. */
export class Order {
  constructor(items, ranked, optional = false) {
    requireParameters(items, ranked);
    if (items < 2 || items > 12 || ranked > items) throw new RangeError("this is no ranking.");
    const width = ranked + (ranked < items ? 1 : 0);
    const bits = items * width + (optional ? 1 : 0);
    Object.assign(this, { items, ranked, optional, width, bits, squared: 0 });
  }

  /** From one ranking to its reversal: first choices, and twice the ranks from the middle one. */
  get sensitivitySquared() {
    const ranks = Array.from({ length: this.items }, (_, at) =>
      BigInt(at < this.ranked ? 2 * at + 1 - this.items : this.ranked),
    );
    return ranks.reduce((sum, rank, at) => sum + (rank - ranks.at(-1 - at)) ** 2n, 2n * this.unit ** 2n);
  }

  get unit() {
    return BigInt(2 * (this.items - 1));
  }

  encode(answer) {
    if (answer.length === 0 && this.optional) return Array(this.bits).fill(0n);
    requireLength(answer, this.ranked);
    answer.forEach((item) => requireWhole(wholeOf(item), BigInt(this.items - 1)));
    if (new Set(answer).size < answer.length) throw new RangeError("an item is ranked twice.");
    const bits = Array.from({ length: this.items }, (_, item) => {
      const place = answer.includes(item) ? answer.indexOf(item) : this.ranked;
      return Array.from({ length: this.width }, (__, column) => BigInt(column === place));
    });
    return [...bits.flat(), ...(this.optional ? [1n] : [])];
  }

  configuration() {
    return joined([5], bigEndian(this.items, 4), bigEndian(this.ranked, 4), [Number(this.optional)]);
  }
}

/**
 * Votes on `pairs` pairs of `items`, none of which stands in two; the answer is the items that won
 * and those that lost. `ties`: a pair can end even, and is in neither.
 */
export class Matching {
  constructor(items, pairs, ties = false) {
    requireParameters(items, pairs);
    if (2 * pairs > items) throw new RangeError("pairs without an item in common are fewer.");
    const counted = ties ? bitWeights(BigInt(pairs)).length : 0;
    Object.assign(this, { items, pairs, ties, bits: 2 * items + counted, squared: 0 });
  }

  /** From all votes to the same turned round: wins and losses of all items that were shown. */
  get sensitivitySquared() {
    return BigInt(4 * this.pairs);
  }

  encode(answer) {
    requireLength(answer, 2);
    const [won, lost] = answer;
    requireLength(lost, won?.length);
    const places = [...won, ...lost];
    places.forEach((item) => requireWhole(wholeOf(item), BigInt(this.items - 1)));
    const even = this.pairs - won.length;
    if (new Set(places).size < places.length || even < 0 || (even > 0 && !this.ties)) {
      throw new RangeError("these are no votes on so many pairs without an item in common.");
    }
    const flags = [won, lost].flatMap((list) =>
      Array.from({ length: this.items }, (_, item) => BigInt(list.includes(item))),
    );
    return this.ties ? [...flags, ...bitsOf(BigInt(even), BigInt(this.pairs))] : flags;
  }

  configuration() {
    return joined([6], bigEndian(this.items, 4), bigEndian(this.pairs, 4), [Number(this.ties)]);
  }
}

/** All answers of a person in one vector of bits. */
export class SurveyCircuit extends BitCircuit {
  /**
   * @param {object[]} blocks one for each question
   * @param {number} [chunk] by default what makes the shortest proof
   */
  constructor(blocks, chunk) {
    if (!blocks.length) throw new RangeError("a survey without questions adds up nothing.");
    const bits = blocks.reduce((sum, block) => sum + block.bits, 0);
    const squared = blocks.filter((block) => block.squared).map((block) => block.squared);
    super(FIELD_128, bits, chunk ?? bestChunk(bits, squared), squared);
    this.blocks = blocks;
  }

  encode(measurement) {
    requireLength(measurement, this.blocks.length);
    return this.blocks.flatMap((block, place) => block.encode(measurement[place]));
  }

  squared(encoded, one) {
    let start = 0;
    const lists = [];
    for (const block of this.blocks) {
      const bits = encoded.slice(start, start + block.bits);
      if (block.squared) lists.push(block.numbers(bits, one).map((n) => this.field.reduce(n)));
      start += block.bits;
    }
    return lists;
  }

  /** Return the chunk and the blocks as bytes: `configuration_of` in vdaf_configuration.py. */
  configuration() {
    const blocks = this.blocks.map((block) => block.configuration());
    return joined(bigEndian(this.chunk, 4), ...blocks);
  }
}

/** Return Prio3 between two parties for a survey: Field128, one proof. */
export function prio3Survey(blocks, chunk) {
  return new Prio3(SURVEY, new SurveyCircuit(blocks, chunk));
}

function requireLength(values, length) {
  if (!Array.isArray(values) || values.length !== length) {
    throw new RangeError(`an answer has not the ${length} parts that were asked for.`);
  }
}

function requireParameters(...values) {
  if (!values.every((value) => Number.isSafeInteger(value) && value >= 1)) {
    throw new RangeError(`${values} are no whole numbers of at least 1.`);
  }
}
