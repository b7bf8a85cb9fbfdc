import { screenWidth } from "../../../operator/table.ts";
import { withOperator } from "../../../operator/with-operator.ts";
import { Output } from "../../../output.ts";
import { approvalPages } from "../approval-pages.ts";
import { HEADING, lineOf } from "./line.ts";
import { type ListFlags, settleList } from "./settings.ts";

/** Lists approvals. */
export async function list(flags: ListFlags): Promise<void> {
  const { filter, limit } = settleList(flags);
  const output = new Output(process.stdout);
  const width = screenWidth();
  await withOperator(flags, async (operator) => {
    let found = false;
    for await (const page of approvalPages(operator, filter, limit)) {
      const heading = found || flags.json ? [] : [HEADING];
      found = true;
      const now = new Date();
      const lines = page.map((each) => (flags.json ? JSON.stringify(each) : lineOf(each, now, width)));
      await output.write([...heading, ...lines].map((line) => `${line}\n`).join(""));
      if (output.gone.aborted) return;
    }
    if (!found && !flags.json) await output.write(nothing(flags));
  });
}

function nothing({ state = "pending" }: ListFlags): string {
  return state === "pending" ? "Nothing waits for an answer.\n" : "There are none.\n";
}
