// One sentence as the page knows it: what the server says of it, and what the person has changed since.

import { coarsen, differences, refineTags, same, spansOf } from "./tags.js";
import { cut, refine } from "./text.js";

export class Sentence {
  draft = null; // tags that a person has given, not yet accepted
  cuts = []; // characters where this person has cut tokens; the draft has tags for the parts
  waiting = false; // accepted here, not yet confirmed by the server
  problem = ""; // why the server refused it
  options = []; // taggings to choose from: {title, tags}; for slips and disagreements

  constructor(view, kind) {
    this.view = view;
    this.kind = kind;
    this.#cutText();
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

  /** The tags and the cuts, as a step of the history keeps them. */
  get tagging() {
    return { tags: this.tags, cuts: this.cuts };
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

  /** Change the tags, and perhaps the cuts; the same as the server's are no draft. Tags of other tokens are ignored. */
  edit({ tags, cuts = [] }) {
    const inside = cuts.filter((place) => this.view.tokens.some(([from, to]) => from < place && place < to));
    if (refine(this.view.tokens, inside).length !== tags.length) return;
    this.problem = "";
    this.cuts = inside;
    this.draft = !inside.length && same(tags, this.view.tags) ? null : [...tags];
    this.#cutText();
  }

  /** Return the tagging after a token is cut at some characters. */
  cutAt(places) {
    const cuts = [...new Set([...this.cuts, ...places])].sort((one, other) => one - other);
    return { tags: refineTags(this.tags, this.tokens, refine(this.view.tokens, cuts)), cuts };
  }

  /** Return the tagging without cuts at which no span begins or ends. */
  tidy() {
    return coarsen(this.tags, this.tokens, this.cuts);
  }

  /** The server has these tags now: what a person gave is no change that it makes. */
  settle() {
    this.view = { ...this.view, tags: this.tags, tokens: this.tokens };
    this.#forgetDraft();
    this.waiting = false;
  }

  /** Take what the server says now; return the tokens whose tags look different afterwards. A draft is kept. */
  take(view) {
    const before = { tags: this.tags, tokens: this.tokens };
    this.view = view;
    const finer = refine(view.tokens, this.cuts); // other people may have cut tokens, too
    const shown = refineTags(before.tags, before.tokens, finer);
    if (this.draft) this.edit({ tags: shown, cuts: this.cuts });
    else this.#cutText();
    return differences(shown, this.tags);
  }

  /** Show what the server says, whatever the person has changed. */
  revert() {
    this.#forgetDraft();
    this.#cutText();
  }

  /** Return the spans with a probability each; what a person has said is certain: null. */
  spans() {
    const key = (tokens, { from, to, label }) => `${tokens[from][0]} ${tokens[to - 1][1]} ${label}`;
    const known = new Map(this.view.spans.map((span) => [key(this.view.tokens, span), span.probability]));
    const certain = this.#byPerson();
    return spansOf(this.tags).map((span) => {
      const probability = certain ? null : (known.get(key(this.tokens, span)) ?? null);
      return { ...span, probability };
    });
  }

  /** Return the probability of a token's tag, or null if a person gave it or nobody did. */
  probability(token) {
    const at = this.viewToken(token);
    if (this.#byPerson() || this.tags[token] !== this.view.tags[at]) return null;
    return this.view.probabilities[at] || null; // 0: there is no model yet
  }

  /** Return the token of the server that a token is, or is a part of. */
  viewToken(token) {
    if (!this.cuts.length) return token;
    return this.view.tokens.findIndex(([, to]) => this.tokens[token][0] < to);
  }

  /** Return the text of some tokens as it stands in the sentence; with `known`, of tokens as the server has them. */
  words(from, to, { known = false } = {}) {
    const pieces = known && this.cuts.length ? cut(this.view.text, this.view.tokens).pieces : this.pieces;
    return pieces.slice(from, to).map(({ gap, word }, at) => (at ? gap + word : word)).join("");
  }

  #byPerson() {
    return this.waiting || this.view.state === "accepted";
  }

  #forgetDraft() {
    this.draft = null;
    this.cuts = [];
  }

  #cutText() {
    this.tokens = refine(this.view.tokens, this.cuts);
    Object.assign(this, cut(this.view.text, this.tokens)); // pieces and rest
  }
}
