// A survey's own colour and logo: checked as the server checks them, and worn by the page.

import { element } from "./dom.js";
import { isRecord, isText, requireThat } from "./promise.js";

const FIELDS = ["colour", "logo", "logo_text"];
const COLOUR = /^#[0-9a-f]{6}$/;
const LOGO = /^data:image\/png;base64,[A-Za-z0-9+/]+={0,2}$/;
const MOST_LOGO = 24000;
export const LEAST_CONTRAST = 4.5; // of text, WCAG 2.2
const WASH = 0.1; // the part of the colour in the light ground that is made of it
const DARK = "#35223d"; // the lightest ground of the dark scheme on which text has the colour

const channels = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
const hex = (values) => `#${values.map((one) => Math.round(one).toString(16).padStart(2, "0")).join("")}`;

function luminance(colour) {
  const linear = channels(colour).map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

/** Return the contrast of two colours, 1 to 21 (WCAG 2.2). */
export function contrast(first, second) {
  const [low, high] = [luminance(first), luminance(second)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

/** Return a colour with a part of it replaced by white (or by black). */
export function mixed(colour, part, other = 255) {
  return hex(channels(colour).map((channel) => channel + part * (other - channel)));
}

/** Return the light ground that is made of a colour. */
export const wash = (colour) => mixed(colour, 1 - WASH);

/** Return whether text in the colour can be read on light grounds. */
export const isReadable = (colour) => contrast(colour, wash(colour)) >= LEAST_CONTRAST;

/** Return the nearest darker colour in which text can be read. */
export function readable(colour) {
  for (let part = 0; part < 1; part += 0.01) {
    const darker = mixed(colour, part, 0);
    if (isReadable(darker)) return darker;
  }
  return "#000000";
}

/** Return the colour for the dark scheme: lightened until text in it can be read. */
export function onDark(colour) {
  for (let part = 0; part < 1; part += 0.01) {
    const lighter = mixed(colour, part);
    if (contrast(lighter, DARK) >= LEAST_CONTRAST) return lighter;
  }
  return "#ffffff";
}

/** Return a survey's look, or null where it has none; throw where it is none that can be shown. */
export function readLook(given) {
  if (given === null || given === undefined) return null;
  requireThat(isRecord(given) && Object.keys(given).length > 0, "the survey's look");
  requireThat(Object.entries(given).every(([name, text]) => FIELDS.includes(name) && isText(text)), "the survey's look");
  const { colour = "", logo = "", logo_text: words = "" } = given;
  requireThat(!colour || (COLOUR.test(colour) && isReadable(colour)), "the survey's colour");
  requireThat(!logo || (LOGO.test(logo) && logo.length <= MOST_LOGO && words.trim()), "the survey's logo");
  requireThat(Boolean(logo) === Boolean(words), "the survey's logo");
  return given;
}

/** Give the page the colour of a look, or its own again. */
export function wear(look, root = document.documentElement) {
  const { colour = "" } = look ?? {};
  const dark = colour && onDark(colour);
  const values = {
    "--own": colour, "--own-strong": colour && mixed(colour, 0.2, 0), "--own-wash": colour && wash(colour),
    "--own-dark": dark, "--own-dark-strong": dark && mixed(dark, 0.4), "--own-dark-on": dark && mixed(colour, 0.75, 0),
  };
  for (const [name, value] of Object.entries(values)) {
    if (value) root.style.setProperty(name, value);
    else root.style.removeProperty(name);
  }
  root.classList.toggle("own-colour", Boolean(colour));
}

/** Return the logo of a look; null where it has none. */
export function logoOf(look) {
  const { logo = "", logo_text: words = "" } = look ?? {};
  return logo ? element("img", { src: logo, alt: words, className: "survey-logo", dir: "auto" }) : null;
}
