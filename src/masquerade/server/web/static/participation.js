// One person's part in one survey, as this device remembers it, and what leads on from there.
//
//   (none) → reserving → reserved → opened → drawn → sealed → sent → finished
//                                                   ended: over, and why
//
//   reserving  the level is chosen; `key` makes asking again harmless
//   reserved   the server holds the price back
//   opened     the questions are here; answers are kept as they are given
//   drawn      the masks are drawn and written down, seen by nobody yet
//   sealed     the server holds a commitment to them, so no other masks can take their place
//   sent       the server has them; answers are still here to be looked at (reveal after_send)
//   finished   the server has them; answers and reports are gone from here
//
// Every step is one transaction that reads the step before it writes, and it is on the disk before
// the request that depends on it. So a second tab, a reload, the back button or a crash between two
// steps finds the one draw there is, and what is shown or sent always comes from the disk.

import { randomName } from "./coins.js";
import { sha256OfText } from "./sha256.js";
import { codesShown } from "./shown.js";

const TABLE = "participations";

/** Return the text whose SHA-256 is the commitment: keys in order, no spaces. */
export function canonical(id, reports, salt) {
  return JSON.stringify({ participation: id, reports, salt });
}

export class Participation {
  constructor(database, server, token) {
    this.database = database;
    this.server = server;
    this.token = token;
  }

  /** Return what is remembered, or null. */
  async read() {
    return (await this.database.read(TABLE, this.token)) ?? null;
  }

  /** Choose the level, unless that is done. Nothing is asked of the server yet. */
  begin(invitation, level) {
    const { title, reveal, hash, topic } = invitation;
    const rest = { token: this.token, title, reveal, hash, topic, level, key: randomName() };
    return this.#change((record) => record ?? { step: "reserving", ...rest });
  }

  /** Keep an answer (a code) or a place among the questions, while both can change. */
  keepDraft(changes) {
    return this.#change((record) => {
      if (record?.step !== "opened") return record;
      const answers = { ...record.answers, ...changes.answers };
      return { ...record, ...changes, answers };
    });
  }

  /**
   * Draw the masks, if and only if none are drawn yet.
   *
   * @param {(questions: object[], codes: number[]) => number[]} mask masks all answers at once
   */
  draw(mask) {
    return this.#change((record) => {
      if (record?.step !== "opened") return record;
      const codes = codesShown(record.questions, record.answers);
      const reports = mask(record.questions, codes);
      const salt = randomName();
      const commitment = sha256OfText(canonical(record.id, reports, salt));
      return { ...record, step: "drawn", reports, salt, commitment };
    });
  }

  /** Remember that the person wants the sealed reports sent. */
  wish() {
    return this.#change((record) =>
      record?.step === "sealed" ? { ...record, wished: true } : record,
    );
  }

  /**
   * Do the next steps that need no decision; return `{record, failure}`.
   *
   * `failure` is null or the request that did not succeed: `{lost, slug, data}`. `accept` looks at
   * the questions before anything is answered and throws where they are not what was promised.
   */
  async proceed(accept = () => {}) {
    for (;;) {
      const record = await this.read();
      const step = record && NEXT[record.step]?.(record);
      if (!step) return { record, failure: null };
      const failure = await this[step](record, accept);
      if (failure) return { record: await this.read(), failure };
    }
  }

  async reserve(record) {
    const answer = await this.server.reserve(this.token, record.level, record.key);
    if (answer.ok) return this.#arrive("reserving", answer.data, fromReservation);
    // Refused for good: the choice of a level is open again.
    const refused = ["privacy-cap-exceeded", "clear-cap-exceeded", "level-not-allowed", "budget-exhausted"];
    if (refused.includes(answer.slug) || answer.slug === "wrong-state") {
      await this.#from("reserving", () => undefined);
    }
    if (answer.slug === "already-participated") await this.#takeOver();
    return answer;
  }

  /** Another device of this person has begun it, at a level that counts here too. */
  async #takeOver() {
    let cursor = "";
    do {
      const { ok, data } = await this.server.invitations(cursor);
      if (!ok) return;
      const mine = data.invitations.find(({ token }) => token === this.token)?.participation;
      if (mine) {
        await this.#from("reserving", (old) => fromReservation({ ...old, level: mine.level }, mine));
        return;
      }
      cursor = data.next_cursor ?? "";
    } while (cursor);
  }

  async open(record, accept) {
    const answer = await this.server.open(record.id);
    if (!answer.ok) return this.#refused(answer);
    accept(record, answer.data);
    return this.#arrive("reserved", answer.data, fromOpening);
  }

  async seal(record) {
    const answer = await this.server.seal(record.id, record.commitment);
    if (answer.ok) {
      return this.#arrive("drawn", answer.data, (old) => ({ ...old, step: "sealed" }));
    }
    return this.#refused(answer);
  }

  async send(record) {
    const answer = await this.server.respond(record.id, record);
    if (!answer.ok) return this.#refused(answer);
    return this.#arrive("sealed", answer.data, (old, { bill = {}, paid, completion_code: code }) => {
      const got = { bill, ...(paid ? { paid } : {}), ...(code ? { code } : {}) };
      return old.reveal === "after_send"
        ? { ...old, step: "sent", ...got }
        : { ...withoutContent(old), step: "finished", ...got };
    });
  }

  /** Delete answers and reports, which have been sent and looked at. */
  finish() {
    return this.#from("sent", (record) => ({ ...withoutContent(record), step: "finished" }));
  }

  /** End it before it is sent: what was reserved comes back, what was opened is spent. */
  async giveUp() {
    let record = await this.read();
    if (record?.step === "reserving") {
      const failure = await this.reserve(record);
      if (failure) return failure;
      record = await this.read();
    }
    if (!record?.id) return null;
    const answer = await this.server.abandon(record.id);
    if (!answer.ok) return this.#refused(answer);
    await this.#end(answer.data.state);
    return null;
  }

  /** Take a sent response out of the estimate. */
  async withdraw() {
    const record = await this.read();
    if (!["sent", "finished"].includes(record?.step)) return null;
    const answer = await this.server.withdraw(record.id);
    if (!answer.ok) return answer;
    await this.#end("withdrawn");
    return null;
  }

  /** Delete what can't be sent any more, because the survey closed. */
  dropUnsent() {
    return this.#end("closed");
  }

  /** Forget all of it, where it ended without costing anything. */
  forget() {
    return this.#change((record) =>
      record?.step === "ended" && record.reason === "expired" ? undefined : record,
    );
  }

  /** The server will not have it: where it is over there, it is over here. */
  async #refused(answer) {
    if (answer.slug === "commitment-mismatch") await this.#end("elsewhere");
    const { state } = answer.data;
    if (answer.slug === "wrong-state" && OVER.includes(state)) {
      await this.#end(state === "submitted" ? "elsewhere" : state);
    }
    return answer;
  }

  async #arrive(step, data, change) {
    await this.#from(step, (record) => change(record, data));
    return null;
  }

  #end(reason) {
    return this.#change(
      (record) => record && { ...withoutContent(record), step: "ended", reason },
    );
  }

  #from(step, change) {
    return this.#change((record) => (record?.step === step ? change(record) : record));
  }

  #change(change) {
    return this.database.change(TABLE, this.token, change);
  }
}

const OVER = ["submitted", "withdrawn", "abandoned", "expired"];

/** What follows without a decision of the person. */
const NEXT = {
  reserving: () => "reserve",
  reserved: () => "open",
  drawn: () => "seal",
  sealed: ({ reveal, wished }) => (reveal === "after_send" || wished ? "send" : null),
};

/** The person may have got further on another device with the same secret. */
function fromReservation(record, { id, state, price }) {
  if (state === "reserved" || state === "opened") return { ...record, step: "reserved", id, price };
  const reason = state === "submitted" || state === "sealed" ? "elsewhere" : state;
  return { ...withoutContent(record), step: "ended", id, reason };
}

function fromOpening(record, { questions, hash }) {
  return { ...record, step: "opened", questions, hash, answers: {}, at: 0 };
}

/** Return a record without anything a person said, was asked or sent. */
function withoutContent(record) {
  const { questions, answers, at, reports, salt, commitment, wished, key, ...rest } = record;
  return rest;
}
