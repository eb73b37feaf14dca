// Split a word where the person puts spaces, so that a part of it can be marked.

import { byId } from "./dom.js";

export class Splitter {
  #word = "";

  /** `split(places)` gets where the word is cut, in UTF-16 units; `left()` is called when the dialog closes. */
  constructor(split, left) {
    Object.assign(this, { split, left });
    this.dialog = byId("split");
    this.input = byId("split-word");
    this.problem = byId("split-problem");
    this.dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault(); // the policy of the page allows no form to be sent anywhere
      this.#apply();
    });
    this.dialog.addEventListener("close", () => this.left());
    byId("split-cancel").addEventListener("click", () => this.dialog.close());
  }

  open(word) {
    this.#word = word;
    this.input.value = word;
    this.problem.textContent = "";
    this.dialog.showModal();
    this.input.focus();
    this.input.setSelectionRange(0, 0);
  }

  #apply() {
    const places = placesOf(this.input.value, this.#word);
    if (places === null) {
      this.problem.textContent = `Add nothing but spaces: the word is “${this.#word}”.`;
      return;
    }
    this.dialog.close();
    if (places.length) this.split(places);
  }
}

/** Return the places of a word before which spaces were added, or null if something else has changed. */
function placesOf(typed, word) {
  const places = new Set();
  let at = 0;
  for (let unit = 0; unit < typed.length; unit++) {
    if (typed[unit] === word[at]) at += 1;
    else if (typed[unit] === " ") places.add(at);
    else return null;
  }
  return at === word.length ? [...places].filter((place) => place > 0 && place < word.length) : null;
}
