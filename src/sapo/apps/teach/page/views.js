// The four lists that the page can show: where their sentences come from and what to say if there are none.

import { ask, query } from "./api.js";
import { count, percent } from "./text.js";

const FIRST = 50; // sentences at the beginning, and how many more a ranking gives
const NEXT = 150;

const MOST = 200; // sentences of one answer

/**
 * Each view: `load({order, after, loaded, author})` → {items: [{view, options}], about}.
 *
 * A list in order is read page by page, `after` a sentence. A ranking changes while it is read: it is asked for again,
 * longer than what is `loaded`, up to the most that the server gives. `whole` views come at once.
 */
export const VIEWS = {
  open: {
    ranked: true,
    empty: "Every sentence is accepted. You can check likely slips, or export your work.",
    load: ({ order, after, loaded = 0, author }) => {
      const place = order === "in-order" ? next(after) : { count: Math.min(loaded + FIRST, MOST) };
      return page({ order, state: "open", author, ...place });
    },
  },
  second: {
    empty: "There is no sentence that only others have accepted.",
    about: "Sentences that only others have accepted, shown without their tags. Tag them to see how far you agree.",
    load: ({ author }) => page({ order: "random", count: FIRST, author, second: 1 }),
  },
  accepted: {
    empty: "No sentence is accepted yet.",
    load: ({ after }) => page({ order: "in-order", state: "accepted", ...next(after) }),
  },
  slips: {
    whole: true,
    empty: "The model agrees with all accepted sentences.",
    about: "Accepted sentences that the model would now tag differently, the most certain first.",
    load: async () => {
      const { slips } = await ask("/api/slips");
      const items = slips.map(({ sentence, model_tags: tags, probability }) => ({
        view: sentence,
        options: [{ title: `The model, ${percent(probability)} sure`, tags }],
      }));
      return { items };
    },
  },
  disagreements: {
    whole: true,
    empty: "No sentence that two people accepted is tagged differently.",
    load: async () => {
      const { items, kappa, both } = await ask("/api/disagreements");
      const agreement = kappa == null ? "" : ` Agreement of tokens (kappa): ${kappa.toFixed(2)}.`;
      return {
        items: items.map(({ sentence, by }) => ({
          view: sentence,
          options: Object.entries(by).map(([title, tags]) => ({ title, tags })),
        })),
        about: `${count(both, "sentence")} accepted by two people or more.${agreement}`,
      };
    },
  },
};

const next = (after) => ({ after, count: after == null ? FIRST : NEXT });

async function page(values) {
  const { sentences } = await ask(query("/api/sentences", values));
  return { items: sentences.map((view) => ({ view, options: [] })) };
}

/** Return fresh views of some sentences. */
export async function fresh(ids) {
  if (!ids.length) return [];
  return (await ask(query("/api/sentences", { ids: ids.join(",") }))).sentences;
}
