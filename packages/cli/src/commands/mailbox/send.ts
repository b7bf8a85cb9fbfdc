import { mailboxOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { saidText } from "../../flags.ts";
import { print } from "../../output.ts";
import { printableLine } from "../../printable.ts";

/** The flags of `reins mailbox send` as they were written. */
export interface SendFlags extends OperatorFlags {
  readonly subject: string;
}

/** Sends a message to an agent. */
export async function send(to: string, words: readonly string[], flags: SendFlags): Promise<void> {
  const body = { to, subject: flags.subject, body: await saidText(words, "the message") };
  await withOperator(flags, (operator) => operator.ask(mailboxOperations.sendMail, { body }));
  print(flags.json ? `${JSON.stringify(body)}\n` : `sent to ${printableLine(to)}, for its next turn\n`);
}
