import { approvalOperations } from "@reins/api";
import type { z } from "zod";
import type { Operator } from "../../../client/api-client.ts";

/** A standing permission. */
export type Grant = z.output<typeof approvalOperations.revokeGrant.answer>;

/** Whose grants. */
interface GrantFilter {
  readonly user?: string | undefined;
  readonly agent?: string | undefined;
}

const PAGE = 50;

/** Grants page by page, revoked ones too, the oldest first. */
export async function* grantPages(
  operator: Pick<Operator, "ask">,
  filter: GrantFilter = {},
): AsyncGenerator<Grant[]> {
  let after: string | undefined;
  do {
    const query = { ...filter, after, limit: PAGE };
    const { grants, next } = await operator.ask(approvalOperations.listGrants, { query });
    yield grants;
    after = next;
  } while (after !== undefined);
}
