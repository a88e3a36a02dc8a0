// Fully linear proofs that a measurement is well-formed: the prover (VDAF draft 20, 7.3.3).
//
// The draft computes with polynomials. Here each is only evaluated, from its values at the roots of
// unity, by weights that are the same for all measurements. The bytes are the same.

/** Return how many values fix the polynomial of an input: its seed and the calls, padded. */
export function wireLength(calls) {
  return 2 ** Math.ceil(Math.log2(1 + calls));
}

/** Return how many values fix the polynomial of a gadget's output. */
export function gadgetLength(degree, calls) {
  return degree * (wireLength(calls) - 1) + 1;
}

/** Return how many random elements a proof takes, and how many a proof has. */
export function proofLengths({ gadgets, calls }) {
  const random = gadgets.reduce((sum, gadget) => sum + gadget.arity, 0);
  const values = gadgets.map(({ degree }, place) => gadgetLength(degree, calls[place]));
  return { random, proof: random + values.reduce((sum, value) => sum + value, 0) };
}

/**
 * Return the proof of an encoded measurement.
 *
 * @param {object} circuit
 * @param {bigint[]} encoded the whole measurement: only the person's device can prove
 * @param {bigint[]} proveRand one for each input of each gadget, which hide the measurement
 * @param {bigint[]} joint
 */
export function prove(circuit, encoded, proveRand, joint) {
  const { field } = circuit;
  const proof = [];
  let place = 0;
  circuit.wires(encoded, joint, 1).forEach((wires, index) => {
    const gadget = circuit.gadgets[index];
    const shape = shapeOf(field, circuit.calls[index], gadget.degree);
    const seeds = proveRand.slice(place, place + gadget.arity);
    place += gadget.arity;
    // An input's polynomial: a random value, which hides the rest, the calls, and zeros.
    const values = wires.map((wire, input) => {
      const padding = new Array(shape.wire - 1 - wire.length).fill(0n);
      return valuesAt(field, shape, [seeds[input], ...wire, ...padding]);
    });
    proof.push(...seeds);
    // The gadget of polynomials is the polynomial of the gadget's values.
    for (let node = 0; node < shape.gadget; node++) {
      proof.push(gadget.evaluate(values.map((value) => value[node])));
    }
  });
  return proof;
}

/** Return the values of an input's polynomial at the nodes of the output. */
function valuesAt(field, shape, known) {
  return shape.weights.map((weights, node) => {
    if (!weights) return known[node / shape.step];
    // one reduction for all products
    let sum = 0n;
    for (let k = 0; k < known.length; k++) sum += weights[k] * known[k];
    return sum % field.modulus;
  });
}

/**
 * Return the nodes and weights of a gadget's polynomials.
 *
 * With w the root of the output's order N and a_k = w^(step k) the nodes of the inputs, P of them,
 * Lagrange's polynomials at another node are l_k(w^i) = (w^(iP) - 1) / P / (w^(i - step k) - 1).
 */
function shapeOf(field, calls, degree) {
  const key = `${calls}/${degree}`;
  if (field.tables.has(key)) return field.tables.get(key);
  const { modulus } = field;
  const [wire, gadget] = [wireLength(calls), gadgetLength(degree, calls)];
  const order = 2 ** Math.ceil(Math.log2(gadget));
  const step = order / wire;
  const roots = field.roots(order);
  const inverses = inversesOf(field, roots.slice(1).map((root) => root - 1n));
  const share = field.inverse(BigInt(wire));
  const weights = Array.from({ length: gadget }, (_, i) => {
    if (i % step === 0) return null; // a node of the inputs: their value is known there
    const numerator = field.reduce((roots[(i * wire) % order] - 1n) * share);
    return Array.from({ length: wire }, (_, k) => {
      const distance = (i - step * k + order) % order;
      return (numerator * inverses[distance - 1]) % modulus;
    });
  });
  const shape = { wire, gadget, step, weights };
  field.tables.set(key, shape);
  return shape;
}

/** Return the inverses of elements, none of them 0, by one inversion (Montgomery's trick). */
function inversesOf(field, values) {
  const before = [1n];
  for (const value of values) before.push((before.at(-1) * value) % field.modulus);
  let after = field.inverse(before.pop());
  const result = [];
  for (let place = values.length - 1; place >= 0; place--) {
    result[place] = (after * before[place]) % field.modulus;
    after = (after * values[place]) % field.modulus;
  }
  return result;
}
