// A task of the Distributed Aggregation Protocol and its reports, byte for byte (DAP draft 18).
//
// The device's half of aggregate/dap.py: what both parties have to agree on, and the sealed report.

import { seal, sha256, text } from "./hpke.js";
import { bigEndian, joined } from "./xof.js";

const DRAFT = "dap-18";
const LEADER_SELECTED = 2;
const [TASK_INTERVAL, SURVEY_TERMS] = [1, 0xff4d];
const ROLES = { client: 1, leader: 2, helper: 3 };

/** Return bytes with their length before them, in `prefix` bytes. */
function opaque(prefix, bytes) {
  return joined(bigEndian(bytes.length, prefix), bytes);
}

/**
 * Return the configuration of a survey's task: `task_configuration` in dap.py.
 *
 * @param {object} terms
 * @param {Uint8Array} terms.info
 * @param {string} terms.leaderUrl in ASCII, as is `helperUrl`
 * @param {string} terms.helperUrl
 * @param {number} terms.opening seconds since 1970, as is `duration` in seconds
 * @param {number} terms.duration
 * @param {number} terms.minBatchSize
 * @param {number} terms.algorithm
 * @param {Uint8Array} terms.circuit
 * @param {Uint8Array} terms.terms SHA-256 of the survey's canonical text with all its terms
 */
export function taskConfiguration(terms) {
  const interval = joined(bigEndian(timeOf(terms), 8), bigEndian(1, 8));
  return joined(
    opaque(1, requireBytes(terms.info, 1)),
    opaque(2, ascii(terms.leaderUrl)),
    opaque(2, ascii(terms.helperUrl)),
    bigEndian(terms.duration, 8),
    bigEndian(terms.minBatchSize, 8),
    [LEADER_SELECTED],
    opaque(2, []),
    bigEndian(terms.algorithm, 4),
    opaque(2, terms.circuit),
    opaque(2, joined(
      bigEndian(TASK_INTERVAL, 2), opaque(2, interval),
      bigEndian(SURVEY_TERMS, 2), opaque(2, requireBytes(terms.terms, 32, 32)),
    )),
  );
}

/** Return the one time that all reports of a task have, in units of its duration. */
export function timeOf({ opening, duration }) {
  if (!Number.isSafeInteger(opening) || !Number.isSafeInteger(duration) || duration < 1) {
    throw new RangeError("a survey is open for whole seconds, and one at least.");
  }
  return Math.floor(opening / duration);
}

/** Return the public key that bytes encode: the draft's HpkeConfig. */
export function readHpkeConfig(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const publicKey = bytes.slice(9);
  if (bytes.length < 10 || view.getUint16(7) !== publicKey.length) {
    throw new RangeError("a public key is cut short or has more than it should.");
  }
  const [kem, kdf, aead] = [1, 3, 5].map((place) => view.getUint16(place));
  return { id: bytes[0], kem, kdf, aead, publicKey };
}

/** A task, by its configuration. */
export class Task {
  /**
   * @param {Uint8Array} configuration as `taskConfiguration` returns it
   * @param {Uint8Array} id its SHA-256
   * @param {number} time
   * @param {object} vdaf the circuit with its algorithm
   */
  constructor(configuration, id, time, vdaf) {
    Object.assign(this, { configuration, id, time, vdaf, context: joined(text(DRAFT), id) });
  }

  /** Return the task of a survey, whose identifier is the SHA-256 of its terms. */
  static async of(vdaf, terms) {
    const circuit = { algorithm: vdaf.algorithm, circuit: vdaf.circuit.configuration() };
    const configuration = taskConfiguration({ ...terms, ...circuit });
    return new Task(configuration, await sha256(configuration), timeOf(terms), vdaf);
  }

  /**
   * Return a sealed report of a measurement, as bytes: the leader can read one half, the helper
   * the other.
   *
   * @param {*} measurement
   * @param {{leader: object, helper: object}} keys as `readHpkeConfig` returns them
   */
  async report(measurement, keys) {
    return this.seal(this.vdaf.shard(measurement, this.context), keys);
  }

  /** Return a report whose shares are encrypted, each to its party. */
  async seal({ nonce, publicShare, inputShares }, { leader, helper }) {
    const metadata = joined(nonce, bigEndian(this.time, 8), opaque(2, []));
    const shared = opaque(4, publicShare);
    const aad = joined(this.id, this.configuration, metadata, shared);
    const parties = [[leader, ROLES.leader], [helper, ROLES.helper]];
    const sealed = await Promise.all(parties.map(async ([config, role], place) => {
      const share = joined(opaque(2, []), opaque(4, inputShares[place]));
      // Without the receiver's role, the two encrypted shares could be exchanged.
      const info = joined(text(`${DRAFT} input share`), [ROLES.client, role]);
      const { enc, payload } = await seal(config, share, { info, aad });
      return joined([config.id], opaque(2, enc), opaque(4, payload));
    }));
    return joined(metadata, shared, ...sealed);
  }
}

function requireBytes(bytes, least, most = Infinity) {
  if (!(bytes instanceof Uint8Array) || bytes.length < least || bytes.length > most) {
    throw new RangeError("a term of the survey has not the length it should have.");
  }
  return bytes;
}

function ascii(address) {
  if (!/^[\x21-\x7e]+$/.test(address)) throw new RangeError("an address is not in ASCII.");
  return text(address);
}
