import { type MailMessage, mailboxOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { CliError } from "../../errors.ts";
import { readCount } from "../../flags.ts";
import { noticeOnStderr, print } from "../../output.ts";
import { printableLine, screenWidth, table } from "../../printable.ts";
import { SHOWN_ID } from "./message-id.ts";

/** The flags of `reins mailbox list` as they were written. */
export interface ListFlags extends OperatorFlags {
  readonly unread?: string | true;
  readonly limit?: string;
}

const MOST = 1_000;

/** Lists messages: all of them, or those of an agent. */
export async function list(named: string | undefined, flags: ListFlags): Promise<void> {
  const agent = agentIn(named, flags.unread);
  const limit = readCount(flags.limit, "--limit", MOST);
  const mail = await withOperator(flags, (operator) =>
    flags.unread === undefined || agent === undefined
      ? operator.ask(mailboxOperations.listMail, { query: { agent, limit } })
      : operator.ask(mailboxOperations.listUnreadMail, { params: { agent }, query: { limit } }),
  );
  if (flags.json) return print(`${JSON.stringify(mail)}\n`);
  print(table([["id", "time", "from", "to", "subject"], ...mail.messages.map(row)], screenWidth()));
  for (const fault of mail.faults) noticeOnStderr(false)(`agent-mailbox.jsonl: ${printableLine(fault)}`);
}

/** The agent, which stands before `--unread` or after it. */
function agentIn(named: string | undefined, unread: string | true | undefined): string | undefined {
  if (unread === undefined) return named;
  const agent = unread === true ? named : unread;
  if (agent === undefined)
    throw new CliError("--unread names no agent.", {
      next: "Say whose: reins mailbox list <agent> --unread",
    });
  if (named === undefined || named === agent) return agent;
  throw new CliError(`Two agents are named: "${named}" and "${agent}".`, { next: "Name one of them." });
}

/** A message without a subject is known by how it begins. */
function row({ id, timestamp, from, to, subject, body }: MailMessage): string[] {
  const about = subject === "" ? (body.trim().split("\n")[0] ?? "") : subject;
  return [id.slice(0, SHOWN_ID), timestamp, from, to.join(", "), about].map(printableLine);
}
