// Pages to read: about this app, which program runs here, and privacy in plain words.

import { element } from "./dom.js";
import { maskDemo } from "./mask_demo.js";
import { actions, card, heading, link, paragraph } from "./components.js";
import { words } from "../words/language.js";

/** Say which program this is; `build` is the hash of its files. */
export function program(build) {
  const said = words().about;
  return card(
    said.build,
    element("p", {}, element("code", { id: "build", dir: "ltr" }, build)),
    paragraph(said.buildText),
  );
}

export class AboutPage {
  constructor({ screen, build }) {
    Object.assign(this, { screen, build });
  }

  start() {
    return this.render({ focus: false });
  }

  render(options) {
    const said = words().about;
    return this.screen.show(
      "about",
      [
        heading(said.title),
        element("div", { className: "lead" }, said.text.map((text) => paragraph(text))),
        element(
          "ul",
          {},
          said.list.map((text) => element("li", {}, text)),
        ),
        program(this.build),
        actions(link("/me/plain", words().plain.title), link("/me", words().common.home)),
      ],
      options,
    );
  }
}

/** Privacy in plain words: three lines, one minute each, ten minutes. */
export class PlainPage {
  constructor({ screen }) {
    this.screen = screen;
  }

  start() {
    return this.render({ focus: false });
  }

  render(options) {
    const said = words().plain;
    return this.screen.show(
      "plain",
      [
        heading(said.title),
        card(
          said.lineTitle,
          said.line.map((text) => paragraph(text, "lead")),
        ),
        card(said.minuteTitle, said.minute.map((text) => paragraph(text))),
        maskDemo(),
        card(said.partiesTitle, said.parties.map((text) => paragraph(text))),
        card(
          said.restTitle,
          said.rest.map(([title, ...texts]) => [
            element("h3", {}, title),
            texts.map((text) => paragraph(text)),
          ]),
        ),
        actions(link("/me", words().common.home), link("/me/about", words().about.title)),
      ],
      options,
    );
  }
}
