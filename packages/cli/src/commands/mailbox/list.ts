import { type MailMessage, mailboxOperations } from "@reins/api";
import { noticeOnStderr } from "../../notice.ts";
import { readCount } from "../../operator/count-flag.ts";
import type { OperatorFlags } from "../../operator/flags.ts";
import { screenWidth, table } from "../../operator/table.ts";
import { withOperator } from "../../operator/with-operator.ts";
import { print } from "../../print.ts";
import { printableLine } from "../../printable.ts";
import { SHOWN_ID } from "./message-id.ts";

/** The flags of `reins mailbox list` as they were written. */
export interface ListFlags extends OperatorFlags {
  readonly unread?: string;
  readonly limit?: string;
}

const MOST = 1_000;

/** Lists messages. */
export async function list(flags: ListFlags): Promise<void> {
  const { unread: agent, json } = flags;
  const query = { limit: readCount(flags.limit, "--limit", MOST) };
  const mail = await withOperator(flags, (operator) =>
    agent === undefined
      ? operator.ask(mailboxOperations.listMail, { query })
      : operator.ask(mailboxOperations.listUnreadMail, { params: { agent }, query }),
  );
  if (json) return print(`${JSON.stringify(mail)}\n`);
  print(table([["id", "time", "from", "to", "subject"], ...mail.messages.map(row)], screenWidth()));
  for (const fault of mail.faults) noticeOnStderr(false)(`agent-mailbox.jsonl: ${printableLine(fault)}`);
}

/** A message without a subject is known by how it begins. */
function row({ id, timestamp, from, to, subject, body }: MailMessage): string[] {
  const about = subject === "" ? (body.trim().split("\n")[0] ?? "") : subject;
  return [id.slice(0, SHOWN_ID), timestamp, from, to.join(", "), about].map(printableLine);
}
