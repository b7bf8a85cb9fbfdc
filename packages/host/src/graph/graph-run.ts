import {
  type ActionRecord,
  type ActionState,
  type Graph,
  type GraphAction,
  isOver,
  type ProjectedRun,
  projectRun,
  type RunRecord,
  type Status,
  type WaitsFor,
} from "@reins/graph";
import type { Principal } from "@reins/supervisor";

/** What a run was started with. Stored as it is, and changed by revisions alone. */
export interface DeclaredRun {
  readonly run_id: string;
  readonly tenant: string;
  readonly session: string;
  /** The principal of the session, as it was then; looked up anew for every action. */
  readonly principal: Principal;
  readonly graph: Graph;
  /** The graph as revisions left it. */
  readonly revised?: Graph | undefined;
  /** What the model wrote. */
  readonly declaration: string;
  readonly carrier: RunRecord["carrier"];
  readonly violations: readonly string[];
  /** Values for `input:` references. */
  readonly context: Readonly<Record<string, unknown>>;
  readonly started_at: string;
}

/** What the runtime knows of an action beside its state. */
export interface ActionDetails extends ActionRecord {
  /** Its full output in the artifact store. */
  readonly artifact?: { readonly digest: string; readonly size: number } | undefined;
  /** What it waits for a person for. */
  readonly waitsFor?: Exclude<WaitsFor, "model"> | undefined;
}

/** How a run stands, as it is stored: without the outputs of its actions. */
export interface RunProgress {
  readonly status: Status;
  readonly reason?: string | undefined;
  readonly ended_at?: string | undefined;
  /** How many controls were sent to it. */
  readonly controls: number;
  readonly actions: readonly ActionState[];
  readonly details: readonly (readonly [action: string, details: ActionDetails])[];
}

/** What changed in a run: an action, or the run itself. */
export type GraphRunListener = (run: GraphRun, action: string | undefined) => void;

/** A run of a graph, and how it stands now. */
export class GraphRun {
  declared: DeclaredRun;
  /** How many controls were sent to it. */
  controls: number;
  /** The entries of what was decided and done in it, and what is still being written. */
  readonly writing = new Set<Promise<unknown>>();
  readonly #onChange: GraphRunListener;
  readonly #states: Map<string, ActionState>;
  readonly #details: Map<string, ActionDetails>;
  #status: Status;
  #reason: string | undefined;
  #endedAt: string | undefined;

  constructor(
    declared: DeclaredRun,
    onChange: GraphRunListener,
    progress: RunProgress = newProgress(declared),
  ) {
    this.declared = declared;
    this.#onChange = onChange;
    this.controls = progress.controls;
    this.#status = progress.status;
    this.#reason = progress.reason;
    this.#endedAt = progress.ended_at;
    this.#states = new Map(progress.actions.map((state) => [state.id, state]));
    this.#details = new Map(progress.details);
  }

  get id(): string {
    return this.declared.run_id;
  }

  /** Its name in the engine: two tenants may use the same id. */
  get key(): string {
    return runKey(this.declared.tenant, this.id);
  }

  get graph(): Graph {
    return this.declared.revised ?? this.declared.graph;
  }

  get isOver(): boolean {
    return this.#endedAt !== undefined;
  }

  get states(): ReadonlyMap<string, ActionState> {
    return this.#states;
  }

  /** As people see it: one that only waits for a person, or for the model, is not running. */
  get standing(): { readonly status: Status; readonly waitsFor?: WaitsFor | undefined } {
    if (this.isOver || this.#status !== "running") {
      const waitsFor = this.#status === "blocked" && !this.isOver ? ("model" as const) : undefined;
      return { status: this.#status, waitsFor };
    }
    const running = [...this.#states.values()].filter(({ status }) => status === "running");
    const waiting = running.flatMap(({ id }) => this.#details.get(id)?.waitsFor ?? []);
    const isWaiting = waiting.length > 0 && waiting.length === running.length;
    return isWaiting ? { status: "waiting", waitsFor: waiting[0] } : { status: "running" };
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  action(id: string): GraphAction | undefined {
    return this.graph.actions.find((action) => action.id === id);
  }

  details(id: string): ActionDetails {
    return this.#details.get(id) ?? {};
  }

  /** The run as people see it. */
  project(): ProjectedRun {
    const { run_id: run, session, started_at: startedAt, carrier, declaration, violations } = this.declared;
    return projectRun({
      ...{ run, session, startedAt, carrier, declaration, violations },
      ...this.standing,
      graph: this.graph,
      reason: this.#reason,
      states: new Map([...this.#states].map(([id, state]) => [id, this.#shown(state)])),
      records: this.#details,
      endedAt: this.#endedAt,
    });
  }

  /** How it is stored. */
  get progress(): RunProgress {
    return {
      ...{ status: this.#status, reason: this.#reason, ended_at: this.#endedAt, controls: this.controls },
      actions: [...this.#states.values()].map(withoutOutput),
      details: [...this.#details],
    };
  }

  /** Changes what is known of an action. */
  note(id: string, details: ActionDetails): void {
    this.#details.set(id, { ...this.details(id), ...details });
    this.#onChange(this, id);
  }

  /** Takes the state of an action from the scheduler. */
  change(state: ActionState, now: string): void {
    const isEnded = isOver(state.status);
    const known = this.details(state.id);
    this.#states.set(state.id, state);
    this.#details.set(state.id, {
      ...known,
      ...(state.status === "running" && known.startedAt === undefined && { startedAt: now }),
      ...(isEnded ? { endedAt: known.endedAt ?? now, waitsFor: undefined } : { endedAt: undefined }),
    });
    this.#onChange(this, state.id);
  }

  /** Changes how the run itself stands. */
  become(status: Status, { reason, endedAt }: { reason?: string | undefined; endedAt?: string } = {}): void {
    if (this.isOver || (this.#status === status && endedAt === undefined && this.#reason === reason)) return;
    this.#status = status;
    this.#reason = reason;
    this.#endedAt = endedAt;
    this.#onChange(this, undefined);
  }

  #shown(state: ActionState): ActionState {
    return state.status === "running" && this.details(state.id).waitsFor !== undefined
      ? { ...state, status: "waiting" }
      : state;
  }
}

/** The name of a run in the engine. */
export function runKey(tenant: string, run: string): string {
  return `${tenant}/${run}`;
}

function withoutOutput(state: ActionState): ActionState {
  const { result } = state;
  return result ? { ...state, result: { ...result, output: null } } : state;
}

function newProgress({ graph }: DeclaredRun): RunProgress {
  return {
    status: graph.isPlan ? "pending" : "running",
    controls: 0,
    actions: graph.actions.map(({ id }) => ({ id, status: "pending", attempts: 0, iterations: 0 })),
    details: [],
  };
}
