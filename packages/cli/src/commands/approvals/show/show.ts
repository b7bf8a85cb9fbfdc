import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { print } from "../../../output.ts";
import { pageWidth } from "../../../printable.ts";
import { findApproval } from "../find-approval.ts";
import { lineOf } from "../list/line.ts";
import { describeApproval } from "./describe.ts";

/** Shows one approval. */
export async function show(id: string, flags: OperatorFlags): Promise<void> {
  const approval = await withOperator(flags, (operator) => findApproval(id, operator));
  if (flags.json) return print(`${JSON.stringify(approval)}\n`);
  const now = new Date();
  if ("withheld" in approval) return print(`${lineOf(approval, now, pageWidth())}\n`);
  print(describeApproval(approval, now, pageWidth()));
  if (approval.state !== "pending") return;
  const approve = `reins approvals approve ${approval.id}\n`;
  print(`\n${approval.options.includes("allow_once") ? approve : ""}`);
  print(`reins approvals deny ${approval.id} --note <reason>\n`);
}
