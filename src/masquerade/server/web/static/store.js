// What this device remembers of one survey, and the promise that masks are drawn once.
//
// Three entries, each written in one step, each outranking the one before:
//   draft   the answers so far                       → removed when sealed
//   sealed  answers, their reports, the response id  → written once, never changed; gone when sent
//   sent    the privacy bill                         → the only thing that remains
// What is shown or sent is always read back from the sealed entry, never taken from memory. So a
// second tab, a reload, the back button or a crash between two steps finds the one draw there is.

import { randomName } from "./coins.js";

const PREFIX = "masquerade";
const CLAIM_SETTLES = 25; // a claim left behind by a crash lasts this many times `settle`

/** Return a storage that works, or null: some browsers offer one that throws when used. */
export function workingStorage(offer = () => globalThis.localStorage) {
  try {
    const storage = offer();
    const key = `${PREFIX}.check`;
    storage.setItem(key, "1");
    const works = storage.getItem(key) === "1";
    storage.removeItem(key);
    return works ? storage : null;
  } catch {
    return null;
  }
}

/** Return the random name of this device, made up when first needed. */
export function participantName(storage) {
  const key = `${PREFIX}.participant`;
  if (!/^[0-9a-f]{32}$/.test(storage.getItem(key) ?? "")) storage.setItem(key, randomName());
  return storage.getItem(key);
}

export class SurveyMemory {
  /**
   * @param {Storage} storage
   * @param {string} token of the survey
   * @param {string} hash of the survey's content; a draft for other content is not used
   * @param {object} options `locks` (navigator.locks or null) and `settle`, the milliseconds after
   *   which another tab's write is certain to be seen
   */
  constructor(storage, token, hash, { locks = globalThis.navigator?.locks, settle = 200 } = {}) {
    this.storage = storage;
    this.hash = hash;
    this.keys = Object.fromEntries(
      ["draft", "sealed", "wish", "sent", "claim"].map((part) => [
        part,
        `${PREFIX}.${part}.${token}`,
      ]),
    );
    this.locks = locks ?? null;
    this.settle = settle;
  }

  /**
   * Return what is remembered: `stage` is "fresh", "draft", "sealed", "sent", "deleted" or
   * "damaged".
   */
  read() {
    const sent = this.#entry("sent");
    if (sent !== null) {
      // Also finishes a clean-up that was cut short.
      for (const part of ["sealed", "draft", "wish"]) this.#remove(part);
      return { ...sent, stage: sent.deleted ? "deleted" : "sent" };
    }
    const sealed = this.#entry("sealed");
    if (sealed !== null) {
      // A sealed entry that cannot be read still means that masks were drawn: never draw again.
      if (!sealed.sealed) return { stage: "damaged" };
      this.#remove("draft");
      return { ...sealed, wanted: this.#entry("wish") !== null, stage: "sealed" };
    }
    const draft = this.#entry("draft");
    if (draft?.hash === this.hash) return { ...draft, stage: "draft" };
    return { stage: "fresh", answers: {}, at: null };
  }

  /** Keep the answers so far. Return false where another tab has sealed in the meantime. */
  saveDraft(answers, at) {
    if (!["fresh", "draft"].includes(this.read().stage)) return false;
    this.#write("draft", { hash: this.hash, answers, at });
    return true;
  }

  /** Forget the answers so far. */
  forgetDraft() {
    this.#remove("draft");
  }

  /**
   * Return the sealed entry, drawing the masks if and only if there is none yet.
   *
   * @param {() => {pairs: object[], reports: number[]}} draw masks all answers at once
   */
  async seal(draw) {
    return this.#alone(() => {
      if (["fresh", "draft"].includes(this.read().stage)) {
        const { pairs, reports } = draw();
        this.#write("sealed", {
          sealed: true,
          survey_hash: this.hash,
          response_id: randomName(),
          reports,
          pairs,
        });
      }
      return this.read();
    });
  }

  /** Remember that the person pressed Send, so that a later visit may finish it. */
  wishToSend() {
    this.#write("wish", { wanted: true });
  }

  /** Forget answers and reports, and keep the bill. */
  markSent(bill) {
    this.#write("sent", { sent: true, bill });
    this.read();
  }

  /** Forget answers and reports unsent; what remains keeps this device from drawing again. */
  deleteUnsent() {
    this.#write("sent", { deleted: true });
    this.read();
  }

  /** Say whether a change that another tab made to `key` changes the stage. */
  concerns(key) {
    return key === null || key === this.keys.sealed || key === this.keys.sent;
  }

  #entry(part) {
    const text = this.storage.getItem(this.keys[part]);
    if (text === null) return null;
    try {
      return JSON.parse(text) ?? {};
    } catch {
      return {};
    }
  }

  #write(part, value) {
    this.storage.setItem(this.keys[part], JSON.stringify(value));
  }

  #remove(part) {
    if (this.storage.getItem(this.keys[part]) !== null) this.storage.removeItem(this.keys[part]);
  }

  /**
   * Run `work` while no other tab does, and once what other tabs wrote before is seen here: each
   * tab has its own view of the storage, which follows the others a moment later.
   */
  async #alone(work) {
    const pause = () => new Promise((resolve) => setTimeout(resolve, this.settle));
    if (this.locks) {
      return this.locks.request(this.keys.claim, async () => {
        await pause();
        return work();
      });
    }
    // Locks exist in secure contexts only; over plain http a claim in the storage stands in.
    // Whoever still finds its own claim once all writes have settled goes first.
    const owner = randomName();
    const lasts = CLAIM_SETTLES * this.settle;
    for (;;) {
      const ahead = (this.#entry("claim")?.until ?? 0) - Date.now();
      if (ahead <= 0 || ahead > lasts) {
        this.#write("claim", { owner, until: Date.now() + lasts });
        await pause();
        if (this.#entry("claim")?.owner === owner) break;
      } else {
        await pause();
      }
    }
    try {
      return work();
    } finally {
      this.#remove("claim");
    }
  }
}
