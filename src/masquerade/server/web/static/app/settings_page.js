// Settings: language, levels, recovery words, leaving, and what program this is.

import { program } from "./about_page.js";
import { latinDigits } from "./numbers.js";
import { element } from "./dom.js";
import { levelName } from "./level_view.js";
import { actions, button, card, heading, link, paragraph, reasonOf } from "./components.js";
import { secretOf, wordsOf } from "./recovery.js";
import { tailOfCap } from "../mechanisms/room.js";
import { LANGUAGES, words } from "../words/language.js";

const TOPICS = ["everyday", "personal", "sensitive"];
const LEVELS = ["high", "medium", "low"];

const LARGEST_CAP = 1e12; // millionths

/** Return what somebody typed as a number, NaN where it is none. */
function numberOf(text) {
  const typed = latinDigits(text.trim()).replace(",", ".");
  return /^\d+(\.\d*)?$/.test(typed) ? Number(typed) : NaN;
}

export class SettingsPage {
  constructor({ screen, server, device, prefer, build, host }) {
    Object.assign(this, { screen, server, device, prefer, build, host });
    this.shown = false; // whether the recovery words are on the screen
  }

  async start() {
    await this.render({ focus: false });
    if (globalThis.location.hash === "#words") this.screen.focus("#words h2");
  }

  async render(options) {
    const said = words().settings;
    const settings = await this.device.settings();
    const secret = await this.device.known();
    return this.screen.show(
      "settings",
      [
        heading(said.title),
        card(said.language, this.#languages()),
        card(said.levels, paragraph(said.levelsText), this.#levels(settings.levels ?? {})),
        card(said.cap, await this.#cap()),
        this.#words(secret),
        this.#enter(),
        secret && this.#leaving(),
        program(this.build),
      ],
      options,
    );
  }

  #languages() {
    return element(
      "fieldset",
      {},
      element("legend", { className: "visually-hidden" }, words().settings.language),
      LANGUAGES.map((language) =>
        element(
          "label",
          { className: "check" },
          element("input", {
            type: "radio",
            name: "language",
            value: language.code,
            checked: language.code === words().code,
            onchange: async () => {
              await this.prefer(language.code);
              this.screen.focus(`input[name="language"][value="${language.code}"]`);
            },
          }),
          element("span", { lang: language.code }, language.name),
        ),
      ),
    );
  }

  #levels(chosen) {
    const { settings: said, home } = words();
    return TOPICS.map((topic) => {
      const id = `level-${topic}`;
      const option = (value, text) =>
        element("option", { value, selected: value === (chosen[topic] ?? "") }, text);
      const change = (event) =>
        this.device.prefer({ levels: { ...chosen, [topic]: event.target.value } });
      return element(
        "div",
        { className: "field" },
        element("label", { htmlFor: id }, home.topics[topic]),
        element(
          "select",
          { id, onchange: change },
          option("", said.strongest),
          LEVELS.map((name) => option(name, levelName(name))),
        ),
      );
    });
  }

  /** The caps that this device keeps by itself. */
  async #cap() {
    const { settings: said, method } = words();
    const own = await this.device.ownCaps();
    const epsilon = own.epsilon / 1e6;
    const field = (id, label, value) => [
      element("label", { htmlFor: id }, label),
      element("input", {
        id,
        type: "text",
        inputMode: id === "own-cap" ? "decimal" : "numeric",
        autocomplete: "off",
        dir: "ltr",
        value: String(value),
      }),
    ];
    return [
      paragraph(said.capText),
      paragraph(said.capMeans(tailOfCap(own.epsilon) / 1e6)),
      element(
        "section",
        { className: "method" },
        element("h3", {}, method.title),
        element("div", { className: "field" }, field("own-cap", method.capLabel, epsilon)),
      ),
      element("div", { className: "field" }, field("own-clear", said.clearLabel, own.clear)),
      paragraph(said.clearText, "hint"),
      actions(button("own-cap-save", said.capSave, () => this.#saveCap(), "")),
    ];
  }

  async #saveCap() {
    const said = words().settings;
    const [field, clearField] = ["own-cap", "own-clear"].map((id) => document.getElementById(id));
    const epsilon = Math.floor(numberOf(field.value) * 1e6 + 1e-6);
    const clear = numberOf(clearField.value);
    if (!(epsilon > 0 && epsilon <= LARGEST_CAP)) return this.#refuse(field, said.capWrong);
    if (!(Number.isInteger(clear) && clear >= 0)) return this.#refuse(clearField, said.clearWrong);
    await this.device.prefer({ caps: { epsilon, clear } });
    await this.render({ focus: false });
    this.screen.focus("#own-cap-save");
    return this.screen.announce(said.capSaved, { good: true });
  }

  #refuse(field, text) {
    field.setAttribute("aria-invalid", "true");
    field.focus();
    return this.screen.announce(text);
  }

  #words(secret) {
    const said = words().settings;
    const inside = secret
      ? [
          paragraph(said.wordsText),
          this.shown &&
            element(
              "ol",
              { className: "recovery", dir: "ltr", lang: "zxx" },
              wordsOf(secret).map((word) => element("li", {}, element("code", {}, word))),
            ),
          actions(
            button("show-words", this.shown ? said.hide : said.show, () => this.#toggle(), ""),
          ),
        ]
      : [paragraph(said.none)];
    return element(
      "section",
      { className: "card", id: "words" },
      element("h2", { tabIndex: -1 }, said.words),
      inside.filter(Boolean),
    );
  }

  async #toggle() {
    this.shown = !this.shown;
    if (this.shown) await this.device.prefer({ wordsSeen: true });
    await this.render({ focus: false });
    this.screen.focus("#show-words");
  }

  #enter() {
    const said = words().settings;
    const field = element("textarea", {
      id: "enter-words",
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: false,
      dir: "ltr",
      rows: 3,
    });
    return card(
      said.enter,
      paragraph(said.enterText),
      element("p", {}, said.enterAt, " ", element("strong", { dir: "ltr" }, this.server.origin)),
      element(
        "div",
        { className: "field" },
        element("label", { htmlFor: "enter-words" }, said.enterLabel),
        field,
      ),
      actions(button("use-words", said.enterDo, () => this.#become(field), "")),
    );
  }

  async #become(field) {
    const said = words().settings;
    const { secret, fault: wrong, ...details } = secretOf(field.value);
    // A second party's page would send words of before to a server that may be another's.
    const fault = secret && !secret.startsWith("w") && this.host ? "check" : wrong;
    if (fault) {
      const text = said.faults[fault];
      field.setAttribute("aria-invalid", "true");
      field.focus();
      return this.screen.announce(
        typeof text === "function" ? text(details.given ?? details.word) : text,
      );
    }
    await this.device.become(secret);
    await this.device.prefer({ wordsSeen: true });
    this.shown = false;
    await this.render();
    return this.screen.announce(said.entered, { good: true });
  }

  #leaving() {
    const said = words().settings;
    const sure = element("input", { id: "leave-sure", type: "checkbox", autocomplete: "off" });
    return card(
      said.leave,
      paragraph(said.leaveText),
      element("label", { className: "check" }, sure, said.leaveSure),
      actions(
        button(
          "leave",
          said.leaveDo,
          () => (sure.checked ? this.#leave() : sure.focus()),
          "danger",
        ),
      ),
    );
  }

  async #leave() {
    const said = words().settings;
    const answer = await this.server.leave();
    if (!answer.ok) {
      return this.screen.announce(reasonOf(answer));
    }
    await this.device.forget();
    return this.screen.show("left", [
      heading(said.left),
      paragraph(said.leftText, "lead"),
      actions(link("/me", words().common.home)),
    ]);
  }
}
