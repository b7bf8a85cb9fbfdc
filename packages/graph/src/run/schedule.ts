import { writesConflict } from "../declaration/conflicts.ts";
import type { Graph, GraphAction } from "../declaration/graph.ts";
import type { RunScope } from "../engine/engine.ts";
import { type BudgetShare, leftOf, overBudget, RunSpending, stricterBudget } from "./budget.ts";
import {
  type AttemptOutcome,
  attempted,
  endOf,
  following,
  type LiveAttempts,
  stopAttempts,
  stoppedBy,
} from "./outcome.ts";
import { type ActionState, GraphProgress } from "./progress.ts";
import {
  type AttemptUsage,
  CONTROL,
  type Control,
  type RunChange,
  type RunResult,
  type SchedulePorts,
  standingOf,
} from "./schedule-ports.ts";

/** What a run reacts to. The events are stored in their order, so that after a crash it takes the same course again. */
type ScheduleEvent =
  /** An attempt at an action has ended. */
  | { readonly kind: "attempted"; readonly action: string }
  | { readonly kind: "control" }
  /** The run was cancelled, or is late. */
  | { readonly kind: "close"; readonly reason: string };

/**
 * Runs a graph to its end. Each round starts all actions whose turn has come, and then reacts to the next event: an
 * attempt ended, a control arrived, the run was cancelled or is late. What it does follows from the graph and the events
 * alone. It never rejects for what actions do, and accounts for every action.
 */
export async function runGraph(graph: Graph, scope: RunScope, ports: SchedulePorts): Promise<RunResult> {
  const schedule = new Schedule(graph, scope, ports);
  if (graph.isPlan) return { status: "completed", actions: schedule.states };
  for (let events = 0; ; events += 1) {
    schedule.startReady();
    if (schedule.isOver) return schedule.result();
    // No id of an action has a colon: the name of a step never is that of an event.
    const event = await scope.choose(`event:${events}`, () => schedule.nextEvent());
    await schedule.react(event);
  }
}

/** An action that is being executed: an attempt in one of its iterations. */
interface Running {
  readonly action: GraphAction;
  readonly writes: readonly string[];
  readonly iteration: number;
  readonly attempt: number;
  readonly live: LiveAttempts;
  readonly outcome: Promise<AttemptOutcome>;
}

const CANCELED = "it was canceled";

/** The state of one run; the methods are its transitions. */
class Schedule {
  readonly #scope: RunScope;
  readonly #ports: SchedulePorts;
  readonly #progress: GraphProgress;
  #graph: Graph;
  readonly #running = new Map<string, Running>();
  /** Actions whose attempt has ended, in that order, until the run reacts to it. */
  readonly #attempted = new Set<string>();
  /** Resolves once all events of an earlier process were replayed; nothing is executed or reported before. */
  readonly #replayed = Promise.withResolvers<void>();
  #isReplaying = true;
  /** Whether it is woken by the next control. */
  #awaitsControl = false;
  #woken = Promise.withResolvers<void>();
  readonly #over = new AbortController();
  readonly #writes = new Map<string, readonly string[]>();
  #revisions = 0;
  /** How it stood when that was last reported. */
  #standing: string | undefined;
  #closed: string | undefined;
  #late: string | undefined;
  readonly #spending: RunSpending;

  constructor(graph: Graph, scope: RunScope, ports: SchedulePorts) {
    this.#scope = scope;
    this.#ports = ports;
    this.#graph = graph;
    this.#spending = new RunSpending(graph.budget, ports.calls);
    this.#progress = new GraphProgress(graph.actions, (action) => this.#report({ action }));
    scope.signal.addEventListener("abort", () => this.#wake(), { signal: this.#over.signal });
    this.#setDeadline("deadline");
  }

  get states(): readonly ActionState[] {
    return this.#graph.actions.flatMap(({ id }) => this.#progress.states.get(id) ?? []);
  }

  /** Whether nothing runs, and nothing that is there changes that. */
  get isOver(): boolean {
    if (this.#running.size > 0) return false;
    return this.#closed !== undefined || (this.#progress.undecided.size === 0 && !this.#controlIsThere);
  }

  get #controlIsThere(): boolean {
    return this.#scope.hasReceived(CONTROL);
  }

  /** Starts everything that may start now, in the order in which it became ready. */
  startReady(): void {
    const parallel = Math.min(this.#graph.budget.parallel ?? this.#ports.parallel, this.#ports.parallel);
    for (const id of this.#progress.ready) {
      if (this.#running.size >= parallel) return;
      const { over } = this.#spending;
      if (over !== undefined) {
        this.#close(`the run has used its ${over}`);
        return;
      }
      const action = this.#progress.action(id);
      if (action && !this.#conflicts(action)) this.#launch(action, { iteration: 1, attempt: 1 });
    }
  }

  /** Waits for what happens next, now that nothing is left to be replayed. */
  async nextEvent(): Promise<ScheduleEvent> {
    this.#endReplay();
    for (;;) {
      const reason = this.#scope.signal.aborted ? CANCELED : this.#late;
      if (reason !== undefined && this.#closed !== CANCELED && this.#closed !== reason)
        return { kind: "close", reason };
      if (this.#closed === undefined && this.#controlIsThere) return { kind: "control" };
      const [action] = this.#attempted;
      if (action !== undefined) return { kind: "attempted", action };
      this.#reportStanding();
      this.#awaitControl();
      await this.#woken.promise;
      this.#woken = Promise.withResolvers();
    }
  }

  /** Reacts to an event. One that an earlier process reacted to may have to be waited for. */
  async react(event: ScheduleEvent): Promise<void> {
    switch (event.kind) {
      case "attempted": {
        const action = this.#progress.action(event.action);
        if (!action) throw new Error(`the journal of the run does not fit its graph: ${event.action}`);
        const running = this.#running.get(action.id) ?? this.#launch(action, { iteration: 1, attempt: 1 });
        const outcome = await running.outcome;
        this.#attempted.delete(action.id);
        return this.#conclude(running, outcome);
      }
      case "control":
        // Controls are sent by `sendControl` alone.
        return this.#apply((await this.#scope.receive(CONTROL)) as Control);
      case "close":
        this.#close(event.reason);
        for (const running of this.#running.values()) this.#stop(running, event.reason);
    }
  }

  result(): RunResult {
    this.#endReplay();
    this.#over.abort();
    const actions = this.states;
    const open = actions.filter(({ id }) => !this.#progress.isPassedOver(id));
    const failed = open.find(({ status }) => status === "failed");
    const blocked = open.find(({ status }) => status === "blocked");
    if (this.#closed === CANCELED) return { status: "canceled", reason: CANCELED, actions };
    if (failed) return { status: "failed", reason: `${failed.id}: ${failed.reason}`, actions };
    if (this.#closed !== undefined) return { status: "failed", reason: this.#closed, actions };
    if (blocked) return { status: "blocked", reason: `${blocked.id}: ${blocked.reason}`, actions };
    return { status: "completed", actions };
  }

  #apply(control: Control): void {
    switch (control.kind) {
      case "revise":
        this.#revise(control.graph);
        return;
      case "cancel":
        for (const id of control.actions)
          if (!this.#progress.cancel(id, control.reason)) this.#stop(this.#running.get(id), control.reason);
        return;
      case "decide":
        this.#progress.decide(control.action, control.decision, control.attempts);
    }
  }

  /** Takes the actions of a revision in place of the unfinished ones. Its limits count where they are stricter. */
  #revise(revision: Graph): void {
    const { budget, title, note, sections } = this.#graph;
    const replaced = new Set(revision.sections.map(({ id }) => id));
    this.#graph = {
      ...this.#graph,
      actions: this.#progress.adopt(revision.actions),
      budget: stricterBudget(budget, revision.budget),
      sections: [...sections.filter(({ id }) => !replaced.has(id)), ...revision.sections],
      title: revision.title === "" ? title : revision.title,
      note: revision.note ?? note,
    };
    this.#spending.revise(this.#graph.budget);
    this.#writes.clear();
    this.#revisions += 1;
    this.#report({ graph: this.#graph });
    if (this.#graph.budget.seconds !== budget.seconds) this.#setDeadline(`deadline-${this.#revisions}`);
  }

  #close(reason: string): void {
    this.#closed = reason;
    this.#progress.cancelPending(reason);
  }

  /** Makes no other attempt at an action, and ends this one unless it does something that a cancel is to let finish. */
  #stop(running: Running | undefined, reason: string): void {
    if (!running) return;
    const { action, live } = running;
    live.lastBecause = reason;
    const mayFinish = action.onCancel === "finish" && reason !== this.#late && live.waitsFor === undefined;
    if (!mayFinish) stopAttempts(live, "canceled", reason);
  }

  #conflicts(action: GraphAction): boolean {
    return [...this.#running.values()].some(({ writes }) => writesConflict(writes, this.#writesOf(action)));
  }

  #writesOf(action: GraphAction): readonly string[] {
    const writes = this.#writes.get(action.id) ?? this.#ports.writesOf(action);
    this.#writes.set(action.id, writes);
    return writes;
  }

  /** Makes an attempt at an action. Its outcome is an event to react to. */
  #launch(
    action: GraphAction,
    {
      iteration,
      attempt,
      delay = 0,
      live = { abort: new AbortController() },
    }: { iteration: number; attempt: number; delay?: number; live?: LiveAttempts },
  ): Running {
    const { id } = action;
    const number = (this.#progress.states.get(id)?.attempts ?? 0) + 1;
    this.#spending.countCall();
    live.waitsFor = undefined;
    const outcome = this.#attempt(action, { live, number, iteration, delay });
    const running = { action, iteration, attempt, live, outcome, writes: this.#writesOf(action) };
    this.#running.set(id, running);
    this.#progress.set(id, { status: "running", reason: undefined, attempts: number });
    void outcome.then(() => {
      this.#attempted.add(id);
      this.#wake();
    });
    const { seconds } = action.budget ?? {};
    if (seconds !== undefined && iteration === 1 && attempt === 1)
      void this.#scope.sleep(`deadline/${id}/${number}`, seconds * 1_000, live.abort.signal).then(() => {
        if (!live.abort.signal.aborted) stopAttempts(live, "failed", `it has used its ${seconds} seconds`);
      });
    return running;
  }

  async #attempt(
    action: GraphAction,
    {
      live,
      number,
      iteration,
      delay,
    }: { live: LiveAttempts; number: number; iteration: number; delay: number },
  ): Promise<AttemptOutcome> {
    const { run, signal: canceled } = this.#scope;
    const { signal } = live.abort;
    if (delay > 0) await this.#scope.sleep(`backoff/${action.id}/${number}`, delay, signal);
    return this.#scope.step(`${action.id}/${number}`, async (key): Promise<AttemptOutcome> => {
      await this.#replayed.promise;
      const before = live.lastBecause ?? (canceled.aborted ? CANCELED : undefined);
      if (live.stop) return live.stop;
      if (before !== undefined) return { kind: "stopped", status: "canceled", reason: before };
      const waits = (waitsFor: LiveAttempts["waitsFor"]) => this.#wait(action.id, live, waitsFor);
      const { states } = this.#progress;
      const takeShare = ({ waits: mayWait } = { waits: true }) => this.#takeShare(action, signal, mayWait);
      const request = { run, action, key, signal, states, iteration, takeShare, waits };
      const outcome = await attempted(this.#ports, request);
      if (outcome.kind === "completed") return outcome;
      // The cancel of the run comes as an event, perhaps after this.
      if (canceled.aborted) this.#stop(this.#running.get(action.id), CANCELED);
      return stoppedBy(live.stop, outcome);
    });
  }

  #takeShare({ id, budget = {} }: GraphAction, signal: AbortSignal, waits: boolean): Promise<BudgetShare> {
    const { usesTokens = () => true } = this.#ports;
    const ofAction = leftOf(budget, this.#progress.states.get(id)?.usage ?? { tokens: 0, cost: 0 });
    const mayTake = ({ action }: Running) => !this.#spending.holds(action.id) && usesTokens(action);
    const takers = () => [...this.#running.values()].filter(mayTake).length;
    return this.#spending.take(id, { takers, ofAction, signal, waits });
  }

  #wait(id: string, live: LiveAttempts, waitsFor: LiveAttempts["waitsFor"]): void {
    if (this.#running.get(id)?.live !== live || live.waitsFor === waitsFor) return;
    live.waitsFor = waitsFor;
    this.#progress.set(id, { status: waitsFor ? "waiting" : "running" });
    this.#wake();
  }

  /** Tries again, goes on to the next iteration, or ends the action. */
  #conclude({ action, iteration, attempt, live }: Running, outcome: AttemptOutcome): void {
    const { id, failure } = action;
    const obstacle = this.#spend(action, outcome.usage) ?? this.#closed ?? live.lastBecause;
    const next = following(action, { attempt, iteration }, outcome);
    if (next.kind === "retry" && obstacle === undefined && this.#spending.mayRetry) {
      this.#spending.countRetry();
      this.#launch(action, { iteration, attempt: attempt + 1, delay: next.delay, live });
      return;
    }
    const end = endOf(outcome);
    if (next.kind === "iterate" && obstacle === undefined) {
      this.#progress.set(id, { iterations: iteration, ...end, status: "running" });
      this.#launch(action, { iteration: iteration + 1, attempt: 1, live });
      return;
    }
    this.#running.delete(id);
    if (action.budget?.seconds !== undefined) live.abort.abort("it is over");
    const isCutShort = next.kind === "iterate" && end.status === "completed";
    const state: Partial<ActionState> = {
      ...{ iterations: iteration, ...end },
      ...(isCutShort && { status: "canceled", reason: obstacle }),
    };
    const isAsked = state.status === "failed" && failure.on_failure === "ask_model";
    if (isAsked && this.#closed === undefined && live.lastBecause === undefined)
      this.#progress.ask(id, state);
    else this.#progress.end(id, state);
  }

  /** Counts what an attempt used; returns which budget that used up. */
  #spend({ id, budget = {} }: GraphAction, { tokens = 0, cost = 0 }: AttemptUsage = {}): string | undefined {
    this.#spending.spend(id, { tokens, cost });
    const { attempts: calls = 0, usage } = this.#progress.states.get(id) ?? {};
    const total = { tokens: (usage?.tokens ?? 0) + tokens, cost: (usage?.cost ?? 0) + cost };
    this.#progress.set(id, { usage: total });
    const { over } = this.#spending;
    if (over !== undefined) return `the run has used its ${over}`;
    const own = overBudget(budget, { ...total, calls });
    return own === undefined ? undefined : `it has used its ${own}`;
  }

  #awaitControl(): void {
    // One that is there already would wake it over and over.
    if (this.#awaitsControl || this.#closed !== undefined) return;
    this.#awaitsControl = true;
    void this.#scope.available(CONTROL).then(() => {
      this.#awaitsControl = false;
      this.#wake();
    });
  }

  #setDeadline(name: string): void {
    const { seconds } = this.#graph.budget;
    if (seconds === undefined) return;
    void this.#scope.sleep(name, seconds * 1_000, this.#over.signal).then(() => {
      this.#late = `the run has used its ${seconds} seconds`;
      this.#wake();
    });
  }

  #wake(): void {
    this.#woken.resolve();
  }

  #endReplay(): void {
    if (!this.#isReplaying) return;
    this.#isReplaying = false;
    this.#replayed.resolve();
    this.#report({ graph: this.#graph });
    for (const action of this.states) if (action.status !== "pending") this.#report({ action });
  }

  #report(change: RunChange): void {
    if (!this.#isReplaying) this.#ports.onChange?.(change);
  }

  /** Reports when the run goes on by itself, and when it waits for a person or for the model. */
  #reportStanding(): void {
    const waiting = [...this.#running.values()].map(({ live }) => live.waitsFor);
    const undecided = [...this.#progress.undecided];
    const standing = standingOf(waiting, undecided.length > 0, this.#graph.whileWaiting);
    const said = JSON.stringify([standing, undecided]);
    if (said === this.#standing) return;
    this.#standing = said;
    this.#report({ ...standing, ...(undecided.length > 0 && { undecided }) });
  }
}
