// The parties' half of Prio3 (VDAF draft 20, 7.2.2 to 7.2.5 and 7.3.4 to 7.3.5), as plain as can be:
// an oracle for tests, by polynomials and not by weights as aggregate/proof.py has it.

import { gadgetLength, wireLength } from "../../../src/masquerade/server/web/static/aggregate/proof.js";
import { USAGE, part } from "../../../src/masquerade/server/web/static/aggregate/prio3.js";
import { SEED_SIZE, joined } from "../../../src/masquerade/server/web/static/aggregate/xof.js";

/** A report that a party does not accept. */
export class Refused extends Error {}

const powerOfTwo = (number) => 2 ** Math.ceil(Math.log2(number));

/** Return the value at a point of the polynomial with these values at the first of some roots. */
function valueAt(field, nodes, values, point) {
  let sum = 0n;
  values.forEach((value, k) => {
    let [above, below] = [1n, 1n];
    values.forEach((_, m) => {
      if (m === k) return;
      above = field.reduce(above * (point - nodes[m]));
      below = field.reduce(below * (nodes[k] - nodes[m]));
    });
    sum += value * above * field.inverse(below);
  });
  return field.reduce(sum);
}

/** Return the elements that bytes encode; refuse a number that is not below the modulus. */
function decode(field, bytes, length) {
  if (bytes.length !== length * field.size) throw new Refused("length");
  const values = field.unpack(bytes);
  if (values.some((value) => value >= field.modulus)) throw new Refused("not an element");
  return values;
}

function query(circuit, encoded, proof, random, joint, shares) {
  const { field } = circuit;
  const many = circuit.evaluationLength > 1;
  const points = random.slice(many ? circuit.evaluationLength : 0);
  const wires = circuit.wires(encoded, joint, shares);
  const called = [];
  const tests = [];
  let place = 0;
  circuit.gadgets.forEach(({ arity, degree }, index) => {
    const calls = circuit.calls[index];
    const [inputs, outputs] = [wireLength(calls), gadgetLength(degree, calls)];
    const seeds = proof.slice(place, place + arity);
    const values = proof.slice(place + arity, place + arity + outputs);
    place += arity + outputs;
    const [wireNodes, nodes] = [field.roots(inputs), field.roots(powerOfTwo(outputs))];
    const point = points[index];
    if (field.power(point, BigInt(inputs)) === 1n) throw new Refused("a root of unity");
    called.push(wireNodes.slice(1, calls + 1).map((node) => valueAt(field, nodes, values, node)));
    wires[index].forEach((wire, input) => {
      const padded = [seeds[input], ...wire, ...new Array(inputs - 1 - calls).fill(0n)];
      tests.push(valueAt(field, wireNodes, padded, point));
    });
    tests.push(valueAt(field, nodes, values, point));
  });
  const results = circuit.outputs(encoded, called, shares);
  const reduced = many
    ? results.reduce((sum, value, k) => sum + random[k] * value, 0n)
    : results[0];
  return [field.reduce(reduced), ...tests];
}

const queryRandLength = ({ gadgets, evaluationLength }) =>
  gadgets.length + (evaluationLength > 1 ? evaluationLength : 0);
const verifierLength = ({ gadgets }) =>
  1 + gadgets.reduce((sum, { arity }) => sum + arity + 1, 0);

/** Return what a party keeps of a report, and its verifier share. */
export function verifyInit(vdaf, key, context, party, nonce, publicShare, inputShare) {
  const { circuit, lengths, proofs } = vdaf;
  const { field } = circuit;
  const blindSize = circuit.jointRandLength ? SEED_SIZE : 0;
  if (publicShare.length !== blindSize * vdaf.shares) throw new Refused("public share");
  const data = inputShare.slice(0, inputShare.length - blindSize);
  const blind = inputShare.slice(inputShare.length - blindSize);
  let [measurement, proof] = [];
  if (party === 0) {
    const values = decode(field, data, circuit.measurementLength + lengths.proof * proofs);
    measurement = values.slice(0, circuit.measurementLength);
    proof = values.slice(circuit.measurementLength);
  } else {
    if (data.length !== SEED_SIZE) throw new Refused("input share");
    measurement = vdaf.helperMeasurement(context, party, data);
    proof = vdaf.helperProofs(context, party, data);
  }
  let [ownPart, jointSeed, joint] = [new Uint8Array(0), new Uint8Array(0), []];
  if (blindSize) {
    ownPart = vdaf.jointPart(context, party, blind, measurement, nonce);
    const parts = Array.from({ length: vdaf.shares }, (_, other) =>
      other === party ? ownPart : publicShare.slice(SEED_SIZE * other, SEED_SIZE * (other + 1)),
    );
    jointSeed = vdaf.jointSeed(context, parts);
    joint = vdaf.jointRandomness(context, jointSeed);
  }
  const each = queryRandLength(circuit);
  const binder = joined([proofs], nonce);
  const random = vdaf.expand(key, USAGE.queryRandomness, context, binder, each * proofs);
  const verifier = [];
  for (let place = 0; place < proofs; place++) {
    verifier.push(...query(
      circuit, measurement, part(proof, lengths.proof, place), part(random, each, place),
      part(joint, circuit.jointRandLength, place), vdaf.shares,
    ));
  }
  const state = { outputShare: circuit.truncate(measurement), jointSeed };
  return { state, verifierShare: joined(field.encode(verifier), ownPart) };
}

/** Return the message that ends the check, from the verifier shares of all parties. */
export function verifierMessage(vdaf, context, verifierShares) {
  const { circuit, proofs } = vdaf;
  const { field } = circuit;
  const [length, size] = [verifierLength(circuit), verifierLength(circuit) * proofs * field.size];
  let verifier = new Array(length * proofs).fill(0n);
  const parts = verifierShares.map((share) => {
    const values = decode(field, share.slice(0, size), length * proofs);
    verifier = verifier.map((value, k) => field.reduce(value + values[k]));
    return share.slice(size);
  });
  for (let proof = 0; proof < proofs; proof++) {
    const values = part(verifier, length, proof);
    if (values[0] !== 0n) throw new Refused("the circuit's outputs are not 0");
    let place = 1;
    for (const gadget of circuit.gadgets) {
      const inputs = values.slice(place, place + gadget.arity);
      if (gadget.evaluate(inputs) !== values[place + gadget.arity]) throw new Refused("a gadget");
      place += gadget.arity + 1;
    }
  }
  return circuit.jointRandLength ? vdaf.jointSeed(context, parts) : new Uint8Array(0);
}

/** Return the share of a checked measurement. */
export function verifyNext(state, message) {
  if (String(message) !== String(state.jointSeed)) throw new Refused("joint randomness");
  return state.outputShare;
}
