// A tagging in short: its marked words, for lists to choose from.

import { make } from "./dom.js";
import { isEmpty, spansOf } from "./tags.js";

/** Draw the labels of a tagging of the server's tokens; in "tags" only the words where the taggings to compare differ. */
export function drawTagging(sentence, tags, others, hues) {
  const parts = sentence.kind === "spans" ? spansOf(tags) : differing(tags, others);
  if (!parts.length) {
    const none = sentence.kind === "spans" ? "no labels" : "the same tags";
    return make("span", { class: "tagging" }, make("span", { class: "quiet", text: none }));
  }
  const chips = parts.map(({ from, to, label }) =>
    make("span", { class: `chip ${hues.of(label)}` },
      make("bdi", { text: sentence.words(from, to, { known: true }) }), " ",
      make("span", { class: "chip-label", text: label })));
  return make("span", { class: "tagging" }, ...chips.flatMap((chip) => [chip, " "]));
}

function differing(tags, others) {
  return tags.flatMap((tag, at) => {
    const agreed = others.every((other) => other[at] === tag);
    return agreed ? [] : [{ from: at, to: at + 1, label: isEmpty(tag, "tags") ? "no label" : tag }];
  });
}
