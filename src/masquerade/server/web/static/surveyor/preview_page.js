// The preview as a document of its own: what participants see before they begin, then each
// question. It stands in a frame beside the builder and the review, or in a window of its own, and
// sends nothing anywhere.

import "../app/kinds/every.js";
import { lowerCaps, USUAL_CAPS } from "../app/budget.js";
import { readInvitation, UNMASKED } from "../app/invitation.js";
import { wear } from "../app/look.js";
import { Screen } from "../app/screen.js";
import { loadViews } from "../app/two_parties.js";
import { intro } from "../app/survey_views.js";
import { inPage } from "./draft.js";
import { Preview } from "./preview.js";

const main = document.getElementById("main");
const introduction = inPage("introduction"); // null where the draft is not finished
const invitation = introduction && readInvitation(asOpened(introduction), introduction.token);
const caps = lowerCaps(USUAL_CAPS, inPage("caps"));
const builder = globalThis.parent === globalThis ? null : globalThis.parent;
let draft = inPage("draft");
let chosen = invitation && { name: invitation.levels[0].name, clear: false };

const preview = new Preview(main, (place) => {
  if (place < 0 && invitation) return drawIntro();
  show(place);
  return tell({ place });
});

/** Show the draft at a place; who chose no mask, or answers to two parties, reads of none. */
function show(place) {
  preview.show({ ...draft, unmasked: draft.trust === "two-parties" || chosen?.name === UNMASKED }, place);
}

/** Return a draft as participants are invited to it, once its second party has approved it. */
function asOpened({ two_parties: parties = null, ...rest }) {
  if (!parties) return { ...rest, state: "open" };
  const none = { configuration: "", terms: "", public_key: "", signature: "" };
  const approval = { ...none, task: parties.fingerprint.repeat(2) }; // nothing of it is shown
  return { ...rest, two_parties: { ...parties, approval }, state: "open" };
}

function drawIntro() {
  const state = { chosen, budget: { caps, charges: [] }, left: null, failure: null };
  const answering = {
    choose: (name) => {
      chosen = { name, clear: false };
      const { scrollY } = globalThis;
      drawIntro();
      globalThis.scrollTo(0, scrollY);
      main.querySelector(`input[name="level"][value="${name}"]`)?.focus();
    },
    accept: (clear) => {
      chosen.clear = clear;
    },
    start: () => {
      globalThis.scrollTo(0, 0);
      show(0);
    },
  };
  main.dataset.view = "intro";
  main.replaceChildren(...intro(invitation, state, answering).flat(Infinity).filter(Boolean));
}

function tell(message) {
  builder?.postMessage(message, globalThis.location.origin);
}

globalThis.addEventListener("message", ({ origin, source, data }) => {
  if (!builder || origin !== globalThis.location.origin || source !== builder) return undefined;
  if (data?.hello) return tell({ ready: true });
  if (!Array.isArray(data?.draft?.questions)) return undefined; // of a tool that looks at the page
  draft = data.draft;
  return show(data.place);
});

wear(invitation?.look);
new Screen().frame("/preview", () => {});
if (invitation?.parties) await loadViews();
if (invitation) drawIntro();
else show(0);
tell({ ready: true });
