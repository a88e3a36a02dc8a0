// Welcome, and the list of surveys.

import { balanceOf } from "./budget.js";
import { element } from "./dom.js";
import { languageFor, textIn, wishedLanguages } from "./languages.js";
import { isRecord } from "./promise.js";
import { maskDemo } from "./mask_demo.js";
import {
  actions,
  battery,
  button,
  enrolledNotice,
  failureNotice,
  heading,
  link,
  paragraph,
  userText,
} from "./components.js";
import { minutesFor, topicBadge } from "./survey_views.js";
import { words } from "../words/language.js";

const BY_STEP = {
  reserving: "begun",
  reserved: "begun",
  opened: "begun",
  drawn: "waiting",
  sealed: "waiting",
  sent: "answered",
  finished: "answered",
  ended: "over",
};
const BY_STATE = {
  reserved: "begun",
  opened: "begun",
  sealed: "waiting",
  submitted: "answered",
  withdrawn: "over",
  abandoned: "over",
};

export class HomePage {
  constructor({ screen, server, device, database, host }) {
    Object.assign(this, { screen, server, device, database, host });
    this.invitations = [];
    this.cursor = "";
    this.failure = null;
    this.enrolledUntil = ""; // before that day the server is asked only where somebody says so
  }

  async start() {
    if (!(await this.device.known())) return this.#welcome({ focus: false });
    await this.#open();
    return this.render({ focus: false });
  }

  /** Ask the server; while this device is enrolled for a survey, show what is kept. */
  async #open() {
    this.enrolledUntil = await this.device.enrolledUntil();
    if (!this.enrolledUntil) return this.#load("");
    this.invitations = (await this.device.kept("invitations")) ?? [];
    this.me = await this.device.kept("me");
    return null;
  }

  async #askNow() {
    this.enrolledUntil = "";
    await this.#load("");
    await this.render();
  }

  #welcome(options) {
    const said = words().welcome;
    const begin = async () => {
      await this.device.secret();
      await this.#open();
      await this.render();
    };
    return this.screen.show(
      "welcome",
      [
        heading(said.title),
        element(
          "div",
          { className: "lead" },
          [said.stays, said.masked, said.crowd].map((sentence) => element("p", {}, sentence)),
        ),
        maskDemo(),
        paragraph(said.account, "muted"),
        actions(
          button("begin", said.begin, begin),
          link("/me/settings#words", said.words, "button quiet"),
        ),
      ],
      options,
    );
  }

  async #load(cursor) {
    const answer = await this.server.invitations(cursor);
    this.failure = answer.ok ? null : answer;
    if (answer.ok) {
      const { invitations } = answer.data;
      const more = Array.isArray(invitations) ? invitations.filter(isRecord) : [];
      this.invitations = cursor ? [...this.invitations, ...more] : more;
      this.cursor = answer.data.next_cursor ?? "";
      if (!cursor) await this.device.keep("invitations", more);
    } else if (!cursor) this.invitations = (await this.device.kept("invitations")) ?? [];
    const me = await this.server.me();
    if (me.ok) await this.device.keep("me", me.data);
    this.me = me.ok ? me.data : await this.device.kept("me");
  }

  async render(options) {
    const said = words().home;
    const records = await this.database.readAll("participations");
    const settings = await this.device.settings();
    this.wished = wishedLanguages(settings);
    const charges = await this.device.charges();
    const here = new Map(records.map((record) => [record.token, record]));
    const known = new Set(this.invitations.map(({ token }) => token));
    const begunOnly = records.filter(({ token }) => !known.has(token));
    const rows = [
      ...this.invitations.map((invitation) => this.#row(invitation, here.get(invitation.token))),
      ...begunOnly.map((record) => this.#row(record, record)),
    ].sort((a, b) => a.order - b.order);
    const unsaved = records.length > 0 && !settings.wordsSeen;
    return this.screen.show(
      "home",
      [
        heading(said.title),
        enrolledNotice(this.enrolledUntil, () => this.#askNow()),
        battery(this.me || charges.length ? balanceOf(charges, await this.device.caps()) : null),
        this.failure &&
          (this.failure.status === 0
            ? element("p", { className: "notice", role: "status" }, words().common.offline)
            : failureNotice(this.failure)),
        unsaved && this.#backUp(),
        rows.length
          ? element("ul", { className: "invitations" }, rows.map(({ shown }) => shown))
          : element(
              "section",
              { className: "card empty" },
              element("div", { className: "motif small", "aria-hidden": "true" }),
              element("h2", {}, said.empty),
              element("p", { className: "muted" }, said.emptyText),
              link("/me/plain", words().plain.title),
            ),
        this.cursor && actions(button("more", words().common.more, () => this.#more(), "")),
      ],
      options,
    );
  }

  #backUp() {
    const said = words().home;
    return element(
      "section",
      { className: "card" },
      element("h2", {}, said.backUp),
      element("p", {}, said.backUpText),
      actions(link("/me/settings#words", said.backUpDo)),
    );
  }

  #row(invitation, record) {
    const said = words().home;
    const { token, topic, questions, state, participation } = invitation;
    const begun = record ? BY_STEP[record.step] : BY_STATE[participation?.state];
    const language = this.#languageOf(invitation);
    const where = begun ?? (state === "open" ? "new" : "closed");
    const order = ["begun", "waiting", "new", "answered", "over", "closed"].indexOf(where);
    const shown = element(
      "li",
      {},
      element(
        "a",
        { className: "card invitation", href: `${this.#home(invitation, record)}/s/${token}` },
        userText(textIn(invitation, "title", language), "strong", "", language),
        element(
          "span",
          { className: "facts-line muted" },
          topic && topicBadge(topic),
          Number.isInteger(questions) && element("span", {}, said.questions(questions)),
          Number.isInteger(questions) && element("span", {}, said.minutes(minutesFor(questions))),
        ),
        element("span", { className: `badge ${where}` }, said.states[where]),
      ),
    );
    return { order, shown };
  }

  /** Return in which language a survey's title is read. */
  #languageOf({ languages }) {
    return languages?.languages ? languageFor(languages, this.wished) : null;
  }

  /** Return where a survey can be opened: a second party's pages have those of its own alone. */
  #home({ two_parties: parties }, record) {
    const { host } = this;
    return !host || record || parties?.helper === host.address ? "" : host.leader;
  }

  async #more() {
    await this.#load(this.cursor);
    return this.render({ focus: false });
  }
}
