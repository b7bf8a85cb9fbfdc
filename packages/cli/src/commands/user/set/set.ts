import { identityOperations } from "@reins/api";
import { CliError } from "../../../errors/cli-error.ts";
import type { OperatorFlags } from "../../../operator/flags.ts";
import { withOperator } from "../../../operator/with-operator.ts";
import { print } from "../../../print.ts";
import { describeUser, USER_ADVICE } from "../user.ts";

/** The flags of `reins user set` as they were written. */
export interface SetFlags extends OperatorFlags {
  readonly name?: string;
  readonly email?: string;
  readonly tenant?: string;
  readonly role?: readonly string[];
  readonly scopes?: readonly string[];
}

/** Changes what is named of a user. */
export async function set(id: string, flags: SetFlags): Promise<void> {
  const { name, email, tenant, role, scopes, json } = flags;
  const body = { name, email, roles: role && [...role], scopes: scopes && [...scopes] };
  if (Object.values(body).every((value) => value === undefined))
    throw new CliError("Nothing says what to change.", { next: "Give --name, --email, --role or --scopes." });
  const asked = { params: { user: id }, query: { tenant }, body, advice: USER_ADVICE };
  const user = await withOperator(flags, (operator) => operator.ask(identityOperations.setUser, asked));
  print(json ? `${JSON.stringify(user)}\n` : describeUser(user));
}
