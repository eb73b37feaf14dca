// What the browser keeps over a reload: the name of the person, unsent work and drafts.

/** Values of one project in the browser's storage; without storage (a private window, say) they last as the page does. */
export class Shelf {
  #values = new Map();

  constructor(name) {
    this.name = name;
  }

  read(key, otherwise) {
    try {
      const kept = localStorage.getItem(this.#place(key));
      if (kept !== null) return JSON.parse(kept);
    } catch {
      // unreadable or not allowed: as if nothing had been kept
    }
    return this.#values.get(key) ?? otherwise;
  }

  write(key, value) {
    this.#values.set(key, value);
    try {
      localStorage.setItem(this.#place(key), JSON.stringify(value));
    } catch {
      // full or not allowed: the page goes on with what it holds in memory
    }
  }

  #place(key) {
    return `sapo-teach:${this.name}:${key}`;
  }
}
