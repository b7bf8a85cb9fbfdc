import { type Status, VERSION } from "../declaration/grammar.ts";
import type { Graph } from "../declaration/graph.ts";

import type { ActionState } from "../run/progress.ts";
import type { WaitsFor } from "../run/schedule-ports.ts";

/** What a run came to, for logs, the page, exports and recovery; no part of what a model is shown. */
export interface ResultRecord {
  readonly type: "agent.protocol.result";
  readonly version: typeof VERSION;
  readonly run_id: string;
  readonly status: Status;
  readonly reason?: string;
  readonly actions: readonly {
    readonly id: string;
    readonly title: string;
    readonly description?: string;
    readonly status: Status;
    readonly reason?: string;
    readonly summary?: string;
    readonly artifacts?: readonly string[];
  }[];
  /** What is expected next: of the model an answer or a decision, of a person a permission or an input. */
  readonly next: "final_answer" | "model_decision" | "permission" | "user_input" | "running";
}

const NEXT = { model: "model_decision", permission: "permission", input: "user_input" } as const;

/** The record of a run. Results that logs may not hold are left out. */
export function resultRecord({
  run,
  graph,
  status,
  reason,
  waitsFor,
  states,
}: {
  readonly run: string;
  readonly graph: Graph;
  readonly status: Status;
  readonly reason?: string | undefined;
  readonly waitsFor?: WaitsFor | undefined;
  readonly states: ReadonlyMap<string, ActionState>;
}): ResultRecord {
  const isUnderWay = status === "pending" || status === "running";
  return {
    type: "agent.protocol.result",
    version: VERSION,
    run_id: run,
    status,
    ...(reason !== undefined && { reason }),
    actions: graph.actions.map(({ id, title, description, visibility, result: policy }) => {
      const state = states.get(id);
      const result = visibility.logs ? state?.result : undefined;
      return {
        ...{ id, title },
        ...(description !== undefined && { description }),
        status: state?.status ?? "pending",
        ...(state?.reason !== undefined && { reason: state.reason }),
        ...(result && { summary: result.summary }),
        ...(result && policy.store_full && { artifacts: [`artifact://${run}/${id}`] }),
      };
    }),
    next: waitsFor ? NEXT[waitsFor] : isUnderWay ? "running" : "final_answer",
  };
}
