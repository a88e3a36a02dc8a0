// A draft as this page knows it: changes are kept at once here and soon on the server. The server
// refuses a change of something that was changed elsewhere, so nobody overwrites anybody; and what
// is not on the server yet has a copy in this browser, so that nothing typed is lost.

import { element } from "../app/dom.js";
import { button, unusable } from "./fields.js";
import { merged } from "./merge.js";
import { Steps } from "./steps.js";
import { said } from "./said.js";

const PAUSE_MILLISECONDS = 500;
const LONGEST_PAUSE_MILLISECONDS = 30000;

/** Return the JSON in a data block of the page. */
export function inPage(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/** Ask the server; return `{ok, status, data}`, with status 0 where it cannot be reached. */
export async function ask(method, path, body, headers = {}) {
  const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";
  try {
    const answer = await fetch(path, {
      method,
      headers: {
        Accept: "application/json",
        "Content-Type": "application/json",
        "X-CSRF-Token": csrf,
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      keepalive: method === "PATCH" && JSON.stringify(body).length < 60000,
    });
    return { ok: answer.ok, status: answer.status, data: await answer.json() };
  } catch {
    return { ok: false, status: 0, data: {} };
  }
}

export class Draft {
  #seen; // the document after the last change, to know how it was before the next one
  #base; // the document as the server has it, as far as this page knows
  #theirs = null; // what the server has, where it was changed elsewhere

  /**
   * @param {object} known what the server said of it last
   * @param {(draft: Draft) => void} heard is called after each answer of the server
   * @param {(draft: Draft) => void} replaced is called where the document is another one
   */
  constructor(known, heard, replaced = heard) {
    this.known = known;
    this.document = known.document;
    Object.assign(this, { heard, replaced });
    this.changed = new Set();
    this.pause = PAUSE_MILLISECONDS;
    this.stuck = false; // changed elsewhere, until somebody says what holds
    this.state = document.getElementById("saved");
    this.#seen = structuredClone(known.document);
    this.#base = structuredClone(known.document);
    this.steps = new Steps(known.token);
    this.key = `masquerade-draft-${known.token}`;
    unusable.listen(() => this.#copy());
    this.#recover();
    this.#buttons();
    globalThis.addEventListener("beforeunload", (event) => {
      if (!this.changed.size) return;
      this.flush();
      event.preventDefault();
    });
    globalThis.addEventListener("online", () => this.flush());
  }

  get path() {
    return `/api/v1/surveys/${this.known.token}`;
  }

  /** Take fields of the document as changed; they are sent soon. */
  touch(...fields) {
    const before = Object.fromEntries(fields.map((name) => [name, this.#seen[name]]));
    const what = document.activeElement?.closest("[data-key]")?.dataset.key ?? "";
    this.steps.record(before, what);
    this.#touched(fields);
  }

  #touched(fields) {
    for (const field of fields) {
      this.changed.add(field);
      this.#seen[field] = structuredClone(this.document[field]);
    }
    this.#copy();
    this.#buttons();
    if (this.stuck) return;
    this.#say(said("Saving…"));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), this.pause);
  }

  /** Take back the last step, or take it anew; return whether there was one. */
  step(from) {
    const fields = this.steps.take(from, this.document);
    if (!fields) return false;
    Object.assign(this.document, structuredClone(fields));
    this.#touched(Object.keys(fields));
    this.replaced(this);
    return true;
  }

  /** Send what is changed; return whether all of it is on the server. */
  async flush() {
    clearTimeout(this.timer);
    if (this.sending) await this.sending;
    if (this.stuck) return false;
    if (!this.changed.size) return true;
    this.sending = this.#send();
    await this.sending;
    this.sending = null;
    return this.changed.size ? this.pause === PAUSE_MILLISECONDS && this.flush() : true;
  }

  async #send() {
    const fields = [...this.changed];
    this.changed.clear();
    const changes = Object.fromEntries(fields.map((name) => [name, this.document[name]]));
    const sent = structuredClone(changes);
    const match = { "If-Match": `"v${this.known.version}"` };
    const { ok, status, data } = await ask("PATCH", this.path, changes, match);
    if (ok) {
      this.pause = PAUSE_MILLISECONDS;
      const { document: _theirs, ...rest } = data;
      this.known = { ...this.known, ...rest };
      Object.assign(this.#base, sent);
      this.#copy();
      if (!this.changed.size) this.#say(said("Saved"), "good");
      this.heard(this);
      return;
    }
    for (const field of fields) this.changed.add(field);
    this.#copy();
    if (status === 412 || status === 404 || status === 409) {
      await this.#conflict();
      return;
    }
    if (status === 422 || status === 413) {
      this.pause = PAUSE_MILLISECONDS + 1; // nothing to gain by sending the same again
      this.#say(said("Not saved: see below"), "bad");
      const large = [{ pointer: "", detail: said("All texts together are too long. They are kept in this browser alone: shorten them.") }];
      const errors = status === 413 ? large : (data.errors ?? []);
      this.known = { ...this.known, valid: false, errors, forecast: null };
      this.heard(this);
      return;
    }
    this.#say(said("Not saved: trying again"), "bad");
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MILLISECONDS);
    this.timer = setTimeout(() => this.flush(), this.pause);
  }

  /** Keep a copy in this browser of what is not on the server; none where all is there. */
  #copy() {
    const typed = unusable.toJSON();
    const names = [...this.changed];
    const of = (document) => Object.fromEntries(names.map((name) => [name, document[name]]));
    try {
      if (!names.length && !typed.length) localStorage.removeItem(this.key);
      else {
        const { version } = this.known;
        const copy = { version, fields: of(this.document), base: of(this.#base), typed };
        localStorage.setItem(this.key, JSON.stringify(copy));
      }
    } catch {
      // A browser that keeps nothing: the page asks before it is left with unsaved changes.
    }
  }

  /** Take up what an earlier page had not saved. */
  #recover() {
    let copy = null;
    try {
      copy = JSON.parse(localStorage.getItem(this.key));
    } catch {
      // As above.
    }
    if (!copy) return;
    unusable.fill(copy.typed ?? []);
    const { fields = {}, base = {} } = copy;
    const names = Object.keys(fields);
    const open = names.filter((name) => JSON.stringify(fields[name]) !== JSON.stringify(this.document[name]));
    if (!open.length) {
      this.#copy();
      return;
    }
    if (copy.version === this.known.version) {
      Object.assign(this.document, fields);
      setTimeout(() => this.#touched(open));
      return;
    }
    this.stuck = true;
    setTimeout(() => this.#offer({ fields, base, document: structuredClone(this.document), version: this.known.version }));
  }

  /** The server has another version: fetch it, and let the surveyor say what holds. */
  async #conflict() {
    this.stuck = true;
    const { ok, data } = await ask("GET", this.path);
    const of = (document) => Object.fromEntries([...this.changed].map((name) => [name, structuredClone(document[name])]));
    const gone = !ok || data.state !== "draft";
    this.#offer({ fields: of(this.document), base: of(this.#base), ...(gone ? { gone } : { document: data.document, version: data.version }) });
  }

  #offer({ fields, base, document: theirs, version, gone = false }) {
    this.#theirs = theirs;
    const box = document.getElementById("conflict");
    const choose = (mine) => {
      box.replaceChildren();
      this.stuck = false;
      this.known = { ...this.known, version };
      const before = structuredClone(this.document);
      Object.assign(this.document, structuredClone(theirs));
      this.#base = structuredClone(theirs);
      this.changed.clear();
      for (const [name, value] of Object.entries(mine ? fields : {})) {
        this.document[name] = merged(base[name], value, theirs[name]);
      }
      const names = Object.keys(mine ? fields : before);
      // Whatever was not chosen comes back by Undo.
      this.steps.record(Object.fromEntries(names.map((name) => [name, mine ? theirs[name] : (fields[name] ?? before[name])])), "");
      this.#touched(Object.keys(mine ? fields : {}));
      if (!mine) this.#seen = structuredClone(this.document);
      if (!mine) this.#say(said("Saved"), "good");
      this.replaced(this);
    };
    const again = async () => {
      const key = [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
      const whole = { ...this.document, ...fields };
      const answer = await ask("POST", "/api/v1/surveys", { document: whole }, { "Idempotency-Key": key });
      if (!answer.ok) return;
      this.changed.clear();
      this.#copy();
      globalThis.location.assign(`/surveys/${answer.data.token}/edit`);
    };
    this.#say(gone ? said("Not saved") : said("Changed elsewhere"), "bad");
    box.replaceChildren(
      element("p", {}, gone
        ? said("This draft was opened or deleted elsewhere. What you typed since is kept in this browser.")
        : said("Somebody changed this survey elsewhere while you wrote, or you did in another tab. What you typed is kept in this browser until you say what holds.")),
      element("div", { className: "actions" }, gone
        ? [button(said("Make a new draft of what is here"), again)]
        : [
            button(said("Keep mine"), () => choose(true), { kind: "primary" }),
            button(said("Take theirs"), () => choose(false)),
          ]),
      !gone && element("p", { className: "hint" }, said("“Keep mine” keeps what they changed in other questions. Undo brings back what you do not take.")),
    );
  }

  /** Return what is wrong at a place (a JSON pointer), or below it, where lines are counted. */
  faults(pointer, { below = false } = {}) {
    return this.known.errors
      .filter(({ pointer: at }) => at === pointer || (below && at.startsWith(`${pointer}/`)))
      .map(({ pointer: at, detail }) => {
        const line = /^\/(\d+)$/.exec(at.slice(pointer.length));
        return line ? said("Line {line}: {fault}", { line: Number(line[1]) + 1, fault: detail }) : detail;
      });
  }

  /** Let a link wait until all is kept, and until every field holds something that can be used. */
  guard(link) {
    link?.addEventListener("click", async (event) => {
      const [first] = unusable.toJSON();
      if (first) {
        event.preventDefault();
        this.#say(said("“{field}” holds nothing that can be used", { field: first.label }), "bad");
        document.querySelector(`[data-key="${CSS.escape(first.key)}"] :is(input, textarea)`)?.focus();
        return;
      }
      if (!this.changed.size && !this.sending) return;
      event.preventDefault();
      if (await this.flush()) globalThis.location.assign(link.href);
    });
  }

  /** Let the buttons of the page, and the usual keys outside of fields, undo and redo. */
  #buttons() {
    const places = [["undo-step", "past"], ["redo-step", "future"]];
    for (const [id, from] of places) {
      const node = document.getElementById(id);
      if (!node) continue;
      node.disabled = !this.steps[from].length;
      node.onclick = () => this.step(from);
    }
    document.onkeydown = (event) => {
      const key = event.key.toLowerCase();
      if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(key)) return;
      if (event.target.matches("input:not([type=checkbox], [type=radio], [type=range]), textarea")) return; // its own
      event.preventDefault();
      this.step(key === "y" || event.shiftKey ? "future" : "past");
    };
  }

  #say(text, kind = "") {
    this.state.textContent = text;
    this.state.className = `state ${kind}`;
  }
}
