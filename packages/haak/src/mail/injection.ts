import type { Draft } from "@reins/ledger";
import { type Subject, sessionKey } from "@reins/supervisor";
import type { MailLimits } from "./limits.ts";
import type { Message } from "./message.ts";

/** A message as it is put into a turn. */
export interface InjectedMessage extends Pick<Message, "id" | "from" | "subject" | "timestamp" | "body"> {
  /** How many characters were left out at its end. */
  readonly omitted: number;
}

/** As many of the unread messages as fit into one turn, oldest first. */
export function fitting(unread: readonly Message[], limits: MailLimits): InjectedMessage[] {
  const chosen: InjectedMessage[] = [];
  let bytes = 0;
  for (const message of unread) {
    const shown = shownOf(message, limits);
    bytes += Buffer.byteLength(shown.body) + Buffer.byteLength(shown.subject);
    if (chosen.length >= limits.perTurn || (chosen.length > 0 && bytes > limits.perTurnBytes)) break;
    chosen.push(shown);
  }
  return chosen;
}

/** The entry for a message that is put into a turn: what the agent is shown, without secrets. */
export function injectDraft(
  subject: Subject,
  { id, from, subject: about, timestamp, body, omitted }: InjectedMessage,
  redact: (value: unknown) => unknown,
): Draft {
  return {
    quality: "mailbox_inject",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [`message:${id}`],
    payload: {
      message: id,
      to: subject.agent,
      from: redact(from),
      subject: redact(about),
      timestamp: redact(timestamp),
      body: redact(body),
      omitted,
    },
  };
}

function shownOf({ id, from, subject, timestamp, body }: Message, limits: MailLimits): InjectedMessage {
  const { maxHeaderBytes, shownCharacters } = limits;
  return {
    id,
    from: from.slice(0, maxHeaderBytes),
    subject: subject.slice(0, maxHeaderBytes),
    timestamp: timestamp.slice(0, maxHeaderBytes),
    body: body.slice(0, shownCharacters),
    omitted: Math.max(0, body.length - shownCharacters),
  };
}
