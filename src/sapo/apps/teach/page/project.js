// What the page knows of the project, and where it shows it: header, counts, curve.

import { ask } from "./api.js";
import { drawCurve } from "./curve.js";
import { byId, make } from "./dom.js";
import { Hues } from "./hues.js";
import { announce, dismiss, notify } from "./notices.js";

export class Project {
  hues = new Hues();
  #doing = ""; // what the page waits for
  #news = "";
  #problem = "";

  constructor(data, author) {
    Object.assign(this, { data, author });
    this.redraw = () => {}; // set by the palette: labels or counts have changed
    this.take(data);
    this.#drawFormats();
  }

  get kind() {
    return this.data.kind;
  }

  get labels() {
    return this.data.labels;
  }

  /** Take what an answer says of the project, all or a part. */
  take(answer) {
    const { curve_point: point, ...rest } = answer;
    const known = ["name", "labels", "people", "counts", "model", "curve", "orders"];
    for (const key of known) if (rest[key] != null) this.data[key] = rest[key];
    if (point && this.data.curve.at(-1)?.accepted !== point.accepted) this.data.curve = [...this.data.curve, point];
    this.hues.set(this.data.labels);
    this.draw();
  }

  /** Ask for everything again. */
  async reload() {
    this.take(await ask("/api/project"));
  }

  /** Say what the page waits for, or nothing any more. */
  busy(words) {
    this.#doing = words;
    this.#drawModel();
  }

  /** Say that a model trained from scratch has replaced the old one. */
  trained() {
    this.#news = "retrained";
    announce("The model has been retrained.");
    this.#drawModel();
    setTimeout(() => {
      this.#news = "";
      this.#drawModel();
    }, 6_000);
  }

  draw() {
    const { name, counts, curve } = this.data;
    document.title = `${name} – sapo teach`;
    byId("name").textContent = name;
    byId("done").textContent = `${counts.accepted} of ${counts.sentences} sentences accepted`;
    byId("progress").max = Math.max(1, counts.sentences);
    byId("progress").value = counts.accepted;
    byId("tab-second").hidden = this.data.people.every((person) => person === this.author.name);
    byId("count-open").textContent = counts.sentences - counts.accepted;
    byId("count-accepted").textContent = counts.accepted;
    drawCurve(byId("curve"), byId("curve-words"), curve);
    this.#drawModel();
    this.redraw();
  }

  #drawModel() {
    const { model } = this.data;
    this.#tellProblem(model.problem ?? "");
    const words = this.#doing || (model.training ? "retraining…" : this.#news || "up to date");
    const state = byId("model");
    state.textContent = words;
    state.dataset.busy = this.#doing !== "" || model.training;
    state.title = `version ${model.version}, learned from ${model.learned} accepted sentences`;
  }

  /** Say why the model cannot learn, once and as long as it is so. */
  #tellProblem(problem) {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem) notify(`The model could not learn: ${problem}`, { error: true, stay: true, key: "model" });
    else dismiss("model");
  }

  #drawFormats() {
    byId("formats").replaceChildren(...this.data.formats.map((format) =>
      make("li", {}, make("a", { href: `/api/export?format=${encodeURIComponent(format)}`, download: "", text: format }))));
  }
}
