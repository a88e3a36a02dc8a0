// Prio3: a measurement is split into shares with a proof (VDAF draft 20, 7.2.1).
//
// The device's half of aggregate/prio3.py. Checking and adding up are the parties' own.

import { proofLengths, prove } from "./proof.js";
import { SEED_SIZE, deriveSeed, domainSeparationTag, expand, joined } from "./xof.js";

export const NONCE_SIZE = 16;

// Each use has a tag of its own, so that no stream of random elements serves two purposes.
export const USAGE = {
  measurementShare: 1,
  proofShare: 2,
  jointRandomness: 3,
  proveRandomness: 4,
  queryRandomness: 5,
  jointSeed: 6,
  jointPart: 7,
};

/** Return random bytes of the operating system; refuse to go on without. */
export function randomBytes(length) {
  const source = globalThis.crypto;
  if (typeof source?.getRandomValues !== "function") {
    throw new Error("This browser has no secure randomness, so nothing can be split.");
  }
  return source.getRandomValues(new Uint8Array(length));
}

/** Splitting of measurements of one circuit; identifiers and circuits as in aggregate/prio3.py. */
export class Prio3 {
  /**
   * @param {number} algorithm
   * @param {object} circuit
   * @param {number} proofs 1 to 255
   * @param {number} shares number of parties, 2 to 255
   */
  constructor(algorithm, circuit, proofs = 1, shares = 2) {
    Object.assign(this, { algorithm, circuit, proofs, shares, lengths: proofLengths(circuit) });
  }

  get seedsNeeded() {
    return this.shares * (this.circuit.jointRandLength ? 2 : 1);
  }

  /**
   * Return a measurement split into shares, by fresh randomness of the operating system.
   *
   * @param {*} measurement what the circuit takes
   * @param {Uint8Array} context names the task
   * @returns {{nonce: Uint8Array, publicShare: Uint8Array, inputShares: Uint8Array[]}}
   */
  shard(measurement, context) {
    const nonce = randomBytes(NONCE_SIZE);
    return this.shardFrom(measurement, context, nonce, randomBytes(this.seedsNeeded * SEED_SIZE));
  }

  /** Return a measurement split by given randomness: for test vectors, it hides nothing. */
  shardFrom(measurement, context, nonce, rand) {
    if (nonce.length !== NONCE_SIZE || rand.length !== this.seedsNeeded * SEED_SIZE) {
      throw new RangeError(`${nonce.length} and ${rand.length} random bytes are not enough.`);
    }
    const { circuit, lengths } = this;
    const { field } = circuit;
    const encoded = circuit.encode(measurement);
    const withJoint = circuit.jointRandLength > 0;
    const seeds = [];
    for (let at = 0; at < rand.length; at += SEED_SIZE) seeds.push(rand.slice(at, at + SEED_SIZE));
    // Order of the seeds: each helper's share (and blind), the leader's blind, the proof's.
    const helpers = [];
    for (let party = 1; party < this.shares; party++) {
      const seed = seeds.shift();
      helpers.push({ party, seed, blind: withJoint ? seeds.shift() : new Uint8Array(0) });
    }
    const leaderBlind = withJoint ? seeds.shift() : new Uint8Array(0);
    // The leader's share is what the helpers' shares, which are expanded from seeds, leave.
    let leader = encoded;
    const parts = [];
    for (const { party, seed, blind } of helpers) {
      const share = this.helperMeasurement(context, party, seed);
      leader = field.subtract(leader, share);
      if (withJoint) parts.push(this.jointPart(context, party, blind, share, nonce));
    }
    let joint = [];
    if (withJoint) {
      // The proof's random numbers follow from all shares: other numbers take another measurement.
      parts.unshift(this.jointPart(context, 0, leaderBlind, leader, nonce));
      joint = this.jointRandomness(context, this.jointSeed(context, parts));
    }
    const proveRand = this.expand(
      seeds.shift(), USAGE.proveRandomness, context, [this.proofs], lengths.random * this.proofs,
    );
    let proofs = [];
    for (let place = 0; place < this.proofs; place++) {
      const own = part(proveRand, lengths.random, place);
      proofs.push(...prove(circuit, encoded, own, part(joint, circuit.jointRandLength, place)));
    }
    for (const { party, seed } of helpers) {
      // The proof is shared as the measurement is.
      proofs = field.subtract(proofs, this.helperProofs(context, party, seed));
    }
    return {
      nonce,
      publicShare: joined(...parts),
      inputShares: [
        joined(field.encode(leader), field.encode(proofs), leaderBlind),
        ...helpers.map(({ seed, blind }) => joined(seed, blind)),
      ],
    };
  }

  expand(seed, usage, context, binder, length) {
    const tag = domainSeparationTag(this.algorithm, usage, context);
    return expand(this.circuit.field, seed, tag, binder, length);
  }

  helperMeasurement(context, party, seed) {
    const length = this.circuit.measurementLength;
    return this.expand(seed, USAGE.measurementShare, context, [party], length);
  }

  helperProofs(context, party, seed) {
    const length = this.lengths.proof * this.proofs;
    return this.expand(seed, USAGE.proofShare, context, [this.proofs, party], length);
  }

  jointPart(context, party, blind, share, nonce) {
    const tag = domainSeparationTag(this.algorithm, USAGE.jointPart, context);
    return deriveSeed(blind, tag, joined([party], nonce, this.circuit.field.encode(share)));
  }

  jointSeed(context, parts) {
    const tag = domainSeparationTag(this.algorithm, USAGE.jointSeed, context);
    return deriveSeed(new Uint8Array(SEED_SIZE), tag, joined(...parts));
  }

  jointRandomness(context, seed) {
    const length = this.circuit.jointRandLength * this.proofs;
    return this.expand(seed, USAGE.jointRandomness, context, [this.proofs], length);
  }
}

/** Return the values of one of several proofs. */
export function part(values, length, place) {
  return values.slice(place * length, (place + 1) * length);
}
