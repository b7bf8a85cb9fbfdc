import { identityOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { print } from "../../../output.ts";
import { USER_ADVICE } from "../user.ts";

/** The flags of `reins user remove` as they were written. */
export interface RemoveFlags extends OperatorFlags {
  readonly tenant?: string;
}

/** Removes a user. */
export async function remove(id: string, flags: RemoveFlags): Promise<void> {
  const asked = { params: { user: id }, query: { tenant: flags.tenant }, advice: USER_ADVICE };
  await withOperator(flags, (operator) => operator.ask(identityOperations.removeUser, asked));
  print(
    flags.json
      ? `${JSON.stringify({ id, removed: true })}\n`
      : `removed  ${id}, with its tokens and sub-agents\n`,
  );
}
