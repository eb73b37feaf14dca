// What a person does: mark, accept, undo. The page shows it at once; the server follows.

import { ask } from "./api.js";
import { announce, dismiss, notify } from "./notices.js";
import { Outbox } from "./outbox.js";
import { Sentence } from "./sentence.js";
import { clear, isEmpty, mark, same } from "./tags.js";
import { count } from "./text.js";

export class Work {
  /** `parts`: project, list, feed, history, shelf, author, locks. */
  constructor(parts) {
    Object.assign(this, parts);
    this.outbox = new Outbox(this.shelf, (item) => this.#send(item), {
      sent: (item, answer) => this.#sent(item, answer),
      refused: (item, error) => this.#refused(item, error),
      stuck: (waiting, error) => this.#stuck(waiting, error),
    });
  }

  /** Make a sentence of a view, with what this browser still holds of it. */
  adopt({ view, options = [] }) {
    const sentence = new Sentence(view, this.project.kind);
    sentence.options = options;
    const waiting = this.outbox.waiting(view.id);
    const kept = waiting ?? this.shelf.read("drafts", {})[view.id];
    if (kept) sentence.edit(kept);
    sentence.waiting = waiting !== null;
    return sentence;
  }

  /** Give the selected tokens a label. */
  label(label) {
    const [from, to] = this.list.range();
    const tags = mark(this.tags, from, to, label, this.project.kind);
    this.#edit({ tags, cuts: this.cuts }, `${this.words(from, to)}: ${label}`);
  }

  /** Take the label off the selected tokens. */
  clear() {
    const [from, to] = this.list.range();
    const tags = clear(this.tags, from, to, this.project.kind);
    this.#edit({ tags, cuts: this.cuts }, `${this.words(from, to)}: no label`);
  }

  /** Take a whole tagging. */
  take(tags) {
    this.#edit({ tags, cuts: [] }, "Tagging taken. Press Enter to accept it.");
  }

  /** Cut a token of the current sentence at characters of the text, so that its parts can be marked. */
  cut(places) {
    this.#edit(this.list.current.sentence.cutAt(places), "Word split.");
  }

  /** Join the parts of tokens that were split and then not marked. */
  tidy(row) {
    if (!row?.sentence.cuts.length || row.sentence.waiting) return;
    row.sentence.edit(row.sentence.tidy());
    this.#keepDraft(row);
    row.refresh();
  }

  /** Accept the current sentence as it is shown, and go on to the next. */
  accept() {
    const row = this.list.current;
    if (!row || row.sentence.waiting || this.isTaken(row)) return;
    const { sentence } = row;
    const bare = this.project.kind === "tags" ? sentence.tags.findIndex((tag) => isEmpty(tag, "tags")) : -1;
    if (bare >= 0) {
      this.list.select(bare, bare);
      notify(`“${sentence.words(bare, bare + 1)}” has no label yet.`, { error: true, key: "bare" });
      return;
    }
    const tagging = sentence.tidy();
    this.history.add({ kind: "accept", id: row.id, ...tagging });
    this.#post(row, tagging);
    announce("Accepted.");
    const next = this.list.next();
    if (next) this.list.go(next);
    else announce("Accepted. There is no other open sentence here.");
  }

  /** Undo the last step: an edit on this page, an accept that waits, or what the server knows as the last. */
  async undo() {
    const step = this.history.back();
    if (step?.kind === "edit") return this.#restore(step.id, step.before, "Undone.");
    await this.outbox.idle(); // else the undo could overtake the accept
    if (step && this.outbox.withdraw(step.id)) {
      step.unsent = true;
      return this.#reopen(this.list.get(step.id), step, "Undone.");
    }
    return this.#turn("/api/undo", step, true);
  }

  /** Do again what was undone last. */
  async redo() {
    const step = this.history.forth();
    if (step?.kind === "edit") return this.#restore(step.id, step.after, "Done again.");
    const row = step?.unsent ? this.list.get(step.id) : null;
    if (row) return this.#post(row, step);
    return this.#turn("/api/redo", step, false);
  }

  /** Show fresh views: changed tags flash, drafts stay. Return how many tags changed. */
  show(views) {
    let changed = 0;
    for (const view of views) {
      const row = this.list.get(view.id);
      if (!row) continue;
      const places = row.sentence.take(view);
      changed += places.length;
      row.refresh(places);
      if (row === this.list.current) this.list.select(this.list.anchor, this.list.head, this.list.exact);
    }
    return changed;
  }

  /** Return another person who works on a sentence, or null. */
  holder(row) {
    return row.sentence.holder(this.author.name);
  }

  /** Take the current sentence over from the person who works on it, and hears of it. */
  async takeOver() {
    const row = this.list.current;
    const holder = row && this.holder(row);
    if (!holder) return;
    try {
      await this.locks.takeOver(row.id);
    } catch (error) {
      notify(`The sentence was not taken over. ${error.message}`, { error: true, key: "taken" });
      return;
    }
    row.sentence.view.lock = this.author.name;
    row.sentence.problem = "";
    row.describe();
    notify(`You have taken over this sentence. ${holder} has been notified.`, { key: "taken" });
  }

  get tags() {
    return this.list.current.sentence.tags;
  }

  get cuts() {
    return this.list.current.sentence.cuts;
  }

  words(from, to) {
    return this.list.current.sentence.words(from, to);
  }

  #edit(tagging, words) {
    const row = this.list.current;
    if (row.sentence.waiting || this.isTaken(row) || same(tagging.tags, row.sentence.tags)) return;
    this.history.add({ kind: "edit", id: row.id, before: row.sentence.tagging, after: tagging });
    this.#change(row, tagging);
    announce(words);
  }

  #change(row, tagging) {
    row.sentence.edit(tagging);
    this.#keepDraft(row);
    if (row.sentence.draft && !this.holder(row)) this.locks.hold(row.id);
    row.draw();
    if (row === this.list.current) this.list.select(this.list.anchor, this.list.head, this.list.exact);
  }

  #restore(id, tagging, words) {
    const row = this.list.get(id);
    if (!row) return announce("The sentence of that change is not in this list.");
    this.#change(row, tagging);
    this.list.go(row, { token: this.list.current === row ? this.list.head : 0 });
    return announce(words);
  }

  /** Put an accept on its way. */
  #post(row, { tags, cuts }) {
    row.sentence.edit({ tags, cuts });
    row.sentence.waiting = true;
    row.refresh();
    this.project.busy("learning…");
    this.outbox.put({ id: row.id, tags, cuts: row.sentence.cuts, author: this.author.name });
  }

  #send(item) {
    return ask("/api/accept", { ...item, ...this.#screen(item.id) });
  }

  /** What the server needs to know of the screen, to say what has changed on it. */
  #screen(except) {
    return { visible: this.list.visible().filter((id) => id !== except), version: this.project.data.model.version };
  }

  #sent(item, answer) {
    const row = this.list.get(item.id);
    this.locks.forget(item.id); // the server has released it
    if (row) {
      row.sentence.settle();
      this.#keepDraft(row);
    }
    this.#take(answer, "Accepted.");
    this.feed.learned();
  }

  #refused(item, error) {
    this.history.drop(item.id);
    const row = this.list.get(item.id);
    if (row) {
      this.#reopen(row, item, "");
      row.sentence.problem = `Not accepted: ${error.message}`;
      row.refresh();
    }
    this.project.busy("");
    notify(`A sentence was not accepted. ${error.message}`, { error: true });
  }

  /** Say who works on a sentence, if another person does, and offer to take it over. */
  isTaken(row) {
    const holder = this.holder(row);
    if (!holder) return false;
    const action = { text: "Take over", run: () => this.takeOver() };
    notify(`${holder} is working on this sentence.`, { error: true, key: "taken", action });
    return true;
  }

  #stuck(waiting, error) {
    if (!waiting) {
      dismiss("stuck");
      this.feed.retry();
      this.project.busy("");
      return;
    }
    const words = `${error?.message ?? ""} ${count(waiting, "accepted sentence")} not saved yet, kept in this browser.`;
    this.project.busy("no connection");
    const action = { text: "Try now", run: () => this.outbox.flush() };
    notify(words.trim(), { error: true, stay: true, key: "stuck", action });
  }

  /** Ask the server to undo or redo; a step that the page knows restores its own tags. */
  async #turn(path, step, undoing) {
    let answer;
    try {
      answer = await ask(path, { author: this.author.name, ...this.#screen() });
    } catch (error) {
      if (step) this.history.keep(undoing);
      return notify(`${undoing ? "Undo" : "Redo"} did not work. ${error.message}`, { error: true });
    }
    if (!answer.sentence) return announce(undoing ? "There is nothing to undo." : "There is nothing to redo.");
    const row = this.list.get(answer.sentence.id) ?? this.list.insert(this.adopt({ view: answer.sentence }));
    row.sentence.revert();
    this.#take(answer, undoing ? "Undone." : "Done again.");
    // The person's own tags come back as a draft; the server has only what it held before.
    if (undoing && step?.id === row.id) return this.#reopen(row, step, "Undone.");
    this.#keepDraft(row);
    return this.list.go(row);
  }

  #reopen(row, tagging, words) {
    if (!row) return;
    row.sentence.waiting = false;
    row.sentence.edit(tagging);
    this.#keepDraft(row);
    row.refresh();
    this.list.go(row);
    if (words) announce(words);
  }

  #take(answer, words) {
    const changed = this.show([answer.sentence, ...answer.changed]);
    this.project.take(answer);
    if (changed) announce(`${words} ${count(changed, "tag")} changed.`);
  }

  #keepDraft({ id, sentence }) {
    const drafts = this.shelf.read("drafts", {});
    if (sentence.draft) drafts[id] = sentence.tagging;
    else delete drafts[id];
    this.shelf.write("drafts", drafts);
  }
}
