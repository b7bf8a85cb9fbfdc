import type { JsonValue } from "../json/value.ts";

/** What an entry can record. */
export const QUALITIES = [
  "turn",
  "tool_call",
  "tool_result",
  "policy_verdict",
  "mailbox_inject",
  "session_lifecycle",
  "approval",
  "policy_change",
  "kill",
] as const;

const known: ReadonlySet<JsonValue> = new Set(QUALITIES);
const attested: ReadonlySet<string> = new Set(["turn", "approval", "policy_change", "kill"]);

/** Whether a value names a quality. */
export function isQuality(value: JsonValue): boolean {
  return known.has(value);
}

/** Whether entries of this quality have to be signed by whoever acted. */
export function isAttested(quality: string): boolean {
  return attested.has(quality);
}
