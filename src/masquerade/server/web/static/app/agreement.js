// What two parties agreed to, checked on the device before it begins and again when the questions
// are here, and the report that is sealed by it: the device's half of surveys/split_task.py.

import { Encoding } from "./split_encoding.js";
import { hex, seal, sha256, text, unhex } from "../aggregate/hpke.js";
import { fingerprintOf, isApproved } from "../aggregate/signature.js";
import { prio3Survey } from "../aggregate/survey_circuit.js";
import { Task, readHpkeConfig } from "../aggregate/task.js";

const [LEADER_KEY, HELPER_KEY, COLLECTOR_KEY] = [1, 2, 3];
const HASH_SIZE = 32;
const HASH = /^[0-9a-f]{64}$/;
const MILLION = 1000000n;
const FACTS = ["configuration", "terms", "public_key", "signature"];

/** The parties' terms are not those that the person was told: `reason` is one of `REASONS`. */
export class BrokenAgreement extends Error {
  constructor(reason) {
    super(`what the two parties agreed to does not hold: ${reason}.`);
    this.reason = reason;
  }
}

/** Why nothing is sent, by what differs. */
export const REASONS = ["key", "signature", "terms", "survey", "helper", "late", "sums"];

function requireThat(condition, reason) {
  if (!condition) throw new BrokenAgreement(reason);
}

/** Return what `read` gives; what cannot be read is refused for a reason. */
async function readable(reason, read) {
  try {
    return await read();
  } catch (error) {
    if (error instanceof BrokenAgreement) throw error;
    throw new BrokenAgreement(reason);
  }
}

/** Return the part of a helper's address that names a task: base64 without padding, as DAP says. */
export function taskAddress(task) {
  const binary = String.fromCharCode(...unhex(task));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * Check, before anything is begun, that the helper agreed to this survey and no other.
 *
 * @param {object} promise `{token, hash, parties}`; `parties` has helper, fingerprint, minimum and
 *   approval, as the invitation has them
 * @param {number} now seconds since 1970
 */
export async function checkApproval({ token, hash, parties }, now) {
  const { approval, fingerprint } = parties;
  const [configuration, publicKey, signature] = await readable("terms", () =>
    ["configuration", "public_key", "signature"].map((name) => unhex(approval[name])),
  );
  requireThat((await fingerprintOf(publicKey)) === fingerprint, "key");
  requireThat(await isApproved(publicKey, signature, configuration), "signature");
  requireThat(hex(await sha256(configuration)) === approval.task, "terms");
  const facts = await readable("terms", () => readFacts(configuration));
  // The task's extension for the terms is the last thing in its configuration.
  const named = hex(configuration.slice(-HASH_SIZE));
  requireThat(named === hex(await sha256(text(approval.terms))), "terms");
  const terms = await readable("terms", () => JSON.parse(approval.terms));
  requireThat(terms.survey === hash && facts.token === token, "survey");
  requireThat(facts.helper === parties.helper && facts.minimum === parties.minimum, "terms");
  requireThat(Number.isSafeInteger(terms.expires) && isCanonical(approval.terms, terms), "terms");
  requireThat(terms.expires > now, "late");
  const keys = await readable("terms", () => keysOf(terms));
  requireThat(
    keys.leader.id === LEADER_KEY && keys.helper.id === HELPER_KEY &&
      keys.collector.id === COLLECTOR_KEY && !sameBytes(keys.leader.publicKey, keys.helper.publicKey),
    "terms",
  );
  // Now, and not when everything is answered and charged: a share can be sealed to either key.
  const nothing = new Uint8Array();
  for (const key of [keys.leader, keys.helper]) {
    await readable("terms", () => seal(key, nothing, { info: nothing, aad: nothing }));
  }
}

/** Return whether a text is the one form of these terms: of two readers, both read the same. */
function isCanonical(given, { collector, expires, helper, leader, noise, survey, verification_seed: seed }) {
  const terms = { collector, expires, helper, leader, noise, survey, verification_seed: seed };
  const hashed = [survey, seed].every((one) => typeof one === "string" && HASH.test(one));
  return hashed && given === JSON.stringify(terms);
}

// One key for both halves would open both.
const sameBytes = (one, other) => hex(one) === hex(other);

/** Check that the helper itself, asked at its own address, says what the survey's server says. */
export function checkHelper({ parties }, answer) {
  requireThat(FACTS.every((name) => answer?.[name] === parties.approval[name]), "helper");
  requireThat(answer.operator === parties.operator && answer.address === parties.helper, "helper");
}

/**
 * Return the task of a survey whose questions are here, once it adds up what the survey says.
 *
 * @param {object} promise as `checkApproval` takes it
 * @param {object[]} questions as the app has them
 * @param {string} survey its text, of which the hash was checked
 * @returns {Promise<{task: Task, encoding: Encoding, keys: object}>}
 */
export async function agreedTask({ token, parties }, questions, survey) {
  const { approval, helper, minimum } = parties;
  const { rho, bins, cross, sums } = JSON.parse(survey).two_parties;
  return readable("sums", async () => {
    const encoding = new Encoding(questions, { bins, cross, sums });
    const terms = JSON.parse(approval.terms);
    const noise = noiseOf(encoding.blocks, rho);
    requireThat(JSON.stringify(terms.noise) === JSON.stringify(noise), "sums");
    // What was charged follows from the noise that the invitation named.
    requireThat(!parties.sums || parties.sums === sumsOf(encoding.blocks, noise), "sums");
    const { leader, duration } = readFacts(unhex(approval.configuration));
    const task = await Task.of(prio3Survey(encoding.blocks), {
      info: text(token),
      leaderUrl: leader,
      helperUrl: helper,
      opening: terms.expires - duration,
      duration,
      minBatchSize: minimum,
      terms: await sha256(text(approval.terms)),
    });
    requireThat(hex(task.configuration) === approval.configuration, "sums");
    return { task, encoding, keys: keysOf(terms) };
  });
}

/** Return a sealed report in base64, and the SHA-256 of its bytes. */
export async function sealedReport({ task, encoding, keys }, codes, asked) {
  const given = codes.map((code, place) => (asked[place] ? code : null));
  const report = await task.report(encoding.measurement(given, asked), keys);
  const binary = Array.from(report, (byte) => String.fromCharCode(byte)).join("");
  return { report: btoa(binary), digest: hex(await sha256(report)), bytes: report.length };
}

/** Return one party's noise on each block as fractions in lowest terms: `SumNoise.of_rho`. */
export function noiseOf(blocks, rho) {
  // rho = sum of D / (2 variance), with variance = scale unit^2 in each block; rho in millionths.
  const [whole, rest = ""] = rho.split(".");
  const micro = BigInt(whole) * MILLION + BigInt(rest.padEnd(6, "0"));
  let [top, bottom] = [0n, 1n];
  for (const { sensitivitySquared, unit = 1n } of blocks) {
    const square = unit * unit;
    [top, bottom] = [top * square + sensitivitySquared * bottom, bottom * square];
  }
  [top, bottom] = [top * MILLION, bottom * 2n * micro];
  return blocks.map(({ unit = 1n }) => lowest(top * unit * unit, bottom));
}

/** Return the text of what the sums cost: the changes of each block, and its noise. */
export function sumsOf(blocks, noise) {
  const parts = blocks.map(({ sensitivitySquared: squared, unit = 1n }, place) => {
    const largest = unit * unit < squared ? unit * unit : squared;
    return `${squared}/${largest}/${numberText(noise[place])}`;
  });
  return `two-parties:${parts.join(";")}`;
}

/** Return the shortest exact text of a fraction: a decimal where there is one. */
function numberText(given) {
  const [top, bottom] = given.split("/").map(BigInt);
  let [rest, digits] = [bottom, 0n];
  for (const prime of [2n, 5n]) {
    let count = 0n;
    for (; rest % prime === 0n; rest /= prime) count++;
    if (count > digits) digits = count;
  }
  if (rest > 1n) return given;
  const scaled = String((top * 10n ** digits) / bottom).padStart(Number(digits) + 1, "0");
  const point = scaled.length - Number(digits);
  return digits ? `${scaled.slice(0, point)}.${scaled.slice(point)}` : scaled;
}

function lowest(top, bottom) {
  let [one, other] = [top, bottom];
  while (other) [one, other] = [other, one % other];
  return `${top / one}/${bottom / one}`;
}

function keysOf(terms) {
  const read = (name) => readHpkeConfig(unhex(terms[name]));
  return { leader: read("leader"), helper: read("helper"), collector: read("collector") };
}

/** Return the plain fields at the beginning of a task's configuration. */
function readFacts(configuration) {
  const view = new DataView(configuration.buffer, configuration.byteOffset, configuration.byteLength);
  let at = 0;
  const field = (prefix) => {
    const length = prefix === 1 ? view.getUint8(at) : view.getUint16(at);
    const bytes = configuration.slice(at + prefix, at + prefix + length);
    at += prefix + length;
    return String.fromCharCode(...bytes);
  };
  const number = () => {
    at += 8;
    return Number(view.getBigUint64(at - 8));
  };
  const [token, leader, helper] = [field(1), field(2), field(2)];
  return { token, leader, helper, duration: number(), minimum: number() };
}
