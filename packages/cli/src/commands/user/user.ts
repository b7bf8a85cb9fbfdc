import type { identityOperations } from "@reins/api";
import type { z } from "zod";
import { nameList } from "../../flags.ts";
import { printableLine, table } from "../../printable.ts";

/** A user. */
type User = z.output<typeof identityOperations.addUser.answer>;

/** What to do about a user that is not there, or is there already. */
export const USER_ADVICE = {
  not_found: "To see the users of a tenant: reins user list --tenant <tenant>",
  conflict: "To see who is there: reins user list. To change a user: reins user set <id>",
} as const;

/** A user for people. */
export function describeUser({ id, tenant, name, email, roles, scopes }: User): string {
  const rows = [
    ["user", `${id} of tenant ${tenant}`],
    ["name", name],
    ["email", email],
    ["roles", nameList(roles, "none")],
    ["scopes", nameList(scopes, "none")],
  ];
  return table(rows.map((row) => row.map(printableLine)));
}
