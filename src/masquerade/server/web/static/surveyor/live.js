// Keeps the counts of an open survey's page up to date. Counts alone: no answer, no result. The
// page of a closed survey is drawn anew once two parties have added up, or something stops them.

import { said } from "./said.js";

const page = document.getElementById("live");
const at = (id) => document.getElementById(id);

function write(node, text) {
  if (node && node.textContent !== String(text)) node.textContent = String(text);
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(page.dataset.progress, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { state, responses, levels, unfinished } = await answer.json();
    if (!["open", "closing"].includes(state)) {
      globalThis.location.reload();
      return;
    }
    write(at("responses"), responses);
    write(at("unfinished"), unfinished);
    at("towards").value = responses;
    const came = at("came");
    if (came) {
      const count = Math.max(0, responses - Number(came.dataset.before));
      write(came, count);
      at("wave").value = Math.min(count, at("wave").max);
    }
    for (const { name, responses: count } of at("levels") ? levels : []) {
      const row = [...at("levels").children].find((each) => each.dataset.level === name);
      if (!row) continue;
      const bar = row.querySelector("progress");
      bar.max = Math.max(1, responses);
      bar.value = count ?? 0;
      write(row.querySelector(".figure"), count ?? "–");
    }
  } catch {
    // The server is away for a moment; the next round asks again.
  }
}

async function wait() {
  if (document.hidden) return;
  try {
    const answer = await fetch(waiting.dataset.progress, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { state, obstacle } = await answer.json();
    const known = !obstacle || waiting.textContent.includes(obstacle);
    if (!known || !["bound", "verifying", "collecting"].includes(state)) globalThis.location.reload();
  } catch {
    // As above.
  }
}

const copy = at("copy");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(at("share").href);
    copy.textContent = said("Copied");
  });
}
if (page) setInterval(refresh, 2000);
const waiting = at("waiting");
if (waiting?.dataset.progress) setInterval(wait, 2000);
