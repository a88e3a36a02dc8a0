// All requests of the participants' app. Nothing else here talks to anybody.

import { formerSecret, secretAt } from "./recovery.js";

const PATIENCE_MILLISECONDS = 20000;
const BLOCK = 1024; // bodies are padded to a multiple of it
const ROOM_A_REPORT = 20; // the longest whole number a report can be, its sign and a comma
const ROOM_A_LEVEL = 64;

/**
 * Return an object as JSON whose length says nothing of its values: spaces in `padding` fill it up
 * to a multiple of 1 KiB that depends on the number of reports only.
 */
export function padded(content) {
  const { reports = [], level = "" } = content;
  const size = (value) => new TextEncoder().encode(JSON.stringify(value)).length;
  const least = size({ ...content, reports: [], level: "", padding: "" });
  const room = least + ROOM_A_REPORT * reports.length + ROOM_A_LEVEL;
  const bare = size({ ...content, padding: "" });
  const whole = Math.ceil(Math.max(room, bare) / BLOCK) * BLOCK;
  return JSON.stringify({ ...content, padding: " ".repeat(whole - bare) });
}

/**
 * Make one request.
 *
 * @returns {Promise<{ok: boolean, status: number, data: object, lost: boolean, slug: string}>}
 *   `lost` is true where it is not known whether the request arrived, or trying again may help
 */
export async function request(method, path, options = {}) {
  const { secret = null, key = null, body = null, fetch = globalThis.fetch } = options;
  const { base = "/api/v1" } = options;
  const headers = { Accept: "application/json" };
  if (secret !== null) headers["Masquerade-Participant"] = secret;
  if (key !== null) headers["Idempotency-Key"] = key;
  if (body !== null) headers["Content-Type"] = "application/json";
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), PATIENCE_MILLISECONDS);
  try {
    const response = await fetch(`${base}${path}`, {
      method,
      headers,
      body,
      // No cookie and no referrer: a surveyor who is signed in here answers like everybody else.
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "error",
      signal: abort.signal,
    });
    const data = await response.json();
    const busy = response.status >= 500 || [408, 425, 429].includes(response.status);
    const slug = String(data.type ?? "").split("/").pop();
    return { ok: response.ok, status: response.status, data, lost: busy, slug };
  } catch {
    return { ok: false, status: 0, data: {}, lost: true, slug: "" };
  } finally {
    clearTimeout(timer);
  }
}

/** The server as the app sees it; it sees of the `secret` what is made for its own address. */
export class Server {
  /**
   * `leader`: its address, where another party served this page; else `origin` is the page's.
   * `earlier`: addresses that it says to have had. `moves`: `read()` and `keep(text)` of whether an
   * account has moved to the secret that is sent.
   */
  constructor(secret, options = {}) {
    const { fetch = globalThis.fetch, leader = "", origin = "", earlier = [] } = options;
    this.secret = secret;
    this.fetch = fetch;
    this.base = `${leader}/api/v1`;
    this.origin = leader ? new URL(leader).origin : origin;
    this.earlier = earlier;
    this.moves = options.moves ?? { read: async () => null, keep: async () => {} };
  }

  invitation(token) {
    return this.#anybody("GET", `/surveys/${encodeURIComponent(token)}/invitation`);
  }

  invitations(cursor = "") {
    return this.#own("GET", `/invitations${cursorQuery(cursor)}`);
  }

  /** Exchange the code of a ticket; nothing of the person goes along. */
  exchange(token, code, blinded) {
    return this.#anybody("POST", `/surveys/${token}/ticket`, padded({ code, blinded }));
  }

  /** Let a panel know whose completion code it is; nothing else of the person goes along. */
  claim(token, code, parameters) {
    return this.#anybody("POST", `/surveys/${token}/panel`, padded({ code, parameters }));
  }

  reserve(survey, level, key, ticket = "") {
    const ask = { survey, level, ...(ticket && { ticket }) };
    return this.#own("POST", "/participations", { key, body: padded(ask) });
  }

  open(id) {
    return this.#own("POST", `/participations/${id}/open`);
  }

  seal(id, commitment) {
    return this.#own("POST", `/participations/${id}/seal`, { body: padded({ commitment }) });
  }

  respond(id, { reports, salt, level, hash }) {
    const body = padded({ reports, salt, level, survey_hash: hash });
    return this.#own("PUT", `/participations/${id}/response`, { body });
  }

  respondSplit(id, { report, salt, level, hash }) {
    const body = padded({ report, salt, level, survey_hash: hash });
    return this.#own("PUT", `/participations/${id}/sealed-report`, { body });
  }

  /** Ask a second party, at its own address, what it approved; nothing of the person goes there. */
  approval(helper, task) {
    const path = `/tasks/${encodeURIComponent(task)}/approval`;
    return request("GET", path, { base: helper, fetch: this.fetch });
  }

  withdraw(id) {
    return this.#own("POST", `/participations/${id}/withdraw`);
  }

  abandon(id) {
    return this.#own("POST", `/participations/${id}/abandon`);
  }

  me() {
    return this.#own("GET", "/me");
  }

  ledger(cursor = "") {
    return this.#own("GET", `/me/ledger${cursorQuery(cursor)}`);
  }

  everything() {
    return this.#own("GET", "/me/export");
  }

  changeCaps(caps) {
    return this.#own("PATCH", "/me/caps", { body: JSON.stringify(caps) });
  }

  leave() {
    return this.#own("DELETE", "/me");
  }

  #anybody(method, path, body = null) {
    return request(method, path, { base: this.base, fetch: this.fetch, body });
  }

  async #own(method, path, options = {}) {
    const own = await this.secret();
    const ask = (kind) => {
      const secret = kind + secretAt(own, this.origin);
      return request(method, path, { ...options, secret, base: this.base, fetch: this.fetch });
    };
    const kept = await this.moves.read();
    const moved = kept ? { kind: kept } : await this.#move(own);
    if (moved.lost) return moved.lost;
    const answer = await ask(moved.kind);
    if (kept !== "m" || answer.status !== 401) return answer;
    // A server that was restored from before the move knows nothing of it.
    await this.moves.keep(null);
    const again = await this.#move(own);
    return again.lost ?? ask(again.kind);
  }

  /**
   * Let the secret for this address open the account of a former one, before anything is asked that
   * would begin another account. Of an earlier address only where that says itself that it is this
   * server's: else any server could have what is made for another.
   */
  async #move(own) {
    if (this.settled === own) return { kind: "w" };
    const formers = [formerSecret(own)];
    for (const address of this.earlier) {
      const asked = { base: address, fetch: this.fetch };
      const { data } = await request("GET", "/.well-known/masquerade-address", asked);
      if (data.address === this.origin) formers.push(`w${secretAt(own, address)}`);
    }
    const secret = `w${secretAt(own, this.origin)}`;
    for (const former of formers.filter(Boolean)) {
      const body = JSON.stringify({ former });
      const asked = { secret, body, base: this.base, fetch: this.fetch };
      const answer = await request("POST", "/me/move", asked);
      if (!answer.ok) return { lost: answer };
      if (answer.data.moved) {
        await this.moves.keep("m");
        return { kind: "m" };
      }
    }
    this.settled = own;
    return { kind: "w" };
  }
}

function cursorQuery(cursor) {
  return cursor ? `?cursor=${encodeURIComponent(cursor)}` : "";
}
