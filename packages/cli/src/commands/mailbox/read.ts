import { type MailMessage, mailboxOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { idByPrefix } from "../../client/id-prefix.ts";
import { CliError, EXIT } from "../../errors.ts";
import { print } from "../../output.ts";
import { printable, printableLine } from "../../printable.ts";
import { MESSAGE_ID } from "./message-id.ts";

const MOST = 1_000;

/** Shows a message. */
export async function read(given: string, flags: OperatorFlags): Promise<void> {
  const { messages } = await withOperator(flags, (operator) =>
    operator.ask(mailboxOperations.listMail, { query: { limit: MOST } }),
  );
  const id = await idByPrefix(given, MESSAGE_ID, [
    async function* () {
      yield messages.map((message) => message.id);
    },
  ]);
  const message = messages.find((one) => one.id === id);
  if (!message)
    throw new CliError(`There is no message ${id} among the newest ${MOST}.`, {
      next: `To see them: ${MESSAGE_ID.list}`,
      exitCode: EXIT.failed,
    });
  print(flags.json ? `${JSON.stringify(message)}\n` : sheet(message));
}

function sheet({ id, from, to, subject, body, timestamp }: MailMessage): string {
  const head = Object.entries({ id, from, to: to.join(", "), time: timestamp, subject });
  const lines = head.map(([name, text]) => `${name.padEnd(8)} ${printableLine(text)}`);
  return `${lines.join("\n")}\n\n${printable(body)}\n`;
}
