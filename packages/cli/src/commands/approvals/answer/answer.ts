import { type Approval, approvalOperations } from "@reins/api";
import type { Operator } from "../../../client/api-client.ts";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { CliError } from "../../../errors.ts";
import { print } from "../../../output.ts";
import { readSpan } from "../../../time.ts";
import { APPROVAL_ADVICE, approvalId } from "../find-approval.ts";
import { outcomeWords } from "./outcome.ts";

/** The flags of `reins approvals approve` and `deny` as they were written. */
export interface AnswerFlags extends OperatorFlags {
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
export async function approve(id: string, flags: AnswerFlags): Promise<void> {
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
export async function deny(id: string, flags: AnswerFlags): Promise<void> {
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
