import type { LedgerEntry } from "@reins/ledger";

/** What an entry says, in a few words. Private and sealed content is named, never shown. */
export function gistOf({
  quality,
  payload,
  envelope,
}: Pick<LedgerEntry, "quality" | "payload" | "envelope">): string {
  if (envelope) return `sealed for ${envelope.audience_label}`;
  if (!isRecord(payload)) return brief(payload);
  switch (quality) {
    case "policy_verdict":
      return verdictGist(payload);
    case "policy_change":
      return changeGist(payload);
    case "session_lifecycle":
      return leading(payload, "event");
    default:
      return brief(payload);
  }
}

function verdictGist(payload: Readonly<Record<string, unknown>>): string {
  const { verdict, reason, event_type } = payload;
  if (typeof verdict !== "string") return brief(payload);
  const about = typeof event_type === "string" ? ` ${event_type}` : "";
  return `${verdict}${about}${typeof reason === "string" ? `: ${reason}` : ""}`;
}

function changeGist(payload: Readonly<Record<string, unknown>>): string {
  const { change, key_id, holder } = payload;
  if (typeof change !== "string" || typeof key_id !== "string") return leading(payload, "change");
  return `${change} ${key_id}${typeof holder === "string" ? ` of ${holder}` : ""}`;
}

/** One member's text first, the others behind it. */
function leading(payload: Readonly<Record<string, unknown>>, name: string): string {
  const { [name]: first, ...rest } = payload;
  if (typeof first !== "string") return brief(payload);
  return Object.keys(rest).length > 0 ? `${first} ${brief(rest)}` : first;
}

function brief(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (!isRecord(member) || !isRecord(member.$private)) return member;
    return `[private, ${String(member.$private.size)} bytes]`;
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
