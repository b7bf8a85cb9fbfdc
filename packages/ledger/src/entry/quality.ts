import { z } from "zod";

/** What an entry records. */
export const EntryQuality = z.enum([
  "turn",
  "tool_call",
  "tool_result",
  "policy_verdict",
  "mailbox_inject",
  "session_lifecycle",
  "approval",
  "policy_change",
  "kill",
]);
export type EntryQuality = z.infer<typeof EntryQuality>;

const ATTESTED: ReadonlySet<EntryQuality> = new Set(["turn", "approval", "policy_change", "kill"]);

/** Whether entries of this quality are signed by whoever acted. */
export function isAttested(quality: EntryQuality): boolean {
  return ATTESTED.has(quality);
}
