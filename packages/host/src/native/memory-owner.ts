import type { Principal } from "@reins/supervisor";

/** Whose sessions know the same facts: those of one user of one tenant. No name holds a slash. */
export function memoryOwner({ tenant, user }: Pick<Principal, "tenant" | "user">): string {
  return `${tenant}/${user}`;
}
