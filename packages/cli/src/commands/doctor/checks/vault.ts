import { existsSync } from "node:fs";
import { join } from "node:path";
import { openSqliteReader, StoreError } from "@reins/store";
import { approvalTables, Vault } from "@reins/supervisor";
import { databaseIn, keysIn } from "../../../home.ts";
import { type Check, fine, wrong } from "../finding.ts";

/** Whether what is sealed in the database can be opened with the key of the home. */
export const vaultCheck: Check = {
  name: "vault",
  async look({ home }) {
    if (!existsSync(databaseIn(home))) return [];
    const known = await keyNames(home);
    const lost = (await sealedIn(home)).filter(({ key }) => !known.includes(key));
    if (lost.length === 0) return known.length === 0 ? [] : [fine("what is sealed can be opened")];
    return lost.map(({ key, count }) =>
      wrong(
        `${count} approvals and grants were sealed with the key ${key}, which is not here, and count for nothing`,
        `Bring ${join(keysIn(home), "vault.key")} back from a backup, or let them be asked for again.`,
      ),
    );
  },
};

/** A doctor changes nothing, so no key is made where there is none. */
async function keyNames(home: string): Promise<readonly string[]> {
  if (!existsSync(join(keysIn(home), "vault.key"))) return [];
  const { keyId, formerKeys } = await Vault.open(keysIn(home));
  return [keyId, ...formerKeys];
}

async function sealedIn(home: string): Promise<{ readonly key: string; readonly count: number }[]> {
  try {
    const store = await openSqliteReader(databaseIn(home), [approvalTables]);
    try {
      return await store.query(approvalTables, "sealedWith", null);
    } finally {
      await store.close();
    }
  } catch (error) {
    // Nothing is sealed yet in a database that the next start has to bring up to date.
    if (error instanceof StoreError && error.code === "older") return [];
    throw error;
  }
}
