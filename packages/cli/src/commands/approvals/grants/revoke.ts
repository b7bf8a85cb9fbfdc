import { approvalOperations } from "@reins/api";
import type { Operator } from "../../../client/api-client.ts";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { idByPrefix } from "../../../client/id-prefix.ts";
import { print } from "../../../output.ts";
import { type Grant, grantPages } from "./grant-pages.ts";

const FORM = { what: "grant", mark: "grt_", length: 26, list: "reins approvals grants --all" } as const;

/** Takes a grant back. */
export async function revoke(given: string, flags: OperatorFlags): Promise<void> {
  const grant = await withOperator(flags, (operator) => revoked(given, operator));
  print(
    flags.json
      ? `${JSON.stringify(grant)}\n`
      : `revoked  ${grant.id}\n  From the next decision on a person is asked again.\n`,
  );
}

async function revoked(given: string, operator: Operator): Promise<Grant> {
  const search = async function* () {
    for await (const page of grantPages(operator)) yield page.map(({ id }) => id);
  };
  const id = await idByPrefix(given, FORM, [search]);
  const advice = { not_found: `To see which there are: ${FORM.list}`, conflict: "Nothing was changed." };
  return operator.ask(approvalOperations.revokeGrant, { params: { id }, advice });
}
