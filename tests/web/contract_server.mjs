// The server's half of the participants' protocol as far as a device can see it, for tests of the
// device's half. It remembers everything that any request carried.

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { readInvitation } from "../../src/masquerade/server/web/static/app/invitation.js";

const ok = (data, status = 200) => ({ ok: true, status, data, lost: false, slug: "" });
export const refused = (slug, data = {}, status = 409) => ({
  ok: false, status, data, lost: false, slug,
});

export class ContractServer {
  constructor({ survey, reveal = "before_send" }) {
    this.survey = survey.with({ reveal });
    this.people = new Map(); // secret → participation
    this.charged = [];
    this.commitments = new Set();
    this.received = [];
    this.closed = false;
    this.numbers = 0;
  }

  /** Return the server as a device of this person sees it; `wire` is called around each request. */
  seenBy(secret, wire = (request) => request()) {
    const ask = (name) => (...values) => wire(() => this[name](secret, ...values));
    const names = ["reserve", "open", "seal", "respond", "withdraw", "abandon", "invitations"];
    return Object.fromEntries(names.map((name) => [name, ask(name)]));
  }

  /** Return the invitation as a device has read it. */
  invitation() {
    return readInvitation(this.survey.invitation("t"), "t");
  }

  async invitations(secret) {
    const participation = this.people.get(secret);
    return ok({ invitations: [{ token: "t", participation }], next_cursor: null });
  }

  async reserve(secret, _survey, level, key) {
    const known = this.people.get(secret);
    if (known && (known.state !== "expired" || known.key === key)) {
      if (known.level !== level) return refused("already-participated");
      return ok({ ...known, survey: "t" });
    }
    if (this.closed) return refused("wrong-state");
    const participation = { id: String(++this.numbers).padStart(32, "0"), state: "reserved", level, key };
    this.people.set(secret, participation);
    return ok({ ...participation, survey: "t" }, 201);
  }

  async open(secret, id) {
    return this.#step(secret, id, ["opened"], ["reserved"], (mine) => {
      mine.state = "opened";
      this.charged.push(id);
      return this.#shown(mine);
    }, (mine) => this.#shown(mine));
  }

  #shown(mine) {
    return { ...mine, ...this.survey.opening() };
  }

  async seal(secret, id, commitment) {
    this.commitments.add(commitment);
    const mine = this.people.get(secret);
    if (["sealed", "submitted"].includes(mine?.state)) {
      return mine.commitment === commitment ? ok(mine) : refused("commitment-mismatch");
    }
    return this.#step(secret, id, [], ["opened"], () => Object.assign(mine, {
      state: "sealed", commitment,
    }));
  }

  async respond(secret, id, { reports, salt, level, hash }) {
    this.received.push(JSON.stringify({ reports, salt, level, hash }));
    return this.#step(secret, id, ["submitted"], ["sealed"], (mine) => {
      Object.assign(mine, { state: "submitted", reports, salt });
      return mine;
    });
  }

  async withdraw(secret, id) {
    return this.#step(secret, id, ["withdrawn"], ["submitted"], (mine) =>
      Object.assign(mine, { state: "withdrawn", reports: null }));
  }

  async abandon(secret, id) {
    const mine = this.people.get(secret);
    const state = mine?.state === "reserved" ? "expired" : "abandoned";
    return this.#step(secret, id, ["expired", "abandoned"], ["reserved", "opened", "sealed"],
      () => Object.assign(mine, { state }));
  }

  #step(secret, id, done, before, change, again = (mine) => mine) {
    const mine = this.people.get(secret);
    if (mine?.id !== id) return refused("not-found", {}, 404);
    if (done.includes(mine.state)) return ok(again(mine));
    if (!before.includes(mine.state)) return refused("wrong-state", { state: mine.state });
    if (this.closed) return refused("wrong-state", { state: mine.state });
    return ok(change(mine));
  }
}
