// What people see before they begin, drawn by the code that draws it for them, beside the review.

import { intro } from "../surveyviews.js";
import { inPage } from "./draft.js";

const invitation = inPage("introduction");
const caps = inPage("caps");
const screen = document.getElementById("screen");
let chosen = { name: invitation.levels[0].name, clear: false };

function draw() {
  const state = { chosen, caps, left: null, failure: null };
  const answering = {
    choose: (name) => {
      chosen = { name, clear: false };
      const { scrollTop } = screen;
      draw();
      screen.scrollTop = scrollTop;
      screen.querySelector(`input[name="level"][value="${name}"]`)?.focus();
    },
    accept: (clear) => {
      chosen.clear = clear;
    },
    start: () => screen.scrollTo(0, 0), // nothing begins here
  };
  screen.replaceChildren(...intro(invitation, state, answering).flat(Infinity).filter(Boolean));
  // The page has its own first heading; this one is a part of it.
  for (const title of screen.querySelectorAll("h1")) {
    title.setAttribute("role", "heading");
    title.setAttribute("aria-level", "3");
  }
  for (const title of screen.querySelectorAll("h2")) {
    title.setAttribute("role", "heading");
    title.setAttribute("aria-level", "4");
  }
}

draw();
