/** Yields the items of all pages; `next` of a page begins the one after it. */
export async function* allOf<Item, Cursor>(
  page: (
    after: Cursor | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: Cursor | undefined }>,
): AsyncGenerator<Item> {
  let after: Cursor | undefined;
  do {
    const { items, next } = await page(after);
    yield* items;
    after = next;
  } while (after !== undefined);
}
