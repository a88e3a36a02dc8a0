// The last changes of a draft, to undo and to redo. They outlive a reload and end with the tab.

const MOST = 50;
const ONE_STEP_MILLISECONDS = 2000; // what is typed into one field in a row is one step

export class Steps {
  constructor(token) {
    this.key = `masquerade-steps-${token}`;
    this.past = []; // `{fields: {name: value before}, place}`, the newest last
    this.future = [];
    try {
      Object.assign(this, JSON.parse(sessionStorage.getItem(this.key)) ?? {});
    } catch {
      // No storage, or another release's: there is nothing to undo then.
    }
  }

  /** Remember how fields were before a change; `what` names where it was typed. */
  record(fields, what) {
    const now = Date.now();
    const last = this.past.at(-1);
    const known = last && Object.keys(fields).every((name) => Object.hasOwn(last.fields, name));
    const going = what && this.what === what && now - this.at < ONE_STEP_MILLISECONDS;
    Object.assign(this, { what, at: now, future: [] });
    if (!(known && going)) this.past.push({ fields });
    this.past.splice(0, this.past.length - MOST);
    this.#keep();
  }

  /** Return the fields of a document before the last step (or after the next one); null if none. */
  take(from, document) {
    const step = this[from].pop();
    if (!step) return null;
    const fields = Object.fromEntries(Object.keys(step.fields).map((name) => [name, document[name]]));
    this[from === "past" ? "future" : "past"].push(structuredClone({ fields }));
    this.what = "";
    this.#keep();
    return step.fields;
  }

  #keep() {
    // Where the browser keeps less, fewer steps outlive a reload.
    for (let skipped = 0; skipped < this.past.length || !skipped; skipped += 10) {
      const { past, future } = this;
      try {
        sessionStorage.setItem(this.key, JSON.stringify({ past: past.slice(skipped), future }));
        return;
      } catch {
        // Try with fewer.
      }
    }
  }
}
