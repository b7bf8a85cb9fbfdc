import type { AhpEvent } from "@reins/ahp";
import type { CallEnd } from "../decision/open-calls.ts";
import type { Usage } from "../limits/usage.ts";

/** How something ended, as an agent reports it. */
export interface ReportedEnd extends CallEnd {
  readonly outcome: "completed" | "failed" | "unknown";
  readonly usage: Partial<Usage>;
}

/** What came before each report. */
const BEFORE: Readonly<Record<string, string>> = { post_action: "pre_action", post_response: "pre_prompt" };

/** The end that a `post_action` or `post_response` reports. Agents write them in several ways; what is not said is unknown. */
export function endOf({ event_type, payload, metadata }: AhpEvent): ReportedEnd {
  const told = membersOf(payload);
  const result = membersOf(told.result);
  const tool = told.tool_name ?? told.tool;
  const entry = metadata?.entry;
  return {
    event_type: BEFORE[event_type] ?? event_type,
    ...(typeof tool === "string" && tool !== "" && { tool }),
    ...(typeof entry === "string" && { entry }),
    outcome: outcomeOf(result.success ?? result.status ?? told.success ?? told.status),
    usage: usageIn({ ...told, ...result }),
  };
}

function outcomeOf(said: unknown): ReportedEnd["outcome"] {
  if (said === true || said === "success" || said === "ok" || said === "completed") return "completed";
  if (said === false || (typeof said === "string" && said !== "")) return "failed";
  return "unknown";
}

function usageIn(told: Record<string, unknown>): Partial<Usage> {
  const usage = membersOf(told.usage);
  const tokens =
    usage.total_tokens ??
    sum(usage.input_tokens ?? usage.prompt_tokens, usage.output_tokens ?? usage.completion_tokens);
  return {
    ...amount("time_ms", told.duration_ms),
    ...amount("tokens", tokens),
    ...amount("cost", usage.cost ?? told.cost),
  };
}

function amount(name: keyof Usage, value: unknown): Partial<Usage> {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? { [name]: value } : {};
}

function sum(left: unknown, right: unknown): number | undefined {
  if (typeof left !== "number" && typeof right !== "number") return undefined;
  return Number(left ?? 0) + Number(right ?? 0);
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
