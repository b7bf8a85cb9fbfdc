import { type Store, StoreError } from "@reins/store";

/**
 * Leaves nothing in the files of a store of what was kept there before it was sealed; whether that was done. Where
 * somebody reads, or there is no room, it is told, and the next start has to do it.
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
    const text = `what earlier versions kept unsealed is still in the files of the database, until the next start: ${error.message}`;
    onError(new StoreError(error.code, text, { cause: error }));
    return false;
  }
}
