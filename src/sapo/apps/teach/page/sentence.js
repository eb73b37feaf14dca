// One sentence as the page knows it: what the server says of it, and what the person has changed since.

import { differences, same, spansOf } from "./tags.js";
import { cut } from "./text.js";

export class Sentence {
  draft = null; // tags that a person has given, not yet accepted
  waiting = false; // accepted here, not yet confirmed by the server
  problem = ""; // why the server refused it
  options = []; // taggings to choose from: {title, tags}; for slips and disagreements

  constructor(view, kind) {
    this.view = view;
    this.kind = kind;
    const { pieces, rest } = cut(view.text, view.tokens);
    this.pieces = pieces;
    this.rest = rest;
  }

  get id() {
    return this.view.id;
  }

  get tags() {
    return this.draft ?? this.view.tags;
  }

  get length() {
    return this.pieces.length;
  }

  /** open, draft, waiting or accepted. */
  get state() {
    if (this.waiting) return "waiting";
    return this.draft ? "draft" : this.view.state;
  }

  /** Return whether a person still has to look at it. */
  get todo() {
    return !this.waiting && (this.view.state === "open" || this.draft !== null);
  }

  /** Return another person who works on it, or null. */
  holder(author) {
    const { lock } = this.view;
    return lock && lock !== author ? lock : null;
  }

  /** Change the tags; the same as the server's are no draft. */
  edit(tags) {
    this.problem = "";
    this.draft = same(tags, this.view.tags) ? null : tags;
  }

  /** The server has these tags now: what a person gave is no change that it makes. */
  settle(tags) {
    this.view = { ...this.view, tags };
    this.draft = null;
    this.waiting = false;
  }

  /** Take what the server says now; return the tokens whose tags look different afterwards. A draft is kept. */
  take(view) {
    const before = this.tags;
    this.view = view;
    if (this.draft && same(this.draft, view.tags)) this.draft = null;
    return differences(before, this.tags);
  }

  /** Return the spans with a probability each; what a person has said is certain: null. */
  spans() {
    const known = new Map(this.view.spans.map((span) => [`${span.from} ${span.to} ${span.label}`, span.probability]));
    const certain = this.#byPerson();
    return spansOf(this.tags).map((span) => {
      const probability = certain ? null : (known.get(`${span.from} ${span.to} ${span.label}`) ?? null);
      return { ...span, probability };
    });
  }

  /** Return the probability of a token's tag, or null if a person gave it or nobody did. */
  probability(token) {
    if (this.#byPerson() || this.tags[token] !== this.view.tags[token]) return null;
    return this.view.probabilities[token] || null; // 0: there is no model yet
  }

  /** Return the text of some tokens as it stands in the sentence. */
  words(from, to) {
    return this.pieces.slice(from, to).map(({ gap, word }, at) => (at ? gap + word : word)).join("");
  }

  #byPerson() {
    return this.waiting || this.view.state === "accepted";
  }
}
