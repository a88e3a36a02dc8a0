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
      changeCharged: async (key, change) => {
        step();
        const [records, charges] = ["participations", "charges"].map((name) => this.#table(name));
        const old = structuredClone(records.get(key));
        const result = change(old, structuredClone([...charges.values()]));
        for (const [table, value] of [[records, result.record], [charges, result.charge]]) {
          if (value === undefined) table.delete(key);
          else table.set(key, structuredClone(value));
        }
        if (result.record) this.written.push(structuredClone(result.record));
        return result.record;
      },
      clear: async ({ but = [], device = {} } = {}) => {
        step();
        for (const name of [...this.tables.keys()]) if (!but.includes(name)) this.tables.delete(name);
        for (const [key, value] of Object.entries(device)) this.#table("device").set(key, value);
      },
    };
  }

  #table(name) {
    if (!this.tables.has(name)) this.tables.set(name, new Map());
    return this.tables.get(name);
  }
}
