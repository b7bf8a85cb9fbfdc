import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { blake3Hex } from "@reins/ledger";
import type { AgentEntry } from "../agents/agent-entry.ts";
import { readProvenance } from "../agents/install/provenance.ts";
import type { InstalledAgent } from "../hosting/agent-host.ts";

/**
 * Tells one state of an agent's program from another: by the lockfile it was installed from, or, for one that was there
 * already, by the sizes and times of the files it is started from.
 */
export async function programState({ start }: AgentEntry, { folder }: InstalledAgent): Promise<string> {
  const provenance = await readProvenance(folder);
  if (provenance) return provenance.lock;
  const named = [typeof start?.file === "string" ? start.file : "", ...(start?.args ?? [])];
  const states = await Promise.all(named.filter((path) => isAbsolute(path)).map(stateOf));
  return blake3Hex(JSON.stringify(states));
}

async function stateOf(path: string): Promise<readonly unknown[]> {
  try {
    const { size, mtimeMs } = await stat(path);
    return [path, size, mtimeMs];
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return [path];
    throw error;
  }
}
