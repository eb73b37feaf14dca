// Words and what stands between them: cut a text at its tokens, and tokens at characters.

/**
 * Cut a text at its tokens: [{gap, word}] and the rest after the last token.
 *
 * Offsets count code points, as Python does; strings here count UTF-16 units, in which an emoji is two.
 */
export function cut(text, tokens) {
  const slice = slicer(text);
  let end = 0;
  const pieces = tokens.map(([from, to]) => {
    const piece = { gap: slice(end, from), word: slice(from, to) };
    end = to;
    return piece;
  });
  return { pieces, rest: slice(end) };
}

/** Return a function that slices by code points; most texts have none beyond 16 bits and need no copy. */
function slicer(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (from, to) => text.slice(from, to);
  const points = Array.from(text);
  return (from, to) => points.slice(from, to).join("");
}

/** Cut tokens at characters (code points) of the text. */
export function refine(tokens, cuts) {
  return tokens.flatMap(([from, to]) => {
    const borders = [from, ...cuts.filter((place) => from < place && place < to), to];
    return borders.slice(1).map((end, at) => [borders[at], end]);
  });
}

// Letters and digits, also with a point between digits; or what stands between them.
const PARTS = /[\p{L}\p{M}\p{N}]+(?:(?<=\p{N})[.,:](?=\p{N})[\p{L}\p{M}\p{N}]+)*|[^\p{L}\p{M}\p{N}]+/gu;

/** Return the parts of a word, such as LumiLamp, / and SolarPack, as [from, to) in UTF-16 units. */
export function partsOf(word) {
  return [...word.matchAll(PARTS)].map(({ index, 0: part }) => [index, index + part.length]);
}

/** Return how many code points the first units of a text are. */
export const points = (text, units) => Array.from(text.slice(0, units)).length;

// Scripts that are written without spaces: a line may break between any two words.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}]/u;

/** Say whether two words that touch must stay on one line: a comma does not begin a line. */
export function glued(before, after) {
  if (CLOSING.test(after)) return true;
  const last = Array.from(before.slice(-2)).at(-1) ?? "";
  return !(UNSPACED.test(last) && UNSPACED.test(after));
}

/** Return a probability as people read it; the model is never surer than ">99 %". */
export function percent(probability) {
  if (probability == null) return "";
  const shown = Math.round(probability * 100);
  return shown >= 100 ? ">99 %" : shown <= 0 ? "<1 %" : `${shown} %`;
}

/** Return "1 sentence" or "2 sentences". */
export function count(number, thing) {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

/** Return the beginning of a text that may be long. */
export function shorten(text, most = 60) {
  const points = Array.from(text);
  return points.length > most ? `${points.slice(0, most - 1).join("")}…` : text;
}
