import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { Output } from "../../../output.ts";
import { pageWidth } from "../../../printable.ts";
import { describeGrant, isInForce } from "./describe.ts";
import { type Grant, grantPages } from "./grant-pages.ts";

/** The flags of `reins approvals grants` as they were written. */
export interface GrantsFlags extends OperatorFlags {
  readonly user?: string;
  readonly agent?: string;
  readonly all?: boolean;
}

/** Lists what is allowed for always. */
export async function grants(flags: GrantsFlags): Promise<void> {
  const { user, agent, all, json } = flags;
  const output = new Output(process.stdout);
  await withOperator(flags, async (operator) => {
    const listed: Grant[] = [];
    let found = false;
    for await (const page of grantPages(operator, { user, agent })) {
      const now = new Date();
      const shown = page.filter((grant) => all || isInForce(grant, now));
      if (json) listed.push(...shown);
      else await output.write(shown.map((grant) => describeGrant(grant, now, pageWidth())).join(""));
      found ||= shown.length > 0;
      if (output.gone.aborted) return;
    }
    if (json) await output.write(`${JSON.stringify({ grants: listed })}\n`);
    else if (!found) await output.write("Nothing is allowed for always.\n");
  });
}
