// Panels: what they send along with a person, and where the person goes afterwards.
//
// What a panel sends is bound to the completion code, by a request of its own without the person's
// secret. No row of the server joins it with a response. But the server gave the code in its answer
// to the response, and this request follows within seconds from the same network address: a server
// that writes down either while it runs knows whose response is whose. Addresses are the server's
// word, so only those are followed that the person presses.

import { element } from "./dom.js";
import { isRecord, isText } from "./promise.js";
import { words } from "../words/language.js";

const TABLE = "arrivals";
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;
const LONGEST_VALUE = 200;
const ADDRESS = /^http(s:[/][/][a-z0-9.-]{1,253}(:\d{1,5})?|:[/][/](localhost|127\.0\.0\.1)(:\d{1,5})?)([/?].*)?$/i;
const ADDRESSES = ["complete", "screened_out", "full"];

/** Return the panel of an invitation, without what is no name or no address; null where none is. */
export function readPanel(given) {
  if (!isRecord(given)) return null;
  const named = Array.isArray(given.parameters) ? given.parameters : [];
  const parameters = named.filter((name) => isText(name) && NAME.test(name));
  const addresses = ADDRESSES.map((name) => [name, given[name]]);
  const good = addresses.filter(([, address]) => isText(address) && ADDRESS.test(address));
  return { parameters, ...Object.fromEntries(good), form: given.method === "form" };
}

export class Arrival {
  constructor(database, server, token) {
    this.database = database;
    this.server = server;
    this.token = token;
  }

  /** Return `{given, bound}`: what a panel sent along, and whether it is bound to the code. */
  async read() {
    return (await this.database.read(TABLE, `panel.${this.token}`)) ?? { given: {}, bound: false };
  }

  /** Keep what an address says, by the names that a panel uses; what is kept already stays. */
  keep(panel, search) {
    const said = new URLSearchParams(search);
    const values = (panel?.parameters ?? []).map((name) => [name, said.get(name)]);
    const given = Object.fromEntries(
      values.filter(([, value]) => value && value.length <= LONGEST_VALUE),
    );
    if (Object.keys(given).length === 0) return this.read();
    return this.#change((old) => old ?? { given, bound: false });
  }

  /** Bind a completion code to what the panel sent; return null, or what did not succeed. */
  async bind(code) {
    const { given, bound } = await this.read();
    if (bound || Object.keys(given).length === 0) return null;
    const answer = await this.server.claim(this.token, code, given);
    if (!answer.ok) return answer;
    await this.#change((old) => ({ ...old, bound: true }));
    return null;
  }

  #change(change) {
    return this.database.change(TABLE, `panel.${this.token}`, change);
  }
}

/** Return an address with the code and the parameters in their places. */
export function filled(address, given, code = "") {
  const values = { ...given, code };
  return address.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ""));
}

/** The way back to the panel; null where there is none. */
export function wayBack(panel, name, given, code = "") {
  const address = panel?.[name];
  if (!address) return null;
  const target = filled(address, given, code);
  const said = words().panel;
  const parts = { id: "way-back", className: "button primary" };
  if (!panel.form) return element("a", { ...parts, href: target, rel: "noreferrer" }, said.back);
  // What stands behind the question mark is sent as the fields of a form, as MTurk takes it.
  const [action, query = ""] = target.split("?", 2);
  const fields = [...new URLSearchParams(query)].map(([field, value]) =>
    element("input", { type: "hidden", name: field, value }),
  );
  return element(
    "form",
    { method: "post", action, className: "way-back" },
    ...fields,
    element("button", { ...parts, type: "submit" }, said.back),
  );
}
