import { change, type Store } from "@reins/store";
import { scrubbed, type Vault } from "@reins/supervisor";
import { renewServers } from "./sealed-servers.ts";
import { sessionTables } from "./tables.ts";

const PAGE = 100;

/** What renewing stands on. */
interface RenewOptions {
  readonly store: Pick<Store, "query" | "commit" | "scrub">;
  readonly vault: Vault;
  readonly onError: (error: unknown) => void;
}

/**
 * Seals anew what sessions were begun with where that was sealed with a key that is no longer the newest, and then
 * forgets that key: nothing is sealed with it any more, because the harness has done the same for what is its own.
 */
export async function renewSessionSeals({ store, vault, onError }: RenewOptions): Promise<void> {
  const keys = vault.formerKeys;
  if (keys.length === 0) return;
  for (let after = ""; ; ) {
    const page = await store.query(sessionTables, "sealedWithKeys", { keys, after, limit: PAGE });
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
    await store.commit(page.map((record) => change(sessionTables, "put", renewServers(vault, record))));
  }
  if (await scrubbed(store, onError)) await vault.forgetFormer();
}
