import { errorMessage } from "@reins/kit";
import type { RunScope } from "./engine.ts";
import type { Status } from "./grammar.ts";
import type { Graph, GraphAction } from "./graph.ts";

/** What an action produced. */
interface ActionOutput {
  /** The value that other actions refer to; JSON. */
  readonly output: unknown;
  readonly summary: string;
  readonly usage?: { readonly tokens?: number | undefined; readonly cost?: number | undefined } | undefined;
}

/** How one attempt at an action ended. */
export type Attempt =
  | ({ readonly kind: "completed" } & ActionOutput)
  | { readonly kind: "failed"; readonly reason: string; readonly output?: unknown }
  /** A verdict or a person denied it. */
  | { readonly kind: "blocked"; readonly reason: string };

/** How an action stands. */
export interface ActionState {
  readonly id: string;
  readonly status: Status;
  /** Why it is not completed. */
  readonly reason?: string | undefined;
  readonly attempts: number;
  readonly iterations: number;
  readonly result?: ActionOutput | undefined;
}

/** What a run came to; every action is accounted for, in the order of the graph. */
export interface RunResult {
  readonly status: Extract<Status, "completed" | "failed" | "canceled" | "blocked">;
  readonly reason?: string | undefined;
  readonly actions: readonly ActionState[];
}

/** One attempt that is to be made. */
export interface AttemptRequest {
  readonly run: string;
  readonly action: GraphAction;
  /** The same for the same attempt, also after a crash: an effect with it happens once. */
  readonly key: string;
  /** Aborts when the attempt is to end: it took too long, or the run was cancelled. */
  readonly signal: AbortSignal;
  /** What the actions of the run came to so far. */
  readonly states: ReadonlyMap<string, ActionState>;
  readonly iteration: number;
}

/** What a schedule needs of the runtime. */
export interface SchedulePorts {
  /** Governs and executes one attempt. Must not reject for what an executor does: that is a failed attempt. */
  readonly attempt: (request: AttemptRequest) => Promise<Attempt>;
  /** The resources that an action writes, the whole workspace as `*`; none for one that only reads. */
  readonly writesOf: (action: GraphAction) => readonly string[];
  /** Called with every change of an action or of the run. Must be quick, and must not throw. */
  readonly onChange?: (change: { readonly run: Status } | { readonly action: ActionState }) => void;
  /** The most actions that run at once. */
  readonly parallel: number;
}

/** What a model or a person changes in a run that is under way. */
export type Control =
  /** An answer to an action that failed or was blocked. */
  | { readonly kind: "decide"; readonly action: string; readonly decision: "retry" | "continue" | "abort" }
  /** Cancels some actions; without any, the engine cancels the whole run. */
  | { readonly kind: "cancel"; readonly actions: readonly string[]; readonly reason: string }
  /** Replaces the actions that have not begun. */
  | { readonly kind: "revise"; readonly graph: Graph };

/** The name under which the n-th control of a run is sent to it, counted from 1. */
export function controlName(n: number): string {
  return `control/${n}`;
}

/** What happens next in a run. The moves of a run are stored in their order, so that it takes the same course again. */
type Move =
  | { readonly kind: "start"; readonly action: string }
  | { readonly kind: "control" }
  /** Nothing more is started. */
  | { readonly kind: "close"; readonly reason: string };

/**
 * Runs a graph to its end. Each round makes one move: start an action whose turn has come, apply a control, or close;
 * where none is possible it waits for a change. It never rejects for what actions do, and accounts for every action.
 */
export async function runGraph(graph: Graph, scope: RunScope, ports: SchedulePorts): Promise<RunResult> {
  const schedule = new Schedule(graph, scope, ports);
  for (let moves = 0; ; ) {
    schedule.cancelImpossible();
    const possible = schedule.possibleMove();
    if (possible) {
      const move = await scope.choose(`move/${moves}`, possible);
      moves += 1;
      await schedule.make(move);
    } else if (schedule.isUnfinished) await schedule.changed();
    else return schedule.result();
  }
}

/** The state of one run; the methods are its transitions. */
class Schedule {
  readonly #scope: RunScope;
  readonly #ports: SchedulePorts;
  #graph: Graph;
  #actions: ReadonlyMap<string, GraphAction> = new Map();
  readonly #states = new Map<string, ActionState>();
  readonly #running = new Map<string, { readonly ended: Promise<void>; readonly cancel: AbortController }>();
  readonly #writing = new Map<string, readonly string[]>();
  /** Failed actions about which a decision is needed, and those whose failure was decided to be passed over. */
  readonly #undecided = new Set<string>();
  readonly #passedOver = new Set<string>();
  readonly #aborted: Promise<void>;
  readonly #expired = Promise.withResolvers<void>();
  #controls = 1;
  #control: Promise<void>;
  #arrived: unknown;
  #closed: string | undefined;
  #late = false;
  #calls = 0;
  #retries = 0;
  readonly #used = { tokens: 0, cost: 0 };

  constructor(graph: Graph, scope: RunScope, ports: SchedulePorts) {
    this.#scope = scope;
    this.#ports = ports;
    this.#graph = graph;
    this.#adopt(graph);
    this.#aborted = aborted(scope.signal);
    this.#control = this.#awaitControl();
    const { seconds } = graph.budget;
    if (seconds !== undefined) void scope.sleep("deadline", seconds * 1_000).then(() => this.#expire());
  }

  /** Whether something runs, or waits for a decision. */
  get isUnfinished(): boolean {
    return this.#running.size > 0 || (this.#undecided.size > 0 && this.#closed === undefined);
  }

  /** Cancels pending actions that can never run, because of how others ended. */
  cancelImpossible(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const action of this.#pending()) {
        const reason = this.#closed ?? this.#obstacle(action);
        if (reason === undefined) continue;
        this.#set(action.id, { status: "canceled", reason });
        changed = true;
      }
    }
  }

  possibleMove(): Move | undefined {
    if (this.#arrived !== undefined) return { kind: "control" };
    if (this.#closed !== undefined) return undefined;
    const reason = this.#reasonToClose();
    if (reason !== undefined) return { kind: "close", reason };
    const action = this.#firstReady()?.id;
    return action === undefined ? undefined : { kind: "start", action };
  }

  /** Makes a move. One that an earlier process made may have to wait for what came before it. */
  async make(move: Move): Promise<void> {
    switch (move.kind) {
      case "start": {
        const action = this.#actions.get(move.action);
        while (action && !this.#isReady(action) && this.#running.size > 0) await Promise.race(this.#ends());
        if (action) this.#start(action);
        return;
      }
      case "control":
        while (this.#arrived === undefined) await this.#control;
        await this.#decidable(this.#arrived as Control);
        return this.#apply(this.#arrived as Control);
      case "close":
        this.#closed = move.reason;
        this.#undecided.clear();
    }
  }

  /** Waits for something to happen: an action ends, a control arrives, the run is cancelled or late. */
  async changed(): Promise<void> {
    if (this.#running.size === 0) this.#ports.onChange?.({ run: "blocked" });
    const others = this.#closed === undefined ? [this.#control, this.#aborted, this.#expired.promise] : [];
    await Promise.race([...this.#ends(), ...others]);
  }

  result(): RunResult {
    const actions = this.#graph.actions.flatMap(({ id }) => this.#states.get(id) ?? []);
    const failed = actions.find(({ id, status }) => status === "failed" && !this.#isPassedOver(id));
    const blocked = actions.find(({ status }) => status === "blocked");
    if (this.#closed === CANCELED) return { status: "canceled", reason: CANCELED, actions };
    if (failed) return { status: "failed", reason: `${failed.id}: ${failed.reason}`, actions };
    if (this.#closed !== undefined) return { status: "failed", reason: this.#closed, actions };
    if (blocked) return { status: "blocked", reason: `${blocked.id}: ${blocked.reason}`, actions };
    return { status: "completed", actions };
  }

  /** Takes a graph: what has begun keeps its state, everything else is pending. */
  #adopt(graph: Graph): void {
    const begun = this.#graph.actions.filter(
      ({ id }) => (this.#states.get(id)?.status ?? "pending") !== "pending",
    );
    const kept = new Set(begun.map(({ id }) => id));
    const actions = [...begun, ...graph.actions.filter(({ id }) => !kept.has(id))];
    this.#graph = { ...graph, actions };
    this.#actions = new Map(actions.map((action) => [action.id, action]));
    for (const { id } of actions)
      if (!this.#states.has(id)) this.#states.set(id, { id, status: "pending", attempts: 0, iterations: 0 });
  }

  /** Waits for the end of the action that a decision is about: when a run is repeated, it may come before that. */
  async #decidable(control: Control): Promise<void> {
    if (control.kind === "decide") await this.#running.get(control.action)?.ended;
  }

  #apply(control: Control): void {
    this.#arrived = undefined;
    this.#controls += 1;
    this.#control = this.#awaitControl();
    switch (control.kind) {
      case "revise":
        this.#adopt(control.graph);
        return;
      case "cancel":
        for (const id of control.actions) this.#cancelAction(id, control.reason);
        return;
      case "decide":
        this.#decide(control.action, control.decision);
    }
  }

  #cancelAction(id: string, reason: string): void {
    this.#running.get(id)?.cancel.abort();
    this.#undecided.delete(id);
    if (this.#states.get(id)?.status === "pending") this.#set(id, { status: "canceled", reason });
  }

  #decide(id: string, decision: "retry" | "continue" | "abort"): void {
    const { status } = this.#states.get(id) ?? {};
    if (status !== "failed" && status !== "blocked") return;
    this.#undecided.delete(id);
    if (decision === "continue") this.#passedOver.add(id);
    if (decision !== "abort") this.#reopenBehind(id);
    if (decision === "retry") this.#set(id, { status: "pending", reason: undefined });
  }

  /** Makes actions pending again that were cancelled because of one that is decided about. */
  #reopenBehind(id: string): void {
    for (const action of this.#graph.actions) {
      const isBehind = action.dependsOn.includes(id) || action.when.some((one) => one.action === id);
      const state = this.#states.get(action.id);
      if (!isBehind || state?.status !== "canceled" || state.attempts > 0) continue;
      this.#set(action.id, { status: "pending", reason: undefined });
      this.#reopenBehind(action.id);
    }
  }

  async #awaitControl(): Promise<void> {
    this.#arrived = await this.#scope.receive(controlName(this.#controls));
  }

  /** Why nothing more may be started, as long as that matters. */
  #reasonToClose(): string | undefined {
    const isIdle = this.#pending().length === 0 && this.#undecided.size === 0;
    if (isIdle && this.#running.size === 0) return undefined;
    if (this.#scope.signal.aborted) return CANCELED;
    return isIdle && !this.#late ? undefined : this.#overBudget();
  }

  #expire(): void {
    this.#late = true;
    this.#expired.resolve();
    for (const { cancel } of this.#running.values()) cancel.abort();
  }

  #ends(): Promise<void>[] {
    return [...this.#running.values()].map(({ ended }) => ended);
  }

  #pending(): GraphAction[] {
    return this.#graph.actions.filter(({ id }) => this.#states.get(id)?.status === "pending");
  }

  #firstReady(): GraphAction | undefined {
    return this.#pending().find((action) => this.#isReady(action));
  }

  /** Whether an action may start now: everything before it has ended, and nothing that runs is in its way. */
  #isReady(action: GraphAction): boolean {
    const parallel = Math.min(this.#graph.budget.parallel ?? this.#ports.parallel, this.#ports.parallel);
    if (this.#running.size >= parallel) return false;
    const before = [...action.dependsOn, ...action.when.map((one) => one.action)];
    return before.every((id) => this.#hasEnded(id)) && !this.#conflicts(this.#ports.writesOf(action));
  }

  #hasEnded(id: string): boolean {
    const status = this.#states.get(id)?.status;
    const isOver =
      status === "completed" || status === "failed" || status === "canceled" || status === "blocked";
    return isOver && !this.#undecided.has(id);
  }

  /** Why an action can never run, because of how another one ended. */
  #obstacle({ dependsOn, when }: GraphAction): string | undefined {
    for (const { action, status } of when) {
      const is = this.#states.get(action)?.status;
      if (this.#hasEnded(action) && is !== status)
        return `it runs when ${action} is ${status}, which is ${is}`;
    }
    const named = new Set(when.map(({ action }) => action));
    for (const id of dependsOn) {
      if (named.has(id) || !this.#hasEnded(id)) continue;
      const { status = "pending" } = this.#states.get(id) ?? {};
      if (status !== "completed" && !(status === "failed" && this.#isPassedOver(id)))
        return `it depends on ${id}, which is ${status}`;
    }
    return undefined;
  }

  #isPassedOver(id: string): boolean {
    return this.#passedOver.has(id) || this.#actions.get(id)?.failure.on_failure === "continue";
  }

  #conflicts(writes: readonly string[]): boolean {
    return [...this.#writing.values()].some((others) =>
      others.some((one) => writes.some((two) => overlap(one, two))),
    );
  }

  #overBudget(): string | undefined {
    const { calls, tokens, cost, seconds } = this.#graph.budget;
    if (this.#late) return `the run has used its ${seconds} seconds`;
    if (calls !== undefined && this.#calls >= calls) return `the run has used its ${calls} calls`;
    if (tokens !== undefined && this.#used.tokens >= tokens) return `the run has used its ${tokens} tokens`;
    if (cost !== undefined && this.#used.cost >= cost) return `the run has used its budget of ${cost}`;
    return undefined;
  }

  #start(action: GraphAction): void {
    const cancel = new AbortController();
    this.#writing.set(action.id, this.#ports.writesOf(action));
    this.#set(action.id, { status: "running" });
    const ended = this.#execute(action, cancel)
      .catch((error: unknown): Partial<ActionState> => ({ status: "failed", reason: errorMessage(error) }))
      .then((end) => {
        this.#running.delete(action.id);
        this.#writing.delete(action.id);
        this.#set(action.id, end);
        if (
          end.status === "failed" &&
          action.failure.on_failure === "ask_model" &&
          this.#closed === undefined
        )
          this.#undecided.add(action.id);
      });
    this.#running.set(action.id, { ended, cancel });
  }

  /** All iterations of an action, each with its attempts. */
  async #execute(action: GraphAction, cancel: AbortController): Promise<Partial<ActionState>> {
    const most = action.loop?.max_iterations ?? 1;
    for (let iteration = 1; ; iteration += 1) {
      const end = await this.#attempts(action, iteration, cancel);
      const isOver = end.status === "blocked" || end.status === "canceled" || iteration >= most;
      if (isOver || isEnough(action, end)) return { ...end, iterations: iteration };
      this.#set(action.id, { iterations: iteration, result: end.result });
    }
  }

  async #attempts(
    action: GraphAction,
    iteration: number,
    cancel: AbortController,
  ): Promise<Partial<ActionState>> {
    const { max_attempts, backoff_ms } = action.failure;
    const { retries = Number.POSITIVE_INFINITY } = this.#graph.budget;
    for (let attempt = 1; ; attempt += 1) {
      const tried = (this.#states.get(action.id)?.attempts ?? 0) + 1;
      this.#set(action.id, { attempts: tried });
      const end = await this.#attempt(action, { iteration, tried, cancel });
      if (end.kind === "completed") {
        const { output, summary, usage } = end;
        this.#used.tokens += usage?.tokens ?? 0;
        this.#used.cost += usage?.cost ?? 0;
        return { status: "completed", reason: undefined, result: { output, summary, usage } };
      }
      const { kind: status, reason } = end;
      const mayRetry = attempt < max_attempts && this.#retries < retries && action.idempotency !== "once";
      if (status !== "failed" || !mayRetry) return { status, reason };
      this.#retries += 1;
      const wait = backoff_ms * 2 ** (attempt - 1);
      if (wait > 0)
        await Promise.race([this.#scope.sleep(`backoff/${action.id}/${tried}`, wait), this.#aborted]);
    }
  }

  async #attempt(
    action: GraphAction,
    { iteration, tried, cancel }: { iteration: number; tried: number; cancel: AbortController },
  ): Promise<Attempt | { readonly kind: "canceled"; readonly reason: string }> {
    const { run, signal } = this.#scope;
    this.#calls += 1;
    return this.#scope.step(`${action.id}/${tried}`, async (key) => {
      const over = signal.aborted ? CANCELED : tried > 1 ? this.#overBudget() : undefined;
      if (over !== undefined) return { kind: "canceled", reason: over };
      const { seconds } = action.budget ?? {};
      const ends = [
        cancel.signal,
        ...(action.onCancel === "finish" ? [] : [signal]),
        ...(seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1_000)]),
      ];
      const request = { run, action, key, states: this.#states, iteration, signal: AbortSignal.any(ends) };
      const end = await this.#ports.attempt(request);
      if (
        end.kind !== "completed" &&
        (cancel.signal.aborted || (signal.aborted && action.onCancel === "abort"))
      )
        return { kind: "canceled", reason: this.#late ? (this.#overBudget() ?? CANCELED) : CANCELED };
      return end;
    });
  }

  #set(id: string, change: Partial<ActionState>): void {
    const before = this.#states.get(id);
    if (!before) return;
    const action = { ...before, ...change };
    this.#states.set(id, action);
    this.#ports.onChange?.({ action });
  }
}

const CANCELED = "it was canceled";

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Whether a loop has come to what it waits for. */
function isEnough({ loop }: GraphAction, { status, result }: Partial<ActionState>): boolean {
  const until = loop?.until;
  if (!until) return status === "failed";
  if ("status" in until) return until.status === status;
  return status === "failed" || memberAt(result?.output, until.field.split(".")) === until.equals;
}

/** The member of a value at a path; `undefined` where there is none. */
function memberAt(value: unknown, path: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = Object.entries(found).find(([member]) => member === name)?.[1];
  }
  return found;
}

/** Whether two written resources may be the same: equal, one within the other, or the whole workspace. */
function overlap(one: string, two: string): boolean {
  return one === "*" || two === "*" || one === two || two.startsWith(`${one}/`) || one.startsWith(`${two}/`);
}
