// The only request that this page makes. What it carries is spelt out in `body`, and nothing else.

const PATIENCE_MILLISECONDS = 20000;

/** Return all that is sent: two random names, the survey's hash and the masked reports. */
export function body(participant, sealed) {
  return JSON.stringify({
    participant,
    response_id: sealed.response_id,
    survey_hash: sealed.survey_hash,
    reports: sealed.reports,
  });
}

/**
 * Send the sealed reports.
 *
 * @returns {Promise<{accepted: boolean, bill?: object, refused?: boolean, detail?: string}>}
 *   `refused` is true where trying again will not help.
 */
export async function send(url, participant, sealed, { fetch = globalThis.fetch } = {}) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), PATIENCE_MILLISECONDS);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: body(participant, sealed),
      // No cookie and no referrer: a surveyor who is signed in here answers like everybody else.
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "error",
      signal: abort.signal,
    });
    const answer = await response.json().catch(() => ({}));
    if (response.ok && answer.accepted === true) return { accepted: true, bill: answer.bill ?? {} };
    const busy = response.status >= 500 || [408, 425, 429].includes(response.status);
    const detail = String(answer.detail ?? answer.title ?? "");
    return { accepted: false, refused: !response.ok && !busy, detail };
  } catch {
    return { accepted: false, refused: false, detail: "" };
  } finally {
    clearTimeout(timer);
  }
}
