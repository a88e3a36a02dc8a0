// What database.js offers, kept in memory: a disk that outlives the pages that use it.

export class Disk {
  tables = new Map();
  written = []; // every participation record that ever was on the disk

  /** Return a page's view of the disk; `step` is called before each access and may throw. */
  seenBy(step = () => {}) {
    return {
      read: async (table, key) => {
        step();
        return structuredClone(this.#table(table).get(key));
      },
      readAll: async (table) => {
        step();
        return structuredClone([...this.#table(table).values()]);
      },
      change: async (table, key, change) => {
        step();
        const old = structuredClone(this.#table(table).get(key));
        const result = change(old);
        if (result === undefined) this.#table(table).delete(key);
        else if (result !== old) {
          this.#table(table).set(key, structuredClone(result));
          this.written.push(structuredClone(result));
        }
        return result;
      },
      clear: async () => {
        step();
        this.tables.clear();
      },
    };
  }

  #table(name) {
    if (!this.tables.has(name)) this.tables.set(name, new Map());
    return this.tables.get(name);
  }
}
