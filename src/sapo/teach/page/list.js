// The sentences on the page: their order, the current one and its selected tokens, which ones are on the screen.

import { make } from "./dom.js";
import { Row } from "./row.js";
import { spanAt } from "./tags.js";

const NEAR = "900px"; // rows are drawn before they are seen
const MOST_VISIBLE = 60;

export class List {
  rows = [];
  current = null; // a row
  anchor = 0; // the tokens from anchor to head are selected
  head = 0;
  exact = false; // these tokens and no others; else a token of a span stands for the span
  #byId = new Map();
  #visible = new Set();

  /** `told` has `near(rows)`, `moved(row, before)`, `end()`: the end of the list is near. */
  constructor(element, kind, hues, author, told) {
    Object.assign(this, { element, kind, hues, author, told });
    this.end = make("li", { class: "end", "aria-hidden": "true" });
    this.near = new IntersectionObserver((entries) => this.#approach(entries), { rootMargin: NEAR });
    this.seen = new IntersectionObserver((entries) => this.#look(entries));
    this.near.observe(this.end);
  }

  /** Show other sentences. */
  show(sentences) {
    for (const row of this.rows) this.#forget(row);
    this.rows = [];
    this.current = null;
    this.element.replaceChildren(this.end);
    this.append(sentences);
  }

  /** Add sentences at the end; those that are there stay where they are. Return how many are new. */
  append(sentences) {
    const rows = sentences.filter(({ id }) => !this.#byId.has(id)).map((sentence) => this.#row(sentence));
    this.rows.push(...rows);
    this.end.before(...rows.map((row) => row.element));
    // Seen anew: a short list may end on the screen, which by itself is no change that an observer tells.
    this.near.unobserve(this.end);
    this.near.observe(this.end);
    return rows.length;
  }

  /** Put a sentence before the current one. */
  insert(sentence) {
    const row = this.#row(sentence);
    const at = Math.max(0, this.rows.indexOf(this.current));
    this.rows.splice(at, 0, row);
    (this.rows[at + 1]?.element ?? this.end).before(row.element);
    return row;
  }

  /** Replace what lies below the screen and is not being worked on; what a person sees does not move. */
  replaceRest(sentences) {
    const last = Math.max(this.rows.indexOf(this.current), ...this.rows.map((row, at) => (this.#visible.has(row) ? at : -1)));
    const leaving = this.rows.filter((row, at) => at > last && row.sentence.state === "open");
    for (const row of leaving) {
      this.#forget(row);
      row.element.remove();
    }
    this.rows = this.rows.filter((row) => this.#byId.has(row.id));
    this.append(sentences);
  }

  /** Return the row of a sentence, or null. */
  get(id) {
    return this.#byId.get(id) ?? null;
  }

  /** Return the ids of the sentences on the screen, those that are not accepted first. */
  visible() {
    const rows = this.rows.filter((row) => this.#visible.has(row));
    return rows.sort((one, other) => other.sentence.todo - one.sentence.todo).map(({ id }) => id).slice(0, MOST_VISIBLE);
  }

  /** Make a row the current one; the cursor goes to a token. */
  go(row, { token = 0, focus = true, scroll = true } = {}) {
    if (!row) return;
    const before = this.current;
    if (before && before !== row) {
      before.select(null);
      before.element.classList.remove("current");
      for (const control of controls(before)) control.tabIndex = -1;
    }
    this.current = row;
    row.ensure();
    row.element.classList.add("current");
    for (const control of controls(row)) control.tabIndex = 0;
    this.select(token, token);
    if (focus) row.text.focus({ preventScroll: true });
    if (scroll) row.element.scrollIntoView({ block: "nearest" });
    if (before !== row) this.told.moved(row, before);
  }

  /** Go some rows down or up. */
  step(by) {
    const at = this.rows.indexOf(this.current);
    this.go(this.rows[Math.min(Math.max(0, at + by), this.rows.length - 1)]);
  }

  /** Return the next row to work on after the current one: below it first, then from the top. */
  next() {
    const at = this.rows.indexOf(this.current);
    const others = [...this.rows.slice(at + 1), ...this.rows.slice(0, Math.max(0, at))];
    const free = ({ sentence: { todo, view } }) => todo && (!view.lock || view.lock === this.author());
    return others.find(free) ?? null;
  }

  /** Select the tokens from anchor to head. */
  select(anchor, head, exact = anchor !== head) {
    const last = Math.max(0, this.current.sentence.length - 1);
    const inside = (at) => Math.min(Math.max(0, at), last);
    Object.assign(this, { anchor: inside(anchor), head: inside(head), exact });
    this.current.select(this.range(), this.head);
  }

  /** Return the selected tokens as [from, to): those marked, or the span or token at the cursor. */
  range() {
    if (!this.exact && this.kind === "spans") {
      const span = spanAt(this.current.sentence.tags, this.head);
      if (span) return [span.from, span.to];
    }
    const end = Math.max(this.anchor, this.head) + 1;
    return [Math.min(this.anchor, this.head), Math.min(end, this.current.sentence.length)];
  }

  #row(sentence) {
    const row = new Row(sentence, this.hues, this.author);
    this.#byId.set(row.id, row);
    row.element.row = row;
    this.near.observe(row.element);
    this.seen.observe(row.element);
    return row;
  }

  #forget(row) {
    this.#byId.delete(row.id);
    this.#visible.delete(row);
    this.near.unobserve(row.element);
    this.seen.unobserve(row.element);
  }

  #approach(entries) {
    const here = entries.filter((entry) => entry.isIntersecting);
    for (const { target } of here) target.row?.ensure();
    if (here.some(({ target }) => target === this.end)) this.told.end();
  }

  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#visible.add(target.row);
      else this.#visible.delete(target.row);
    }
    this.told.near(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target.row));
  }
}

// Only the current row's buttons can be reached with Tab: 1,000 sentences are not 2,000 stops.
function controls(row) {
  return [row.text, ...row.element.querySelectorAll("button")];
}
