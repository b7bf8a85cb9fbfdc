import type { ShownApproval } from "@reins/api";
import { withOperator } from "../../../client/connect.ts";
import { Output } from "../../../output.ts";
import { screenWidth } from "../../../printable.ts";
import { approvalPages } from "../approval-pages.ts";
import { HEADING, lineOf } from "./line.ts";
import { type ListFlags, settleList } from "./settings.ts";

/** Lists approvals. */
export async function list(flags: ListFlags): Promise<void> {
  const { filter, limit } = settleList(flags);
  const output = new Output(process.stdout);
  const width = screenWidth();
  await withOperator(flags, async (operator) => {
    if (flags.json) {
      const all: ShownApproval[] = [];
      for await (const page of approvalPages(operator, filter, limit)) all.push(...page);
      await output.write(`${JSON.stringify({ approvals: all })}\n`);
      return;
    }
    let found = false;
    for await (const page of approvalPages(operator, filter, limit)) {
      const heading = found ? [] : [HEADING];
      found = true;
      const now = new Date();
      const lines = page.map((each) => lineOf(each, now, width));
      await output.write([...heading, ...lines].map((line) => `${line}\n`).join(""));
      if (output.gone.aborted) return;
    }
    if (!found) await output.write(nothing(flags));
  });
}

function nothing({ state = "pending" }: ListFlags): string {
  return state === "pending" ? "Nothing waits for an answer.\n" : "There are none.\n";
}
