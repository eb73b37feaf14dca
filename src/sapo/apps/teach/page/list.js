// The sentences on the page: their order, the current one and its selected tokens, which ones are on the screen.

import { make } from "./dom.js";
import { Row } from "./row.js";
import { spanAt } from "./tags.js";

const NEAR = "900px"; // rows are drawn before they are seen
const BLOCK = 25; // rows that the browser lays out, paints and watches as one: it looks at 40 blocks, not at 1,000 rows
const MOST_VISIBLE = 60;
const REST = 150; // milliseconds without scrolling

export class List {
  rows = [];
  current = null; // a row
  anchor = 0; // the tokens from anchor to head are selected
  head = 0;
  exact = false; // these tokens and no others; else a token of a span stands for the span
  #byId = new Map();
  #timer = 0;

  /** `told` has `seen(rows)` after scrolling, `moved(row, before)`, and `end()`: the end of the list is near. */
  constructor(element, kind, hues, author, told) {
    Object.assign(this, { element, kind, hues, author, told });
    this.end = make("div", { class: "end", "aria-hidden": "true" });
    this.near = new IntersectionObserver((entries) => this.#approach(entries), { rootMargin: NEAR });
    window.addEventListener("scroll", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.told.seen(this.#onScreen()), REST);
    }, { passive: true });
  }

  /** Show other sentences. */
  show(sentences) {
    this.near.disconnect();
    this.#byId.clear();
    this.rows = [];
    this.current = null;
    this.element.replaceChildren(this.end);
    this.append(sentences);
  }

  /** Add sentences at the end; those that are there stay where they are. Return how many are new. */
  append(sentences) {
    const rows = sentences.filter(({ id }) => !this.#byId.has(id)).map((sentence) => this.#row(sentence));
    this.rows.push(...rows);
    for (let at = 0; at < rows.length; at += BLOCK) this.#block(rows.slice(at, at + BLOCK));
    // Observed again: a short list may end on the screen, which the observer would not report as a change.
    this.near.unobserve(this.end);
    this.near.observe(this.end);
    return rows.length;
  }

  /** Put a sentence before the current one. */
  insert(sentence) {
    const row = this.#row(sentence);
    const at = Math.max(0, this.rows.indexOf(this.current));
    this.rows.splice(at, 0, row);
    if (this.current) this.current.element.before(row.element);
    else this.#block([row]);
    row.ensure();
    return row;
  }

  /** Replace what lies below the screen and is not being worked on; what a person sees does not move. */
  replaceRest(sentences) {
    const last = Math.max(this.rows.indexOf(this.current), this.rows.indexOf(this.#onScreen().at(-1)));
    const leaving = this.rows.filter((row, at) => at > last && row.sentence.state === "open");
    for (const row of leaving) {
      this.#byId.delete(row.id);
      const block = row.element.parentElement;
      row.element.remove();
      if (!block.children.length) block.remove();
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
    return this.#onScreen().sort((one, other) => other.sentence.todo - one.sentence.todo).map(({ id }) => id).slice(0, MOST_VISIBLE);
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
    const free = ({ sentence }) => sentence.todo && sentence.holder(this.author()) === null;
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
    return row;
  }

  #block(rows) {
    const block = make("div", { class: "block", role: "presentation" }, ...rows.map((row) => row.element));
    this.end.before(block);
    this.near.observe(block);
  }

  #approach(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      if (target === this.end) this.told.end();
      else {
        for (const { row } of target.children) row.ensure();
        this.near.unobserve(target); // drawn once, it stays drawn
      }
    }
  }

  #onScreen() {
    const meets = (element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return bottom > 0 && top < window.innerHeight;
    };
    const blocks = [...this.element.children].filter((block) => block !== this.end && meets(block));
    return blocks.flatMap((block) => [...block.children].filter(meets).map(({ row }) => row));
  }
}

// Only the current row's buttons can be reached with Tab: 1,000 sentences are not 2,000 stops.
function controls(row) {
  return [row.text, ...row.element.querySelectorAll("button")];
}
