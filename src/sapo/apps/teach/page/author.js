// Who is teaching: asked once, kept in the browser.

import { byId, make } from "./dom.js";
import { Shelf } from "./shelf.js";

export class Author {
  #shelf = new Shelf("person");
  #name = this.#shelf.read("name", "");

  get name() {
    return this.#name;
  }

  /** Ask for the name; resolves when there is one. */
  ask(people) {
    const dialog = byId("author");
    const input = byId("author-name");
    byId("people").replaceChildren(...people.map((name) => make("option", { value: name })));
    input.value = this.#name;
    dialog.showModal();
    input.select();
    return new Promise((resolve) => {
      const form = dialog.querySelector("form");
      form.onsubmit = (event) => {
        event.preventDefault(); // the policy of the page allows no form to be sent anywhere
        const name = input.value.trim();
        if (!name) return;
        this.#name = name;
        this.#shelf.write("name", name);
        dialog.close();
        resolve(name);
      };
      dialog.oncancel = (event) => {
        if (!this.#name) event.preventDefault();
      };
    });
  }
}
