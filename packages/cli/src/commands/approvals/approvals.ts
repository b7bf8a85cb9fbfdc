import { approvalOperations } from "@reins/api";
import { operationCommand } from "../../client/operation-command.ts";
import { group } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { readDuration } from "../../time.ts";
import { APPROVAL_ADVICE, approvalId } from "./approval-source.ts";
import { outcomeWords, shownApproval } from "./describe-approval.ts";
import { grantsCommand, revokeCommand } from "./grants.ts";
import { listCommand } from "./list.ts";
import { watchCommand } from "./watch.ts";

const ID = ["<id>", "the approval's id, or the beginning of it", { find: approvalId }] as const;
const CODES = {
  failed: "answered already, expired, or not yours to answer; says by whom and when",
} as const;

const showCommand = operationCommand({
  operation: approvalOperations.getApproval,
  summary: "show exactly what an approval would allow",
  description: "Shows who asks for what and why, and what an answer would apply to.",
  inputs: { id: ["<id>", "the approval", { find: approvalId }] },
  output: (approval) => ({ text: () => shownApproval(approval) }),
  advice: APPROVAL_ADVICE,
  note: "An id may be abbreviated as long as it is unambiguous. What was written by\nothers is in quotes or behind a bar, with hidden characters spelled out.",
  examples: ["reins approvals show apr_7Qx2", "reins approvals show apr_7Qx2 --json | jq .facts.effects"],
});

const approveCommand = operationCommand({
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
      { read: readDuration },
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

const denyCommand = operationCommand({
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

interface GivenApproval {
  readonly always: boolean | undefined;
  readonly prefix?: readonly string[] | undefined;
  readonly grant_expires_ms?: number | undefined;
}

function decisionIn({ always, prefix, grant_expires_ms }: GivenApproval): "allow_always" | "allow_once" {
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

const DESCRIPTION =
  "An action that a rule asks about waits for a person. An answer applies to exactly what was asked; " +
  "an action that is not answered in time is blocked.";

export const approvalsCommand = group(DESCRIPTION, {
  list: listCommand,
  show: showCommand,
  approve: approveCommand,
  deny: denyCommand,
  watch: watchCommand,
  grants: grantsCommand,
  revoke: revokeCommand,
});
