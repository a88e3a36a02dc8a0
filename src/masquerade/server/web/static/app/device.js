// Who this device is, and what its person prefers.
//
// The secret is all there is of an account: whoever holds it is that person. It leaves the device
// only as the words that its person asks to see; a server sees what is made of it for that server.

import { USUAL_CAPS, lowerCaps } from "./budget.js";
import { randomName } from "../mechanisms/coins.js";

export class Device {
  constructor(database) {
    this.database = database;
  }

  /** Return the secret, or null where this device has not been used yet. */
  async known() {
    return (await this.database.read("device", "secret")) ?? null;
  }

  /** Return the secret, drawn when first needed. */
  secret() {
    return this.database.change("device", "secret", (secret) => secret ?? `w${randomName()}`);
  }

  /**
   * Become the person whose secret this is; what was begun here as somebody else is forgotten. What
   * was charged stays: it is most likely the same person, and no survey is masked here twice.
   */
  async become(secret) {
    const settings = await this.settings();
    await this.database.clear({ but: ["charges", "arrivals"], device: { settings, secret } });
  }

  /** Whether an account has moved to the secret that this server sees: "m", or null. */
  get moves() {
    return {
      read: async () => (await this.database.read("device", "moved")) ?? null,
      keep: (moved) => this.database.change("device", "moved", () => moved),
    };
  }

  /** Forget everything, the secret too. */
  async forget() {
    await this.database.clear();
  }

  /** Return `{language, levels: {topic: level}, caps, wordsSeen}`, as far as chosen. */
  async settings() {
    return (await this.database.read("device", "settings")) ?? {};
  }

  /** Return the caps that hold here: the lower of this device's and what the server last said. */
  async caps() {
    return lowerCaps(await this.ownCaps(), (await this.kept("me"))?.caps);
  }

  /** Return what the person lets this device spend, in millionths of epsilon and clear answers. */
  async ownCaps() {
    return { ...USUAL_CAPS, ...(await this.settings()).caps };
  }

  /**
   * Return the last of the days until which this device is enrolled for a survey, "" where it is
   * for none. Before it no request with the secret is made that nobody asked for: who sees the
   * times of requests could join it with the exchange of the ticket.
   */
  async enrolledUntil() {
    const today = new Date(Date.now()).toISOString().slice(0, 10);
    const arrivals = await this.database.readAll("arrivals");
    const days = arrivals.map((one) => one?.from).filter((day) => typeof day === "string");
    return days.filter((day) => day > today).sort().at(-1) ?? "";
  }

  /** Return what this device has charged, survey by survey. */
  charges() {
    return this.database.readAll("charges");
  }

  prefer(changes) {
    return this.database.change("device", "settings", (old) => ({ ...old, ...changes }));
  }

  /** Keep what the server last said under a name, to show it without a network. */
  async keep(name, answer) {
    await this.database.change("device", `seen.${name}`, () => answer).catch(() => {});
  }

  kept(name) {
    return this.database.read("device", `seen.${name}`);
  }
}
