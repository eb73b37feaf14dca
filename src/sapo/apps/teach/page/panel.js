// Under the current sentence: its best taggings to choose from, and why the token at the cursor has its tag.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { drawTagging } from "./tagging.js";
import { labelOf } from "./tags.js";
import { percent } from "./text.js";

const BEST = 5;
const REASONS = 6;
const NARROW = window.matchMedia("(max-width: 56rem)"); // there the labels stand at the lower edge of the screen

export class Panel {
  #row = null;
  #asked = 0;

  /** `take(tags)` is called with the chosen tagging; `bar` are the labels to give, shown on top if a span was pressed. */
  constructor(hues, bar, take) {
    Object.assign(this, { hues, bar, take, home: bar.parentElement });
    this.best = make("section", { class: "best", "aria-label": "Best taggings" });
    this.why = make("section", { class: "why", "aria-label": "Why" });
    this.element = make("div", { class: "panel", role: "region", "aria-label": "Best taggings and why" }, this.best, this.why);
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  get row() {
    return this.#row;
  }

  /** Open under a row, for a token. */
  async open(row, token, { focus = false, labels = false } = {}) {
    if (this.#row !== row) {
      this.close();
      this.#row = row;
      row.more.setAttribute("aria-expanded", "true");
      this.best.replaceChildren(title("Best taggings"), make("p", { class: "quiet", text: "…" }));
      this.why.replaceChildren();
      row.note.after(this.element);
    }
    if (labels && !NARROW.matches) this.element.prepend(this.bar);
    const asked = ++this.#asked;
    const at = `/api/sentences/${row.id}`;
    const known = row.sentence.viewToken(token);
    const [best, why] = await Promise.allSettled([ask(`${at}/nbest?n=${BEST}`), ask(`${at}/explain?token=${known}&top=${REASONS}`)]);
    if (asked !== this.#asked) return; // closed or asked for another meanwhile
    this.#drawBest(row.sentence, best);
    this.#drawWhy(row.sentence, known, why);
    if (focus) this.best.querySelector("button")?.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.#asked += 1;
    this.#row?.more.setAttribute("aria-expanded", "false");
    this.#row = null;
    if (this.element.contains(this.bar)) this.home.append(this.bar);
    this.element.remove();
  }

  #drawBest(sentence, { value, reason }) {
    if (!value) return this.best.replaceChildren(title("Best taggings"), failure(reason));
    const all = value.taggings.map(({ tags }) => tags);
    const rows = value.taggings.map(({ tags, probability }, at) => {
      const choose = make("button", { type: "button", class: "choice", on: { click: () => this.take(tags) } },
        make("kbd", { text: at + 1, "aria-hidden": "true" }),
        make("span", { class: "share", text: percent(probability) }),
        drawTagging(sentence, tags, all, this.hues));
      return make("li", {}, choose);
    });
    return this.best.replaceChildren(title("Best taggings"), make("ol", {}, ...rows));
  }

  #drawWhy(sentence, token, { value, reason }) {
    const word = sentence.words(token, token + 1, { known: true });
    if (!value) return this.why.replaceChildren(title(`Why “${word}”?`), failure(reason));
    const question = `Why “${word}” ${verdict(value.label, value.other, sentence.kind)}`;
    const rows = [...value.for, ...value.against]
      .sort((one, two) => Math.abs(two.weight) - Math.abs(one.weight)).slice(0, REASONS);
    const most = Math.max(...rows.map(({ weight }) => Math.abs(weight)), 1e-9);
    return this.why.replaceChildren(
      title(question),
      make("table", {},
        make("caption", { class: "hidden", text: "Features for and against it" }),
        make("tbody", {}, ...rows.map((row) => reasonRow(row, most)))));
  }

  /** Arrows walk through the taggings, their numbers choose; other keys are not for the sentence. */
  #key(event) {
    const choices = [...this.best.querySelectorAll("button")];
    const at = choices.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, j: at + 1, k: at - 1 }[event.key];
    const number = /^[1-9]$/.test(event.key) ? choices[event.key - 1] : null;
    if (number) number.click();
    else if (to !== undefined) choices[Math.min(Math.max(0, to), choices.length - 1)]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function reasonRow({ feature, weight }, most) {
  const bar = make("span", { class: weight < 0 ? "bar against" : "bar" });
  bar.style.inlineSize = `${(Math.abs(weight) / most) * 100}%`;
  const signed = `${weight < 0 ? "−" : "+"}${Math.abs(weight).toFixed(2)}`;
  return make("tr", {},
    make("th", { scope: "row" }, make("bdi", { text: feature })),
    make("td", { class: "weight", text: signed }),
    make("td", { class: "bars" }, bar));
}

/** Say what a token is and is not: by label, or by tag if both are of one label. */
function verdict(tag, other, kind) {
  const [one, two] = [tag, other].map((each) => labelOf(each, kind));
  if (one === two) return `is ${tag}, not ${other}`;
  return `${one === null ? "has no label" : `is ${one}`}${two === null ? "" : `, not ${two}`}`;
}

const title = (text) => make("h3", { text });
const failure = (error) => make("p", { class: "quiet", text: error?.message ?? "No answer." });
