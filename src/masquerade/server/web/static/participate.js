// The participant's page: which view is shown, and what leads to the next.
//
//   intro → question … question → seal → review → done        (closed, cannot)
//
// The stage always comes from the storage, so every way of coming back to this page, in any tab,
// shows the same thing.

import { SystemCoins } from "./coins.js";
import { checkQuestions, maskResponse } from "./mask.js";
import { send } from "./send.js";
import { SurveyMemory, participantName, workingStorage } from "./store.js";
import * as views from "./views.js";
import { WORDS } from "./words.js";

const survey = JSON.parse(document.getElementById("survey").textContent);
const main = document.querySelector("main");
const announcement = document.getElementById("announcement");
const storage = workingStorage();
const memory = storage && new SurveyMemory(storage, survey.token, survey.hash);

let answers = {}; // question id → code, until sealed
let at = null; // null: intro; a number: that question; the number of questions: seal
let failure = null; // why the last attempt to send failed
let sending = false;
let justSent = false;

function show(name, elements, { focus = true } = {}) {
  main.dataset.view = name;
  main.replaceChildren(...elements.flat(2).filter(Boolean));
  announcement.textContent = "";
  if (!focus) return;
  window.scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

/** Say something to eyes and screen readers alike. */
function announce(text) {
  announcement.textContent = "";
  requestAnimationFrame(() => {
    announcement.textContent = text;
  });
}

function obstacle() {
  if (!storage) return WORDS.cannot.storage;
  if (!globalThis.crypto?.getRandomValues) return WORDS.cannot.randomness;
  try {
    checkQuestions(survey.questions);
  } catch {
    return WORDS.cannot.mask;
  }
  return null;
}

function render(options) {
  const remembered = memory ? memory.read() : { stage: "fresh" };
  const { stage } = remembered;
  if (["sealed", "sent", "deleted"].includes(stage)) answers = {};
  if (stage === "sent") return show("done", views.done(remembered.bill, !justSent), options);
  if (stage === "deleted") return show("closed", views.deleted(), options);
  if (survey.state === "closed") {
    if (stage === "sealed") {
      return show("closed", views.closedUnsent(failure, { send: trySend, remove }), options);
    }
    memory?.forgetDraft();
    return show("closed", views.closed(), options);
  }
  const reason = stage === "damaged" ? WORDS.cannot.damaged : obstacle();
  if (reason) return show("cannot", views.cannot(reason), options);
  if (stage === "sealed") {
    return show("review", views.review(survey, remembered, failure, { send: askToSend }), options);
  }
  if (at === null) return show("intro", views.intro(survey, { start: () => go(0) }), options);
  if (at < survey.questions.length) {
    const { id } = survey.questions[at];
    const answering = { choose, back, next };
    return show("question", views.question(survey, at, answers[id], answering), options);
  }
  return show("seal", views.seal({ back, confirm: sealAnswers }), options);
}

/** Take up the draft of an earlier visit, where its answers still fit. */
function takeUpDraft() {
  const draft = memory?.read();
  if (draft?.stage !== "draft") return;
  answers = draft.answers ?? {};
  const unanswered = survey.questions.findIndex(
    ({ id, device }) => !(answers[id] < device.symbols),
  );
  const furthest = unanswered < 0 ? survey.questions.length : unanswered;
  at = draft.at === null ? null : Math.min(draft.at, furthest);
}

function keepDraft() {
  try {
    memory.saveDraft(answers, at);
  } catch {
    announce(WORDS.cannot.write);
  }
}

function go(place) {
  at = place;
  keepDraft();
  render();
}

function choose(code) {
  answers[survey.questions[at].id] = code;
  announcement.textContent = "";
  keepDraft();
}

function back() {
  go(at === 0 ? null : at - 1);
}

function next() {
  if (answers[survey.questions[at].id] !== undefined) return go(at + 1);
  announce(WORDS.question.choose);
  main.querySelector("input")?.focus();
}

function labelOf(question, code) {
  return question.labels[code] ?? WORDS.question.skip;
}

async function sealAnswers() {
  const pressed = document.getElementById("seal");
  pressed.disabled = true;
  pressed.textContent = WORDS.seal.sealing;
  try {
    await memory.seal(() => {
      const codes = survey.questions.map(({ id }) => answers[id]);
      const reports = maskResponse(survey.questions, codes, new SystemCoins());
      const pairs = survey.questions.map((question, index) => ({
        question: question.text,
        mine: labelOf(question, codes[index]),
        sent: labelOf(question, reports[index]),
      }));
      return { reports, pairs };
    });
    render();
  } catch {
    render();
    announce(WORDS.cannot.write);
  }
}

function askToSend() {
  try {
    memory.wishToSend();
  } catch {
    // Only a convenience: without it, a later visit asks again.
  }
  return trySend();
}

async function trySend() {
  const sealed = memory.read();
  if (sending || sealed.stage !== "sealed") return;
  sending = true;
  const pressed = document.getElementById("send");
  if (pressed) {
    pressed.disabled = true;
    pressed.textContent = WORDS.review.sending;
  }
  try {
    const outcome = await send(survey.submit_url, participantName(storage), sealed);
    failure = outcome.accepted ? null : outcome;
    if (outcome.accepted) {
      memory.markSent(outcome.bill);
      justSent = true;
    }
  } catch {
    failure = { refused: false, detail: WORDS.cannot.write };
  } finally {
    sending = false;
  }
  render();
  if (failure) document.getElementById("send")?.scrollIntoView({ block: "center" });
}

function remove() {
  memory.deleteUnsent();
  render();
}

// Coming back with the back button may bring the page as it was; what counts is the storage.
window.addEventListener("pageshow", (event) => event.persisted && render());
window.addEventListener("storage", (event) => memory?.concerns(event.key) && !sending && render());
window.addEventListener("online", () => failure && !failure.refused && trySend());

takeUpDraft();
render({ focus: false });
const remembered = memory?.read();
if (remembered?.stage === "sealed" && remembered.wanted && survey.state === "open") trySend();
