import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Commitment } from "../../record/commitment.ts";
import { Vault } from "../../record/vault.ts";

/** The keys of a home that approvals are kept with. */
export interface HomeKeys {
  readonly vault: Vault;
  readonly commitment: Commitment;
}

/** The keys of the home in a folder. */
export async function keysIn(folder: string): Promise<HomeKeys> {
  const keys = join(folder, "keys");
  return { vault: await Vault.open(keys), commitment: await Commitment.open(keys) };
}

/** Keys that are the same in every run. */
export async function knownKeysIn(folder: string): Promise<HomeKeys> {
  const keys = join(folder, "keys");
  await mkdir(keys);
  for (const name of ["vault.key", "commitment.key"]) await writeFile(join(keys, name), "7e".repeat(32));
  return keysIn(folder);
}
