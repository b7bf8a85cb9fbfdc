const DEFAULT = 100;

/** Some things, and the id after which the next ones come, if there are any. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

/** A page of at most so many; one more is read to know whether there are more. */
export async function pageOf<Item extends { readonly id: string }>(
  limit: number = DEFAULT,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last && { next: last.id }) };
}
