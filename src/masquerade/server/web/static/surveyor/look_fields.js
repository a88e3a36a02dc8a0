// A survey's own colour and logo: a colour in which nobody could read is said to be one, and a
// picture is made small and loses what a camera wrote into it.

import { element } from "../app/dom.js";
import { isReadable, readable } from "../app/look.js";
import { button, fold, textField } from "./fields.js";
import { smallPicture } from "./small_picture.js";
import { said } from "./said.js";

const MOST_LOGO = 24000;
const LOGO = { width: 480, height: 160, most: MOST_LOGO };
const COLOUR = /^#[0-9a-f]{6}$/;

/** Return the fields; `set(changes)` keeps some. */
export function lookFields(look, faults, set) {
  const { colour, logo } = look;
  const known = COLOUR.test(colour);
  const status = element("p", { className: "error", role: "status" });
  const file = element("input", {
    type: "file",
    id: "field-logo",
    accept: "image/png,image/jpeg,image/webp",
    onchange: async ({ target }) => {
      const made = await smallPicture(target.files[0], LOGO);
      if (made) set({ logo: made, logo_text: look.logo_text || said("Logo") });
      else status.textContent = said("This file is no picture that can be used. Choose a PNG, JPEG or WebP.");
    },
  });
  const picker = element("input", {
    type: "color",
    value: known ? colour : "#5b2368",
    "aria-label": said("Pick a colour"),
    oninput: ({ target }) => set({ colour: target.value }),
  });
  return fold(
    said("Colour and logo"),
    element(
      "div",
      { className: "colour-field" },
      textField(said("Colour of buttons and links"), colour, (text) => set({ colour: text.trim().toLowerCase() }), {
        key: "/look/colour",
        faults: faults("/look/colour"),
        hint: said("Such as #005f73. Empty: as usual. In the dark it is lightened."),
      }),
      picker,
    ),
    known && !isReadable(colour) && button(said("Use {colour} instead", { colour: readable(colour) }), () => set({ colour: readable(colour) })),
    element("div", { className: "field" },
      element("label", { htmlFor: "field-logo" }, said("Logo")),
      file,
      element("p", { className: "hint" }, said("It is made small, and what a camera wrote into it (place, day) is removed.")),
      ...faults("/look/logo").map((fault) => element("p", { className: "error" }, fault)),
      status),
    logo && [
      element("img", { src: logo, alt: look.logo_text, className: "survey-logo" }),
      textField(said("What the logo says, for people who cannot see it"), look.logo_text, (text) => set({ logo_text: text }), {
        key: "/look/logo_text",
        most: 200,
        faults: faults("/look/logo_text"),
      }),
      button(said("Remove the logo"), () => set({ logo: "", logo_text: "" })),
    ],
  );
}
