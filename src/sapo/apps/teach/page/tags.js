// Tags of a sentence and what a person does to them: pure functions, new arrays.
//
// There are two kinds of projects. In "spans" a tag is O, B-X or I-X and labels mark spans of tokens; in "tags" the tag
// of a token is its label, or _ as long as it has none.

const NONE = { spans: "O", tags: "_" };

/** Return whether a tag is no label. */
export const isEmpty = (tag, kind) => tag === NONE[kind];

/** Return the label that a tag belongs to, or null. */
export function labelOf(tag, kind) {
  if (isEmpty(tag, kind)) return null;
  return kind === "spans" ? tag.replace(/^[BI]-/, "") : tag;
}

/** Return the spans of IOB2 tags; an I-X that continues nothing begins a span, as conlleval reads it. */
export function spansOf(tags) {
  const spans = [];
  tags.forEach((tag, at) => {
    const last = spans.at(-1);
    if (isEmpty(tag, "spans")) return;
    const label = labelOf(tag, "spans");
    if (tag.startsWith("I-") && last && last.to === at && last.label === label) last.to = at + 1;
    else spans.push({ from: at, to: at + 1, label });
  });
  return spans;
}

/** Return the span that covers a token, or null. */
export const spanAt = (tags, token) => spansOf(tags).find((span) => span.from <= token && token < span.to) ?? null;

/** Give the tokens from `from` up to `to` one label; what spans had there is cut off them. */
export function mark(tags, from, to, label, kind) {
  if (kind === "tags") return tags.map((tag, at) => (from <= at && at < to ? label : tag));
  const marked = clear(tags, from, to, kind);
  for (let at = from; at < to; at++) marked[at] = `${at === from ? "B" : "I"}-${label}`;
  return marked;
}

/** Take the labels off some tokens. */
export function clear(tags, from, to, kind) {
  const cleared = tags.map((tag, at) => (from <= at && at < to ? NONE[kind] : tag));
  if (kind === "tags") return cleared;
  const inside = spansOf(tags).find((span) => span.from < to && to < span.to);
  if (inside) cleared[to] = `B-${inside.label}`; // what is left of a span after the cut begins a new one
  return cleared;
}

/** Return the tags of finer tokens, each of which is a part of one of the tokens: the parts have its label. */
export function refineTags(tags, tokens, finer) {
  let at = 0;
  return finer.map(([from]) => {
    while (from >= tokens[at][1]) at += 1;
    return from > tokens[at][0] ? tags[at].replace(/^B-/, "I-") : tags[at];
  });
}

/** Leave out the cuts at which no span begins or ends; return the tags and the cuts that are left. */
export function coarsen(tags, tokens, cuts) {
  const needless = (at) => cuts.includes(tokens[at][0])
    && (tags[at].startsWith("I-") || (isEmpty(tags[at], "spans") && isEmpty(tags[at - 1], "spans")));
  const kept = tags.flatMap((tag, at) => (needless(at) ? [] : [at]));
  const starts = kept.map((at) => tokens[at][0]);
  return { tags: kept.map((at) => tags[at]), cuts: cuts.filter((place) => starts.includes(place)) };
}

/** Return the places where two taggings differ. */
export function differences(before, after) {
  return after.flatMap((tag, at) => (tag === before[at] ? [] : [at]));
}

export const same = (one, other) => one.length === other.length && one.every((tag, at) => tag === other[at]);
