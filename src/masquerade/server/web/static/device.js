// Who this device is, and what its person prefers.
//
// The secret is all there is of an account: whoever holds it is that person. It leaves the device
// only as the header of requests to this site, and as the words that its person asks to see.

import { randomName } from "./coins.js";

const OLDER = "masquerade.participant"; // where earlier versions kept the secret

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
    return this.database.change("device", "secret", (secret) => secret ?? older() ?? randomName());
  }

  /** Become the person whose secret this is; what was begun here as somebody else is forgotten. */
  async become(secret) {
    const settings = await this.settings();
    await this.database.clear();
    await this.database.change("device", "settings", () => settings);
    await this.database.change("device", "secret", () => secret);
    dropOlder();
  }

  /** Forget everything, the secret too. */
  async forget() {
    await this.database.clear();
    dropOlder();
  }

  /** Return `{language, levels: {topic: level}, wordsSeen}`, as far as chosen. */
  async settings() {
    return (await this.database.read("device", "settings")) ?? {};
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

function older() {
  try {
    const secret = globalThis.localStorage?.getItem(OLDER) ?? "";
    return /^[0-9a-f]{32}$/.test(secret) ? secret : undefined;
  } catch {
    return undefined;
  }
}

function dropOlder() {
  try {
    globalThis.localStorage?.removeItem(OLDER);
  } catch {
    // Without a storage there is nothing to drop.
  }
}
