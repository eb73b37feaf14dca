// Fill the list: the chosen view in the chosen order, page after page, ranked again as the model learns.

import { byId } from "./dom.js";
import { announce, dismiss, notify } from "./notices.js";
import { count } from "./text.js";
import { VIEWS } from "./views.js";

const RANK_AFTER = 5; // accepted sentences

export class Feed {
  view = "open";
  order = "least-sure";
  #complete = false;
  #loading = null;
  #retry = null; // what failed, to be done again
  #since = 0; // accepted sentences since the order was made

  /** `adopt(item)` makes a sentence of what a view has. */
  constructor(list, author, adopt) {
    Object.assign(this, { list, author, adopt });
  }

  /** Show a view from its beginning. */
  async show({ view = this.view, order = this.order } = {}) {
    Object.assign(this, { view, order });
    this.#complete = false;
    this.#since = 0;
    byId("list").setAttribute("aria-busy", "true");
    const answer = await this.#load({});
    byId("list").removeAttribute("aria-busy");
    if (!answer || this.view !== view || this.order !== order) return;
    this.list.show(answer.items.map(this.adopt));
    this.#complete = VIEWS[view].whole ?? false;
    const { empty, about = "" } = { ...VIEWS[view], ...answer };
    byId("about").textContent = answer.items.length ? about : empty;
    this.list.go(this.list.next() ?? this.list.rows[0], { focus: false, scroll: false });
    announce(`${count(answer.items.length, "sentence")} shown.`);
  }

  /** Load the next page, once at a time. */
  async more() {
    if (this.#complete || this.#loading || !this.list.rows.length) return;
    const { view, order } = this;
    const loaded = this.list.rows.filter(({ sentence }) => sentence.view.state === "open").length;
    const answer = await this.#load({ after: this.list.rows.at(-1).id, loaded });
    if (!answer || this.view !== view || this.order !== order) return;
    const added = this.list.append(answer.items.map(this.adopt));
    this.#complete = added === 0;
  }

  /** Count an accepted sentence; after some, what lies below the screen is ranked by what the model knows now. */
  async learned() {
    this.#since += 1;
    const ranks = VIEWS[this.view].ranked && ["least-sure", "different"].includes(this.order);
    if (!ranks || this.#since < RANK_AFTER || this.#loading) return;
    this.#since = 0;
    const { view, order } = this;
    const answer = await this.#load({});
    if (!answer || this.view !== view || this.order !== order) return;
    this.#complete = false;
    this.list.replaceRest(answer.items.map(this.adopt));
  }

  /** Do again what failed, if something did. */
  retry() {
    const again = this.#retry;
    this.#retry = null;
    return again?.();
  }

  async #load(place) {
    this.#loading = VIEWS[this.view].load({ order: this.order, author: this.author.name, ...place });
    try {
      const answer = await this.#loading;
      this.#retry = null;
      dismiss("load");
      return answer;
    } catch (error) {
      this.#retry = () => (place.after ? this.more() : this.show());
      const action = { text: "Try again", run: () => this.retry() };
      notify(`The sentences could not be loaded. ${error.message}`, { error: true, stay: true, key: "load", action });
      return null;
    } finally {
      this.#loading = null;
    }
  }
}
