// Choose a label by typing a part of its name, or make a new one: for projects with more labels than number keys.

import { byId, make, place } from "./dom.js";

export class Picker {
  #choices = [];
  #at = 0;

  /** `choose(label, isNew)` is called with what was chosen; `left()` when the picker closes. */
  constructor(project, choose, left) {
    Object.assign(this, { project, choose, left });
    this.box = byId("picker");
    this.input = byId("picker-input");
    this.options = byId("picker-options");
    this.input.addEventListener("input", () => this.#search());
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.box.addEventListener("focusout", (event) => {
      if (!this.box.contains(event.relatedTarget)) this.close();
    });
  }

  /** Open beside a rectangle. */
  open(rectangle) {
    this.box.hidden = false;
    this.input.value = "";
    this.#search();
    place(this.box, rectangle);
    this.input.focus();
  }

  close() {
    if (this.box.hidden) return;
    this.box.hidden = true;
    this.left();
  }

  #search() {
    const typed = this.input.value.trim();
    const wanted = typed.toLowerCase();
    const rank = (label) => (label.toLowerCase().startsWith(wanted) ? 0 : 1);
    const found = this.project.labels.filter((label) => label.toLowerCase().includes(wanted));
    this.#choices = found.sort((one, other) => rank(one) - rank(other)).map((label) => ({ label, isNew: false }));
    if (typed && !this.project.labels.includes(typed)) this.#choices.push({ label: typed, isNew: true });
    this.#at = 0;
    this.#draw();
  }

  #draw() {
    this.options.replaceChildren(...this.#choices.map(({ label, isNew }, at) =>
      make("li", {
        role: "option", id: `pick-${at}`, "aria-selected": at === this.#at, class: isNew ? "" : this.project.hues.of(label),
        text: isNew ? `Make label “${label}”` : label,
        on: { pointerdown: (event) => { event.preventDefault(); this.#take(at); } },
      })));
    this.input.setAttribute("aria-activedescendant", this.#choices.length ? `pick-${this.#at}` : "");
    this.options.children[this.#at]?.scrollIntoView({ block: "nearest" });
  }

  #take(at) {
    const choice = this.#choices[at];
    this.close();
    if (choice) this.choose(choice.label, choice.isNew);
  }

  #key(event) {
    event.stopPropagation(); // letters are typed here
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && this.#choices.length) {
      this.#at = (this.#at + by + this.#choices.length) % this.#choices.length;
      this.#draw();
    } else if (event.key === "Enter") this.#take(this.#at);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }
}
