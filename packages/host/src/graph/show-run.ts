import { type JsonObject, membersOf } from "@reins/acp";
import type { GraphAction, Status } from "@reins/graph";
import { type Harness, type RunContract, readReport } from "@reins/supervisor";
import type { Hub } from "../hub/hub.ts";
import { UPDATE } from "../sessions/session.ts";
import type { ActionCall, PlannedAction } from "./executor.ts";
import type { GraphRun } from "./graph-run.ts";

export interface RunDisplayOptions {
  readonly harness: Pick<Harness, "runs" | "redact">;
  readonly hub: Promise<Hub>;
  readonly onError: (error: unknown) => void;
}

/** How long changes are gathered before plans and task lists are shown. */
const GATHER_MS = 100;
/** Operations that check the work. */
const CHECKS: ReadonlySet<string> = new Set([
  ...["run_tests", "test", "verify", "verification", "check", "lint", "build", "review", "review_code"],
]);

type TaskStatus = "pending" | "in_progress" | "completed" | "failed" | "skipped" | "cancelled";

const TASKS: Readonly<Record<Status, TaskStatus>> = {
  pending: "pending",
  running: "in_progress",
  waiting: "in_progress",
  completed: "completed",
  failed: "failed",
  blocked: "failed",
  canceled: "cancelled",
};

const LIFECYCLES = {
  pending: "completed",
  running: "executing",
  waiting: "executing",
  blocked: "executing",
  completed: "completed",
  failed: "failed",
  canceled: "cancelled",
} as const satisfies Record<Status, string>;

const PLANS = {
  pending: "pending",
  running: "in_progress",
  waiting: "in_progress",
} as const satisfies Partial<Record<Status, string>>;

/** Shows runs: by AHP's reports of runs, and by ACP's updates in the log of their session. */
export class RunDisplay {
  readonly #options: RunDisplayOptions;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** The last lifecycle of each run that was reported. */
  readonly #lifecycles = new Map<string, string>();
  /** The newest report of each run, until it is stored. */
  readonly #reports = new WeakMap<GraphRun, Promise<void>>();

  constructor(options: RunDisplayOptions) {
    this.#options = options;
  }

  /** Shows that a run begins, with what the model says to people about it. */
  async begin(run: GraphRun): Promise<void> {
    const { note, isPlan } = run.graph;
    if (note !== undefined && note.trim() !== "")
      await this.#update(run, {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: note },
      });
    // Stored before the caller learns the run's id, and asks for it.
    if (!isPlan) await this.#lifecycle(run, "created");
    this.changed(run);
  }

  /** Resolves when the reports of a run are stored. */
  async reported(run: GraphRun): Promise<void> {
    await this.#reports.get(run);
  }

  /** Shows a change, a little later together with others; the end at once. */
  changed(run: GraphRun): void {
    const { key } = run;
    if (run.isOver) {
      clearTimeout(this.#timers.get(key));
      this.#show(run);
    } else if (!this.#timers.has(key))
      this.#timers.set(
        key,
        setTimeout(() => this.#show(run), GATHER_MS),
      );
  }

  /** Shows the card of an attempt, before people are asked about it. */
  async card(run: GraphRun, call: ActionCall, planned: PlannedAction): Promise<void> {
    const { title, kind = "other", content, locations } = planned;
    const { action } = call;
    // What a result that people may not see was put into is shown as it was declared.
    const shown = action.visibility.user
      ? {
          title: title ?? action.label,
          rawInput: planned.arguments,
          ...(content && { content }),
          ...(locations && { locations: locations.map((path) => ({ path })) }),
        }
      : { title: action.label, rawInput: action.input ?? {} };
    await this.#update(run, {
      ...{ sessionUpdate: "tool_call", toolCallId: call.call, kind, status: "pending", ...shown },
      _meta: { reins: { run: run.id, action: action.id } },
    });
  }

  /** Shows how an attempt goes on. */
  async progress(
    run: GraphRun,
    { action, call }: ActionCall,
    status: "in_progress" | "completed" | "failed",
    text?: string,
  ): Promise<void> {
    const shown = text !== undefined && action.visibility.user ? text : undefined;
    await this.#update(run, {
      ...{ sessionUpdate: "tool_call_update", toolCallId: call, status },
      ...(shown !== undefined && { content: [{ type: "content", content: { type: "text", text: shown } }] }),
    });
  }

  /** Shows nothing more. */
  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #show(run: GraphRun): void {
    this.#timers.delete(run.key);
    const { status } = run.standing;
    // AHP knows no run that is blocked for good.
    this.#lifecycle(run, run.isOver && status === "blocked" ? "failed" : LIFECYCLES[status]);
    if (run.graph.actions.length === 0) return;
    this.#tasks(run);
    if (run.isOver) this.#verification(run);
    const entries = run.graph.actions
      .filter(({ isShown }) => isShown)
      .map((action) => ({ content: action.label, priority: "medium", status: planStatus(run, action) }));
    this.#update(run, { sessionUpdate: "plan", entries }).catch(this.#options.onError);
  }

  async #lifecycle(run: GraphRun, status: (typeof LIFECYCLES)[Status] | "created"): Promise<void> {
    const { key, graph, reason, declared } = run;
    const { waitsFor } = run.standing;
    // Also one that was over at once was executed.
    if (
      status === "completed" &&
      !graph.isPlan &&
      this.#lifecycles.get(key)?.startsWith('["executing"') !== true
    )
      this.#lifecycle(run, "executing");
    const stands = JSON.stringify([status, waitsFor, reason]);
    if (this.#lifecycles.get(key) === stands) return;
    this.#lifecycles.set(key, stands);
    const isOver = run.isOver && status !== "executing";
    if (isOver) this.#lifecycles.delete(key);
    const { result_summary } = isOver ? run.project() : { result_summary: undefined };
    const noted = this.#note(run, "run_lifecycle", {
      status,
      prompt: graph.title,
      ...(result_summary !== undefined && { result_summary }),
      ...(isOver && reason !== undefined && { error: reason }),
      started_at: declared.started_at,
      metadata: {
        graph: true,
        ...{ carrier: declared.carrier, durable: graph.isDurable, plan: graph.isPlan },
        ...(waitsFor !== undefined && { waits_for: waitsFor }),
        ...(run.reopened > 0 && { reopened: run.reopened }),
      },
    });
    this.#reports.set(run, noted);
    await noted;
  }

  #tasks(run: GraphRun): void {
    const known = new Set(run.graph.actions.map(({ id }) => id));
    const tasks = run.graph.actions.map(({ id, label, dependsOn }) => {
      const { status = "pending", reason } = run.states.get(id) ?? {};
      const depends_on = dependsOn.filter((other) => known.has(other));
      const error = status !== "completed" && reason !== undefined ? { error: reason } : {};
      return { id, title: label, status: TASKS[status], depends_on, evidence: [], artifacts: [], ...error };
    });
    this.#note(run, "task_list", { tasks });
  }

  #verification(run: GraphRun): void {
    const checks = run.graph.actions
      .filter(({ operation = "" }) => CHECKS.has(operation))
      .map((action) => {
        const { status = "pending", reason, result } = run.states.get(action.id) ?? {};
        const message = reason ?? result?.summary;
        return {
          id: action.id,
          subject: action.label,
          status: status === "completed" ? "passed" : status === "canceled" ? "skipped" : "failed",
          ...(message !== undefined && action.visibility.user && { message }),
          evidence: [],
          artifacts: [],
        };
      });
    if (checks.length === 0) return;
    const status = checks.every((check) => check.status === "passed") ? "passed" : "failed";
    this.#note(run, "verification", { status, checks, residual_risks: [] });
  }

  async #note(run: GraphRun, contract: RunContract, report: object): Promise<void> {
    const { harness, onError } = this.#options;
    const { principal, session } = run.declared;
    const updated_at = new Date().toISOString();
    const told = { run_id: run.id, session_id: session, updated_at, ...report };
    const how = { isReopened: run.reopened > 0, isOwn: true };
    await harness.runs.note(principal, contract, readReport(contract, told), how).catch(onError);
  }

  async #update(run: GraphRun, update: JsonObject): Promise<void> {
    const hub = await this.#options.hub;
    const { session: id, tenant } = run.declared;
    const record = await hub.sessions.read(id, tenant);
    if (!record || record.ended) return;
    const shown = membersOf(this.#options.harness.redact(update));
    await hub.sessions.serve(record).clients.notify(UPDATE, { sessionId: id, update: shown });
  }
}

function planStatus({ states }: GraphRun, { id }: GraphAction): string {
  const { status = "pending" } = states.get(id) ?? {};
  return status === "pending" || status === "running" || status === "waiting" ? PLANS[status] : "completed";
}
