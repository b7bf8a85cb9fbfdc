import { identityOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { nameList } from "../../../flags.ts";
import { print } from "../../../output.ts";
import { printableLine, screenWidth, table } from "../../../printable.ts";
import { endOf, isValid, type Token } from "../token.ts";

/** The flags of `reins token list` as they were written. */
export interface ListFlags extends OperatorFlags {
  readonly tenant?: string;
  readonly all?: boolean;
}

/** Lists the tokens of a tenant, never their secrets. */
export async function list(flags: ListFlags): Promise<void> {
  const query = { tenant: flags.tenant };
  const { tokens } = await withOperator(flags, (operator) =>
    operator.ask(identityOperations.listTokens, { query }),
  );
  const now = new Date();
  const shown = tokens.filter((token) => flags.all || isValid(token, now));
  if (flags.json) return print(`${JSON.stringify({ tokens: shown })}\n`);
  if (shown.length === 0) return print("There are none.\n");
  const rows = shown.map((token) => rowOf(token, now).map(printableLine));
  print(table([["token", "user", "kind", "ends", "agents", "scopes", "role"], ...rows], screenWidth()));
}

function rowOf(token: Token, now: Date): string[] {
  const { id, user, kind, role = "all", scopes, agents } = token;
  return [id, user, kind, endOf(token, now), nameList(agents, "none"), nameList(scopes, "none"), role];
}
