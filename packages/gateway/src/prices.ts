import { z } from "zod";
import type { TokenCounts } from "./dialects.ts";
import table from "./prices.json" with { type: "json" };

const Dollars = z.number().min(0);

const Rates = z.strictObject({
  input: Dollars,
  output: Dollars,
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
});

/** What a model costs, in dollars per million tokens; what a cache saves is that of plain input where nothing is said. */
export const ModelPrice = Rates.extend({
  /** What all tokens of a call cost whose input, cached or not, is longer than so many tokens. */
  above: Rates.extend({ tokens: z.int().min(1) }).optional(),
});
export type ModelPrice = z.infer<typeof ModelPrice>;

const PriceTable = z.strictObject({
  date: z.iso.date(),
  unit: z.string(),
  models: z.record(z.string(), ModelPrice),
});

const MILLION = 1_000_000;
/** What providers add to the name of a model for one of its versions. */
const VERSION = /-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

/**
 * What models cost: the dated table of this package, what the operator says instead, and the price at which the operator
 * has all other models counted.
 */
export class PriceList {
  /** The day of which the table is. */
  readonly date: string;
  readonly #models: ReadonlyMap<string, ModelPrice>;
  readonly #unknown: ModelPrice | undefined;

  constructor(own: Readonly<Record<string, ModelPrice>> = {}, unknown?: ModelPrice) {
    const { date, models } = PriceTable.parse(table);
    this.date = date;
    this.#models = new Map([...Object.entries(models), ...Object.entries(own)]);
    this.#unknown = unknown;
  }

  /** The price of a model, by its name with or without a version; `undefined` where it is not known. */
  priceOf(model: string): ModelPrice | undefined {
    return this.#models.get(model) ?? this.#models.get(model.replace(VERSION, ""));
  }

  /** What a call is counted as that one of some models answers: as one of the dearest of them. */
  dearest(models: readonly string[], counts: TokenCounts): number | undefined {
    const costs = models.map((model) => this.cost(model, counts));
    return costs.includes(undefined) ? undefined : Math.max(...costs.map((cost = 0) => cost));
  }

  /** What a call of a model is counted as in dollars; `undefined` where nothing says what it costs. */
  cost(model: string, counts: TokenCounts): number | undefined {
    const price = this.priceOf(model) ?? this.#unknown;
    if (!price) return undefined;
    const { above } = price;
    const read = counts.input + counts.cache_read + counts.cache_write;
    const rates = above && read > above.tokens ? above : price;
    const { input, output, cache_read = input, cache_write = input } = rates;
    const sum =
      counts.input * input +
      counts.output * output +
      counts.cache_read * cache_read +
      counts.cache_write * cache_write;
    return sum / MILLION;
  }
}
