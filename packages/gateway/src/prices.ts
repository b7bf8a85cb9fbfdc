import { z } from "zod";
import type { TokenCounts } from "./dialects.ts";
import table from "./prices.json" with { type: "json" };

const Dollars = z.number().min(0);

/** What a model costs, in dollars per million tokens; what a cache saves is that of plain input where nothing is said. */
export const ModelPrice = z.strictObject({
  input: Dollars,
  output: Dollars,
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
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

/** What models cost: the dated table of this package, and what the operator says instead. */
export class PriceList {
  /** The day of which the table is. */
  readonly date: string;
  readonly #models: ReadonlyMap<string, ModelPrice>;

  constructor(own: Readonly<Record<string, ModelPrice>> = {}) {
    const { date, models } = PriceTable.parse(table);
    this.date = date;
    this.#models = new Map([...Object.entries(models), ...Object.entries(own)]);
  }

  /** The price of a model, by its name with or without a version; `undefined` where it is not known. */
  priceOf(model: string): ModelPrice | undefined {
    return this.#models.get(model) ?? this.#models.get(model.replace(VERSION, ""));
  }

  /** What a call of a model costs in dollars; `undefined` where its price is not known. */
  cost(model: string, counts: TokenCounts): number | undefined {
    const price = this.priceOf(model);
    if (!price) return undefined;
    const { input, output, cache_read = input, cache_write = input } = price;
    const sum =
      counts.input * input +
      counts.output * output +
      counts.cache_read * cache_read +
      counts.cache_write * cache_write;
    return sum / MILLION;
  }
}
