// Lock the sentence that a person works on. The server drops a lock that is not renewed for a minute.

import { ask } from "./api.js";

const DWELL = 600; // milliseconds on a sentence before it counts as work, so that passing by locks nothing
const RENEW = 20_000;
const AWAY = 300_000; // milliseconds without a key or a click, after which others may have the sentence

export class Locks {
  #held = new Set();
  #timer = 0;
  #active = Date.now();

  /** `told(id, holder)` is called when the server says that another person has a sentence. */
  constructor(author, told) {
    Object.assign(this, { author, told });
    for (const input of ["keydown", "pointerdown", "wheel"]) {
      window.addEventListener(input, () => { this.#active = Date.now(); }, { capture: true, passive: true });
    }
    setInterval(() => this.#renew(), RENEW);
    window.addEventListener("pagehide", () => this.#held.forEach((id) => this.#ask("/api/unlock", { id }, true)));
  }

  /** Lock a sentence soon, if the person stays with it. */
  soon(id) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hold(id), DWELL);
  }

  hold(id) {
    if (this.#held.has(id) || !this.author.name) return;
    this.#held.add(id);
    this.#ask("/api/lock", { id });
  }

  /** Take a sentence over from another person; the server tells that person. */
  async takeOver(id) {
    await ask("/api/lock", { id, author: this.author.name, take: true });
    this.#held.add(id);
  }

  release(id) {
    clearTimeout(this.#timer);
    if (this.#held.delete(id)) this.#ask("/api/unlock", { id });
  }

  /** Forget a sentence that the server has released, or given to another person; return whether it was held here. */
  forget(id) {
    return this.#held.delete(id);
  }

  #renew() {
    const away = Date.now() - this.#active > AWAY;
    for (const id of [...this.#held]) {
      if (away) this.release(id);
      else this.#ask("/api/lock", { id });
    }
  }

  async #ask(path, body, last = false) {
    try {
      const { lock } = await ask(path, { ...body, author: this.author.name }, { last });
      if (lock && lock !== this.author.name && path === "/api/lock") this.told(body.id, lock);
    } catch {
      // Without a connection work goes on: the server checks the lock again when the sentence is accepted.
    }
  }
}
