import type { Tables } from "@reins/store";

type EffectChanges = {
  /** Does an effect: the first under its key counts, and every one is noted. */
  effect(args: { key: string }): undefined;
};
type EffectQueries = { effects(args: null): { key: string; times: number }[] };

/** What the actions of tortured runs do to the world, by idempotency key. */
export const effects: Tables<EffectChanges, EffectQueries> = {
  name: "effects",
  module: new URL("./effects.tables.ts", import.meta.url),
};
