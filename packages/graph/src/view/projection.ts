import type { Status } from "../declaration/grammar.ts";
import type { Graph, GraphAction } from "../declaration/graph.ts";
import type { AgentReport, Assignment } from "../run/assignment.ts";
import { type ActionState, hasEnded } from "../run/progress.ts";
import type { ControlChange, ControlOrigin, WaitsFor } from "../run/schedule-ports.ts";
import { type ResultRecord, resultRecord } from "./result-record.ts";

/** What the runtime knows of an action beside its declaration and its state. */
export interface ActionRecord {
  readonly startedAt?: string | undefined;
  readonly endedAt?: string | undefined;
  /** The executor that was chosen, once one was. */
  readonly executor?: { readonly type: string; readonly name: string } | undefined;
  /** Its input with the references resolved. */
  readonly input?: unknown;
  readonly prompt?: string | undefined;
  /** The ledger entry of its verdict. */
  readonly verdict?: string | undefined;
  /** The approval it waits for. */
  readonly approval?: string | undefined;
  readonly childSession?: string | undefined;
  /** The task of an agent or a person, as that was given it. */
  readonly assignment?: Assignment | undefined;
}

/** What was changed in a run that there was: by whom, and with which words. */
export interface ProjectedControl {
  readonly kind: "cancel" | "decide" | "revise";
  readonly at: string;
  readonly by: string;
  readonly through: "model" | "client" | "runtime";
  /** The actions it is about; absent for the whole run. */
  readonly actions?: string[];
  readonly decision?: "retry" | "continue" | "abort";
  readonly note?: string;
  /** A revision as it was written. */
  readonly declaration?: string;
  /** The ledger entry that records it. */
  readonly entry?: string;
}

/** What a control changes, as it is shown. */
export function projectControl(
  control: ControlChange | undefined,
  { at, by, through, note, declaration }: ControlOrigin,
): ProjectedControl {
  return {
    ...{ kind: control?.kind ?? "cancel", at, by, through },
    ...(control?.kind === "cancel" && { actions: [...control.actions] }),
    ...(control?.kind === "decide" && { actions: [control.action], decision: control.decision }),
    ...(control?.kind === "revise" && { actions: control.graph.actions.map(({ id }) => id) }),
    ...(note !== undefined && { note }),
    ...(declaration !== undefined && { declaration }),
  };
}

const DONE = { cancel: "canceled", decide: "decided", revise: "revised" } as const;

/** A control in words: who did what, and what they said. */
export function controlText({
  kind,
  by,
  actions,
  decision,
  note,
}: Pick<ProjectedControl, "kind" | "by"> & {
  readonly actions?: readonly string[] | undefined;
  readonly decision?: string | undefined;
  readonly note?: string | undefined;
}): string {
  const what = [decision, actions?.join(", ") ?? "the run"].filter((text) => text !== undefined);
  return `${by} ${DONE[kind]} ${what.join(" ")}${note === undefined ? "" : `: ${note}`}`;
}

/** A run with what the runtime recorded of it. */
export interface RunRecord {
  readonly run: string;
  readonly session: string;
  readonly graph: Graph;
  readonly status: Status;
  readonly reason?: string | undefined;
  readonly waitsFor?: WaitsFor | undefined;
  readonly states: ReadonlyMap<string, ActionState>;
  readonly records?: ReadonlyMap<string, ActionRecord> | undefined;
  readonly startedAt: string;
  readonly endedAt?: string | undefined;
  readonly carrier: "native" | "fenced" | "recovered" | "api";
  readonly declaration: string;
  readonly violations?: readonly string[] | undefined;
  readonly controls?: readonly ProjectedControl[] | undefined;
}

/** One action as people see it. */
export interface ProjectedAction {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly reason?: string;
  readonly operation?: string;
  readonly executor: {
    readonly type?: string;
    readonly target: string;
    readonly capabilities: string[];
  };
  readonly depends_on: string[];
  readonly visible: boolean;
  readonly status: Status;
  readonly status_reason?: string;
  readonly attempts: number;
  readonly iterations: number;
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly input?: unknown;
  readonly prompt?: string;
  readonly result_summary?: string;
  readonly details_ref?: string;
  readonly verdict?: string;
  readonly approval?: string;
  readonly child_session?: string;
  readonly assignment?: ProjectedAssignment;
}

type Writable<Value> = Value extends readonly (infer Item)[]
  ? Writable<Item>[]
  : Value extends object
    ? { -readonly [Name in keyof Value]: Writable<Value[Name]> }
    : Value;

/** The task of an agent or a person, with what came of it and where that is. */
interface ProjectedAssignment extends Writable<Assignment> {
  readonly session?: string;
  readonly result?: { readonly status: Status; readonly summary: string };
  readonly report?: Writable<AgentReport>;
  /** What it stored, and what its report names. */
  readonly artifacts: string[];
  /** The ledger entries of what was decided about it. */
  readonly trace: string[];
}

/** A run as people see it: by titles, descriptions, statuses and summaries, with the declaration behind it. */
export interface ProjectedRun {
  readonly run_id: string;
  readonly session_id: string;
  readonly title: string;
  readonly note?: string;
  readonly status: Status;
  readonly status_reason?: string;
  readonly waits_for?: WaitsFor;
  readonly plan: boolean;
  readonly durable: boolean;
  readonly started_at: string;
  readonly ended_at?: string;
  readonly progress: { readonly total: number; readonly ended: number; readonly running: number };
  readonly actions: ProjectedAction[];
  readonly result_summary?: string;
  /** What it came to, for programs: once it is over, or waits. */
  readonly result?: Writable<ResultRecord>;
  readonly declaration: string;
  readonly carrier: RunRecord["carrier"];
  readonly violations: string[];
  readonly controls: ProjectedControl[];
}

/** The reference under which the output of an action is expanded. */
export function outputRef(run: string, action: string): string {
  return `runtime://runs/${run}/actions/${action}/output`;
}

/** The projection of a run for people. */
export function projectRun(record: RunRecord): ProjectedRun {
  const { run, session, graph, status, reason, states, startedAt, endedAt } = record;
  const actions = graph.actions.map((action) => projectAction(action, record));
  const ended = actions.filter((action) => hasEnded(action.status)).length;
  const running = actions.filter(
    (action) => action.status === "running" || action.status === "waiting",
  ).length;
  return {
    run_id: run,
    session_id: session,
    title: graph.title,
    ...(graph.note !== undefined && { note: graph.note }),
    status,
    ...(reason !== undefined && { status_reason: reason }),
    ...(record.waitsFor !== undefined && { waits_for: record.waitsFor }),
    plan: graph.isPlan,
    durable: graph.isDurable,
    started_at: startedAt,
    ...(endedAt !== undefined && { ended_at: endedAt }),
    progress: { total: actions.length, ended, running },
    actions,
    ...(hasEnded(status) && { result_summary: runSummary(status, graph, states) }),
    ...((hasEnded(status) || record.waitsFor) && { result: written(resultRecord(record)) }),
    declaration: record.declaration,
    carrier: record.carrier,
    violations: [...(record.violations ?? [])],
    controls: [...(record.controls ?? [])],
  };
}

function projectAction(action: GraphAction, { run, states, records }: RunRecord): ProjectedAction {
  const { id, executor, visibility, result: policy } = action;
  const { status, reason, attempts, iterations, result } = states.get(id) ?? {
    ...{ status: "pending" as const, reason: undefined, attempts: 0, iterations: 0, result: undefined },
  };
  const record = records?.get(id) ?? {};
  const type = record.executor?.type ?? executor.type;
  // What a result that people may not see was put into is shown as it was declared.
  const input = (visibility.user ? record.input : undefined) ?? action.input;
  return {
    id,
    title: action.label,
    ...(action.description !== undefined && { description: action.description }),
    ...(action.reason !== undefined && { reason: action.reason }),
    ...(action.operation !== undefined && { operation: action.operation }),
    executor: {
      ...(type !== undefined && { type }),
      target: record.executor?.name ?? executor.target,
      capabilities: [...executor.capabilities],
    },
    depends_on: [...action.dependsOn],
    visible: action.isShown,
    status,
    ...(reason !== undefined && { status_reason: reason }),
    attempts,
    iterations,
    ...(record.startedAt !== undefined && { started_at: record.startedAt }),
    ...(record.endedAt !== undefined && { ended_at: record.endedAt }),
    ...(input !== undefined && { input }),
    ...(record.prompt !== undefined && visibility.user && { prompt: record.prompt }),
    ...(result !== undefined && visibility.user && { result_summary: result.summary }),
    ...(result !== undefined && visibility.user && policy.store_full && { details_ref: outputRef(run, id) }),
    ...(record.verdict !== undefined && { verdict: record.verdict }),
    ...(record.approval !== undefined && { approval: record.approval }),
    ...(record.childSession !== undefined && { child_session: record.childSession }),
    ...(record.assignment && visibility.user && { assignment: projectAssignment(record.assignment) }),
  };

  function projectAssignment(assigned: Assignment): ProjectedAssignment {
    const report = result?.report && written(result.report);
    const isStored = result !== undefined && policy.store_full;
    return {
      ...written(assigned),
      ...(record.childSession !== undefined && { session: record.childSession }),
      ...(result && { result: { status, summary: result.summary } }),
      ...(report && { report }),
      artifacts: [...(isStored ? [`artifact://${run}/${id}`] : []), ...(report?.artifact_refs ?? [])],
      trace: record.verdict === undefined ? [] : [record.verdict],
    };
  }
}

/** A copy, which may be written to. */
function written<Value>(value: Value): Writable<Value> {
  return structuredClone(value) as Writable<Value>;
}

/** How many actions ended how, in words. */
export function endedCounts({ actions }: Graph, states: ReadonlyMap<string, ActionState>): readonly string[] {
  return (["completed", "failed", "blocked", "canceled"] as const)
    .map((one) => [one, actions.filter(({ id }) => states.get(id)?.status === one).length] as const)
    .filter(([, count]) => count > 0)
    .map(([one, count]) => `${count} ${one}`);
}

/** One sentence about a run that is over: how many actions ended how, and which failed. */
export function runSummary(status: Status, graph: Graph, states: ReadonlyMap<string, ActionState>): string {
  const of = (wanted: Status) => graph.actions.filter(({ id }) => states.get(id)?.status === wanted);
  const counts = endedCounts(graph, states);
  const failed = [...of("failed"), ...of("blocked")]
    .slice(0, 5)
    .map(({ id, label }) => `${label}: ${states.get(id)?.reason ?? "no reason is known"}`);
  const head = counts.length === 0 ? `The run is ${status}` : `The run is ${status}: ${counts.join(", ")}`;
  return [`${head}.`, ...failed].join("\n");
}
