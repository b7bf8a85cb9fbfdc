import { identityOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { nameList } from "../../../flags.ts";
import { print } from "../../../output.ts";
import { printableLine, screenWidth, table } from "../../../printable.ts";

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
