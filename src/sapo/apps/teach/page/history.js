// What a person did on this page, to go back and forth: edits that only the page knows, and accepted sentences.

const LONGEST = 500;

export class History {
  #done = [];
  #undone = [];

  /** Remember a step: {kind: "edit", id, before, after} with taggings, or {kind: "accept", id, tags, cuts}. What was undone is forgotten. */
  add(step) {
    this.#done = [...this.#done, step].slice(-LONGEST);
    this.#undone = [];
  }

  /** Return the step to undo, or null; it can then be redone. */
  back() {
    return move(this.#done, this.#undone);
  }

  /** Return the step to do again, or null. */
  forth() {
    return move(this.#undone, this.#done);
  }

  /** Put back a step that could not be undone or redone after all. */
  keep(undoing) {
    move(undoing ? this.#undone : this.#done, undoing ? this.#done : this.#undone);
  }

  /** Forget an accept that the server refused. */
  drop(id) {
    this.#done = this.#done.filter((step) => !(step.kind === "accept" && step.id === id));
  }
}

function move(from, to) {
  const step = from.pop() ?? null;
  if (step) to.push(step);
  return step;
}
