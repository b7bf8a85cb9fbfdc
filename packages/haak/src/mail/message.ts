import { createHash } from "node:crypto";
import type { JsonObject } from "@reins/acp";
import { z } from "zod";

/** One line of `agent-mailbox.jsonl`. Members we do not know stay. */
const MessageLine = z.looseObject({
  to: z.union([z.string(), z.array(z.string())]),
  from: z.string().optional(),
  subject: z.string().optional(),
  body: z.string().optional(),
  timestamp: z.union([z.string(), z.number()]).optional(),
  id: z.union([z.string(), z.number()]).optional(),
  read: z.boolean().optional(),
});

/** A message from one agent to others. Everything in it is a claim of whoever wrote the line. */
export interface Message {
  /** Tells it from every other message of the mailbox, and stays when its line is written anew. */
  readonly id: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly body: string;
  readonly timestamp: string;
  /** Whether its line says that it was read. */
  readonly read: boolean;
  /** The line as it was written. */
  readonly line: JsonObject;
}

/** Reads a line; `undefined` when it is no message. The id is that of the first message that says just this. */
export function readMessage(text: string): Message | undefined {
  const { data } = MessageLine.safeParse(parsed(text));
  if (!data) return undefined;
  const { from = "", subject = "", body = "", timestamp = "", read = false } = data;
  const to = Array.isArray(data.to) ? data.to : [data.to];
  // Not the id of the line alone: whoever guesses one could hide somebody else's message behind it. Nor members such
  // as `read`, which other programs change.
  const said = JSON.stringify([data.id ?? null, from, to, subject, body, timestamp]);
  const id = createHash("sha256").update(said).digest("hex");
  return { id, from, to, subject, body, timestamp: String(timestamp), read, line: data };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
