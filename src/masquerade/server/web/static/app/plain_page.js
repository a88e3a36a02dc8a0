// Privacy in plain words: one line, one minute, ten minutes.

import { element } from "./dom.js";
import { maskDemo } from "./mask_demo.js";
import { actions, card, heading, link, paragraph } from "./components.js";
import { words } from "../words/language.js";

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
