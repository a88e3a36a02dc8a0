// What a device does with a survey between two parties, for tests in Python: in Node by standard
// input, in browsers by `sealedReports`.

import { readHpkeConfig, Task } from "../../../src/masquerade/server/web/static/aggregate/task.js";
import {
  Matching,
  One,
  Some,
  Vector,
  Whole,
  prio3Survey,
} from "../../../src/masquerade/server/web/static/aggregate/survey_circuit.js";
import { bytes, hex } from "./bytes.mjs";

const KINDS = { Matching, One, Some, Vector, Whole };

/** Return the blocks that a case names. */
export const blocksOf = ({ blocks }) =>
  blocks.map(([kind, ...numbers]) => new KINDS[kind](...numbers));

/** Return the terms of a case as `Task.of` takes them. */
export const termsOf = ({ terms }) => ({
  info: bytes(terms.info),
  leaderUrl: terms.leader_url,
  helperUrl: terms.helper_url,
  opening: terms.opening,
  duration: terms.duration,
  minBatchSize: terms.min_batch_size,
  terms: bytes(terms.terms),
});

/** Return the task's identifier and sealed reports, in hexadecimal. */
export async function sealedReports({ survey, keys, measurements }) {
  const task = await Task.of(prio3Survey(blocksOf(survey)), termsOf(survey));
  const [leader, helper] = [keys.leader, keys.helper].map((key) => readHpkeConfig(bytes(key)));
  const reports = [];
  for (const measurement of measurements) {
    reports.push(hex(await task.report(measurement, { leader, helper })));
  }
  return { task: hex(task.id), reports };
}

if (typeof process === "object" && process.argv[1]?.endsWith("device.mjs")) {
  let input = "";
  for await (const chunk of process.stdin) input += chunk;
  process.stdout.write(JSON.stringify(await sealedReports(JSON.parse(input))));
}
