// What the page says: quietly to screen readers, in a line that stays as long as it is true, and errors aloud.

import { byId, make } from "./dom.js";

const LINGER = 9_000; // milliseconds

/** Tell a screen reader what has changed. Said twice, the same words would not be heard: a space makes them new. */
export function announce(words) {
  const region = byId("announcer");
  region.textContent = region.textContent === words ? `${words}\u00a0` : words;
}

/** Show a line for a while, with an optional button. */
export function notify(words, { error = false, action = null, stay = false, key = words } = {}) {
  dismiss(key);
  const line = make("div", { class: error ? "notice error" : "notice", "data-key": key },
    make("span", { text: words }),
    action && make("button", { type: "button", text: action.text, on: { click: action.run } }),
    make("button", { type: "button", class: "close", text: "×", "aria-label": "Close this message", on: { click: () => line.remove() } }));
  byId(error ? "alerts" : "notices").append(line);
  if (!stay) setTimeout(() => line.remove(), LINGER);
}

/** Take away the line with a key. */
export function dismiss(key) {
  for (const line of document.querySelectorAll(".notice")) if (line.dataset.key === key) line.remove();
}
