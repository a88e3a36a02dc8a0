// Circuits of the standard that no device uses, for its test vectors: what a device shares with
// them is the splitting, the prover and the bits.

import {
  BitCircuit,
  bitWeights,
  bitsOf,
} from "../../../src/masquerade/server/web/static/aggregate/bit_circuit.js";
import { FIELD_128, FIELD_64 } from "../../../src/masquerade/server/web/static/aggregate/field.js";
import { Prio3 } from "../../../src/masquerade/server/web/static/aggregate/prio3.js";

const dot = (left, right) => left.reduce((sum, value, place) => sum + value * right[place], 0n);
const total = (values) => values.reduce((sum, value) => sum + value, 0n);

/** A polynomial of one input (appendix A.2), from the constant up. */
class PolyEval {
  constructor(field, coefficients) {
    Object.assign(this, { field, coefficients, arity: 1, degree: coefficients.length - 1 });
  }

  evaluate([x]) {
    const value = this.coefficients.reduceRight((sum, c) => sum * x + c, 0n);
    return this.field.reduce(value);
  }
}

class Mul {
  constructor(field) {
    Object.assign(this, { field, arity: 2, degree: 2 });
  }

  evaluate([x, y]) {
    return (x * y) % this.field.modulus;
  }
}

class OneGadget {
  constructor(gadget, bits, outputs) {
    Object.assign(this, {
      field: FIELD_64, gadgets: [gadget], calls: [bits], measurementLength: bits,
      outputLength: outputs, evaluationLength: bits, jointRandLength: 0,
    });
  }

  wires(encoded) {
    return [new Array(this.gadgets[0].arity).fill([...encoded])];
  }

  outputs(encoded, [called]) {
    return called;
  }

  truncate(encoded) {
    return encoded;
  }
}

class Count extends OneGadget {
  constructor() {
    super(new Mul(FIELD_64), 1, 1);
  }

  encode(measurement) {
    return bitsOf(BigInt(measurement), 1n);
  }

  outputs([bit], [called]) {
    return [this.field.reduce(called[0] - bit)];
  }
}

class Sum extends OneGadget {
  constructor(largest) {
    const weights = bitWeights(BigInt(largest));
    super(new PolyEval(FIELD_64, [0n, -1n, 1n]), weights.length, 1);
    Object.assign(this, { largest: BigInt(largest), weights });
  }

  encode(measurement) {
    return bitsOf(BigInt(measurement), this.largest);
  }

  truncate(encoded) {
    return [dot(encoded, this.weights) % this.field.modulus];
  }
}

/** 0, 1 or 2: the vectors' only gadget of degree 3. */
class HigherDegree extends OneGadget {
  constructor() {
    super(new PolyEval(FIELD_64, [0n, 2n, -3n, 1n]), 1, 1);
  }

  encode(measurement) {
    return [BigInt(measurement)];
  }
}

class CheckedBits extends BitCircuit {
  constructor(field, bits, chunk, outputs, checks) {
    super(field, bits, chunk);
    Object.assign(this, { outputLength: outputs, evaluationLength: 1 + checks });
  }

  outputs(encoded, [called], shares) {
    const one = this.field.inverse(BigInt(shares));
    return [total(called), ...this.checks(encoded, one)].map((value) => this.field.reduce(value));
  }

  checks() {
    return [];
  }

  truncate(encoded) {
    return encoded.slice(0, this.outputLength);
  }
}

class SumVec extends CheckedBits {
  constructor(field, { length, max_measurement: largest, chunk_length: chunk }) {
    const weights = bitWeights(BigInt(largest));
    super(field, length * weights.length, chunk, length, 0);
    Object.assign(this, { largest: BigInt(largest), weights });
  }

  encode(measurement) {
    return measurement.flatMap((value) => bitsOf(BigInt(value), this.largest));
  }

  truncate(encoded) {
    const bits = this.weights.length;
    return Array.from({ length: this.outputLength }, (_, place) =>
      dot(encoded.slice(place * bits, (place + 1) * bits), this.weights) % this.field.modulus,
    );
  }
}

class Histogram extends CheckedBits {
  constructor({ length, chunk_length: chunk }) {
    super(FIELD_128, length, chunk, length, 1);
  }

  encode(measurement) {
    return Array.from({ length: this.outputLength }, (_, place) => BigInt(place === measurement));
  }

  checks(encoded, one) {
    return [total(encoded) - one];
  }
}

class MultihotCountVec extends CheckedBits {
  constructor({ length, max_weight: most, chunk_length: chunk }) {
    const weights = bitWeights(BigInt(most));
    super(FIELD_128, length + weights.length, chunk, length, 1);
    Object.assign(this, { most: BigInt(most), weights });
  }

  encode(measurement) {
    const flags = measurement.map((flag) => BigInt(flag));
    return [...flags, ...bitsOf(total(flags), this.most)];
  }

  checks(encoded) {
    const { outputLength: options, weights } = this;
    return [total(encoded.slice(0, options)) - dot(encoded.slice(options), weights)];
  }
}

/** Return the instance of Prio3 that a vector is for. */
export function instanceOf(name, vector) {
  const { shares } = vector;
  switch (name.split("_")[0]) {
    case "Prio3Count":
      return new Prio3(1, new Count(), 1, shares);
    case "Prio3Sum":
      return new Prio3(2, new Sum(vector.max_measurement), 1, shares);
    case "Prio3SumVec":
      return new Prio3(3, new SumVec(FIELD_128, vector), 1, shares);
    case "Prio3SumVecWithMultiproof":
      return new Prio3(0xffffffff, new SumVec(FIELD_64, vector), 3, shares);
    case "Prio3Histogram":
      return new Prio3(4, new Histogram(vector), 1, shares);
    case "Prio3MultihotCountVec":
      return new Prio3(5, new MultihotCountVec(vector), 1, shares);
    case "Prio3HigherDegree":
      return new Prio3(0xffffffff, new HigherDegree(), 1, shares);
    default:
      throw new Error(`no circuit is known for ${name}.`);
  }
}
