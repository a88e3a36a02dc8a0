// Waits for the demonstration's survey between two parties, and puts it on the page when it is there.

const LOOK_MILLISECONDS = 1000;
const at = (id) => document.getElementById(id);

/** Take a part of the page as the server shows it now; the rest stays as it is being read. */
async function renew(id) {
  const page = await (await fetch(globalThis.location.href)).text();
  const part = new DOMParser().parseFromString(page, "text/html").getElementById(id);
  if (part) at(id).replaceWith(document.importNode(part, true));
}

async function look() {
  try {
    const answer = await fetch("/second-party", { headers: { Accept: "application/json" } });
    const { stage, done } = await answer.json();
    if (["there", "fault"].includes(stage)) {
      await renew("second");
      return;
    }
    const words = at("second-words");
    const said = words.dataset[stage];
    if (said && words.textContent !== said) words.textContent = said;
    at("second-progress").value = done;
  } catch {
    // The server is away for a moment; the next round asks again.
  }
  setTimeout(look, LOOK_MILLISECONDS);
}

look();
