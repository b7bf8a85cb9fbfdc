import type { JsonObject } from "@reins/acp";
import type { SkillUpdate, WorkerUpdate } from "@reins/bridge";
import type { PlanEntry, ToolKind } from "../tools/tool.ts";

/** A tool call, as clients see it before it is performed. */
export interface DisplayedCall {
  readonly toolCallId: string;
  readonly title: string;
  readonly name: string;
  readonly kind: ToolKind;
  /** The arguments, exactly as the model wrote them. */
  readonly rawInput: unknown;
  readonly locations: readonly string[];
  readonly content: readonly JsonObject[];
}

/** An event of a turn, for clients. */
export type TurnEvent =
  | { readonly type: "text"; readonly messageId: string; readonly text: string }
  | { readonly type: "thought"; readonly messageId: string; readonly text: string }
  | { readonly type: "call"; readonly call: DisplayedCall }
  | {
      readonly type: "call_update";
      readonly toolCallId: string;
      readonly status: "in_progress" | "completed" | "failed";
      readonly content?: readonly JsonObject[];
      readonly rawOutput?: unknown;
    }
  | { readonly type: "worker"; readonly update: WorkerUpdate }
  | { readonly type: "skill"; readonly update: SkillUpdate }
  /** A search for tools, as a `session/update`. */
  | { readonly type: "tool_search"; readonly update: JsonObject }
  | { readonly type: "plan"; readonly entries: readonly PlanEntry[] }
  /** The used share of the context. */
  | { readonly type: "usage"; readonly used: number; readonly size: number; readonly cost?: number }
  | {
      readonly type: "compaction";
      readonly id: string;
      readonly status: "in_progress" | "completed" | "failed" | "cancelled";
      readonly summary?: string;
      readonly error?: string;
    }
  | {
      readonly type: "notice";
      readonly severity: "info" | "warning" | "error";
      readonly title: string;
      readonly description?: string;
    };

/** The stop reason, in ACP's words. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** The end of a turn. */
export type TurnEnd =
  | { readonly kind: "stopped"; readonly reason: StopReason; readonly note?: string }
  | { readonly kind: "failed"; readonly error: Error };

/** The answer to a permission request. */
export type Permission =
  | {
      readonly kind: "given";
      /** Arguments that replace the requested ones. */
      readonly modified?: JsonObject;
    }
  | { readonly kind: "refused"; readonly reason: string };

/** Asks permission for a tool call. Rejects when the turn is cancelled. */
export type AskPermission = (call: DisplayedCall, signal: AbortSignal) => Promise<Permission>;
