// The ledger: what was charged for what, what it comes to, the cap, and everything as a file.

import { battery } from "./batteryview.js";
import { element } from "./dom.js";
import { isKnown } from "./figures.js";
import { levelName, percentOf } from "./levelview.js";
import {
  actions,
  button,
  card,
  failureNotice,
  fold,
  heading,
  paragraph,
  reasonOf,
  servers,
  theirs,
} from "./pieces.js";
import { randomName } from "./coins.js";
import { wallets } from "./rewardview.js";
import { words } from "./words.js";

export class LedgerPage {
  constructor({ screen, server, device, database }) {
    Object.assign(this, { screen, server, device, database });
    this.entries = []; // newest first
    this.failure = null;
    this.raising = null; // a higher cap that waits for a confirmation
  }

  async start() {
    if (await this.device.known()) await this.#load();
    return this.render({ focus: false });
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
      entries = entries.concat(answer.ok ? answer.data.entries : []);
      cursor = answer.data.next_cursor ?? null;
    }
    const wallet = answer.ok ? await this.server.wallet() : answer;
    this.wallet = wallet.ok ? wallet.data : null;
    this.failure = answer.ok ? null : answer;
    if (answer.ok) await this.device.keep("ledger", entries);
    else entries = (await this.device.kept("ledger")) ?? [];
    this.entries = entries.reverse();
  }

  async render(options) {
    const said = words().ledger;
    const { me, failure } = this;
    const records = await this.database.readAll("participations");
    const titles = new Map(records.map(({ token, title }) => [token, title]));
    const levels = new Map(records.map(({ token, level }) => [token, level]));
    return this.screen.show(
      "ledger",
      [
        heading(said.title),
        failure?.status === 0
          ? element("p", { className: "notice", role: "status" }, words().common.offline)
          : failureNotice(failure),
        me ? this.#standing(me) : paragraph(said.empty, "lead"),
        me && [
          card(said.timeline, this.#timeline(titles, levels)),
          this.#owed(),
          card(said.caps, this.#caps(me)),
        ],
        fold(said.explain, said.explainText.map((text) => element("p", {}, text))),
        me &&
          card(
            said.exporting,
            paragraph(said.exportText),
            actions(button("export", said.exportDo, () => this.#export(), "")),
          ),
      ],
      options,
    );
  }

  #standing({ battery: state, statement = [], open_reservations: open }) {
    const said = words().ledger;
    const { amount, number } = words();
    const count = Array.isArray(open) ? open.length : Number(open ?? 0);
    return [
      battery(state, { still: true }),
      element(
        "section",
        { className: "level-card" },
        paragraph(
          said.statement(amount(state.epsilon_spent), number(state.delta, 9), state.clear),
        ),
        // The server's sentences are in English.
        words().code === "en" &&
          statement.length > 1 &&
          fold(said.more, statement.slice(1).map((sentence) => servers(sentence))),
      ),
      count > 0 && paragraph(said.reserved(count), "muted"),
    ];
  }

  #timeline(titles, levels) {
    const said = words().ledger;
    if (!this.entries.length) return paragraph(said.empty, "muted");
    // A reservation is no news once it was charged or given back.
    const settled = new Set();
    const shown = this.entries.filter(({ kind, survey }) => {
      const open = !settled.has(survey);
      if (survey && kind !== "reserve") settled.add(survey);
      return kind !== "reserve" || open;
    });
    return [
      element(
        "ol",
        { className: "timeline", reversed: true },
        shown.map((entry) => this.#entry(entry, titles, levels)),
      ),
      paragraph(said.verify, "hint"),
    ];
  }

  #entry(entry, titles, levels) {
    const said = words().ledger;
    const { amount, day, number } = words();
    const { survey, kind, epsilon_user: epsilon, rho, clear, caps } = entry;
    const share = clear > 0 ? null : percentOf({ rho, epsilon_user: epsilon }, this.me?.caps);
    const capped = caps && !survey;
    const title = capped ? said.capTo(amount(caps.epsilon)) : (entry.title ?? titles.get(survey));
    const level = levels.get(survey);
    const facts = [
      !capped && (said.kinds[kind] ?? kind),
      level && !(clear > 0) && levelName(level),
      entry.day && day(entry.day),
    ];
    const costs = !capped && !(clear > 0) && [
      share !== null && said.share(number(share, 1)),
      isKnown(epsilon) && said.cost(amount(epsilon)),
      isKnown(rho) && said.rho(amount(rho)),
    ];
    return element(
      "li",
      { className: clear > 0 ? "clear" : String(kind) },
      title ? theirs(title, "strong") : element("strong", {}, said.unnamed),
      element(
        "span",
        { className: "facts-line muted" },
        facts.filter(Boolean).map((fact) => element("span", {}, fact)),
      ),
      costs &&
        element(
          "span",
          { className: "facts-line muted" },
          costs.filter(Boolean).map((cost) => element("span", {}, cost)),
        ),
      clear > 0 && element("span", { className: "warning" }, said.clear(clear)),
    );
  }

  #owed() {
    const { wallet } = this;
    if (!wallet || wallet.wallets.length + wallet.payouts.length === 0) return null;
    const answering = {
      ask: (one, destination) => this.#ask(one, destination),
      takeBack: ({ id }) => this.#settle(() => this.server.takeBack(id)),
    };
    return card(words().reward.wallet, wallets(wallet, answering));
  }

  #ask(one, destination) {
    if (!destination.trim()) return this.screen.announce(words().reward.payToMissing);
    // A press that is repeated after a lost answer must not ask twice.
    this.asking ??= randomName();
    return this.#settle(() => this.server.askForPayout(one, destination.trim(), this.asking));
  }

  async #settle(request) {
    const answer = await request();
    if (!answer.lost) this.asking = null;
    if (answer.ok) await this.#load();
    await this.render({ focus: false });
    const { done } = words().reward;
    return this.screen.announce(answer.ok ? done : textOf(reasonOf(answer)), { good: answer.ok });
  }

  #caps({ caps }) {
    const said = words().ledger;
    const { amount, day } = words();
    const field = element("input", {
      id: "cap",
      type: "text",
      inputMode: "decimal",
      autocomplete: "off",
      dir: "ltr",
      value: String(this.raising ?? (isKnown(caps.epsilon) ? caps.epsilon : "")),
    });
    const { raising } = this;
    const pending = caps.to_come;
    return [
      paragraph(said.capsText),
      paragraph(said.capNow(amount(caps.epsilon))),
      pending && paragraph(said.capPending(amount(pending.epsilon), day(pending.day)), "muted"),
      element(
        "div",
        { className: "field" },
        element("label", { htmlFor: "cap" }, said.cap),
        field,
      ),
      actions(button("cap-save", said.capSave, () => this.#setCap(field.value), "")),
      raising !== null &&
        element(
          "div",
          { className: "notice", role: "alert" },
          paragraph(said.capRaise(amount(raising))),
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
    if (!answer.ok) return this.screen.announce(textOf(reasonOf(answer)));
    return this.screen.announce(confirm ? said.capWaits : said.capChanged, { good: true });
  }

  async #dropRaise() {
    this.raising = null;
    await this.render({ focus: false });
    this.screen.focus("#cap");
  }

  async #export() {
    const answer = await this.server.everything();
    if (!answer.ok) return this.screen.announce(textOf(reasonOf(answer)));
    const { padding, ...held } = answer.data;
    const device = {
      settings: await this.device.settings(),
      participations: await this.database.readAll("participations"),
    };
    const text = JSON.stringify({ server: held, device }, null, 2);
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    element("a", { href: address, download: "masquerade.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    return null;
  }
}

function textOf(reason) {
  return typeof reason === "string" ? reason : reason.textContent;
}
