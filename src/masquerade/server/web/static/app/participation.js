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

// Beside each participation that is opened stands what it cost, in the table of charges. It is
// written before the request that opens it and stays: whoever has a charge for a survey never
// begins that survey again on this device, whatever a server says of it. Only a participation that
// never was opened here gives its charge back.

import { USUAL_CAPS, admits, chargeOf } from "./budget.js";
import { SystemCoins, randomName } from "../mechanisms/coins.js";
import { checkForms } from "./invitation.js";
import { BrokenPromise, isRecord, isText, requireThat, same } from "./promise.js";
import { lossesOfDrawn, lossesOfSums } from "../mechanisms/losses.js";
import { sha256OfText } from "./sha256.js";
import { answerCodes, maskedCode } from "./conditions.js";
import { strengthOf } from "./strength.js";
import { NOT_DRAWN, drawOrder, placesDrawn } from "./pages.js";
import { drawnPairs, endingOf, layoutOfText, promiseOf, questionsOf } from "./survey_text.js";
import { checkParties, checkSums, loadAgreement, sealAnswers } from "./two_parties.js";

const MOST_PAGES = 1000; // of a list of invitations
const TABLE = "participations";
const UNOPENED = ["reserving", "reserved"];

/** Return the text whose SHA-256 is the commitment: keys in order, no spaces. */
export function canonical(id, reports, salt) {
  return JSON.stringify({ participation: id, reports, salt });
}

/** Return the text whose SHA-256 is the commitment to a sealed report. */
export function canonicalSplit(id, digest, salt) {
  return JSON.stringify({ participation: id, report: digest, salt });
}

/** Return what a person's part costs at the level that was chosen, from the promise alone. */
export function costOf({ promise, level }) {
  requireThat(promise && Object.hasOwn(promise.levels, level), "the level");
  if (promise.parties) return lossesOfSums(promise.parties.sums ?? `two-parties:rho=${promise.parties.rho}`);
  return lossesOfDrawn(promise.levels[level], promise.linked, promise.draw ?? null);
}

/**
 * Return the questions of a participation that is open, or throw `BrokenPromise` where they are not
 * both what was promised and what is shown.
 */
export function checkedQuestions(record) {
  const questions = questionsOf(record.text, record.promise, record.level, record.pairs);
  requireThat(same(questions, record.questions), "what is shown");
  requireThat(costOf(record).clear === 0 || record.consent, "that nothing is masked");
  return questions;
}

export class Participation {
  /**
   * @param {object} database
   * @param {object} server
   * @param {string} token of the survey
   * @param {() => Promise<{epsilon: number, clear: number}>} caps the lower of this device's and
   *   the server's, in millionths
   * @param {() => Promise<object>} agreement loads what checks two parties' agreement
   */
  constructor(database, server, token, caps = async () => USUAL_CAPS, agreement = loadAgreement) {
    this.database = database;
    this.server = server;
    this.token = token;
    this.caps = caps;
    this.agreement = agreement;
  }

  /** Return what is remembered, or null. */
  async read() {
    return (await this.database.read(TABLE, this.token)) ?? null;
  }

  /**
   * Choose the level, unless that is done. Nothing is asked of the server yet.
   *
   * @param {object} invitation of `readInvitation`
   * @param {string} level
   * @param {{consent: boolean}} given whether the person agrees to sending without a mask
   * @returns {Promise<object|null>} null where it does not fit the cap
   */
  async begin(invitation, level, { consent = false } = {}) {
    const { title, reveal, hash, topic } = invitation;
    const promise = promiseOf(invitation);
    const losses = costOf({ promise, level });
    const strength = strengthOf(losses);
    const { helper, operator } = invitation.parties ?? {};
    const parties = operator ? { parties: { helper, operator } } : {};
    const about = { token: this.token, title, reveal, hash, topic, level, strength, ...parties };
    requireThat(losses.clear === 0 || consent === true, "that answers are sent as they are");
    const caps = await this.caps();
    const key = randomName();
    const record = await this.#changeCharged((old, mine, charges) => {
      if (old) return { record: old, charge: mine };
      if (mine) return { record: { ...about, step: "ended", reason: "here" }, charge: mine };
      if (!admits(charges, chargeOf(losses), caps)) return {};
      return { record: { ...about, step: "reserving", key, promise, consent } };
    });
    return record ?? null;
  }

  /**
   * Check, where two parties add up the answers, that both agreed to this survey; return null, or
   * the request that did not succeed. Throws `BrokenPromise`.
   */
  async checkParties({ parties, hash }) {
    if (!parties) return null;
    return checkParties(await this.agreement(), this.server, { token: this.token, hash, parties });
  }

  /** Keep an answer (a code) or a place among the questions, while both can change. */
  keepDraft(changes) {
    return this.#change((record) => {
      if (record?.step !== "opened") return record;
      const answers = { ...record.answers, ...changes.answers };
      const agreed = { ...record.agreed, ...changes.agreed };
      return { ...record, ...changes, answers, agreed };
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
      const questions = checkedQuestions(record);
      const all = answerCodes(questions, record.answers);
      const asked = placesDrawn(record.promise.draw, record.drawn) ?? [...all.keys()];
      const codes = asked.map((place) => all[place]);
      const drawn = asked.map((place) => questions[place]);
      const masked = mask(drawn, codes.map((code, at) => maskedCode(drawn[at], code)));
      const reports = questions.map(() => NOT_DRAWN);
      asked.forEach((place, at) => {
        reports[place] = masked[at];
      });
      const salt = randomName();
      const commitment = sha256OfText(canonical(record.id, reports, salt));
      return { ...record, step: "drawn", reports, salt, commitment };
    });
  }

  /**
   * Split the answers between two parties and keep the sealed report, if and only if none is kept
   * yet. Sealing takes time, in which another tab may have got further or changed an answer.
   */
  async split() {
    const before = await this.read();
    if (before?.step !== "opened") return before;
    checkedQuestions(before);
    const promise = { ...before.promise, token: this.token };
    const sealed = await sealAnswers(await this.agreement(), promise, before);
    const salt = randomName();
    const commitment = sha256OfText(canonicalSplit(before.id, sealed.digest, salt));
    const { report, bytes } = sealed;
    return this.#change((record) =>
      record?.step === "opened" && same(record.answers, before.answers)
        ? { ...record, step: "drawn", report, bytes, salt, commitment }
        : record,
    );
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
   * `failure` is null or the request that did not succeed: `{lost, slug, data}`. Throws
   * `BrokenPromise` where the server is caught at something that it did not promise.
   */
  async proceed() {
    for (;;) {
      const record = await this.read();
      const step = record && NEXT[record.step]?.(record);
      if (!step) return { record, failure: null };
      const failure = await this[step](record);
      if (failure) return { record: await this.read(), failure };
    }
  }

  async reserve(record) {
    const { ticket } = (await this.database.read("arrivals", `ticket.${this.token}`)) ?? {};
    const answer = await this.server.reserve(this.token, record.level, record.key, ticket);
    if (answer.ok) {
      const { survey, level } = checked(answer.data);
      requireThat(survey === this.token && level === record.level, "what was reserved");
      return this.#arrive("reserving", answer.data, fromReservation);
    }
    if (answer.slug === "already-participated" && (await this.#takeOver(record))) return answer;
    // Refused for good: the choice of a level is open again.
    if (REFUSED.includes(answer.slug)) await this.#from("reserving", () => undefined);
    return answer;
  }

  /** Another device of this person has begun it, at a level that counts here too. */
  async #takeOver({ promise, consent }) {
    const seen = new Set(); // of a server that never ends its list
    let cursor = "";
    do {
      seen.add(cursor);
      const { ok, data } = await this.server.invitations(cursor);
      if (!ok || !Array.isArray(data?.invitations)) return false;
      const mine = data.invitations.find((each) => each?.token === this.token)?.participation;
      if (mine) {
        const { level } = checked(mine);
        const losses = costOf({ promise, level });
        // Nobody agreed here to sending without a mask.
        if (losses.clear > 0 && !consent) return false;
        const other = { level, strength: strengthOf(losses) };
        await this.#from("reserving", (old) => fromReservation({ ...old, ...other }, mine));
        return true;
      }
      cursor = data.next_cursor ?? "";
    } while (cursor && !seen.has(cursor) && seen.size < MOST_PAGES);
    return false;
  }

  async open(record) {
    const cost = costOf(record);
    requireThat(cost.clear === 0 || record.consent, "that answers are sent as they are");
    // Once more, as days may have passed, and before anything is charged.
    const unchecked = await this.checkParties(record.promise);
    if (unchecked) return unchecked;
    if (!(await this.#charge(record, cost))) return OWN_CAP;
    const answer = await this.server.open(record.id);
    if (!answer.ok) return this.#unopened(answer);
    const { id, state, level, hash, survey: text, masks, pairs: given = null } = checked(answer.data);
    requireThat(id === record.id && state === "opened", "what was opened");
    requireThat(level === record.level && hash === record.hash, "the survey");
    for (const mechanisms of Object.values(record.promise.levels)) checkForms(mechanisms, masks);
    // Between two parties nobody else learns the pairs: they are in no sum.
    const pairs = record.promise.parties ? drawnPairs(text, new SystemCoins()) : given;
    const questions = questionsOf(text, record.promise, record.level, pairs);
    if (record.promise.parties) {
      const promise = { ...record.promise, token: this.token };
      await checkSums(await this.agreement(), promise, questions, text);
    }
    const layout = layoutOfText(text, questions);
    const ending = endingOf(text);
    const drawn = drawOrder(layout, questions, new SystemCoins(), record.promise.draw);
    await this.#changeCharged((old, mine) => {
      // Another tab may have given it up meanwhile, and its charge back, and begun it anew.
      const waits = mine && old?.step === "reserved" && old.id === id;
      if (!waits) return { record: old, charge: mine };
      const shown = { text, pairs, questions, drawn, ending, answers: {}, agreed: {}, at: 0 };
      return { record: { ...old, step: "opened", ...shown }, charge: mine };
    });
    return null;
  }

  /** Write down what the survey costs, before it is opened; false where it does not fit the cap. */
  async #charge(record, cost) {
    const caps = await this.caps();
    let fits = true;
    await this.#changeCharged((old, mine, charges) => {
      if (mine || old?.step !== "reserved") return { record: old, charge: mine };
      const charge = chargeOf(cost);
      fits = admits(charges, charge, caps);
      if (!fits) return { record: old };
      const place = 1 + Math.max(0, ...charges.map(({ place: other }) => other));
      return { record: old, charge: { token: this.token, place, ...charge } };
    });
    return fits;
  }

  async seal(record) {
    const answer = await this.server.seal(record.id, record.commitment);
    if (!answer.ok) return this.#refused(answer);
    const { id, state } = answer.data ?? {};
    if (id !== record.id || !["sealed", "submitted"].includes(state)) return notAgreed(answer);
    return this.#arrive("drawn", null, (old) => ({ ...old, step: "sealed" }));
  }

  async send(record) {
    const send = record.report ? "respondSplit" : "respond";
    const answer = await this.server[send](record.id, record);
    if (!answer.ok) return this.#refused(answer);
    const { id, state } = answer.data ?? {};
    if (id !== record.id || state !== "submitted") return notAgreed(answer);
    return this.#arrive("sealed", answer.data, (old, { reward, completion_code: code }) => {
      const got = { day: new Date().toISOString().slice(0, 10), ...amountOf(reward) };
      if (isText(code) && code.length <= 200) got.code = code;
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
    const unopened = UNOPENED.includes(record.step);
    if (!answer.ok) return unopened ? this.#unopened(answer) : this.#refused(answer);
    await this.#end(unopened ? "expired" : "abandoned");
    return null;
  }

  /** Take a sent response out of the estimate. */
  async withdraw() {
    const record = await this.read();
    if (!["sent", "finished"].includes(record?.step)) return null;
    const answer = await this.server.withdraw(record.id);
    if (!answer.ok) return answer;
    if (answer.data?.state !== "withdrawn") return notAgreed(answer);
    await this.#end("withdrawn");
    return null;
  }

  /** Delete what can't be sent any more, because the survey closed. */
  dropUnsent() {
    return this.#end("closed");
  }

  /** Forget all of it, where it ended before it was opened here. */
  forget() {
    return this.#changeCharged((record, mine) =>
      record?.step === "ended" && record.unopened && !mine
        ? {}
        : { record, charge: mine },
    );
  }

  /** It cannot be opened: what was never opened here is free again. */
  async #unopened(answer) {
    const { state } = answer.data ?? {};
    if (answer.slug !== "wrong-state" || !OVER.includes(state)) return answer;
    await this.#end(state === "expired" ? state : elsewhere(state));
    return answer;
  }

  /** The server will not have what is drawn: where it is over there, it is over here, for good. */
  async #refused(answer) {
    const { state } = answer.data ?? {};
    if (answer.slug === "commitment-mismatch") await this.#end("elsewhere");
    if (answer.slug === "wrong-state" && OVER.includes(state)) await this.#end(elsewhere(state));
    return answer;
  }

  async #arrive(step, data, change) {
    await this.#from(step, (record) => change(record, data));
    return null;
  }

  /** End it; only what was never opened here gives its charge back. */
  #end(reason) {
    return this.#changeCharged((record, mine) => {
      if (!record) return { charge: mine };
      const unopened = UNOPENED.includes(record.step);
      const again = unopened && reason === "expired";
      return {
        record: { ...withoutContent(record), step: "ended", reason, ...(again && { unopened }) },
        charge: unopened ? undefined : mine,
      };
    });
  }

  #from(step, change) {
    return this.#change((record) => (record?.step === step ? change(record) : record));
  }

  #change(change) {
    return this.database.change(TABLE, this.token, change);
  }

  /** `change` is given the participation, its charge and all charges. */
  #changeCharged(change) {
    return this.database.changeCharged(this.token, (record, charges) =>
      change(record, charges.find(({ token }) => token === this.token), charges),
    );
  }
}

const OVER = ["sealed", "submitted", "withdrawn", "abandoned", "expired"];
const REFUSED = [
  "privacy-cap-exceeded", "clear-cap-exceeded", "level-not-allowed", "budget-exhausted",
  "too-many-reservations", "wrong-state", "already-participated", "ticket-refused", "ticket-used",
];
const OWN_CAP = { ok: false, status: 409, data: {}, lost: false, slug: "own-cap" };

/** Return why it is over here, where the server is at a state that this device did not reach. */
function elsewhere(state) {
  if (state === "withdrawn") return state;
  return state === "abandoned" || state === "expired" ? "abandoned" : "elsewhere";
}

/** A success that is none is not believed; the step stays to be tried again. */
function notAgreed(answer) {
  return { ...answer, ok: false, slug: "not-as-agreed" };
}

/** What follows without a decision of the person. */
const NEXT = {
  reserving: () => "reserve",
  reserved: () => "open",
  drawn: () => "seal",
  sealed: ({ reveal, wished }) => (reveal === "after_send" || wished ? "send" : null),
};

/** Return an answer of the server that names a participation. */
function checked(data) {
  requireThat(isRecord(data), "the answer");
  requireThat(isText(data.id) && /^[0-9a-f]{32}$/.test(data.id), "a participation's name");
  return data;
}

/** The person may have got further on another device with the same secret. */
function fromReservation(record, { id, state }) {
  if (state === "reserved" || state === "opened") return { ...record, step: "reserved", id };
  if (!OVER.includes(state)) throw new BrokenPromise("a reservation is in no state that there is.");
  const free = state === "expired";
  const reason = free ? state : elsewhere(state);
  return { ...withoutContent(record), step: "ended", id, reason, ...(free && { unopened: true }) };
}

/** What a code is worth is the server's word; what is no amount is left out. */
function amountOf(reward) {
  const known = isRecord(reward) && Number.isFinite(reward.amount) && isText(reward.currency);
  return known ? { reward: { amount: reward.amount, currency: reward.currency } } : {};
}

/** Return a record without anything a person said, was asked or sent. */
function withoutContent(record) {
  const {
    questions, text, pairs, drawn, answers, agreed, at, reports, report, salt, commitment, wished, key, promise, ...rest
  } = record;
  return rest;
}
