// The ticket of a survey that takes invited people alone: a code, exchanged for a blind signature.
//
//   code  →  asked: a message is drawn and blinded, and on the disk  →  ticket
//
// What is asked is on the disk before the request, so asking again asks the same, and is answered.
// The code is forgotten with the answer. The request carries no secret of the person.

import { allow } from "./dom.js";
import { isText, requireThat } from "./promise.js";

const TABLE = "arrivals";
const PREFIX = 32; // bytes
const MARK = /^#ticket=([0-9A-Za-z-]{20,30})\.([A-Za-z0-9_-]{43})$/;

/** Return code and survey's hash of the part of a link behind the mark, or null. */
export function readMark(mark) {
  const found = MARK.exec(mark);
  if (!found) return null;
  const bytes = fromBase64(`${found[2].replaceAll("-", "+").replaceAll("_", "/")}=`);
  return { code: found[1], hash: hexOf(bytes) };
}

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** Load what blinds a message and checks a signature, which few surveys need. */
function loadSigning() {
  allow("tickets");
  return import("./blind_rsa.js");
}

/** Return what is kept once the code was exchanged: it is forgotten, and so is what was drawn. */
const finished = ({ hash, from }, ticket) => ({ ticket, hash, ...(from && { from }) });

export class Ticket {
  constructor(database, server, token) {
    this.database = database;
    this.server = server;
    this.token = token;
  }

  /**
   * Return `{code, hash}`, with `asked` once it was, or `{ticket, hash}`; null where nothing is.
   * `from` is with them where people answer from a day on.
   */
  async read() {
    return (await this.database.read(TABLE, `ticket.${this.token}`)) ?? null;
  }

  /** Keep the code of a link; one that is being exchanged, or was, stays. */
  keep({ code, hash }) {
    return this.#change((old) => (old?.asked || old?.ticket ? old : { code, hash }));
  }

  /** Keep the first day of answers, before which nothing is asked that names the person. */
  note(from) {
    return this.#change((old) => (!old || !from || old.from === from ? old : { ...old, from }));
  }

  /**
   * Exchange the code, unless that is done; return null, or the request that did not succeed.
   * Throws `BrokenPromise` where the key is none, or what comes back is no signature by it.
   */
  async exchange({ key, wave }) {
    const { ticket, code, hash } = (await this.read()) ?? {};
    if (ticket) return null;
    if (!code) return { ok: false, status: 403, data: {}, lost: false, slug: "ticket-refused" };
    const signing = await loadSigning().catch(() => null);
    if (!signing) return { ok: false, status: 0, data: {}, lost: true, slug: "" };
    const { bytesOf, finalize } = signing;
    const ask = () => this.#ask(signing, key, wave);
    const { asked } = await this.#change((old) => (old?.asked ? old : { ...old, asked: ask() }));
    const blinded = toBase64(bytesOf(BigInt(`0x${asked.blinded}`), key.length / 2));
    const answer = await this.server.exchange(this.token, code, blinded);
    if (!answer.ok) return answer;
    const { signature } = answer.data;
    requireThat(isText(signature) && /^[A-Za-z0-9+/]{1,1000}={0,2}$/.test(signature), "a signature");
    const signed = finalize(key, asked, fromBase64(signature));
    requireThat(signed, "the signature of a ticket");
    const prefix = bytesOf(BigInt(`0x${asked.prefix}`), PREFIX);
    const whole = toBase64(Uint8Array.of(...prefix, ...signed));
    await this.#change((old) => (old?.ticket ? old : finished(old, whole)));
    return null;
  }

  #ask({ blind, randomBytes }, key, wave) {
    const prefix = randomBytes(PREFIX);
    const about = new TextEncoder().encode(`masquerade ticket:${this.token}:${wave}`);
    const blinded = blind(key, Uint8Array.of(...prefix, ...about));
    requireThat(blinded, "the key of invitations");
    return { prefix: hexOf(prefix), ...blinded };
  }

  #change(change) {
    return this.database.change(TABLE, `ticket.${this.token}`, change);
  }
}
