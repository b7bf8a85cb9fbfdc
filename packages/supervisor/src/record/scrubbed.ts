import { type Store, StoreError } from "@reins/store";

/**
 * Removes what was sealed with former keys from the files of a store. Returns false, after reporting it, when a reader
 * or a full disk prevents that; the next start tries again.
 */
export async function scrubbed(
  store: Pick<Store, "scrub">,
  onError: (error: unknown) => void,
): Promise<boolean> {
  try {
    await store.scrub();
    return true;
  } catch (error) {
    if (!(error instanceof StoreError) || !error.retryable) throw error;
    const text = `what was sealed with a former key is still in the files of the database, until the next start: ${error.message}`;
    onError(new StoreError(error.code, text, { cause: error }));
    return false;
  }
}
