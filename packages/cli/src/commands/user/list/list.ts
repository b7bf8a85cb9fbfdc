import { identityOperations } from "@reins/api";
import type { OperatorFlags } from "../../../operator/flags.ts";
import { nameList } from "../../../operator/names.ts";
import { screenWidth, table } from "../../../operator/table.ts";
import { withOperator } from "../../../operator/with-operator.ts";
import { print } from "../../../print.ts";
import { printableLine } from "../../../printable.ts";

/** The flags of `reins user list` as they were written. */
export interface ListFlags extends OperatorFlags {
  readonly tenant?: string;
}

/** Lists the users of a tenant. */
export async function list(flags: ListFlags): Promise<void> {
  const query = { tenant: flags.tenant };
  const answer = await withOperator(flags, (operator) =>
    operator.ask(identityOperations.listUsers, { query }),
  );
  if (flags.json) return print(`${JSON.stringify(answer)}\n`);
  if (answer.users.length === 0) return print("There are none.\n");
  const rows = answer.users.map(({ id, name, email, roles, scopes }) =>
    [id, name, email, nameList(roles, "none"), nameList(scopes, "none")].map(printableLine),
  );
  print(table([["user", "name", "email", "roles", "scopes"], ...rows], screenWidth()));
}
