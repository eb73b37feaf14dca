// The labels: a list beside the text with their counts, and a bar beside the selected words.

import { ask } from "./api.js";
import { byId, make, place } from "./dom.js";
import { announce, notify } from "./notices.js";
import { count } from "./text.js";

const IN_BAR = 9; // as many as have a number key

export class Palette {
  /** `does` has `label(name)`, `clear()`, `pick()`, `split()` and `keep(list)`. */
  constructor(project, does) {
    Object.assign(this, { project, does });
    this.bar = byId("bar");
    project.redraw = () => this.draw();
    byId("new-label").addEventListener("submit", (event) => {
      event.preventDefault();
      const input = byId("new-label-name");
      this.add(input.value).then((added) => {
        if (added) input.value = "";
      });
    });
    this.draw();
  }

  /** Make a label; return whether there is one now. */
  async add(name) {
    const wanted = name.trim();
    if (!wanted) return false;
    if (this.project.labels.includes(wanted)) return true;
    try {
      this.project.take(await ask("/api/labels", { name: wanted }));
      announce(`Label ${wanted} added.`);
      return true;
    } catch (error) {
      notify(`The label was not added. ${error.message}`, { error: true });
      return false;
    }
  }

  draw() {
    const { labels, data } = this.project;
    byId("labels").replaceChildren(...labels.map((label, at) => {
      const seen = data.counts.by_label[label] ?? 0;
      return make("li", {}, this.#button(label, at, make("span", { class: "count", text: seen, "aria-label": count(seen, "time") })));
    }));
    byId("no-labels").hidden = labels.length > 0;
    const more = labels.length > IN_BAR && this.#other("…", "l", "More labels", this.does.pick);
    this.bar.replaceChildren(
      ...labels.slice(0, IN_BAR).map((label, at) => this.#button(label, at)),
      ...(more ? [more] : []),
      ...(labels.length ? [this.#other("none", "0", "Remove the label", this.does.clear)] : []),
      ...(labels.length && this.project.kind === "spans" ? [this.#other("split", "s", "Split the word", this.does.split)] : []),
      ...data.lists.map((list) => this.#other(list, "+", `Add to the list ${list}`, () => this.does.keep(list))));
    if (!labels.length) this.bar.hidden = true;
  }

  /** Show the bar at the selected words. */
  showBar(row, [from, to]) {
    if (!this.project.labels.length) return byId("new-label-name").focus();
    this.bar.hidden = false;
    if (this.bar.closest(".panel")) return undefined; // it stands there, not beside the words
    const first = row.token(from).getBoundingClientRect();
    const last = row.token(to - 1).getBoundingClientRect();
    const under = last.top > first.bottom ? last : first; // over two lines: below the second
    return place(this.bar, { left: under.left, top: first.top, bottom: under.bottom + 12 });
  }

  hideBar() {
    this.bar.hidden = true;
  }

  #button(label, at, ...more) {
    const key = at < IN_BAR ? make("kbd", { text: at + 1, "aria-hidden": "true" }) : make("kbd", { class: "none" });
    return make("button", {
      type: "button", class: `label ${this.project.hues.of(label)}`,
      ...(at < IN_BAR && { "aria-keyshortcuts": at + 1 }), on: { click: () => this.does.label(label) },
    }, key, make("span", { class: "name", text: label }), ...more);
  }

  #other(text, key, words, run) {
    return make("button", { type: "button", class: "label", "aria-label": words, on: { click: run } },
      make("kbd", { text: key, "aria-hidden": "true" }), make("span", { class: "name", text }));
  }
}
