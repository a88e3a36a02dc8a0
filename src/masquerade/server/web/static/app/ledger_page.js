// The ledger: what this device charged for what, and what the server did, the caps, and everything
// as a file.

import { percentOf, balanceOf } from "./budget.js";
import { element } from "./dom.js";
import { isKnown } from "../words/formats.js";
import { levelName } from "./level_view.js";
import {
  actions,
  battery,
  button,
  card,
  enrolledNotice,
  failureNotice,
  fold,
  heading,
  paragraph,
  reasonOf,
  userText,
} from "./components.js";
import { isSplit, isolated } from "./two_parties.js";
import { randomName } from "../mechanisms/coins.js";
import { words } from "../words/language.js";

/** Kinds of entries by which the server counts a survey as spent. */
const PAID = ["commit", "clear_disclosure"];

/** Short facts side by side. */
function line(facts) {
  return element(
    "span",
    { className: "facts-line muted" },
    facts.filter(Boolean).map((fact) => element("span", {}, fact)),
  );
}

/** Return how many of the responses that were charged are split between two parties. */
function split(charges, begun) {
  const records = charges.map(({ token }) => begun.get(token));
  return records.filter((record) => record && isSplit(record)).length;
}

/** What was sent of a survey between two parties, to whom, and till when it can be taken back. */
function halvesOf({ token, step, reason, bytes, parties }) {
  const said = words().ledger;
  if (reason === "withdrawn") return paragraph(said.halvesBack, "muted");
  if (!["sent", "finished"].includes(step)) return paragraph(said.halvesUnsent, "muted");
  const { operator } = parties ?? {};
  return [
    operator && paragraph(said.halvesSent(words().number(bytes), isolated(operator)), "muted"),
    element("p", {}, element("a", { href: `/s/${token}` }, said.halvesUndo)),
  ];
}

/** Return entries that are some, the newest first. */
const listed = (entries) => entries.filter((entry) => typeof entry === "object" && entry).reverse();

export class LedgerPage {
  constructor({ screen, server, device, database }) {
    Object.assign(this, { screen, server, device, database });
    this.entries = []; // newest first
    this.failure = null;
    this.raising = null; // a higher cap that waits for a confirmation
    this.enrolledUntil = ""; // before that day the server is asked only where somebody says so
  }

  async start() {
    this.enrolledUntil = await this.device.enrolledUntil();
    if (this.enrolledUntil) await this.#recall();
    else if (await this.device.known()) await this.#load();
    return this.render({ focus: false });
  }

  async #recall() {
    this.me = await this.device.kept("me");
    this.entries = listed((await this.device.kept("ledger")) ?? []);
  }

  async #askNow() {
    this.enrolledUntil = "";
    await this.#load();
    await this.render();
  }

  async #load() {
    const me = await this.server.me();
    if (me.ok) await this.device.keep("me", me.data);
    this.me = me.ok ? me.data : await this.device.kept("me");
    let entries = [];
    let cursor = "";
    let answer = me;
    while (answer.ok && cursor !== null) {
      answer = await this.server.ledger(cursor);
      entries = entries.concat(answer.data?.entries ?? []);
      cursor = answer.data?.next_cursor ?? null;
    }
    this.failure = answer.ok ? null : answer;
    if (answer.ok) await this.device.keep("ledger", entries);
    else entries = (await this.device.kept("ledger")) ?? [];
    this.entries = listed(entries);
  }

  async render(options) {
    const said = words().ledger;
    const { me, failure, device } = this;
    const records = await this.database.readAll("participations");
    const titles = new Map(records.map(({ token, title }) => [token, title]));
    const begun = new Map(records.map((record) => [record.token, record]));
    const charges = await device.charges();
    const caps = await device.caps();
    const own = await device.ownCaps();
    const shown = me || charges.length > 0;
    return this.screen.show(
      "ledger",
      [
        heading(said.title),
        enrolledNotice(this.enrolledUntil, () => this.#askNow()),
        failure?.status === 0
          ? element("p", { className: "notice", role: "status" }, words().common.offline)
          : failureNotice(failure),
        shown ? this.#standing(balanceOf(charges, caps), split(charges, begun)) : paragraph(said.empty, "lead"),
        shown && [
          card(said.timeline, this.#counted(charges, { begun, caps })),
          card(said.theirs, this.#theirs(charges, titles)),
          card(said.caps, paragraph(said.capsText)),
          this.#method(balanceOf(charges, caps), me?.caps, own),
        ],
        shown &&
          card(
            said.exporting,
            paragraph(said.exportText),
            actions(button("export", said.exportDo, () => this.#export(), "")),
          ),
      ],
      options,
    );
  }

  #standing(standing, halves) {
    const said = words().ledger;
    const { clear } = standing;
    return [
      battery(standing, { still: true }),
      // Both truths: what is said holds while one of two parties is honest.
      halves > 0 && element("section", { className: "level-card" }, paragraph(said.bothParties(halves))),
      clear > 0 && paragraph(said.without(clear), "warning"),
      paragraph(said.kept, "muted"),
    ];
  }

  /** The exact amounts, in the unit in which they are proven, and the caps in it. */
  #method({ epsilon_spent: spent, epsilon_cap: cap, delta, clear }, theirs, own) {
    const { amount, number, method } = words();
    const said = this.me?.battery?.epsilon_spent;
    return element(
      "section",
      { className: "card method", "aria-labelledby": "method" },
      element("h2", { id: "method" }, method.title),
      paragraph(method.statement(amount(spent), number(delta, 9), clear)),
      paragraph(method.spent(amount(spent), amount(cap)), "muted"),
      isKnown(said) && paragraph(method.theirs(amount(said)), "muted"),
      this.#caps(theirs, own),
      fold(method.explain, method.explainText.map((text) => element("p", {}, text))),
    );
  }

  /** What this device charged, newest first. */
  #counted(charges, { begun, caps }) {
    const said = words().ledger;
    if (!charges.length) return paragraph(said.empty, "muted");
    const { number } = words();
    const entry = (charge) => {
      const { token, clear } = charge;
      const costs = !(clear > 0) && [said.share(number(percentOf(charge, caps, charges), 1))];
      const record = begun.get(token);
      const strength = !(clear > 0) && levelName(record?.strength);
      return element(
        "li",
        { className: clear > 0 ? "clear" : "commit" },
        record ? userText(record.title, "strong") : element("strong", {}, said.unnamed),
        strength && line([strength]),
        costs && line(costs),
        record && isSplit(record) && halvesOf(record),
        clear > 0 && element("span", { className: "warning" }, said.clear(clear)),
      );
    };
    const newest = [...charges].sort((one, other) => other.place - one.place);
    return element("ol", { className: "timeline", reversed: true }, newest.map(entry));
  }

  /** What the server says it charged, and how that differs; in its numbers, said to be its own. */
  #theirs(charges, titles) {
    const said = words().ledger;
    const settled = new Set(
      this.entries.filter(({ kind }) => PAID.includes(kind)).map(({ survey }) => survey),
    );
    const mine = new Set(charges.map(({ token }) => token));
    const fewer = [...mine].filter((token) => !settled.has(token)).length;
    const more = [...settled].filter((token) => !mine.has(token)).length;
    const spent = this.me?.battery?.epsilon_spent;
    const open = this.me?.open_reservations;
    return [
      paragraph(isKnown(spent) ? said.theirsSays : said.theirsSilent),
      fewer > 0 && element("p", { className: "notice" }, said.theirsFewer(fewer)),
      more > 0 && paragraph(said.theirsMore(more)),
      fewer + more === 0 && paragraph(said.agree, "muted"),
      Number.isInteger(open) && open > 0 && paragraph(said.reserved(open), "muted"),
      this.entries.length > 0 &&
        fold(
          said.theirsList,
          element(
            "ol",
            { className: "entries", reversed: true },
            this.#open().map((each) => this.#entry(each, titles)),
          ),
          paragraph(said.verify, "hint"),
        ),
    ];
  }

  /** Return the server's entries; a reservation is no news once it was charged or given back. */
  #open() {
    const settled = new Set();
    return this.entries.filter(({ kind, survey }) => {
      const open = kind !== "reserve" || !settled.has(survey);
      if (survey && kind !== "reserve") settled.add(survey);
      return open;
    });
  }

  #entry({ survey, kind, clear, caps, day, title }, titles) {
    const said = words().ledger;
    const { day: dayText } = words();
    const capped = caps && !survey;
    const name = capped
      ? said.capTo
      : (titles.get(survey) ?? (typeof title === "string" ? title : null));
    const facts = [
      !capped && (said.kinds[kind] ?? ""),
      typeof day === "string" && dayText(day),
      clear > 0 && said.clear(clear),
    ];
    return element(
      "li",
      {},
      name ? userText(name, "strong") : element("strong", {}, said.unnamed),
      line(facts),
    );
  }

  #caps(caps, own) {
    const { amount, day, method } = words();
    const said = words().ledger;
    const ours = paragraph(method.capsOwn(amount(own.epsilon / 1e6)));
    if (!isKnown(caps?.epsilon)) return ours;
    const field = element("input", {
      id: "cap",
      type: "text",
      inputMode: "decimal",
      autocomplete: "off",
      dir: "ltr",
      value: String(this.raising ?? caps.epsilon),
    });
    const { raising } = this;
    const pending = caps.to_come;
    return [
      ours,
      paragraph(method.capNow(amount(caps.epsilon))),
      pending && paragraph(method.capPending(amount(pending.epsilon), day(pending.day)), "muted"),
      element(
        "div",
        { className: "field" },
        element("label", { htmlFor: "cap" }, method.cap),
        field,
      ),
      actions(button("cap-save", said.capSave, () => this.#setCap(field.value), "")),
      raising !== null &&
        element(
          "div",
          { className: "notice", role: "alert" },
          paragraph(method.capRaise(amount(raising))),
          actions(
            button("cap-raise", said.capRaiseDo, () => this.#patch(raising, true), "danger"),
            button("cap-cancel", words().common.cancel, () => this.#dropRaise(), ""),
          ),
        ),
    ];
  }

  #setCap(text) {
    const said = words().ledger;
    const epsilon = Number(text.trim().replace(",", "."));
    if (!(epsilon > 0)) {
      this.screen.announce(said.capWrong);
      return this.screen.focus("#cap");
    }
    return this.#patch(epsilon, false);
  }

  async #patch(epsilon, confirm) {
    const said = words().ledger;
    const answer = await this.server.changeCaps(confirm ? { epsilon, confirm } : { epsilon });
    if (answer.slug === "confirmation-needed") {
      this.raising = epsilon;
      await this.render({ focus: false });
      return this.screen.focus("#cap-raise");
    }
    this.raising = null;
    if (answer.ok) await this.#load();
    await this.render({ focus: false });
    this.screen.focus("#cap");
    if (!answer.ok) return this.screen.announce(reasonOf(answer));
    return this.screen.announce(confirm ? said.capWaits : said.capChanged, { good: true });
  }

  async #dropRaise() {
    this.raising = null;
    await this.render({ focus: false });
    this.screen.focus("#cap");
  }

  async #export() {
    const answer = await this.server.everything();
    if (!answer.ok) return this.screen.announce(reasonOf(answer));
    const { padding, ...held } = answer.data;
    const device = {
      settings: await this.device.settings(),
      participations: await this.database.readAll("participations"),
      charges: await this.device.charges(),
    };
    const text = JSON.stringify({ server: held, device }, null, 2);
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    element("a", { href: address, download: "masquerade.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    return null;
  }
}
