import { identityOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { CliError } from "../../../errors.ts";
import { print } from "../../../output.ts";
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
