import type { Status } from "../declaration/grammar.ts";
import type { GraphAction } from "../declaration/graph.ts";
import type { AgentReport } from "./assignment.ts";

/** What an action produced. */
export interface ActionOutput {
  /** The value that other actions refer to; JSON. */
  readonly output: unknown;
  readonly summary: string;
  /** What an agent reported beside it. */
  readonly report?: AgentReport | undefined;
}

/** How an action stands. */
export interface ActionState {
  readonly id: string;
  readonly status: Status;
  /** Why it is not completed. */
  readonly reason?: string | undefined;
  readonly attempts: number;
  readonly iterations: number;
  readonly result?: ActionOutput | undefined;
  /** What all its attempts used. */
  readonly usage?: { readonly tokens: number; readonly cost: number } | undefined;
}

/** Whether a status is an end. */
export function hasEnded(status: Status): boolean {
  return status === "completed" || status === "failed" || status === "canceled" || status === "blocked";
}

/**
 * How the actions of a run stand, and what follows from that: which are ready, and which can never run. An action is
 * ready when all others that it depends on, or has a condition on, have ended as it needs them to.
 */
export class GraphProgress {
  readonly states = new Map<string, ActionState>();
  /** Actions that may start, in the order in which they became ready. */
  readonly ready = new Set<string>();
  /** Failed actions about which a decision is needed; nothing behind them moves. */
  readonly undecided = new Set<string>();
  readonly #onChange: (state: ActionState) => void;
  readonly #actions = new Map<string, GraphAction>();
  readonly #followers = new Map<string, string[]>();
  /** How many actions each pending one waits for. */
  readonly #waitsFor = new Map<string, number>();
  /** Actions whose failure was decided to be passed over, and those that were canceled by name. */
  readonly #passedOver = new Set<string>();
  readonly #canceled = new Set<string>();

  constructor(actions: readonly GraphAction[], onChange: (state: ActionState) => void) {
    this.#onChange = onChange;
    this.adopt(actions);
  }

  /**
   * Takes actions in place of those that are neither running nor completed. Of these, one that is not named is canceled,
   * unless a new one depends on how it ended. Returns all actions there are now.
   */
  adopt(actions: readonly GraphAction[]): readonly GraphAction[] {
    const named = new Set(actions.map(({ id }) => id));
    const needed = new Set(actions.flatMap((action) => [...beforeIt(action)]));
    const kept: GraphAction[] = [];
    for (const action of this.#actions.values()) {
      const { status = "pending" } = this.states.get(action.id) ?? {};
      const isKept = status === "running" || status === "waiting" || status === "completed";
      if (isKept) named.delete(action.id);
      if (named.has(action.id)) continue;
      kept.push(action);
      if (!isKept && (status === "pending" || !needed.has(action.id))) this.#drop(action.id);
    }
    const taken = actions.filter(({ id }) => named.has(id));
    for (const action of taken) this.#take(action);
    this.#reckon();
    return [...kept, ...taken];
  }

  action(id: string): GraphAction | undefined {
    return this.#actions.get(id);
  }

  /** Changes a state that no other action depends on yet. */
  set(id: string, change: Partial<ActionState>): void {
    const before = this.states.get(id);
    if (!before) return;
    const state = { ...before, ...change };
    this.states.set(id, state);
    if (state.status !== "pending") this.ready.delete(id);
    this.#onChange(state);
  }

  /** Ends an action, and settles what follows from it. */
  end(id: string, end: Partial<ActionState>): void {
    this.set(id, end);
    this.#settle([id]);
  }

  /** Ends a failed action, but leaves open what follows until it is decided. */
  ask(id: string, end: Partial<ActionState>): void {
    this.undecided.add(id);
    this.set(id, end);
  }

  /** Cancels all that is pending or undecided. */
  cancelPending(reason: string): void {
    this.undecided.clear();
    for (const { id, status } of this.states.values())
      if (status === "pending") this.set(id, { status: "canceled", reason });
  }

  /** Cancels an action by name; false for one that runs, or has ended. */
  cancel(id: string, reason: string): boolean {
    if (this.undecided.delete(id)) this.#settle([id]);
    if (this.states.get(id)?.status !== "pending") return false;
    this.#canceled.add(id);
    this.end(id, { status: "canceled", reason });
    return true;
  }

  /** Applies a decision about an action that failed or was blocked. */
  decide(id: string, decision: "retry" | "continue" | "abort", after?: number): void {
    const { status, attempts } = this.states.get(id) ?? {};
    if ((status !== "failed" && status !== "blocked") || (after ?? attempts) !== attempts) return;
    this.#forget(id);
    if (decision === "continue") this.#passedOver.add(id);
    if (decision === "retry") this.set(id, { status: "pending", reason: undefined });
    if (decision !== "abort") this.#reopenBehind(id);
    this.#reckon();
  }

  /** Whether a failure is no obstacle to what depends on the action, nor to the run. */
  isPassedOver(id: string): boolean {
    const isContinued = this.#actions.get(id)?.failure.on_failure === "continue";
    return this.#passedOver.has(id) || (isContinued && this.states.get(id)?.status === "failed");
  }

  #take(action: GraphAction): void {
    const { id } = action;
    this.#actions.set(id, action);
    this.#forget(id);
    const { attempts = 0, usage } = this.states.get(id) ?? {};
    this.states.set(id, { id, status: "pending", attempts, iterations: 0, usage });
    if (attempts > 0) this.set(id, {});
  }

  #drop(id: string): void {
    this.#forget(id);
    this.#canceled.add(id);
    this.set(id, { status: "canceled", reason: "a revision replaced it" });
  }

  #forget(id: string): void {
    for (const ids of [this.undecided, this.#passedOver, this.#canceled]) ids.delete(id);
  }

  #reopenBehind(id: string): void {
    const ids = [id];
    // The list grows while it is walked.
    for (const one of ids)
      for (const follower of this.#followers.get(one) ?? []) {
        const state = this.states.get(follower);
        if (state?.status !== "canceled" || state.attempts > 0 || this.#canceled.has(follower)) continue;
        this.set(follower, { status: "pending", reason: undefined });
        ids.push(follower);
      }
  }

  /** Works out from scratch who waits for whom. */
  #reckon(): void {
    this.ready.clear();
    this.#followers.clear();
    this.#waitsFor.clear();
    for (const action of this.#actions.values()) {
      const before = beforeIt(action);
      for (const other of before) {
        const followers = this.#followers.get(other) ?? [];
        followers.push(action.id);
        this.#followers.set(other, followers);
      }
      if (this.states.get(action.id)?.status === "pending")
        this.#waitsFor.set(action.id, [...before].filter((other) => !this.#hasEnded(other)).length);
    }
    const impossible = [...this.#waitsFor.keys()].filter((id) => this.#settlePending(id));
    this.#settle(impossible);
  }

  /** Lets the actions behind some that have ended become ready, or cancels those that can no longer run. */
  #settle(ended: readonly string[]): void {
    const ids = [...ended];
    // The list grows while it is walked.
    for (const id of ids)
      for (const follower of this.#followers.get(id) ?? []) {
        const left = this.#waitsFor.get(follower);
        if (left === undefined || this.states.get(follower)?.status !== "pending") continue;
        this.#waitsFor.set(follower, left - 1);
        if (this.#settlePending(follower)) ids.push(follower);
      }
  }

  /** Marks a pending action as ready, or cancels it; true if it was canceled. */
  #settlePending(id: string): boolean {
    const reason = this.#obstacle(id);
    if (reason !== undefined) this.set(id, { status: "canceled", reason });
    else if (this.#waitsFor.get(id) === 0) this.ready.add(id);
    return reason !== undefined;
  }

  #hasEnded(id: string): boolean {
    const { status = "pending" } = this.states.get(id) ?? {};
    return hasEnded(status) && !this.undecided.has(id);
  }

  /** Why an action can never run, because of how another one ended. */
  #obstacle(id: string): string | undefined {
    const { dependsOn = [], when = [] } = this.#actions.get(id) ?? {};
    for (const { action, status } of when) {
      const is = this.states.get(action)?.status;
      if (this.#hasEnded(action) && is !== status)
        return `it runs when ${action} is ${status}, which is ${is}`;
    }
    for (const other of dependsOn) {
      if (!this.#hasEnded(other) || when.some(({ action }) => action === other)) continue;
      const { status } = this.states.get(other) ?? {};
      if (status !== "completed" && !this.isPassedOver(other))
        return `it depends on ${other}, which is ${status}`;
    }
    return undefined;
  }
}

/** The actions that one waits for. */
function beforeIt({ dependsOn, when }: GraphAction): ReadonlySet<string> {
  return new Set([...dependsOn, ...when.map(({ action }) => action)]);
}
