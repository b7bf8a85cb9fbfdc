import { change, type Store } from "@reins/store";
import type { Vault } from "../record/vault.ts";
import { approvalPlace, grantPlace } from "./at-rest.ts";
import { approvalTables, type SealedRow } from "./tables.ts";

const PAGE = 100;

/** Seals approvals and grants anew that were sealed with a key that is no longer the newest. */
export async function renewApprovalSeals(
  store: Pick<Store, "query" | "commit">,
  vault: Vault,
): Promise<void> {
  const keys = vault.formerKeys;
  if (keys.length === 0) return;
  for (let after = ""; ; ) {
    const page = await store.query(approvalTables, "sealedWithKeys", { keys, after, limit: PAGE });
    const last = page.at(-1);
    if (!last) return;
    after = last.id;
    const changes = page.flatMap((row) => {
      const sealed = vault.renew(placeOf(row), row.sealed);
      return sealed === undefined ? [] : [change(approvalTables, "renewSeal", { ...row, sealed })];
    });
    await store.commit(changes);
  }
}

function placeOf(row: SealedRow): string {
  return row.kind === "approval" ? approvalPlace(row) : grantPlace(row);
}
