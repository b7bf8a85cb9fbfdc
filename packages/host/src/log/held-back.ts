import type { Store } from "@reins/store";

type Commits = Pick<Store, "commit">;

/** Gives a store what was held back from it. */
type Release = () => Promise<void>;

const held = new WeakMap<Commits, Set<Release>>();

/**
 * Notes that somebody gives a store some things a moment later than they could, so that they go together; the returned
 * function ends that.
 */
export function holdBack(store: Commits, release: Release): () => void {
  const all = held.get(store) ?? new Set();
  held.set(store, all.add(release));
  return () => void all.delete(release);
}

/** Settles when a store has what was held back from it, and what was being written, when it was asked. */
export async function settled(store: Commits): Promise<void> {
  await Promise.all([...(held.get(store) ?? [])].map((release) => release()));
  // A commit of nothing comes after everything else.
  await store.commit([], { durable: false });
}
