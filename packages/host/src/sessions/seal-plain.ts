import { change, type Store } from "@reins/store";
import { scrubbed, type Vault } from "@reins/supervisor";
import { sealServers } from "./sealed-servers.ts";
import { sessionTables } from "./tables.ts";

const PAGE = 100;

/** What sealing stands on. */
interface SealPlainOptions {
  readonly store: Pick<Store, "query" | "commit" | "scrub">;
  readonly vault: Vault;
  readonly onError: (error: unknown) => void;
}

/**
 * Seals what sessions of an earlier version were begun with, and leaves nothing of its exact form in the files. May be
 * interrupted anywhere: the next start goes on.
 */
export async function sealPlainSessions({ store, vault, onError }: SealPlainOptions): Promise<void> {
  if (!(await store.query(sessionTables, "hasPlain", null))) return;
  for (;;) {
    const page = await store.query(sessionTables, "plain", { limit: PAGE });
    if (page.length === 0) break;
    const changes = page.map(({ mcp_servers, ...record }) => {
      const sealed_servers = sealServers(vault, record.id, mcp_servers);
      return change(sessionTables, "seal", { ...record, sealed_servers });
    });
    await store.commit(changes);
  }
  if (await scrubbed(store, onError)) await store.commit([change(sessionTables, "forgetPlain", null)]);
}
