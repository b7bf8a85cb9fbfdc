import type { OperatorFlags } from "../../../operator/flags.ts";
import { pageWidth } from "../../../operator/table.ts";
import { withOperator } from "../../../operator/with-operator.ts";
import { print } from "../../../print.ts";
import { findApproval } from "../find-approval.ts";
import { describeApproval } from "./describe.ts";

/** Shows one approval. */
export async function show(id: string, flags: OperatorFlags): Promise<void> {
  const approval = await withOperator(flags, (operator) => findApproval(id, operator));
  if (flags.json) return print(`${JSON.stringify(approval)}\n`);
  print(describeApproval(approval, new Date(), pageWidth()));
  if (approval.state === "pending")
    print(`\nreins approvals approve ${approval.id}\nreins approvals deny ${approval.id} --note <reason>\n`);
}
