// Synthetic data: what is promised is asked for while the form is filled in; then claims go up,
// and how far the work is comes down, line by line, with the synthetic claims at the end.

import { element } from "../app/dom.js";

const PAUSE_MILLISECONDS = 300;
const MEANINGS = {
  ok: "released",
  short: "with fewer values than were asked for",
  too_few: "with too few claims: nothing released",
  empty: "without claims: nothing released",
  not_tried: "for which no setting within the budget can release anything",
};

const at = (id) => document.getElementById(id);
const form = at("release");
const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";
let timer = 0;
let asked = 0; // only the latest answer counts
let promised = false;
let running = null;

const source = () => form.elements.source.value;

/** Return what the form says, as a query. */
function query() {
  const fields = ["engine", "epsilon", "unit", "cap", "samples"];
  fields.push(...(source() === "survey" ? ["survey", "level"] : ["low", "high", "step"]));
  if (at("engine").value === "test-honest") fields.push("bandwidth", "delta");
  return new URLSearchParams(fields.map((name) => [name, form.elements[name].value]));
}

function ask(method, path, body, signal) {
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf };
  if (body) headers["Content-Type"] = "text/csv";
  return fetch(`/release/${path}?${query()}`, { method, headers, body, signal });
}

/** Return why a request was refused. */
async function refusal(answer) {
  try {
    const { detail, errors } = await answer.json();
    const [first] = errors ?? [];
    return first ? `${first.pointer.split("/").pop()}: ${first.detail}` : detail;
  } catch {
    return "The server cannot be reached; try again.";
  }
}

function say(problem) {
  at("problem").textContent = problem;
  at("problem").hidden = !problem;
}

function ready() {
  const given = source() === "survey" || (at("file").files.length > 0 && at("consent").checked);
  at("go").disabled = !promised || !given || running !== null;
}

async function promise() {
  const mine = ++asked;
  promised = false;
  ready();
  if (source() === "file" && !(at("low").value.trim() && at("high").value.trim())) {
    at("promise").textContent = "Say what the range is, and the promise stands here.";
    return;
  }
  let text;
  let fine = false;
  try {
    const answer = await ask("GET", "promise");
    fine = answer.ok;
    text = answer.ok ? (await answer.json()).sentence : await refusal(answer);
  } catch {
    text = "The server cannot be reached; try again.";
  }
  if (mine !== asked) return;
  promised = fine;
  at("promise").textContent = text;
  at("promise").className = fine ? "" : "error";
  ready();
}

function changed() {
  at("engine-hint").textContent = at("engine").selectedOptions[0].dataset.says;
  at("unit").disabled = at("engine").value === "hist2";
  clearTimeout(timer);
  timer = setTimeout(promise, PAUSE_MILLISECONDS);
  ready();
}

function levels() {
  const names = at("survey")?.selectedOptions[0]?.dataset.levels.split(",") ?? [];
  const one = (value, text) => element("option", { value }, text);
  at("level")?.replaceChildren(one("", "all levels"), ...names.map((name) => one(name, name)));
  if (names.includes("none")) at("level").value = "none";
}

/** Yield the lines of an answer as they come. */
async function* lines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part.trim()) yield JSON.parse(part);
    if (done) return;
  }
}

/** Show how far the work is; engines that take a moment only do not say. */
function far(done, of, claims) {
  at("done").max = of;
  if (done === null) at("done").removeAttribute("value");
  else at("done").value = done;
  at("so-far").textContent =
    done === null ? `Working on ${claims} claims` : `${done} of ${of} tasks, ${claims} claims`;
}

function show({ objects, points, statuses, csv, codebook }) {
  at("summary").textContent = `${points} synthetic values about ${objects} ${objects === 1 ? "task" : "tasks"}.`;
  at("statuses").replaceChildren(
    ...Object.entries(statuses).map(([name, count]) =>
      element("li", {}, `${count} ${count === 1 ? "task" : "tasks"} ${MEANINGS[name] ?? name}`),
    ),
  );
  const files = [
    ["points", csv, "text/csv"],
    ["codebook", `${JSON.stringify(codebook, null, 1)}\n`, "application/json"],
  ];
  for (const [id, text, type] of files) {
    URL.revokeObjectURL(at(id).href);
    at(id).href = URL.createObjectURL(new Blob([text], { type }));
  }
  at("made").hidden = false;
  at("made").focus();
}

async function make() {
  say("");
  at("made").hidden = true;
  running = new AbortController();
  ready();
  at("progress").hidden = at("stop").hidden = false;
  far(null, 1, "the");
  let made = null;
  try {
    const body = source() === "survey" ? undefined : at("file").files[0];
    const answer = await ask("POST", "synthetic", body, running.signal);
    if (!answer.ok) {
      say(await refusal(answer));
      return;
    }
    let of = 1;
    let claims = 0;
    for await (const told of lines(answer)) {
      if (told.of !== undefined) ({ of, claims } = told);
      if (told.problem) say(told.problem);
      far(told.done ?? null, of, claims);
      made = told.release ?? made;
    }
    if (!made && at("problem").hidden) say("The answer broke off; try again.");
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped; nothing was released." : "The server cannot be reached; try again.");
  } finally {
    running = null;
    at("progress").hidden = at("stop").hidden = true;
    ready();
  }
  if (made) show(made);
}

form.addEventListener("input", changed);
form.addEventListener("change", ({ target }) => {
  if (target.id === "survey") levels();
  changed();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  make();
});
at("stop").addEventListener("click", () => running?.abort());
levels();
changed();
