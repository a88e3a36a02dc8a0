// The standard's test vectors, run as they say; in Node and in browsers.

import { bytes, hex } from "./bytes.mjs";
import { instanceOf } from "./standard_circuits.mjs";
import { Refused, verifierMessage, verifyInit, verifyNext } from "./verifier.mjs";

function requireSame(ours, wanted) {
  if (ours !== wanted) throw new Error(`got ${ours}, expected ${wanted}.`);
}

/**
 * Do what a vector says in its order, compare everything, and return what succeeded.
 *
 * Each operation takes the messages of the vector as they are, so that a bad one is met at its step.
 *
 * @returns {[string, boolean][]}
 */
export function replay(name, vector, vdaf = instanceOf(name, vector)) {
  const [key, context] = [bytes(vector.verify_key), bytes(vector.ctx)];
  const { field, outputLength } = vdaf.circuit;
  const states = new Map();
  const add = (shares) => shares.map(bytes).map((share) => field.unpack(share)).reduce(
    (sums, values) => sums.map((sum, k) => field.reduce(sum + values[k])),
    new Array(outputLength).fill(0n),
  );
  const steps = {
    shard({ nonce, rand, measurement, public_share: publicShare, input_shares: shares }) {
      const split = vdaf.shardFrom(measurement, context, bytes(nonce), bytes(rand));
      requireSame(hex(split.publicShare), publicShare);
      requireSame(split.inputShares.map(hex).join(), shares.join());
    },
    verify_init({ nonce, public_share: shared, input_shares: shares, verifier_shares: wanted }, party, index) {
      const inputs = [bytes(nonce), bytes(shared), bytes(shares[party])];
      const { state, verifierShare } = verifyInit(vdaf, key, context, party, ...inputs);
      states.set(`${index} ${party}`, state);
      requireSame(hex(verifierShare), wanted[0][party]);
    },
    verifier_shares_to_message({ verifier_shares: shares, verifier_messages: messages }) {
      requireSame(hex(verifierMessage(vdaf, context, shares[0].map(bytes))), messages[0]);
    },
    verify_next({ verifier_messages: messages, out_shares: wanted }, party, index) {
      const output = verifyNext(states.get(`${index} ${party}`), bytes(messages[0]));
      requireSame(hex(field.encode(output)), wanted[party]);
    },
    aggregate(report, party) {
      const shares = vector.reports.map(({ out_shares: outputs }) => outputs[party]);
      requireSame(hex(field.encode(add(shares))), vector.agg_shares[party]);
    },
    unshard() {
      requireSame(String(add(vector.agg_shares)), String(vector.agg_result));
    },
  };
  return vector.operations.map(({ operation, aggregator_id: party = 0, report_index: index = 0 }) => {
    try {
      steps[operation](vector.reports[index], party, index);
      return [operation, true];
    } catch (error) {
      if (error instanceof Refused) return [operation, false];
      throw error;
    }
  });
}
