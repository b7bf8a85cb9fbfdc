import { type Status, VERSION } from "../declaration/grammar.ts";
import type { Graph } from "../declaration/graph.ts";
import { readMarkdown } from "../declaration/markdown.ts";
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

/** The record of a run. Results that logs may not hold, or people not see, are left out. */
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
      const result = visibility.logs && visibility.user ? state?.result : undefined;
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

/** The headings that a final report has, as a `final_report_spec` fixes them, and what is wrong with a report. */
export function reportFaults(report: string, sections: readonly string[]): string[] {
  const found = readMarkdown(report).sections;
  const wanted = sections.map((section) => section.trim().normalize("NFC"));
  const faults = wanted.flatMap((section) => {
    const [one, ...others] = found.filter(({ id }) => id === section);
    if (!one) return [`the section ${JSON.stringify(section)} is missing`];
    if (others.length > 0)
      return [`the section ${JSON.stringify(section)} stands ${others.length + 1} times`];
    return one.text.trim() === "" ? [`the section ${JSON.stringify(section)} is empty`] : [];
  });
  const order = found.map(({ id }) => id).filter((id) => wanted.includes(id));
  const isOrdered = order.join("\n") === wanted.join("\n");
  return faults.length > 0 || isOrdered ? faults : [`the sections are not in the order ${wanted.join(", ")}`];
}
