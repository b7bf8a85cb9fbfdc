import { ConnectionError } from "./errors.ts";

/** Yields the items of all pages; `next` of a page begins the one after it. Rejects where a page leads to itself. */
export async function* allOf<Item, Cursor>(
  page: (
    after: Cursor | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: Cursor | undefined }>,
): AsyncGenerator<Item> {
  let after: Cursor | undefined;
  do {
    const { items, next } = await page(after);
    yield* items;
    if (next !== undefined && next === after)
      throw new ConnectionError("incompatible", "The server sends the same page again and again.");
    after = next;
  } while (after !== undefined);
}
