// The page of one survey: which screen is shown, and what leads to the next. The stage always comes
// from the disk, so every way of coming back to this page, in any tab, shows the same thing.

import { balanceOf, percentOf } from "./budget.js";
import { SystemCoins } from "../mechanisms/coins.js";
import { languageFor, wishedLanguages } from "./languages.js";
import { fromHost, readInvitation } from "./invitation.js";
import { loadKinds } from "./kinds/kinds.js";
import { wear } from "./look.js";
import { BrokenPromise } from "./promise.js";
import { isAffordable } from "./level_view.js";
import { maskResponse } from "../mechanisms/mask.js";
import { Participation, checkedQuestions } from "./participation.js";
import { Arrival } from "./panel.js";
import { missingAnswer } from "./question_view.js";
import { answerTo, skipCode, visibility } from "./conditions.js";
import { notAgreed, pageView } from "./page_view.js";
import { groupOf, inDrawnOrder, nextPage, pagesInOrder, placesDrawn, placesOn } from "./pages.js";
import { layoutOfText, questionsIn } from "./survey_text.js";
import { strengthOf } from "./strength.js";
import { Ticket, readMark } from "./tickets.js";
import { loadViews } from "./two_parties.js";
import * as views from "./survey_views.js";
import { words } from "../words/language.js";
import { tail } from "../mechanisms/loss.js";

const FIRST_PAUSE_MILLISECONDS = 5000;
const LONGEST_PAUSE_MILLISECONDS = 120000;
const UNOPENED = [null, "reserving", "reserved"];
const ANSWERING = ["reserving", "reserved", "opened", "drawn", "sealed"];

/** Return what of a record makes the difference between two screens. */
const placeOf = (record) => `${record?.step} ${record?.at} ${record?.day}`;

/** Say whether what follows was asked for already. */
function goesOn(record) {
  if (record?.step === "drawn") return true;
  return record?.step === "sealed" && (record.wished || record.reveal === "after_send");
}

export class SurveyPage {
  constructor(context, token, { mark = "", search = "" } = {}) {
    const { screen, server, device, database, prefer = null, host = null, reload = null } = context;
    this.screen = screen;
    this.prefer = prefer; // called with the code of the language that somebody chose
    this.language = null; // in which the survey is read, where it says which it has
    this.reload = reload; // loads the whole page again
    this.host = host; // the second party, where it served this page
    this.server = server;
    this.device = device;
    this.token = token;
    this.participation = new Participation(database, server, token, () => device.caps());
    this.ticket = new Ticket(database, server, token);
    this.arrival = new Arrival(database, server, token);
    this.mark = readMark(mark);
    this.search = search;
    this.invitation = null;
    this.agreed = false; // to the consent on the first screen
    this.coming = { ticket: null, given: {} }; // what is kept of how the person came here
    this.chosen = { name: null, clear: false };
    this.failure = null; // why the last attempt to go on failed
    this.broken = false; // the server was caught at something that it did not promise
    this.reason = null; // which of two parties' terms it is
    this.unwritten = false; // this device could not keep what came
    this.unloaded = false; // the modules of a kind of question did not come
    this.rendered = ""; // what of the disk is on the screen
    this.pause = FIRST_PAUSE_MILLISECONDS; // before the next attempt that nobody asked for
    this.working = false;
    this.justSent = false;
    this.wrong = new Set(); // ids of questions in whose field stands what is no answer
    this.reminded = null; // the page on which somebody was told of questions that were left out
    this.refused = null; // place of the page whose consent was not given
    this.layout = null;
    globalThis.addEventListener("online", () => this.#online());
  }

  async start() {
    this.screen.show("loading", views.opening(), { focus: false });
    if (this.mark) await this.ticket.keep(this.mark);
    await this.#load();
    const record = await this.participation.read();
    // What a panel waits for, where it was not told before.
    if (record?.code) await this.arrival.bind(record.code);
    // What was begun by a press of a button goes on by itself; showing questions does not.
    this.working = goesOn(record);
    await this.render({ focus: false });
    this.working = false;
    if (goesOn(record) && !this.unloaded) await this.#proceed();
  }

  /** Show what the disk says, where another tab has changed it. */
  async refresh() {
    const record = await this.participation.read();
    if (!this.working && this.rendered !== placeOf(record)) await this.render({ focus: false });
  }

  /** Show what the disk says. */
  async render(options) {
    const { screen, invitation } = this;
    const kept = await this.participation.read();
    const record = this.unloaded ? kept : await this.#inLanguage(kept);
    await this.#count();
    this.rendered = placeOf(record);
    if (this.unloaded) {
      // Some browsers never ask again for a module that failed, as long as the page is open.
      const retry = () => this.reload();
      return screen.show("away", views.away(this.failure, { retry }), options);
    }
    const step = record?.step ?? null;
    wear(invitation?.look);
    const closed = invitation?.state === "closed";
    const shut = closed || invitation?.state === "closing"; // nobody begins it any more
    if (step === "sent") {
      const shown = views.revealSent(record, this.#spent(), this.#on("finish"));
      return screen.show("revealed", shown, options);
    }
    if (step === "finished") return screen.show("done", this.#done(record), options);
    if (step === "ended") {
      const again = record.unopened && !shut ? () => this.#again() : null;
      return screen.show("ended", views.ended(record.reason, { again }), options);
    }
    if (closed && ANSWERING.includes(step)) {
      return screen.show("closed", views.closedUnsent(this.#on("remove"), this.#around()), options);
    }
    if (closed || (shut && UNOPENED.includes(step))) {
      return screen.show("closed", views.closed(this.#around()), options);
    }
    if (this.broken && (UNOPENED.includes(step) || step === "opened")) {
      const choices = record ? this.#on("giveBack") : {};
      return screen.show("cannot", views.cannot(this.#why(), choices), options);
    }
    if (step === "opened") return this.#answering(record, options);
    if (step === "drawn") {
      const retry = () => this.#proceed();
      return screen.show("waiting", views.waiting(record, this.failure, { retry }), options);
    }
    if (step === "sealed" && record.reveal === "after_send") {
      const retry = () => this.#proceed();
      return screen.show("waiting", views.waiting(record, this.failure, { retry }), options);
    }
    if (step === "sealed") {
      return screen.show(
        "reveal",
        views.reveal(record, this.working, this.failure, this.#on("send", "dont")),
        options,
      );
    }
    if (step === "reserving" || step === "reserved") {
      const choices = this.#on("go", "giveBack");
      return screen.show("resume", views.resume(record, this.failure, choices), options);
    }
    return this.#introduce(options);
  }

  /** Return a record with its questions in the language in which this person reads the survey. */
  async #inLanguage(record) {
    const spoken = this.invitation?.languages ?? record?.promise?.languages ?? null;
    this.language = languageFor(spoken, wishedLanguages(await this.device.settings()));
    if (!record?.text || !record.questions || this.broken) return record;
    return { ...record, questions: questionsIn(record, this.language) };
  }

  #why() {
    return words().parties?.broken[this.reason] ?? words().cannot.mask;
  }

  #introduce(options) {
    const { screen, invitation, failure } = this;
    if (failure?.slug === "not-found" && !invitation) {
      return screen.show("missing", views.missing(), options);
    }
    if (!invitation) {
      const retry = () => this.start();
      return screen.show("away", views.away(failure, { retry }), options);
    }
    if (this.#enrols()) {
      const shown = views.enrolment(invitation, this.language, this.coming.ticket, failure, this.#on("enrol"));
      return screen.show("enrol", shown, options);
    }
    const { chosen, left, agreed, language, prefer } = this;
    const around = { ...this.#around(), ticket: this.coming.ticket, agreed };
    const state = { chosen, budget: this.#budget(), left, failure, language, around };
    const answering = { ...this.#on("choose", "accept", "agree", "start"), prefer };
    return screen.show("intro", views.intro(invitation, state, answering), options);
  }

  /** Return the pages as this person sees them, their questions and their images. */
  #layout({ hash, text, questions, drawn, promise }) {
    const { language } = this;
    if (this.layout?.hash !== hash || this.layout.language !== language) {
      const { images, ...layout } = layoutOfText(text, questions, language);
      const asked = placesDrawn(promise.draw, drawn);
      const inOrder = questions.map((question) => inDrawnOrder(question, drawn));
      this.layout = { hash, language, images, pages: pagesInOrder(layout, drawn, asked), questions: inOrder };
    }
    return this.layout;
  }

  #answering(record, options) {
    const { answers, agreed = {}, at } = record;
    const { pages, questions, images } = this.#layout(record);
    if (at >= pages.length) {
      return this.screen.show("seal", views.seal(record, this.#on("back", "confirm")), options);
    }
    if (this.refused === at) {
      const choices = { back: () => this.#refuse(null), end: () => this.#giveUp() };
      return this.screen.show("refused", views.refused(choices), options);
    }
    this.wrong = new Set();
    this.reminded = null;
    const known = { questions, answers, images, agreed, index: at, count: pages.length };
    const answering = {
      ...this.#on("back", "next"),
      choose: (asked, code) => this.#keep(asked, code),
      agree: (text, on) => this.#write({ agreed: { [text]: on } }),
    };
    if (nextPage(pages, questions, answers, at, -1) < 0) answering.back = null;
    return this.screen.show("question", pageView(pages[at], known, answering), options);
  }

  #refuse(at) {
    this.refused = at;
    return this.render();
  }

  #done(record) {
    const state = {
      again: !this.justSent,
      left: this.left,
      spent: this.#spent(),
      open: ["open", "closing"].includes(this.invitation?.state),
      failure: this.failure,
      around: this.#around(),
      language: this.language,
    };
    return views.done(record, state, this.#on("withdraw"));
  }

  /** Return what leads on from here: to a panel, and to results. */
  #around() {
    const { panel = null, published = false, reach = {} } = this.invitation ?? {};
    const results = published ? `${this.host?.leader ?? ""}/r/${this.token}` : null;
    return { panel, given: this.coming.given, results, contact: reach.contact };
  }

  /** Read how the person came, and see that the link meant this very survey. */
  async #arrive() {
    const { given } = await this.arrival.keep(this.invitation?.panel, this.search);
    await this.ticket.note(this.invitation?.reach.invitations?.answers_from);
    const ticket = await this.ticket.read();
    this.coming = { ticket, given };
    if (ticket && this.invitation && ticket.hash !== this.invitation.hash) this.broken = true;
  }

  /** Return whether people only enrol yet, by the server's word or by this device's clock. */
  #enrols() {
    return this.invitation?.state === "enrolling" || this.#isEarly();
  }

  /** Return whether the first day of answers is still to come. */
  #isEarly() {
    const from = this.invitation?.reach.invitations?.answers_from;
    return Boolean(from) && new Date().toISOString().slice(0, 10) < from;
  }

  /** Return the callbacks of these names. */
  #on(...names) {
    const callbacks = {
      choose: (name) => this.#choose(name),
      accept: (clear) => {
        this.chosen = { ...this.chosen, clear };
      },
      agree: (agreed) => {
        this.agreed = agreed;
      },
      enrol: () => this.#enrol(),
      start: () => this.#begin(),
      go: () => this.#proceed(),
      giveBack: () => this.#giveUp(),
      back: () => this.#move(-1),
      next: () => this.#move(1),
      confirm: () => this.#draw(),
      send: () => this.#send(),
      dont: () => this.#giveUp(),
      finish: () => this.#change(() => this.participation.finish()),
      remove: () => this.#change(() => this.participation.dropUnsent()),
      withdraw: () => this.#withdraw(),
    };
    return Object.fromEntries(names.map((name) => [name, callbacks[name]]));
  }

  async #load() {
    this.failure = null;
    const answer = await this.server.invitation(this.token);
    let data = answer.ok ? answer.data : null;
    if (!answer.ok) {
      this.failure = answer;
      if (answer.lost) data = (await this.device.kept(`invitation.${this.token}`)) ?? null;
      if (data) this.failure = null;
    }
    const record = await this.participation.read();
    if (!(await this.#loadKinds(data, record))) return;
    this.#believe(data);
    await this.#arrive();
    if (answer.ok && this.invitation) await this.device.keep(`invitation.${this.token}`, data);
    if (this.invitation && record?.promise && this.invitation.hash !== record.hash) {
      this.broken = true; // what was begun is not what is asked for now
    }
    if (record?.step === "opened") this.#check(record);
    // No request with the person's secret stands beside an enrolment: its time would join them.
    const quiet = this.#enrols() || (await this.device.enrolledUntil());
    if (!quiet && (await this.device.known())) await this.#refreshAccount();
    await this.#count();
    const { levels = [], topic } = this.invitation ?? {};
    const settings = await this.device.settings();
    const masking = levels.filter((level) => !level.clear && isAffordable(level, this.#budget()));
    const preferred = masking.find(({ losses }) => strengthOf(losses) === settings.levels?.[topic]);
    const strongest = masking.reduce(
      (best, level) => (best === null || tail(level.losses.loss) < tail(best.losses.loss) ? level : best),
      null,
    );
    const only = levels.length === 1 ? levels[0] : null;
    this.chosen = { name: (only ?? preferred ?? strongest)?.name ?? null, clear: false };
  }

  /** Load the kinds of question that are asked, or were, and what two parties need; return whether they came. */
  async #loadKinds(data, record) {
    const asked = [data?.kinds, record?.promise?.kinds].flatMap((kinds) => Object.keys(kinds ?? {}));
    try {
      // The second party's page says why it asks nothing, also of a survey that names no parties.
      const split = this.host ?? data?.two_parties ?? record?.promise?.parties;
      await Promise.all([loadKinds(asked), split && loadViews()]);
    } catch {
      this.unloaded = true;
      this.failure = { ok: false, status: 0, data: {}, lost: true, slug: "" };
    }
    return !this.unloaded;
  }

  /** Take an invitation for true as far as this device finds it to be. */
  #believe(data) {
    this.invitation = null;
    if (!data) return;
    try {
      this.invitation = fromHost(readInvitation(data, this.token), this.host);
    } catch (error) {
      this.broken = true;
      this.reason = error.reason ?? null;
    }
  }

  /** Look again, after a break, whether what is asked is what was promised. */
  #check(record) {
    try {
      checkedQuestions(record);
    } catch {
      this.broken = true;
    }
  }

  /** Work out what this device has spent and what is left. */
  async #count() {
    this.caps = await this.device.caps();
    this.charges = await this.device.charges();
    const known = this.charges.length > 0 || (await this.device.known());
    this.left = known ? balanceOf(this.charges, this.caps) : null;
  }

  #budget() {
    return { caps: this.caps, charges: this.charges };
  }

  /** Return what this survey cost, and all together, as this device counts. */
  #spent() {
    const mine = this.charges.find(({ token }) => token === this.token);
    if (!mine) return null;
    const left = balanceOf(this.charges, this.caps).percent_left;
    return { here: percentOf(mine, this.caps, this.charges), total: 100 - left, clear: mine.clear };
  }

  #choose(name) {
    const clears = (each) => this.invitation.levels.find(({ name: one }) => one === each)?.clear;
    const redraw = clears(name) || (this.chosen.name && clears(this.chosen.name));
    this.chosen = { name, clear: false };
    if (!redraw) return;
    const { scrollY } = globalThis;
    this.#introduce({ focus: false });
    globalThis.scrollTo(0, scrollY);
    this.screen.focus(`input[name="level"][value="${name}"]`);
  }

  async #begin() {
    const { chosen, invitation } = this;
    const level = invitation.levels.find(({ name }) => name === chosen.name);
    if (!level) return this.screen.announce(words().intro.choose);
    if (level.clear && !chosen.clear) {
      this.screen.focus("#accept-clear");
      return this.screen.announce(words().intro.accept);
    }
    if (invitation.reach.consent && !this.agreed) {
      this.screen.focus("#agree");
      return this.screen.announce(words().intro.agreeFirst);
    }
    this.screen.busy("start", words().intro.starting);
    try {
      this.failure = await this.participation.checkParties(invitation);
      if (!this.failure) this.failure = await this.#exchange();
    } catch (error) {
      this.broken = error instanceof BrokenPromise;
      this.reason = error.reason ?? null;
      if (!this.broken) this.failure = { slug: "helper-away", status: 0 };
      return this.render();
    }
    if (this.failure) return this.render();
    try {
      const consent = level.clear && chosen.clear;
      const record = await this.participation.begin(invitation, level.name, { consent });
      if (!record) {
        this.failure = { slug: "own-cap", status: 409 };
        return this.render();
      }
    } catch {
      return this.screen.show("cannot", views.cannot(words().cannot.storage));
    }
    navigator.storage?.persist?.().catch(() => {});
    return this.#proceed();
  }

  /** Exchange the code of a ticket, where the survey needs one; return what did not succeed. */
  async #exchange() {
    const { invitations } = this.invitation.reach;
    if (!invitations) return null;
    // In two phases it is asked for before the first day of answers, so that none follows on it.
    if (invitations.answers_from && !this.#isEarly() && !this.coming.ticket?.ticket) {
      return { ok: false, status: 409, data: {}, lost: false, slug: "wrong-state" };
    }
    const failure = await this.ticket.exchange(invitations);
    await this.#arrive();
    return failure;
  }

  async #enrol() {
    this.screen.busy("enrol", words().intro.starting);
    try {
      this.failure = await this.#exchange();
    } catch (error) {
      this.broken = error instanceof BrokenPromise;
      if (!this.broken) return this.screen.show("cannot", views.cannot(words().cannot.storage));
    }
    navigator.storage?.persist?.().catch(() => {});
    return this.render();
  }

  /** Do all that needs no decision, then show where that led. */
  async #proceed() {
    if (this.working) return;
    this.working = true;
    this.failure = null;
    try {
      const before = await this.participation.read();
      const { record, failure } = await this.participation.proceed();
      this.failure = failure;
      if (failure?.lost) this.#tryLater();
      if (before?.step === "sealed" && record?.step === "finished") this.justSent = true;
      if (["sent", "finished"].includes(record?.step)) await this.#refreshAccount();
      if (failure?.slug === "wrong-state") await this.#refreshInvitation();
      if (record?.code) this.failure ??= await this.arrival.bind(record.code);
    } catch (error) {
      this.broken = error instanceof BrokenPromise;
      this.reason = error.reason ?? null;
      this.unwritten = !this.broken;
    } finally {
      this.working = false;
    }
    await this.render();
    if (this.unwritten) this.screen.announce(words().cannot.write);
    this.unwritten = false;
  }

  async #keep(asked, code) {
    if (code === null) this.wrong.add(asked.id);
    else this.wrong.delete(asked.id);
    this.screen.announce("");
    if (code !== null) await this.#write({ answers: { [asked.id]: code } });
  }

  async #write(changes) {
    try {
      await this.participation.keepDraft(changes);
    } catch {
      this.screen.announce(words().cannot.write);
    }
  }

  async #move(by) {
    const record = await this.#inLanguage(await this.participation.read());
    const { at, answers, agreed = {} } = record;
    const { pages, questions } = this.#layout(record);
    const page = pages[at];
    let blank = {};
    if (by > 0 && page) {
      const missing = this.#missing(page, questions, answers);
      if (missing === null) return undefined;
      blank = missing;
      if (notAgreed(page, agreed).length) return this.#refuse(at);
    }
    const next = nextPage(pages, questions, { ...answers, ...blank }, at, by);
    await this.participation.keepDraft({ at: Math.max(0, next), answers: blank });
    return this.render();
  }

  /**
   * Return "no answer" to the questions of a page that were left out and may be, once the person was
   * reminded of them; null where somebody has to answer first, which is said.
   */
  #missing(page, questions, answers) {
    const shown = visibility(questions, answers);
    const without = placesOn(page)
      .filter((place) => shown[place])
      .map((place) => questions[place])
      .filter(({ id }) => answerTo(answers, id) === undefined || this.wrong.has(id));
    if (!without.length) return {};
    const needed = without.find(({ allow_skip: skip, id }) => !skip || this.wrong.has(id));
    const alone = placesOn(page).length === 1;
    const target = needed ?? without[0];
    const group = groupOf(target);
    // Rows of a matrix stand in one field, which has the name of the first of them.
    const row = placesOn(page).find((place) => group !== null && groupOf(questions[place]) === group);
    const at = page.items.length === 1 && alone && !page.heading ? "" : `#q${row ?? questions.indexOf(target)} `;
    if (needed || alone) {
      this.screen.announce(missingAnswer(needed ?? without[0]));
    } else if (this.reminded === page) {
      return Object.fromEntries(without.map((question) => [question.id, skipCode(question)]));
    } else {
      this.screen.announce(words().question.leftOut(without.length));
    }
    this.reminded = page;
    this.screen.focus(`main ${at}input`);
    return null;
  }

  async #draw() {
    const before = await this.participation.read();
    this.screen.busy("seal", views.sealing(before));
    try {
      if (before.promise.parties) await this.participation.split();
      else {
        await this.participation.draw((questions, codes) =>
          maskResponse(questions, codes, new SystemCoins()),
        );
      }
    } catch (error) {
      this.broken = error instanceof BrokenPromise;
      this.reason = error.reason ?? null;
      await this.render();
      return this.broken ? null : this.screen.announce(words().cannot.write);
    }
    return this.#proceed();
  }

  async #send() {
    this.screen.busy("send", words().reveal.sending);
    await this.participation.wish();
    await this.#proceed();
    if (this.failure) this.screen.focus("#send");
  }

  async #giveUp() {
    this.broken = false;
    this.failure = await this.participation.giveUp();
    await this.#refreshAccount();
    return this.render();
  }

  async #withdraw() {
    this.failure = await this.participation.withdraw();
    if (this.failure?.slug === "wrong-state") await this.#refreshInvitation();
    return this.render();
  }

  #again() {
    return this.#change(() => this.participation.forget());
  }

  async #change(work) {
    this.justSent = true;
    await work();
    return this.render();
  }

  async #refreshAccount() {
    const me = await this.server.me();
    if (me.ok) await this.device.keep("me", me.data);
  }

  async #refreshInvitation() {
    const answer = await this.server.invitation(this.token);
    if (answer.ok) this.#believe(answer.data);
  }

  /** Go on by itself with what a press of a button began, once the server may be back. */
  #tryLater() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#online(), this.pause);
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MILLISECONDS);
  }

  async #online() {
    if (this.unloaded) return this.reload();
    if (this.failure && goesOn(await this.participation.read())) await this.#proceed();
  }
}
