import { identityOperations } from "@reins/api";
import type { Operator } from "../../../client/api-client.ts";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { idByPrefix } from "../../../client/id-prefix.ts";
import { print } from "../../../output.ts";

/** The flags of `reins token revoke` as they were written. */
export interface RevokeFlags extends OperatorFlags {
  readonly tenant?: string;
}

const FORM = { what: "token", mark: "tok_", length: 20, list: "reins token list --all" } as const;

/** Ends a token. */
export async function revoke(given: string, flags: RevokeFlags): Promise<void> {
  const id = await withOperator(flags, (operator) => revoked(given, flags.tenant, operator));
  print(
    flags.json
      ? `${JSON.stringify({ id, revoked: true })}\n`
      : `revoked  ${id}\n  It lets nobody in from the next decision on.\n`,
  );
}

async function revoked(given: string, tenant: string | undefined, operator: Operator): Promise<string> {
  const search = async function* () {
    const { tokens } = await operator.ask(identityOperations.listTokens, { query: { tenant } });
    yield tokens.map(({ id }) => id);
  };
  const token = await idByPrefix(given, FORM, [search]);
  const advice = { not_found: `To see which there are: ${FORM.list}`, conflict: "Nothing was changed." };
  await operator.ask(identityOperations.revokeToken, { params: { token }, advice });
  return token;
}
