import type { Approval } from "@reins/api";
import { moment } from "../../../time.ts";
import { quorumWords } from "../words/answers.ts";
import { exact } from "../words/exact.ts";
import { gistOf } from "../words/gist.ts";

/** What came of an answer, for the one who gave it. */
export function outcomeWords(approval: Approval, decision: Approval["options"][number]): string {
  const { id, agent, user, facts, state, expires_at } = approval;
  const what = `${exact(agent)} for ${exact(user)}, ${gistOf(facts)}`;
  if (state === "denied") return `denied  ${id}\n  ${what}\n`;
  if (state === "pending") return `noted  ${id}: ${quorumWords(approval)}\n  ${what}\n`;
  const until = `  It goes through now if the agent waits, else when it asks again, until ${moment(expires_at)}.\n`;
  const always = "  The same is allowed from now on; see reins approvals grants.\n";
  return `allowed ${decision === "allow_always" ? "always" : "once"}  ${id}\n  ${what}\n${decision === "allow_always" ? always : until}`;
}
