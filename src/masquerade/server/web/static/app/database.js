// What this device keeps, in IndexedDB. A change is one transaction: it reads, decides and writes
// before any other tab can, and it is on the disk when its promise is kept.

const NAME = "masquerade";
const VERSION = 3;
const TABLES = ["device", "participations", "charges", "arrivals"];

/** Return the opened database, or throw where the browser keeps nothing. */
/** `leader`: its address on a second party's page, where each leader has a storage of its own. */
export function openDatabase(leader = "", factory = globalThis.indexedDB) {
  return new Promise((resolve, reject) => {
    // Or one leader would be told the secret by which another knows the person.
    const opening = factory.open(`${NAME}${leader && ` ${leader}`}`, VERSION);
    opening.onupgradeneeded = () => {
      const database = opening.result;
      for (const table of TABLES) {
        if (!database.objectStoreNames.contains(table)) database.createObjectStore(table);
      }
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

  /**
   * Replace a participation and what was charged for it, in one transaction.
   *
   * `change` is given the participation under the key and all charges; it returns
   * `{record, charge}`, where undefined deletes. Where it throws, nothing changes.
   */
  changeCharged(key, change) {
    return new Promise((resolve, reject) => {
      const tables = ["participations", "charges"];
      const transaction = this.opened.transaction(tables, "readwrite", { durability: "strict" });
      const [participations, charges] = tables.map((table) => transaction.objectStore(table));
      const reading = participations.get(key);
      let result;
      let failure = null;
      charges.getAll().onsuccess = ({ target }) => {
        try {
          result = change(reading.result, target.result);
          for (const [store, value] of [
            [participations, result.record],
            [charges, result.charge],
          ]) {
            if (value === undefined) store.delete(key);
            else store.put(value, key);
          }
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result.record);
      transaction.onabort = () => reject(failure ?? transaction.error ?? new Error("not written"));
    });
  }

  /** Delete everything, or all but some tables, and keep what `device` says of the device. */
  clear({ but = [], device = {} } = {}) {
    return new Promise((resolve, reject) => {
      const tables = TABLES.filter((table) => !but.includes(table));
      const transaction = this.opened.transaction(tables, "readwrite", { durability: "strict" });
      for (const table of tables) transaction.objectStore(table).clear();
      for (const [name, value] of Object.entries(device)) {
        transaction.objectStore("device").put(value, name);
      }
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
