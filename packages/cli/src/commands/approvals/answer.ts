import { type Approval, approvalOperations } from "@reins/api";
import type { Command } from "commander";
import type { ApiClient } from "../../client/api-client.ts";
import { declareOperation, type Values } from "../../client/operation-command.ts";
import { CliError } from "../../errors.ts";
import { formatTime, readDuration } from "../../time.ts";
import { APPROVAL_ADVICE, approvalId } from "./approval-source.ts";
import { actionSummary, exact, quorumWords } from "./words.ts";

const CODES = {
  failed: "answered already, expired, or not yours to answer; says by whom and when",
} as const;
const ID = ["<id>", "the approval's id, or the beginning of it", { find: approvalId }] as const;

/** An answer to an approval. */
export interface Answer {
  readonly decision: Approval["options"][number];
  readonly note?: string;
}

/** Declares `reins approvals approve`. */
export function declareApprove(approvals: Command): void {
  declareOperation(approvals, {
    name: "approve",
    operation: approvalOperations.answerApproval,
    summary: "allow what is asked for",
    description: "Allows what an approval asks for, once or from now on.",
    inputs: {
      id: ID,
      always: ["--always", "allow exactly the same from now on", { local: true }],
      prefix: [
        "--prefix <words>",
        'with --always: every plain command here that begins so, such as "npm test"',
        { read: (text) => text.split(/\s+/).filter((word) => word !== "") },
      ],
      grant_expires_ms: [
        "--for <time>",
        "with --always: for so long, such as 30m, 8h or 7d",
        { read: (text) => readDuration(text, "--for") },
      ],
      note: ["--note <text>", "a note for the record"],
    },
    complete: (values) => ({ decision: decisionIn(values) }),
    output: (approval, values) => ({ text: () => outcomeWords(approval, decisionIn(values)) }),
    advice: APPROVAL_ADVICE,
    jsonHelp: "print the approval as JSON",
    codes: CODES,
    note: "Once allows exactly what was asked, one time. Always creates a grant for exactly\nthe same in any session; see reins approvals grants and revoke.",
    examples: [
      "reins approvals approve apr_7Qx2",
      "reins approvals approve apr_7Qx2 --always --for 8h",
      'reins approvals approve apr_7Qx2 --always --prefix "npm test"',
      'reins approvals approve apr_7Qx2 --note "after the backup"',
    ],
  });
}

/** Declares `reins approvals deny`. */
export function declareDeny(approvals: Command): void {
  declareOperation(approvals, {
    name: "deny",
    operation: approvalOperations.answerApproval,
    summary: "deny what is asked for",
    description: "Denies what an approval asks for. One no is enough, however many people are asked.",
    inputs: { id: ID, note: ["--note <reason>", "the reason, which the agent gets"] },
    complete: () => ({ decision: "deny" }),
    output: (approval) => ({ text: () => outcomeWords(approval, "deny") }),
    advice: APPROVAL_ADVICE,
    jsonHelp: "print the approval as JSON",
    codes: CODES,
    examples: [
      "reins approvals deny apr_7Qx2",
      'reins approvals deny apr_7Qx2 --note "use a branch of your own"',
    ],
  });
}

/** Sends an answer to an approval by its whole id. */
export function answerTo(id: string, body: Answer, client: Pick<ApiClient, "call">): Promise<Approval> {
  return client.call(approvalOperations.answerApproval, { params: { id }, body, advice: APPROVAL_ADVICE });
}

function decisionIn({ always, prefix, grant_expires_ms }: Values): "allow_always" | "allow_once" {
  if (always) return "allow_always";
  if (grant_expires_ms !== undefined)
    throw new CliError("--for says how long an --always lasts.", {
      next: "Add --always, or leave --for out.",
    });
  if (prefix !== undefined)
    throw new CliError("--prefix says which commands an --always covers.", {
      next: "Add --always, or leave --prefix out.",
    });
  return "allow_once";
}

/** What came of an answer, for the one who gave it. */
export function outcomeWords(approval: Approval, decision: Approval["options"][number]): string {
  const { id, agent, user, facts, state, expires_at } = approval;
  const what = `${exact(agent)} for ${exact(user)}, ${actionSummary(facts)}`;
  if (state === "denied") return `denied  ${id}\n  ${what}\n`;
  if (state === "pending") return `noted  ${id}: ${quorumWords(approval)}\n  ${what}\n`;
  const until = `  It is allowed now if the agent waits, else when it asks again, until ${formatTime(expires_at)}.\n`;
  const always = "  The same is allowed from now on; see reins approvals grants.\n";
  return `allowed ${decision === "allow_always" ? "always" : "once"}  ${id}\n  ${what}\n${decision === "allow_always" ? always : until}`;
}
