// Mark words with a mouse, a pen or a finger: press on a word, drag to another.

import { place } from "./dom.js";
import { partsOf } from "./text.js";

export class Pointer {
  #from = null; // {row, token} where a drag began
  #dragged = false;

  /** `told` has `selected(row, dragged)` after a press, `part(from, to)` after two, and `action(row, button)`. */
  constructor(list, tip, told) {
    Object.assign(this, { list, tip, told });
    const { element } = list;
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#up(event));
    element.addEventListener("pointercancel", () => {
      this.#from = null;
    });
    element.addEventListener("pointerover", (event) => this.#over(event));
    element.addEventListener("pointerleave", () => this.hint(null));
    element.addEventListener("dblclick", (event) => this.#double(event));
    element.addEventListener("click", (event) => this.#click(event));
    // Scrolled away from its word, a hint points at another.
    window.addEventListener("scroll", () => this.hint(null), { passive: true });
  }

  /** Show the hint of a token, or none. */
  hint(token) {
    this.tip.hidden = !token;
    if (!token) return;
    this.tip.textContent = token.dataset.tip;
    place(this.tip, token.getBoundingClientRect(), { above: true });
  }

  #down(event) {
    const spot = find(event.target);
    if (!spot || event.button !== 0) return;
    if (event.pointerType !== "touch") event.preventDefault(); // the browser's own selection; a finger may still scroll
    const { row, token } = spot;
    const same = this.list.current === row;
    const extends_ = event.shiftKey && same;
    if (!same) this.list.go(row, { token, scroll: false });
    this.list.select(extends_ ? this.list.anchor : token, token, extends_);
    row.text.focus({ preventScroll: true });
    this.#from = { row, token: extends_ ? this.list.anchor : token };
    this.#dragged = extends_;
  }

  #move(event) {
    if (!this.#from) return;
    // A finger's events all go to where it first touched: look what is under it now.
    const spot = find(document.elementFromPoint(event.clientX, event.clientY));
    if (spot?.row !== this.#from.row || spot.token === this.list.head) return;
    this.#dragged = true;
    this.list.select(this.#from.token, spot.token, true);
  }

  #up() {
    if (!this.#from) return;
    const { row } = this.#from;
    this.#from = null;
    this.told.selected(row, this.#dragged);
  }

  /** One word alone, though it stands in a span; of LumiLamp/SolarPack the part that was pressed. */
  #double(event) {
    const spot = find(event.target);
    if (!spot) return;
    this.list.select(spot.token, spot.token, true);
    const part = partAt(spot.row.token(spot.token), event);
    if (part) this.told.part(...part);
    this.told.selected(spot.row, true);
  }

  #over(event) {
    const token = event.pointerType === "touch" ? null : event.target.closest?.(".token");
    this.hint(token);
  }

  #click(event) {
    const button = event.target.closest("button[data-action], button[data-option]");
    if (button) this.told.action(button.closest(".sentence").row, button);
    else if (!event.target.closest(".token, .panel")) {
      const row = event.target.closest(".sentence")?.row;
      if (row && row !== this.list.current) this.list.go(row, { scroll: false });
    }
  }
}

function find(target) {
  const token = target?.closest?.(".token");
  return token ? { row: token.closest(".sentence").row, token: Number(token.dataset.at) } : null;
}

/** Return the part of a word at a point as [from, to), or null if the word has only one. */
function partAt(token, { clientX, clientY }) {
  const text = token.querySelector(".word").firstChild;
  const parts = partsOf(text.data);
  if (parts.length < 2) return null;
  const range = document.createRange();
  return parts.find(([from, to]) => {
    range.setStart(text, from);
    range.setEnd(text, to);
    const meets = ({ left, right, top, bottom }) => left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
    return [...range.getClientRects()].some(meets);
  }) ?? null;
}
