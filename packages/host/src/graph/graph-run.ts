import {
  type ActionRecord,
  type ActionState,
  actionOfGraph,
  type Graph,
  type GraphAction,
  hasEnded,
  MOST_ACTIONS,
  type ProjectedControl,
  type ProjectedRun,
  ProtocolError,
  projectRun,
  type RunRecord,
  type RunStanding,
  type Status,
  type WaitsFor,
} from "@reins/graph";
import type { Principal } from "@reins/supervisor";
import { AttemptChildren } from "./agent-executors.ts";
import type { SealedArtifact } from "./sealed-artifacts.ts";

/** The most decisions and revisions of a run. */
const MOST_CONTROLS = 200;
const KEPT: ReadonlySet<Status> = new Set(["running", "waiting", "completed"]);

/** What a run was started with, and what was changed in it since. Stored as it is. */
export interface DeclaredRun {
  readonly run_id: string;
  readonly tenant: string;
  readonly session: string;
  /** The chain of its session in the ledger. */
  readonly chain?: string | undefined;
  /** The principal of the session, as it was then; looked up anew for every action. */
  readonly principal: Principal;
  readonly graph: Graph;
  /** The graph as revisions left it. */
  readonly revised?: Graph | undefined;
  /** What the model wrote. */
  readonly declaration: string;
  /** What was changed since, each under its number in the journal; a cancel of the run is the last, and has none. */
  readonly controls?: readonly (ProjectedControl & { readonly number?: number | undefined })[] | undefined;
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
  /** The output that this one took the place of: it is there until this one is stored. */
  readonly replaced?: SealedArtifact | undefined;
  /** The newest attempt that clients were shown. */
  readonly card?: string | undefined;
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

/**
 * Where a run is in its life.
 * - `open`: it goes on, or is about to begin.
 * - `ending`: its end is being stored; it is shown once that is.
 * - `over`: it has ended.
 * - `reopening`: that it continues is being stored.
 * - `forgotten`: it is being deleted, with what it stored.
 */
type RunPhase = "open" | "ending" | "over" | "reopening" | "forgotten";

/** The phases that may follow each. Whatever changes a run takes one of these steps, or finds that it cannot. */
const NEXT: Readonly<Record<RunPhase, readonly RunPhase[]>> = {
  open: ["ending"],
  ending: ["over"],
  over: ["reopening", "forgotten"],
  reopening: ["open", "over"],
  forgotten: ["over"],
};

/** How a run ended. */
interface RunEnd {
  readonly status: Status;
  readonly endedAt: string;
  readonly reason?: string | undefined;
}

/** What changed in a run: an action, or the run itself. */
export type GraphRunListener = (run: GraphRun, action: string | undefined) => void;

/** A run of a graph, and how it stands now. */
export class GraphRun {
  declared: DeclaredRun;
  /** The entries of what was decided and done in it, and what is still being written. */
  readonly writing = new Set<Promise<unknown>>();
  readonly children = new AttemptChildren();
  /** The digests of outputs that were announced, whether or not they came to be its own. */
  readonly outputs = new Set<string>();
  readonly #onChange: GraphRunListener;
  readonly #states: Map<string, ActionState>;
  /** Its actions, and those of revisions that are on their way. */
  readonly #ids: Set<string>;
  readonly #details: Map<string, ActionDetails>;
  #phase: RunPhase;
  /** How it stands while it is not over, and how it ended last. */
  #stands: Omit<RunStanding, "run"> & { readonly run: Status };
  #reason: string | undefined;
  #end: RunEnd | undefined;
  #reopened: number;
  #controls: number;

  constructor(
    declared: DeclaredRun,
    onChange: GraphRunListener,
    progress: RunProgress = newProgress(declared),
  ) {
    this.declared = declared;
    this.#onChange = onChange;
    const { status, reason, ended_at: endedAt, waitsFor } = progress;
    this.#stands = { run: status, waitsFor, callsModel: false };
    this.#reason = reason;
    this.#end = endedAt === undefined ? undefined : { status, reason, endedAt };
    this.#phase = this.#end ? "over" : "open";
    this.#reopened = progress.reopened ?? 0;
    this.#controls = progress.controls ?? 0;
    this.#states = new Map(progress.actions.map((state) => [state.id, state]));
    this.#details = new Map(progress.details);
    this.#ids = new Set(this.graph.actions.map(({ id }) => id));
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
    return this.#phase !== "open" && this.#phase !== "ending";
  }

  /** How it ended, if it is over. */
  get ended(): RunEnd | undefined {
    return this.isOver ? this.#end : undefined;
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
    const { run: status, waitsFor } = this.#stands;
    return this.ended ? { status: this.ended.status } : { status, waitsFor };
  }

  /** Whether the model decides what comes next. */
  get callsModel(): boolean {
    return this.isOver || this.#stands.callsModel || this.graph.isPlan;
  }

  /** The actions that the model decides about before anything more runs. */
  get undecided(): readonly string[] {
    return this.isOver ? [] : (this.#stands.undecided ?? []);
  }

  /** How often it continued after its end. */
  get reopened(): number {
    return this.#reopened;
  }

  get reason(): string | undefined {
    return this.ended ? this.ended.reason : this.#reason;
  }

  /**
   * Counts a decision or a revision, until what is returned is called: its journal keeps them all. Throws where there were
   * too many.
   */
  countControl(): () => void {
    if (this.#controls >= MOST_CONTROLS)
      throw new ProtocolError(
        "state",
        `the run ${this.id} was changed ${MOST_CONTROLS} times, which is the most`,
      );
    this.#controls += 1;
    return () => {
      this.#controls -= 1;
    };
  }

  /** Counts the actions of a revision. Throws where the run would have too many. */
  countActions(actions: readonly GraphAction[]): void {
    const ids = new Set([...this.#ids, ...actions.map(({ id }) => id)]);
    if (ids.size > MOST_ACTIONS)
      throw new ProtocolError("graph", `with this revision the run has more than ${MOST_ACTIONS} actions`);
    for (const id of ids) this.#ids.add(id);
  }

  action(id: string): GraphAction | undefined {
    return actionOfGraph(this.graph, id);
  }

  details(id: string): ActionDetails {
    return this.#details.get(id) ?? {};
  }

  /** The outputs that it refers to, also of actions that a revision replaced. */
  get artifacts(): readonly SealedArtifact[] {
    return [...this.#details.values()].flatMap(({ artifact: one = [], replaced: two = [] }) =>
      [one, two].flat(),
    );
  }

  /** The run as people see it. */
  project(): ProjectedRun {
    const { run_id: run, session, started_at: startedAt, carrier, declaration, violations } = this.declared;
    return projectRun({
      ...{ run, session, startedAt, carrier, declaration, violations },
      controls: this.declared.controls?.map(({ number: _, ...control }) => control),
      ...this.standing,
      graph: this.graph,
      reason: this.reason,
      states: this.#states,
      records: this.#details,
      endedAt: this.ended?.endedAt,
    });
  }

  /** How it is stored: as it will be once what is being stored is. */
  get progress(): RunProgress {
    const end = this.#phase === "open" || this.#phase === "reopening" ? undefined : this.#end;
    const { status, reason, endedAt } = end ?? { status: this.#stands.run, reason: this.#reason };
    return {
      ...{ status, reason, ended_at: endedAt, waitsFor: end ? undefined : this.#stands.waitsFor },
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
  stand(change: RunStanding): void {
    if (this.#phase !== "open") return;
    this.#stands = change;
    this.#onChange(this, undefined);
  }

  /** Shows why it makes no progress, and with `undefined` that it does again. */
  hold(reason: string | undefined): void {
    if (this.isOver || this.#reason === reason) return;
    this.#reason = reason;
    this.#onChange(this, undefined);
  }

  /** Takes what was changed in it, once that is stored: a control of a number once. */
  control(control: ProjectedControl, number: number | undefined): void {
    const { controls = [] } = this.declared;
    if (controls.some((known) => known.number === number)) return;
    const all = [...controls, { ...control, number }];
    const placeOf = ({ number: one = Number.MAX_SAFE_INTEGER }: (typeof all)[number]) => one;
    all.sort((one, two) => placeOf(one) - placeOf(two));
    this.declared = { ...this.declared, controls: all };
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

  /** Ends it where nothing has to be stored first. */
  end(end: RunEnd): void {
    if (!this.begins("ending")) return;
    this.ending(end);
    this.over();
  }

  /** Takes the end that is about to be stored. */
  ending(end: RunEnd): void {
    this.#enter("ending");
    this.#end = end;
  }

  /** Shows its end, or that it stays ended. */
  over(): void {
    if (this.#phase === "reopening") this.#reopened -= 1;
    this.#enter("over");
    this.#onChange(this, undefined);
  }

  /** Prepares to continue one that failed or is blocked. Throws for another, and for one that is being forgotten. */
  reopening(): void {
    const status = this.ended?.status;
    if (!this.begins("reopening") || (status !== "failed" && status !== "blocked"))
      throw new ProtocolError("state", `the run ${this.id} is over`);
    this.#enter("reopening");
    this.#reopened += 1;
    this.#reason = undefined;
    this.#stands = { run: "running", callsModel: false };
  }

  /** Shows that it continues. */
  open(): void {
    this.#enter("open");
    this.#onChange(this, undefined);
  }

  /** Prepares to be forgotten; false for one that is not over. */
  forget(): boolean {
    if (!this.begins("forgotten")) return false;
    this.#enter("forgotten");
    return true;
  }

  /** Whether a change of its phase is being stored, which stores everything else with it. */
  get isChanging(): boolean {
    return this.#phase === "ending" || this.#phase === "reopening";
  }

  /** Whether a phase may come next. */
  begins(phase: RunPhase): boolean {
    return NEXT[this.#phase].includes(phase);
  }

  #enter(phase: RunPhase): void {
    if (!this.begins(phase))
      throw new Error(`the run ${this.id} is ${this.#phase}, after which it is never ${phase}`);
    this.#phase = phase;
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
