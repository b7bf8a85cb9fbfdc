import {
  type ActionRecord,
  type ActionState,
  type Graph,
  type GraphAction,
  hasEnded,
  type ProjectedRun,
  ProtocolError,
  projectRun,
  type RunChange,
  type RunRecord,
  type Status,
  type WaitsFor,
} from "@reins/graph";
import type { Principal } from "@reins/supervisor";
import type { SealedArtifact } from "./sealed-artifacts.ts";

/** The most decisions and revisions of a run. */
const MOST_CONTROLS = 200;
const KEPT: ReadonlySet<Status> = new Set(["running", "waiting", "completed"]);

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
  /** The digests of the request that started it, by member; absent where a model declared it. */
  readonly request?: Readonly<Record<string, string>> | undefined;
}

/** What the runtime knows of an action beside its state. */
export interface ActionDetails extends ActionRecord {
  /** Its full output in the artifact store. */
  readonly artifact?: SealedArtifact | undefined;
}

/** How a run stands, as it is stored: without the outputs of its actions. */
export interface RunProgress {
  readonly status: Status;
  readonly reason?: string | undefined;
  readonly ended_at?: string | undefined;
  /** How often it continued after its end. */
  readonly reopened?: number | undefined;
  /** How often it was decided about or revised. */
  readonly controls?: number | undefined;
  readonly waitsFor?: WaitsFor | undefined;
  readonly actions: readonly ActionState[];
  readonly details: readonly (readonly [action: string, details: ActionDetails])[];
}

/** What changed in a run: an action, or the run itself. */
export type GraphRunListener = (run: GraphRun, action: string | undefined) => void;

/** A run of a graph, and how it stands now. */
export class GraphRun {
  declared: DeclaredRun;
  /** The entries of what was decided and done in it, and what is still being written. */
  readonly writing = new Set<Promise<unknown>>();
  readonly #onChange: GraphRunListener;
  readonly #states: Map<string, ActionState>;
  readonly #details: Map<string, ActionDetails>;
  #status: Status;
  #reason: string | undefined;
  #endedAt: string | undefined;
  #waitsFor: WaitsFor | undefined;
  #reopened: number;
  #controls: number;
  #callsModel = false;

  constructor(
    declared: DeclaredRun,
    onChange: GraphRunListener,
    progress: RunProgress = newProgress(declared),
  ) {
    this.declared = declared;
    this.#onChange = onChange;
    this.#status = progress.status;
    this.#reason = progress.reason;
    this.#endedAt = progress.ended_at;
    this.#waitsFor = progress.waitsFor;
    this.#reopened = progress.reopened ?? 0;
    this.#controls = progress.controls ?? 0;
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

  /** The actions that a revision leaves as they are, and may depend on. */
  get kept(): ReadonlySet<string> {
    const states = [...this.#states.values()].filter(({ status }) => KEPT.has(status));
    return new Set(states.map(({ id }) => id));
  }

  get standing(): { readonly status: Status; readonly waitsFor?: WaitsFor | undefined } {
    return { status: this.#status, waitsFor: this.isOver ? undefined : this.#waitsFor };
  }

  /** Whether the model decides what comes next. */
  get callsModel(): boolean {
    return this.isOver || this.#callsModel || this.graph.isPlan;
  }

  /** How often it continued after its end. */
  get reopened(): number {
    return this.#reopened;
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  /** Counts a decision or a revision: its journal keeps them all. Throws where there were too many. */
  countControl(): void {
    if (this.#controls >= MOST_CONTROLS)
      throw new ProtocolError(
        "state",
        `the run ${this.id} was changed ${MOST_CONTROLS} times, which is the most`,
      );
    this.#controls += 1;
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
      states: this.#states,
      records: this.#details,
      endedAt: this.#endedAt,
    });
  }

  /** How it is stored. */
  get progress(): RunProgress {
    return {
      ...{ status: this.#status, reason: this.#reason, ended_at: this.#endedAt, waitsFor: this.#waitsFor },
      ...{ reopened: this.#reopened, controls: this.#controls },
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
    const isEnded = hasEnded(state.status);
    const known = this.details(state.id);
    this.#states.set(state.id, state);
    this.#details.set(state.id, {
      ...known,
      ...(state.status === "running" && known.startedAt === undefined && { startedAt: now }),
      endedAt: isEnded ? (known.endedAt ?? now) : undefined,
    });
    this.#onChange(this, state.id);
  }

  /** Takes how the run stands from the scheduler. */
  stand(change: Extract<RunChange, { readonly run: Status }>): void {
    if (this.isOver) return;
    this.#status = change.run;
    this.#waitsFor = change.waitsFor;
    this.#callsModel = change.callsModel;
    this.#onChange(this, undefined);
  }

  /** Shows why it makes no progress, and with `undefined` that it does again. */
  hold(reason: string | undefined): void {
    if (this.isOver || this.#reason === reason) return;
    this.#reason = reason;
    this.#onChange(this, undefined);
  }

  /** Takes the graph that a revision made. */
  revise(graph: Graph): void {
    if (graph.actions === this.graph.actions) return;
    this.declared = { ...this.declared, revised: graph };
    for (const { id } of graph.actions)
      if (!this.#states.has(id)) this.#states.set(id, { id, status: "pending", attempts: 0, iterations: 0 });
    this.#onChange(this, undefined);
  }

  /** Ends it. */
  end(status: Status, endedAt: string, reason?: string): void {
    if (this.isOver) return;
    this.#status = status;
    this.#reason = reason;
    this.#endedAt = endedAt;
    this.#waitsFor = undefined;
    this.#onChange(this, undefined);
  }

  /** Continues one that has ended. */
  reopen(): void {
    this.#reopened += 1;
    this.#status = "running";
    this.#reason = undefined;
    this.#endedAt = undefined;
    this.#callsModel = false;
    this.#onChange(this, undefined);
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
    actions: graph.actions.map(({ id }) => ({ id, status: "pending", attempts: 0, iterations: 0 })),
    details: [],
  };
}
