// What this device keeps, in IndexedDB. A change is one transaction: it reads, decides and writes
// before any other tab can, and it is on the disk when its promise is kept.

const NAME = "masquerade";
const TABLES = ["device", "participations"];

/** Return the opened database, or throw where the browser keeps nothing. */
export function openDatabase(factory = globalThis.indexedDB) {
  return new Promise((resolve, reject) => {
    const opening = factory.open(NAME, 1);
    opening.onupgradeneeded = () => {
      for (const table of TABLES) opening.result.createObjectStore(table);
    };
    opening.onsuccess = () => {
      const database = opening.result;
      // Another tab that deletes or upgrades must not wait for this one.
      database.onversionchange = () => database.close();
      resolve(new Database(database));
    };
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => reject(new Error("another tab holds the storage."));
  });
}

class Database {
  constructor(opened) {
    this.opened = opened;
  }

  /** Return the value under a key, or undefined. */
  read(table, key) {
    return this.#run(table, "readonly", (store) => store.get(key));
  }

  /** Return all values of a table. */
  readAll(table) {
    return this.#run(table, "readonly", (store) => store.getAll());
  }

  /**
   * Replace a value by what `change` makes of it, and return that; `undefined` deletes it.
   *
   * Where `change` returns the value it was given, nothing is written. It must not wait for
   * anything. Where it throws, nothing changes.
   */
  change(table, key, change) {
    return new Promise((resolve, reject) => {
      const transaction = this.opened.transaction(table, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(table);
      const reading = store.get(key);
      let result;
      let failure = null;
      reading.onsuccess = () => {
        try {
          result = change(reading.result);
          if (result === undefined) store.delete(key);
          else if (result !== reading.result) store.put(result, key);
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(failure ?? transaction.error ?? new Error("not written"));
    });
  }

  /** Delete everything. */
  clear() {
    return new Promise((resolve, reject) => {
      const transaction = this.opened.transaction(TABLES, "readwrite", { durability: "strict" });
      for (const table of TABLES) transaction.objectStore(table).clear();
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  }

  #run(table, mode, ask) {
    return new Promise((resolve, reject) => {
      const transaction = this.opened.transaction(table, mode);
      const asked = ask(transaction.objectStore(table));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onabort = () => reject(transaction.error);
      transaction.onerror = () => reject(transaction.error);
    });
  }
}
