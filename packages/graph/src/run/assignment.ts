import { z } from "zod";
import { nodeRequest } from "../view/transcript.ts";

/** An action bound to the session of an agent: who executes it, with which authority, on what, and what came of it. */
export interface Assignment {
  readonly run: string;
  readonly action: string;
  /** The agent, and its session once there is one. */
  readonly executor: string;
  readonly session?: string | undefined;
  readonly authority: Authority;
  /** The context bundle: texts that the references of the action lead to. */
  readonly context: readonly string[];
  readonly task: string;
  /** Structured values for the task. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  /** What an earlier assignment left to be continued. */
  readonly handoff?: Handoff | undefined;
  readonly result?: { readonly status: string; readonly summary: string } | undefined;
  readonly artifacts: readonly string[];
  /** The ledger entries of what was decided about it. */
  readonly trace: readonly string[];
}

/** What an executing agent may do at most; the rules for its own acts apply within. */
export interface Authority {
  /** For whom it acts. */
  readonly principal: string;
  /** The only tools it may use; all that policy permits where absent. */
  readonly tools?: readonly string[] | undefined;
  readonly reads?: readonly string[] | undefined;
  readonly writes?: readonly string[] | undefined;
  readonly budget?: { readonly tokens?: number | undefined; readonly calls?: number | undefined } | undefined;
}

const Texts = z.array(z.string().max(10_000)).max(100).default([]);

/** What one executor leaves to the next so that it can continue in a session of its own. */
export const Handoff = z.strictObject({
  from: z.strictObject({ run: z.string(), action: z.string(), session: z.string().optional() }),
  result_summary: z.string().max(20_000),
  evidence: Texts,
  artifact_refs: Texts,
  risks: Texts,
  unresolved_issues: Texts,
  next_goal: z.string().max(20_000),
  constraints: Texts,
  dependencies: Texts,
});
export type Handoff = z.infer<typeof Handoff>;

/** The request to the agent of an assignment: its context, with the handoff and its limits, then its task. */
export function assignmentText({
  run,
  action,
  authority,
  context,
  task,
  input,
  handoff,
}: Assignment): string {
  const limits = authorityText(authority);
  const parts = [
    ...context,
    ...(handoff ? [handoffText(handoff)] : []),
    ...(limits === "" ? [] : [limits]),
    ...(input && Object.keys(input).length > 0 ? [`Input:\n${JSON.stringify(input, null, 2)}`] : []),
  ];
  return nodeRequest({ run, action }, { context: parts, task });
}

/** A handoff as the next executor reads it. */
export function handoffText(handoff: Handoff): string {
  const { from } = handoff;
  const lists = [
    ["Evidence", handoff.evidence],
    ["Artifacts", handoff.artifact_refs],
    ["Risks", handoff.risks],
    ["Unresolved issues", handoff.unresolved_issues],
    ["Constraints", handoff.constraints],
    ["Dependencies", handoff.dependencies],
  ] as const;
  return [
    `Handoff from ${from.action} of run ${from.run}`,
    `Result: ${handoff.result_summary}`,
    ...lists.flatMap(([name, items]) =>
      items.length === 0 ? [] : [[`${name}:`, ...items.map((item) => `- ${item}`)].join("\n")],
    ),
    `Next goal: ${handoff.next_goal}`,
  ].join("\n\n");
}

function authorityText({ tools, reads, writes, budget }: Authority): string {
  const most = [
    ...(budget?.tokens === undefined ? [] : [`${budget.tokens} tokens`]),
    ...(budget?.calls === undefined ? [] : [`${budget.calls} calls`]),
  ];
  return [
    ...(tools ? [`You may use these tools only: ${tools.join(", ") || "none"}.`] : []),
    ...(reads && reads.length > 0 ? [`You are to read: ${reads.join(", ")}.`] : []),
    ...(writes ? [`You may write: ${writes.join(", ") || "nothing"}.`] : []),
    ...(most.length === 0 ? [] : [`You have at most ${most.join(" and ")}.`]),
  ].join("\n");
}
