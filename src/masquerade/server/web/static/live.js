// Keeps the number of responses on an open survey's page up to date.

const shown = document.getElementById("responses");

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(shown.dataset.count, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { responses } = await answer.json();
    if (shown.textContent !== String(responses)) shown.textContent = String(responses);
  } catch {
    // The server is away for a moment; the next round asks again.
  }
}

if (shown) setInterval(refresh, 2000);
