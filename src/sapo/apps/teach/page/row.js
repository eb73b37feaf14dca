// One sentence on the screen: a list item whose text is a listbox of tokens, so that screen readers read and select them.

import { make, setAttribute } from "./dom.js";
import { setSureness } from "./hues.js";
import { drawTagging } from "./tagging.js";
import { isEmpty, labelOf } from "./tags.js";
import { glued, percent } from "./text.js";

const STATES = { open: "", draft: "changed", waiting: "sending", accepted: "accepted" };

export class Row {
  #tokens = []; // elements, once the row has been near the screen
  #drawn = false;

  constructor(sentence, hues, author) {
    Object.assign(this, { sentence, hues, author });
    this.text = make("div", {
      class: "text", role: "listbox", id: `s${sentence.id}`, "data-kind": sentence.kind, dir: "auto", tabindex: "-1",
      "aria-multiselectable": "true", "aria-orientation": "horizontal",
    });
    this.text.textContent = sentence.view.text;
    this.sure = make("span", { class: "sure" });
    this.note = make("span", { class: "note" });
    this.accept = button("accept", "Accept", "Accept this sentence", "Enter");
    this.takeOver = button("take-over", "Take over", "Take this sentence over", "t");
    this.more = button("more", "⋯", "Best taggings, and why", "n");
    this.more.setAttribute("aria-expanded", "false");
    this.options = make("div", { class: "options", hidden: true });
    this.element = make("div", { class: "sentence", role: "listitem", "data-id": sentence.id },
      make("div", { class: "gutter" }, this.sure),
      make("div", { class: "body" }, this.text, this.note, this.options),
      make("div", { class: "actions" }, this.accept, this.takeOver, this.more));
    this.describe();
  }

  get id() {
    return this.sentence.id;
  }

  /** Draw the tokens; before that, a row far from the screen is plain text, which costs almost nothing. */
  draw(changed = []) {
    this.#drawn = true;
    const held = this.selection;
    this.text.replaceChildren(...this.#content());
    this.describe();
    for (const token of changed) this.#flash(this.#tokens[token]);
    if (held) this.select(held.range, held.head);
  }

  /** Draw again if it was drawn. */
  refresh(changed = []) {
    if (this.#drawn) this.draw(changed);
    else this.describe();
  }

  /** Draw unless that is done. */
  ensure() {
    if (!this.#drawn) this.draw();
  }

  /** Write what stands around the text: state, sureness, who works here, what went wrong. */
  describe() {
    const { sentence } = this;
    const { view, state } = sentence;
    this.element.dataset.state = state;
    const locked = sentence.holder(this.author());
    setAttribute(this.element, "data-locked", locked !== null);
    this.takeOver.hidden = locked === null;
    this.accept.hidden = locked !== null;
    const sure = state === "open" && view.sure ? percent(view.sure) : "";
    this.sure.textContent = { accepted: "✓", waiting: "…", draft: "✎" }[state] ?? sure;
    this.sure.title = { accepted: "accepted", waiting: "not saved yet", draft: "changed, not accepted yet" }[state]
      ?? "how sure the model is of the whole sentence, by length";
    const notes = [
      sentence.problem,
      locked && `${locked} is working on this sentence`,
      view.state === "accepted" && view.by && `accepted by ${view.by}`,
    ].filter(Boolean);
    this.note.textContent = notes.join(" · ");
    this.note.classList.toggle("problem", sentence.problem !== "");
    this.text.setAttribute("aria-label", [view.text, STATES[state], sure && `${sure} sure`, ...notes].filter(Boolean).join(", "));
    this.#describeOptions();
  }

  /** Show which tokens are selected and where the cursor is; null for none. */
  select(range, head) {
    this.selection = range ? { range, head } : null;
    this.#tokens.forEach((token, at) => {
      const selected = range !== null && range[0] <= at && at < range[1];
      token.setAttribute("aria-selected", selected);
      token.classList.toggle("cursor", range !== null && at === head);
    });
    setAttribute(this.text, "aria-activedescendant", range && this.#tokens[head] ? this.#tokens[head].id : null);
  }

  token(at) {
    return this.#tokens[at];
  }

  #content() {
    const { sentence } = this;
    this.#tokens = [];
    const marks = sentence.kind === "spans" ? sentence.spans() : [];
    const units = [];
    let at = 0;
    for (const span of [...marks, null]) {
      while (at < (span?.from ?? sentence.length)) units.push(this.#unit(at++));
      if (span) units.push(this.#mark(span));
      at = span?.to ?? at;
    }
    return [...joined(units, sentence.rest), sentence.rest];
  }

  /** Return a span: an element with its tokens, and what stands before it, which is not colored. */
  #mark(span) {
    const inside = [];
    for (let at = span.from; at < span.to; at++) inside.push(this.#unit(at, span));
    const { gap, glued: sticks } = inside[0];
    const name = [span.label, percent(span.probability)].filter(Boolean).join(", ");
    const room = tagWidth(span.label);
    const element = make("span", { class: `mark ${this.hues.of(span.label)}`, role: "group", "aria-label": name }, ...breakable(inside, room));
    setSureness(element, span.probability);
    const width = inside.reduce((sum, unit, at) => sum + unit.width + (at ? textWidth(unit.gap) : 0), 0);
    return { gap, glued: sticks, element, boxed: true, size: inside[0].size, width, room };
  }

  /** Return a token: its element, what stands before it, and whether a line may break there. */
  #unit(at, span = null) {
    const { sentence } = this;
    const { gap, word } = sentence.pieces[at];
    const sticks = gap === "" && at > 0 && glued(sentence.pieces[at - 1].word, word);
    const first = span !== null && at === span.from;
    const element = sentence.kind === "spans" ? this.#spanToken(at, word, span, first) : this.#taggedToken(at, word);
    return { gap, glued: sticks, element, boxed: first || sentence.kind === "tags", size: word.length, width: textWidth(word), room: 0 };
  }

  #spanToken(at, word, span, first) {
    const probability = span ? span.probability : this.sentence.probability(at);
    const token = this.#token(at, word, span?.label ?? "no label", probability);
    if (first) {
      token.classList.add("labeled");
      token.append(tagElement(span.label));
    }
    return token;
  }

  #taggedToken(at, word) {
    const tag = this.sentence.tags[at];
    const label = labelOf(tag, "tags") ?? "no label";
    const probability = this.sentence.probability(at);
    const token = this.#token(at, word, label, probability);
    token.classList.add("labeled", this.hues.of(tag));
    token.classList.toggle("empty", isEmpty(tag, "tags"));
    token.append(tagElement(isEmpty(tag, "tags") ? "–" : tag));
    setSureness(token, probability);
    return token;
  }

  #token(at, word, label, probability) {
    const sure = probability == null ? "" : percent(probability);
    const token = make("span", {
      class: "token", role: "option", id: `t${this.id}-${at}`, "aria-selected": "false",
      "aria-label": [word, label, sure].filter(Boolean).join(", "),
      "data-at": at, "data-tip": [label, sure || (label === "no label" ? "" : "by a person")].filter(Boolean).join(" · "),
    }, make("span", { class: "word", text: word }));
    this.#tokens.push(token);
    return token;
  }

  #flash(token) {
    if (!token) return;
    token.classList.add("changed");
    setTimeout(() => token.classList.remove("changed"), 2_000);
  }

  #describeOptions() {
    const { sentence } = this;
    this.options.hidden = sentence.options.length === 0;
    const all = sentence.options.map((option) => option.tags);
    this.options.replaceChildren(...sentence.options.map(({ title, tags }, at) =>
      make("div", { class: "option" },
        make("span", { class: "option-title", text: title }),
        drawTagging(sentence, tags, [...all, sentence.tags], this.hues),
        make("button", { type: "button", class: "take", "data-option": at, text: "Take", "aria-label": `Take these tags: ${title}` }))));
  }
}

const LONGEST_CHAIN = 30; // characters that may not be broken; longer ones could be wider than the screen

/**
 * Return the elements of units with what stands between them; `rest` is the text after them.
 *
 * A labeled word is a box, beside which a line could break even where the text has no space: such units are kept
 * together, so that no comma begins a line. The name of a label hangs below its span and takes no room: if it is wider
 * than the span, the words over it are kept together, too, and the next span keeps its distance.
 */
function joined(units, rest) {
  const nodes = [];
  let chain = null;
  let before = null;
  let over = 0; // pixels by which the name of the last span goes on to the right
  for (const unit of units) {
    over -= textWidth(unit.gap);
    const below = over > 0 && !unit.room;
    const sticks = below || (unit.glued && (unit.boxed || before?.boxed) && (chain?.size ?? before.size) + unit.size <= LONGEST_CHAIN);
    if (sticks && !chain) {
      nodes.pop();
      chain = { element: make("span", { class: "together" }, before.element), size: before.size };
      nodes.push(chain.element);
    }
    if (sticks) {
      chain.element.append(unit.gap, unit.element);
      chain.size += unit.size;
    } else {
      chain = null;
      nodes.push(unit.gap, unit.element);
    }
    if (unit.room) {
      keepDistance(before, over);
      over = unit.room;
    }
    over -= unit.width;
    before = unit;
  }
  keepDistance(before, over - textWidth(rest));
  return nodes;
}

function keepDistance(unit, pixels) {
  if (unit && pixels > 0) unit.element.style.marginInlineEnd = `${Math.ceil(pixels)}px`;
}

/** Return the elements of a span, inside which CSS lets lines break only at the gaps, and not over its name. */
function breakable(units, room) {
  let over = room;
  return units.flatMap(({ gap, glued: sticks, element, width }, at) => {
    over -= at ? textWidth(gap) : 0;
    const together = at === 0 || sticks || over > 0;
    over -= width;
    if (together) return at ? [gap, element] : [element];
    return [make("span", { class: "gap" }, gap === "" ? make("wbr") : gap), element];
  });
}

const ruler = document.createElement("canvas").getContext("2d");
const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
const TEXT_FONT = `${1.0625 * rem}px system-ui, sans-serif`; // as in sentence.css
const TAG_FONT = `650 ${0.6875 * rem}px system-ui, sans-serif`;
const WIDEST_TAG = 11 * rem;
const DISTANCE = 0.4 * rem; // between the names of two labels
const measured = new Map();

/** Return how many pixels wide a text is. */
function textWidth(text, font = TEXT_FONT) {
  if (text === "") return 0;
  if (ruler.font !== font) ruler.font = font;
  return ruler.measureText(text).width;
}

/** Return the room that the name of a label needs. */
function tagWidth(label) {
  if (!measured.has(label)) {
    const spacing = 0.02 * 0.6875 * rem * label.length;
    measured.set(label, Math.min(textWidth(label, TAG_FONT) + spacing, WIDEST_TAG) + DISTANCE);
  }
  return measured.get(label);
}

function tagElement(label) {
  return make("span", { class: "tag", "aria-hidden": "true" }, make("span", { class: "tag-name", text: label }));
}

function button(action, text, words, key) {
  return make("button", {
    type: "button", class: action, "data-action": action, tabindex: "-1", text,
    title: `${words} (${key})`, "aria-label": words, "aria-keyshortcuts": key,
  });
}
