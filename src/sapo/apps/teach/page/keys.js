// All keys in one table, which the help also shows.

import { make } from "./dom.js";

/** Return the table: what is pressed, what it does, in which part of the help. `does` has the functions. */
export function keyTable(does) {
  const { list } = does;
  const move = (by) => () => does.moveTo(list.head + by);
  const extend = (by) => () => list.select(list.anchor, list.head + by, true);
  return [
    { part: "Move", keys: ["j", "ArrowDown"], words: "next sentence", run: () => list.step(1) },
    { part: "Move", keys: ["k", "ArrowUp"], words: "previous sentence", run: () => list.step(-1) },
    { part: "Move", keys: ["ArrowRight"], words: "next word", run: move(1) },
    { part: "Move", keys: ["ArrowLeft"], words: "previous word", run: move(-1) },
    { part: "Move", keys: ["Home", "End"], words: "first or last word",
      run: (key) => does.moveTo(key === "Home" ? 0 : Infinity) },
    { part: "Move", keys: ["o"], words: "next open sentence", run: does.nextOpen },
    { part: "Mark", keys: ["Shift+ArrowRight"], words: "mark one word more", run: extend(1) },
    { part: "Mark", keys: ["Shift+ArrowLeft"], words: "mark one word less, or more to the left", run: extend(-1) },
    { part: "Mark", keys: [..."123456789"], shown: "1 – 9", words: "give the marked words a label", run: (key) => does.number(Number(key)) },
    { part: "Mark", keys: ["l"], words: "choose a label by name, or make one", run: does.pick },
    { part: "Mark", keys: ["Backspace", "Delete", "0"], words: "remove the label", run: does.clear },
    { part: "Mark", keys: ["s"], words: "split the word, to mark a part of it", run: does.split },
    { part: "Decide", keys: ["Enter"], words: "accept the sentence", run: does.accept, inText: true },
    { part: "Decide", keys: ["n"], words: "the best taggings, and why", run: does.more },
    { part: "Decide", keys: ["u"], words: "undo", run: does.undo },
    { part: "Decide", keys: ["r"], words: "redo", run: does.redo },
    { part: "Decide", keys: ["t"], words: "take a sentence over from another person", run: does.takeOver },
    { part: "Page", keys: ["Escape"], words: "close what is open, unmark", run: does.escape },
    { part: "Page", keys: ["?"], words: "this help", run: does.help },
  ];
}

/** Run the table's functions when keys are pressed, except where a person types. */
export function listenToKeys(table) {
  const byKey = new Map(table.flatMap((row) => row.keys.map((key) => [key, row])));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    const arrow = event.shiftKey && event.key.startsWith("Arrow");
    const row = byKey.get(arrow ? `Shift+${event.key}` : event.key);
    if (!row) return;
    const control = event.target.closest("button, a, summary, [role=tab]");
    // On a button, Enter presses it, and arrows belong to what has focus.
    if (control && (row.inText || /^(Arrow|Home|End)/.test(event.key))) return;
    event.preventDefault();
    row.run(event.key);
  });
}

const NAMES = {
  ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→",
  "Shift+ArrowRight": "Shift + →", "Shift+ArrowLeft": "Shift + ←", Escape: "Esc",
};

/** Draw the help. */
export function drawHelp(element, table) {
  const parts = [...new Set(table.map(({ part }) => part))];
  element.replaceChildren(...parts.map((part) =>
    make("section", {}, make("h3", { text: part }), make("dl", {},
      ...table.filter((row) => row.part === part).flatMap(({ keys, shown, words }) => [
        make("dt", {}, ...(shown ? [shown] : keys.map((key) => NAMES[key] ?? key)).flatMap((key) => [make("kbd", { text: key }), " "])),
        make("dd", { text: words }),
      ])))));
}
