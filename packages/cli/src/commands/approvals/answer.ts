import { type Approval, approvalOperations } from "@reins/api";
import type { Command } from "commander";
import type { Operator } from "../../client/api-client.ts";
import {
  OPERATOR_CODES,
  OPERATOR_HELP,
  type OperatorFlags,
  operatorFlags,
  withOperator,
} from "../../client/connect.ts";
import { CliError, exitCodesHelp } from "../../errors.ts";
import { print } from "../../output.ts";
import { moment, readSpan } from "../../time.ts";
import { APPROVAL_ADVICE, approvalId } from "./find.ts";
import { exact, gistOf, quorumWords } from "./words.ts";

const CODES = {
  ...OPERATOR_CODES,
  failed: "answered already, over, or not yours to answer; says by whom and when",
} as const;

const APPROVE_HELP = `
Once counts for exactly what was asked, one time. Always makes a grant, for
exactly the same in any session; see reins approvals grants and revoke.
${OPERATOR_HELP}

Examples:
  reins approvals approve apr_7Qx2
  reins approvals approve apr_7Qx2 --always --for 8h
  reins approvals approve apr_7Qx2 --always --prefix "npm test"
  reins approvals approve apr_7Qx2 --note "after the backup"`;

const DENY_HELP = `${OPERATOR_HELP}

Examples:
  reins approvals deny apr_7Qx2
  reins approvals deny apr_7Qx2 --note "use a branch of your own"`;

/** Declares `reins approvals approve`. */
export function declareApprove(approvals: Command): void {
  operatorFlags(
    approvals
      .command("approve")
      .summary("allow what is asked for")
      .description("Allows what an approval asks for, once or from now on.")
      .argument("<id>", "the approval; its beginning is enough")
      .option("--always", "allow exactly the same from now on")
      .option(
        "--prefix <words>",
        'with --always: every plain command here that begins so, such as "npm test"',
      )
      .option("--for <time>", "with --always: for so long, such as 30m, 8h or 7d")
      .option("--note <text>", "a note for the record"),
    "print the approval as JSON",
  )
    .addHelpText("after", APPROVE_HELP)
    .addHelpText("after", exitCodesHelp(CODES))
    .action(async (id: string, _, command: Command) => {
      await approve(id, command.optsWithGlobals<AnswerFlags>());
    });
}

/** Declares `reins approvals deny`. */
export function declareDeny(approvals: Command): void {
  operatorFlags(
    approvals
      .command("deny")
      .summary("refuse what is asked for")
      .description("Denies what an approval asks for. One no is enough, however many people are asked.")
      .argument("<id>", "the approval; its beginning is enough")
      .option("--note <reason>", "the reason, which the agent is told"),
    "print the approval as JSON",
  )
    .addHelpText("after", DENY_HELP)
    .addHelpText("after", exitCodesHelp(CODES))
    .action(async (id: string, _, command: Command) => {
      await deny(id, command.optsWithGlobals<AnswerFlags>());
    });
}

/** The flags of `reins approvals approve` and `deny` as they were written. */
interface AnswerFlags extends OperatorFlags {
  readonly always?: boolean;
  readonly for?: string;
  readonly prefix?: string;
  readonly note?: string;
}

/** What a person says to an approval. */
export interface Answer {
  readonly decision: Approval["options"][number];
  readonly note?: string;
  readonly grant_expires_ms?: number;
  readonly prefix?: string[];
}

/** Allows what an approval asks for. */
async function approve(id: string, flags: AnswerFlags): Promise<void> {
  if (flags.for !== undefined && !flags.always)
    throw new CliError("--for says how long an --always lasts.", {
      next: "Add --always, or leave --for out.",
    });
  if (flags.prefix !== undefined && !flags.always)
    throw new CliError("--prefix says which commands an --always covers.", {
      next: "Add --always, or leave --prefix out.",
    });
  const words = flags.prefix?.split(/\s+/).filter((word) => word !== "");
  const begins = words ? { prefix: words } : {};
  const lasts = flags.for === undefined ? {} : { grant_expires_ms: readSpan(flags.for, "--for") };
  await give(id, flags, { decision: flags.always ? "allow_always" : "allow_once", ...lasts, ...begins });
}

/** Denies it. */
async function deny(id: string, flags: AnswerFlags): Promise<void> {
  await give(id, flags, { decision: "deny" });
}

/** Gives an answer to an approval by its whole id. */
export function answerTo(id: string, body: Answer, operator: Pick<Operator, "ask">): Promise<Approval> {
  return operator.ask(approvalOperations.answerApproval, { params: { id }, body, advice: APPROVAL_ADVICE });
}

async function give(given: string, flags: AnswerFlags, answer: Answer): Promise<void> {
  const body = { ...answer, ...(flags.note !== undefined && { note: flags.note }) };
  const answered = await withOperator(flags, async (operator) =>
    answerTo(await approvalId(given, operator), body, operator),
  );
  print(flags.json ? `${JSON.stringify(answered)}\n` : outcomeWords(answered, body.decision));
}

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
