// The row above the list: which sentences, in which order; and the buttons of the header.

import { byId, make } from "./dom.js";

const ORDERS = { "least-sure": "least sure first", different: "most different first", random: "random", "in-order": "in order" };

export class Toolbar {
  constructor(project, feed, author) {
    Object.assign(this, { project, feed, author });
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    this.order = byId("order");
    this.order.replaceChildren(...project.data.orders.map((order) =>
      make("option", { value: order, text: ORDERS[order] ?? order })));
    this.order.value = feed.order;
    this.order.addEventListener("change", () => feed.show({ order: this.order.value }));
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.#show(tab));
      tab.addEventListener("keydown", (event) => this.#key(event, tab));
    }
    byId("who").addEventListener("click", () => author.ask(project.data.people).then(() => this.#name()));
    byId("show-help").addEventListener("click", () => byId("help").showModal());
    byId("close-help").addEventListener("click", () => byId("help").close());
    this.#name();
  }

  #name() {
    byId("who").textContent = this.author.name;
    byId("who").setAttribute("aria-label", `You are ${this.author.name}. Change the name`);
  }

  #show(tab) {
    for (const one of this.tabs) {
      one.setAttribute("aria-selected", one === tab);
      one.tabIndex = one === tab ? 0 : -1;
    }
    byId("panel").setAttribute("aria-labelledby", tab.id);
    byId("order-field").hidden = tab.dataset.view !== "open";
    this.feed.show({ view: tab.dataset.view });
  }

  #key(event, tab) {
    const shown = this.tabs.filter((one) => !one.hidden);
    const at = shown.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = shown.at(to % shown.length);
    next.focus();
    this.#show(next);
  }
}
