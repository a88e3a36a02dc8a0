// About this app: what it is, and which program runs here.

import { element } from "./dom.js";
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
