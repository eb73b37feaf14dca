// Tell others which sentence a person works on. The server lets a lock go after a minute without news.

import { ask } from "./api.js";

const DWELL = 600; // milliseconds on a sentence before it counts as work, so that passing by locks nothing
const RENEW = 20_000;

export class Locks {
  #held = new Set();
  #timer = 0;

  constructor(author) {
    this.author = author;
    setInterval(() => this.#held.forEach((id) => this.#tell("/api/lock", id)), RENEW);
    window.addEventListener("pagehide", () => this.#held.forEach((id) => this.#tell("/api/unlock", id, true)));
  }

  /** Lock a sentence soon, if the person stays with it. */
  soon(id) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hold(id), DWELL);
  }

  hold(id) {
    if (this.#held.has(id) || !this.author.name) return;
    this.#held.add(id);
    this.#tell("/api/lock", id);
  }

  release(id) {
    clearTimeout(this.#timer);
    if (this.#held.delete(id)) this.#tell("/api/unlock", id);
  }

  #tell(path, id, last = false) {
    // A lock is a courtesy: where it fails, work goes on.
    ask(path, { id, author: this.author.name }, { last }).catch(() => {});
  }
}
