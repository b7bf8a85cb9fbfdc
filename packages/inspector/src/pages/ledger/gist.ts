import type { PlacedEntry } from "@reins/api";

type Entry = PlacedEntry["entry"];

/** What an entry says, in a line. */
export function gistOf({ quality, payload, target, envelope, tags }: Entry): string {
  if (envelope !== null && envelope !== undefined) return `${target}, sealed`;
  const said = Object(payload);
  if (quality === "policy_verdict") return `${target || textOf(said.event_type)}: ${textOf(said.reason)}`;
  if (quality === "tool_call") return textOf(said.claims?.title) || target;
  if (quality === "tool_result") return [target, textOf(said.outcome)].filter(Boolean).join(": ");
  if (quality === "turn")
    return `ended: ${textOf(said.stop_reason).replaceAll("_", " ")}, ${said.entries?.length ?? 0} entries`;
  if (quality === "approval")
    return `${target}: ${textOf(said.state)}${said.answer ? ` by ${textOf(said.answer.by)}` : ""}`;
  if (quality === "policy_change") return `${target}: ${textOf(said.change).replaceAll("_", " ")}`;
  if (quality === "kill") return [target, textOf(said.reason)].filter(Boolean).join(": ");
  const what = textOf(said.change ?? said.subject) || (tags[0] ?? "");
  return [target, what.replaceAll("_", " ")].filter(Boolean).join(": ");
}

/** The verdict that an entry holds, if it is one. */
export function verdictOf({ quality, payload }: Entry): string | undefined {
  return quality === "policy_verdict" ? textOf(Object(payload).verdict) || undefined : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
