// A draft as this page knows it: changes are kept at once here and soon on the server. The server
// refuses a change of something that was changed elsewhere, so nobody overwrites anybody.

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
  /**
   * @param {object} known what the server said of it last
   * @param {(draft: Draft) => void} heard is called after each answer of the server
   */
  constructor(known, heard) {
    this.known = known;
    this.document = known.document;
    this.heard = heard;
    this.changed = new Set();
    this.pause = PAUSE_MILLISECONDS;
    this.stuck = false; // changed elsewhere: only a reload helps
    this.state = document.getElementById("saved");
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
    for (const field of fields) this.changed.add(field);
    if (this.stuck) return;
    this.#say("Saving…");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), this.pause);
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
    const match = { "If-Match": `"v${this.known.version}"` };
    const { ok, status, data } = await ask("PATCH", this.path, changes, match);
    if (ok) {
      this.pause = PAUSE_MILLISECONDS;
      const { document: _theirs, ...rest } = data;
      this.known = { ...this.known, ...rest };
      if (!this.changed.size) this.#say("Saved", "good");
      this.heard(this);
      return;
    }
    for (const field of fields) this.changed.add(field);
    if (status === 412 || status === 404 || status === 409) {
      this.stuck = true;
      this.changed.clear();
      this.#say("Changed elsewhere: reload to see it", "bad");
      return;
    }
    if (status === 422) {
      this.pause = PAUSE_MILLISECONDS + 1; // nothing to gain by sending the same again
      this.#say("Not saved: see below", "bad");
      this.known = { ...this.known, valid: false, errors: data.errors ?? [], forecast: null };
      this.heard(this);
      return;
    }
    this.#say("Not saved: trying again", "bad");
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MILLISECONDS);
    this.timer = setTimeout(() => this.flush(), this.pause);
  }

  /** Return what is wrong at a place (a JSON pointer), or below it. */
  faults(pointer, { below = false } = {}) {
    return this.known.errors
      .filter(({ pointer: at }) => at === pointer || (below && at.startsWith(`${pointer}/`)))
      .map(({ detail }) => detail);
  }

  /** Let a link wait until all is kept. */
  guard(link) {
    link?.addEventListener("click", async (event) => {
      if (!this.changed.size && !this.sending) return;
      event.preventDefault();
      if (await this.flush()) globalThis.location.assign(link.href);
    });
  }

  #say(text, kind = "") {
    this.state.textContent = text;
    this.state.className = `state ${kind}`;
  }
}
