// The four lists that the page can show: where their sentences come from and what to say if there are none.

import { ask, query } from "./api.js";
import { count, percent } from "./text.js";

export const PAGE = 50;

/** Each view: `load({order, after, size})` → {items: [{view, options}], about}. */
export const VIEWS = {
  open: {
    ranked: true,
    empty: "Every sentence is accepted. You can look at likely slips, or export what you have.",
    load: ({ order, after, size = PAGE }) => page({ order, after, count: size, state: "open" }),
  },
  accepted: {
    empty: "No sentence is accepted yet.",
    load: ({ after }) => page({ order: "in-order", after, count: PAGE, state: "accepted" }),
  },
  slips: {
    whole: true,
    empty: "The model agrees with all accepted sentences.",
    load: async () => {
      const { slips } = await ask("/api/slips");
      const items = slips.map(({ sentence, model_tags: tags, probability }) => ({
        view: sentence,
        options: [{ title: `The model, ${percent(probability)} sure`, tags }],
      }));
      return { items, about: items.length ? "Accepted sentences that the model now reads differently, surest first." : "" };
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

async function page(values) {
  const { sentences } = await ask(query("/api/sentences", values));
  return { items: sentences.map((view) => ({ view, options: [] })), about: "" };
}

/** Return fresh views of some sentences. */
export async function fresh(ids) {
  if (!ids.length) return [];
  return (await ask(query("/api/sentences", { ids: ids.join(",") }))).sentences;
}
