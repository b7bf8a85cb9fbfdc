import type { EntryRange, PlacedEntry } from "@reins/ledger";
import { describe, expect, it } from "vitest";
import { cursorBefore, entryPages, follow } from "./log.ts";

/** A ledger of so many entries, of which those with an even place pass the filter "even". */
class GrowingLedger {
  count = 0;
  reads = 0;

  async size(): Promise<number> {
    return this.count;
  }

  async read({ after, order, limit = 100, tag }: EntryRange): Promise<PlacedEntry[]> {
    this.reads += 1;
    const all = Array.from({ length: this.count }, (_, seq) => seq).filter(
      (seq) => tag === undefined || seq % 2 === 0,
    );
    const rest =
      order === "newest"
        ? all.reverse().filter((seq) => seq < (after ?? Infinity))
        : all.filter((seq) => seq > (after ?? -1));
    return rest.slice(0, limit).map((seq) => ({ seq }) as PlacedEntry);
  }
}

const seqsOf = (pages: readonly PlacedEntry[][]) => pages.flat().map(({ seq }) => seq);
const upTo = (count: number) => Array.from({ length: count }, (_, seq) => seq);

describe("following", () => {
  it.each([
    ["everything", {}, (): boolean => true],
    ["a filter", { tag: "even" }, (seq: number): boolean => seq % 2 === 0],
  ])("%s shows each entry once and in order, whenever they come", async (_, filter, keep) => {
    const ledger = new GrowingLedger();
    const end = new AbortController();
    const growth = [3, 0, 1, 0, 0, 1_200, 1, 7];
    const pause = async () => {
      const more = growth.shift();
      if (more === undefined) end.abort();
      ledger.count += more ?? 0;
    };
    const pages = await Array.fromAsync(follow(ledger, { filter, after: -1, pause, signal: end.signal }));
    expect(seqsOf(pages)).toEqual(upTo(ledger.count).filter(keep));
  });

  it("does not miss entries that come while it reads", async () => {
    const ledger = new GrowingLedger();
    ledger.count = 4;
    const end = new AbortController();
    const seen: number[] = [];
    const pause = async () => (seen.length >= 8 ? end.abort() : undefined);
    for await (const page of follow(ledger, { filter: {}, after: -1, pause, signal: end.signal })) {
      seen.push(...page.map(({ seq }) => seq));
      if (ledger.count < 8) ledger.count += 2;
    }
    expect(seen).toEqual(upTo(8));
  });

  it("polls only the size while nothing comes", async () => {
    const ledger = new GrowingLedger();
    ledger.count = 5;
    const end = new AbortController();
    let pauses = 0;
    const pause = async () => {
      pauses += 1;
      if (pauses === 10) end.abort();
    };
    await Array.fromAsync(follow(ledger, { filter: {}, after: 4, pause, signal: end.signal }));
    expect(ledger.reads).toBe(0);
  });
});

describe("pages", () => {
  it("neither overlap nor leave gaps, in either order", async () => {
    const ledger = new GrowingLedger();
    ledger.count = 1_250;
    const oldest = await Array.fromAsync(entryPages(ledger, { filter: {}, order: "oldest" }));
    expect(seqsOf(oldest)).toEqual(upTo(1_250));
    const newest = await Array.fromAsync(entryPages(ledger, { filter: {}, order: "newest", limit: 700 }));
    expect(seqsOf(newest)).toEqual(upTo(1_250).reverse().slice(0, 700));
  });

  it("can start before the newest few", async () => {
    const ledger = new GrowingLedger();
    expect(await cursorBefore(ledger, {}, 3)).toBe(-1);
    ledger.count = 1_250;
    expect(await cursorBefore(ledger, {}, 0)).toBe(1_249);
    expect(await cursorBefore(ledger, {}, 3)).toBe(1_246);
    expect(await cursorBefore(ledger, {}, 1_000)).toBe(249);
    expect(await cursorBefore(ledger, { tag: "even" }, 2)).toBe(1_245);
    expect(await cursorBefore(ledger, {}, 2_000)).toBe(-1);
  });
});
