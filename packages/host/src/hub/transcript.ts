import { membersOf } from "@reins/acp";
import type { EventLog } from "../log/event-log.ts";
import type { SessionRecord } from "../sessions/session-record.ts";

/** How much of what was said a new agent is told; of more than that, the newest. */
const MAX_CHARACTERS = 24_000;

const SPEAKERS: Readonly<Record<string, string | undefined>> = {
  user_message_chunk: "User",
  agent_message_chunk: "You",
};

/** What was said in a session, for an agent that cannot take it up by itself; `undefined` when nothing was. */
export async function transcriptOf(
  log: EventLog,
  { tenant, id }: SessionRecord,
): Promise<string | undefined> {
  await log.written();
  const lines: { readonly speaker: string; text: string }[] = [];
  for (let after = 0; ; ) {
    const page = await log.page(tenant, [id], after);
    for (const { order, message } of page) {
      after = order;
      const { sessionUpdate, content } = membersOf(membersOf(message.params).update);
      const speaker = SPEAKERS[String(sessionUpdate)];
      const { text } = membersOf(content);
      if (speaker === undefined || typeof text !== "string") continue;
      const last = lines.at(-1);
      if (last?.speaker === speaker) last.text += text;
      else lines.push({ speaker, text });
    }
    if (page.length === 0) break;
  }
  if (lines.length === 0) return undefined;
  const all = lines.map(({ speaker, text }) => `${speaker}: ${text}`).join("\n\n");
  const kept = all.length > MAX_CHARACTERS ? `[…]\n${all.slice(-MAX_CHARACTERS)}` : all;
  return `This conversation goes on from an earlier one. What was said so far, the newest last:\n\n${kept}\n\nGo on from there.`;
}
