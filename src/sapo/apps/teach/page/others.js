// Keep the page up to date with what other people and the trainer in the background do.

import { announce, notify } from "./notices.js";
import { count, shorten } from "./text.js";
import { fresh } from "./views.js";

const GATHER = 120; // milliseconds: events come in groups

export class Others {
  #ids = new Set();
  #timer = 0;
  #project = false;

  constructor(work, project, list, author, locks) {
    Object.assign(this, { work, project, list, author, locks });
  }

  /** Take one event. */
  heard({ kind, id, author }) {
    const mine = author === this.author.name;
    if (kind === "lock" || kind === "unlock") return this.locked(id, kind === "lock" ? author : null);
    if (kind === "model") {
      this.project.trained();
      return this.#soon(this.list.visible(), true);
    }
    if (kind === "label") return this.#soon([], true);
    // What this page did itself has been shown already.
    if (mine && this.#known(kind, id)) return undefined;
    if (!mine) this.#tell(id, `${author} has ${kind === "accepted" ? "accepted" : "reopened"}`);
    return this.#soon([id, ...this.list.visible()], true);
  }

  /** Rows have come into view: ask again for those that an older model has tagged. */
  look(rows) {
    const { version } = this.project.data.model;
    const old = rows.filter(({ sentence }) => sentence.view.state === "open" && sentence.view.version < version);
    if (old.length) this.#soon(old.map(({ id }) => id), false);
  }

  /** A lost connection is back: anything may have happened. */
  again() {
    for (const { id, sentence } of this.list.rows) if (sentence.view.lock) this.locked(id, null); // those that hold follow
    this.#soon(this.list.visible(), true);
    this.work.outbox.flush();
  }

  #known(kind, id) {
    const row = this.list.get(id);
    if (!row) return false;
    return row.sentence.waiting || (row.sentence.view.state === "accepted") === (kind === "accepted");
  }

  /** A person, or with null none, has a sentence now; whoever had it here hears that. */
  locked(id, holder) {
    const row = this.list.get(id);
    const lost = holder !== null && holder !== this.author.name && this.locks.forget(id);
    if (row) {
      row.sentence.view.lock = holder;
      row.describe();
    }
    if (lost) this.#tell(id, `${holder} has taken over`, true);
  }

  /** Say what another person did; in a line that everybody sees if this person works on the sentence. */
  #tell(id, did, working = false) {
    const sentence = this.list.get(id)?.sentence;
    const changed = sentence?.draft && !sentence.waiting;
    if (!working && !changed) return announce(`${did} a sentence.`);
    const which = sentence ? `“${shorten(sentence.view.text)}”` : "a sentence that you have changed";
    const kept = changed ? " Your changes are still here, but not accepted." : "";
    return notify(`${did} ${which}.${kept}`, { stay: true, key: `sentence ${id}` });
  }

  #soon(ids, project) {
    for (const id of ids) this.#ids.add(id);
    this.#project ||= project;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), GATHER);
  }

  async #refresh() {
    const ids = [...this.#ids].filter((id) => this.list.get(id));
    const project = this.#project;
    this.#ids.clear();
    this.#project = false;
    try {
      const [views] = await Promise.all([fresh(ids), project ? this.project.reload() : null]);
      const changed = this.work.show(views.filter(({ id }) => !this.work.outbox.waiting(id)));
      if (changed) announce(`${count(changed, "tag")} changed.`);
    } catch {
      // The page shows what it has; the next event, or the connection coming back, asks again.
    }
  }
}
