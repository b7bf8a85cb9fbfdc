import type { WorkerUpdate } from "@reins/bridge";
import type { JsonObject } from "../acp/json-rpc.ts";
import type { PlanEntry, ToolKind } from "../tools/tool.ts";

/** A call of a tool, as clients see it before it is made. */
export interface DisplayedCall {
  readonly toolCallId: string;
  readonly title: string;
  readonly name: string;
  readonly kind: ToolKind;
  /** The arguments, exactly as the model gave them. */
  readonly rawInput: unknown;
  readonly locations: readonly string[];
  readonly content: readonly JsonObject[];
}

/** Everything that can be seen of a turn from outside. */
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
  | { readonly type: "plan"; readonly entries: readonly PlanEntry[] }
  /** How much of the context is in use. */
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

/** Why a turn ended, in ACP's words. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** How a turn ended. */
export type TurnEnd =
  | { readonly kind: "stopped"; readonly reason: StopReason; readonly note?: string }
  | { readonly kind: "failed"; readonly error: Error };

/** What was said to a call. */
export type Permission =
  | {
      readonly kind: "given";
      /** What is to be done instead of what was asked, where it was changed. */
      readonly modified?: JsonObject;
    }
  | { readonly kind: "refused"; readonly reason: string };

/** Whoever is asked before anything is done. Rejects when the turn is cancelled. */
export interface PermissionGate {
  ask(call: DisplayedCall, signal: AbortSignal): Promise<Permission>;
}
