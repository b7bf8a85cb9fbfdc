import { CODE, RpcError } from "@reins/acp";
import { parseStored } from "@reins/store";
import { type Vault, VaultError } from "@reins/supervisor";
import type { SessionRecord } from "./session-record.ts";

/** The MCP servers of a session as they are stored: sealed, because their variables, headers and arguments hold secrets. */
export function sealServers(vault: Vault, id: string, servers: readonly unknown[]): string | undefined {
  return servers.length === 0 ? undefined : vault.seal(placeOf(id), JSON.stringify(servers));
}

/** The MCP servers that a session was started with, exactly. A session whose servers cannot be opened is not resumed without them. */
export function openServers(
  vault: Vault,
  { id, sealed_servers }: Pick<SessionRecord, "id" | "sealed_servers">,
): readonly unknown[] {
  if (sealed_servers === undefined) return [];
  try {
    return parseStored(vault.open(placeOf(id), sealed_servers));
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    throw new RpcError(
      CODE.internal,
      `the MCP servers of this session cannot be opened, so it is not resumed without them; name them anew, or start a new session (${error.message})`,
      undefined,
      { cause: error },
    );
  }
}

/** A session whose MCP servers are sealed with the newest key; what cannot be opened stays as it is. */
export function renewServers(vault: Vault, record: SessionRecord): SessionRecord {
  const { id, sealed_servers } = record;
  if (sealed_servers === undefined) return record;
  return { ...record, sealed_servers: vault.renew(placeOf(id), sealed_servers) ?? sealed_servers };
}

function placeOf(id: string): string {
  return `sessions/${id}`;
}
