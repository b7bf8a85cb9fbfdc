import { identityOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { print } from "../../../output.ts";
import { describeUser, USER_ADVICE } from "../user.ts";

/** The flags of `reins user add` as they were written. */
export interface AddFlags extends OperatorFlags {
  readonly name: string;
  readonly email: string;
  readonly tenant?: string;
  readonly role?: readonly string[];
  readonly scopes?: readonly string[];
}

/** Adds a user. */
export async function add(id: string, flags: AddFlags): Promise<void> {
  const { name, email, tenant, role = [], scopes = [], json } = flags;
  const body = { id, name, email, tenant, roles: [...role], scopes: [...scopes] };
  const user = await withOperator(flags, (operator) =>
    operator.ask(identityOperations.addUser, { body, advice: USER_ADVICE }),
  );
  print(json ? `${JSON.stringify(user)}\n` : describeUser(user));
}
