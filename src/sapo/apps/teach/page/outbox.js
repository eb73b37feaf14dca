// Accepted sentences on their way to the server: kept in the browser until the server has said that it has them.

import { Refused } from "./api.js";

const FIRST_PAUSE = 1_000; // milliseconds before the first new try; doubled each time
const LONGEST_PAUSE = 30_000;

export class Outbox {
  #queue;
  #sending = false;
  #pause = FIRST_PAUSE;
  #timer = 0;
  #flight = Promise.resolve();

  /**
   * `shelf` keeps the queue over a reload; `send(item)` returns a promise; `told` has `sent(item, answer)`,
   * `refused(item, error)` and `stuck(count, error)`, which is also called with 0 when all is well again.
   */
  constructor(shelf, send, told) {
    Object.assign(this, { shelf, send, told });
    this.#queue = shelf.read("outbox", []);
    window.addEventListener("online", () => this.flush());
  }

  /** Put an item at the end, in the place of an unsent one for the same sentence, and begin to send. */
  put(item) {
    this.withdraw(item.id);
    this.#queue.push(item);
    this.#keep();
    return this.flush();
  }

  /** Take back what has not been sent; return it, or null if it is on its way. */
  withdraw(id) {
    const at = this.#queue.findIndex((item, place) => item.id === id && !(this.#sending && place === 0));
    if (at < 0) return null;
    const [item] = this.#queue.splice(at, 1);
    this.#keep();
    return item;
  }

  /** Return what waits for a sentence, or null. */
  waiting(id) {
    return this.#queue.find((item) => item.id === id) ?? null;
  }

  get items() {
    return [...this.#queue];
  }

  /** Send everything in order; after a failure wait and try again. Resolves when nothing is on its way. */
  flush() {
    if (!this.#sending) this.#flight = this.#flush();
    return this.#flight;
  }

  /** Wait for what is on its way, without beginning to send. */
  idle() {
    return this.#flight;
  }

  async #flush() {
    clearTimeout(this.#timer);
    this.#sending = true;
    let failure = null;
    while (this.#queue.length && !failure) {
      const item = this.#queue[0];
      try {
        const answer = await this.send(item);
        this.#done();
        this.told.sent(item, answer);
      } catch (error) {
        if (error instanceof Refused) {
          this.#done();
          this.told.refused(item, error);
        } else {
          failure = error;
        }
      }
    }
    this.#sending = false;
    this.told.stuck(this.#queue.length, failure);
    this.#pause = failure ? Math.min(this.#pause * 2, LONGEST_PAUSE) : FIRST_PAUSE;
    if (failure) this.#timer = setTimeout(() => this.flush(), this.#pause / 2);
  }

  #done() {
    this.#queue.shift();
    this.#keep();
  }

  #keep() {
    this.shelf.write("outbox", this.#queue);
  }
}
