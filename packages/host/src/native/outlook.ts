import { readFile } from "node:fs/promises";
import type { Harness } from "@reins/supervisor";

/** The constitution of a tenant in words; empty where it has none of its own. */
export async function proseOf({ policies }: Pick<Harness, "policies">, tenant: string): Promise<string> {
  try {
    return await readFile(policies.filesOf(tenant).prose, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
