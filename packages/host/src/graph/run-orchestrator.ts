import {
  type AttemptRequest,
  type Control,
  type ControlOrigin,
  type EngineEnd,
  hasEnded,
  ProtocolError,
  type RunResult,
  type RunScope,
  runGraph,
  sendControl,
} from "@reins/graph";
import { errorMessage, isRecord, settlesWithin } from "@reins/kit";
import { type Harness, SupervisorError } from "@reins/supervisor";
import type { Summarize } from "./agent-executors.ts";
import type { ActionCall, PerformedAction } from "./executor.ts";
import { type GraphRun, runKey } from "./graph-run.ts";
import { allowedName, attemptAction, type EarlierAttempt, performedName } from "./perform-action.ts";
import { type ActionPreparation, childrenIn } from "./prepare-action.ts";
import { RecordedJournal, type RunTransition, recall } from "./recorded-journal.ts";
import { type OpenDurableEngine, RunEngines } from "./run-engines.ts";
import type { RunStore } from "./run-store.ts";
import type { SealedArtifact, SealedArtifacts } from "./sealed-artifacts.ts";
import type { RunDisplay } from "./show-run.ts";

interface RunKey {
  readonly tenant: string;
  readonly run: string;
}

export interface RunOrchestratorOptions {
  readonly harness: Harness;
  readonly store: RunStore;
  readonly preparation: ActionPreparation;
  readonly display: RunDisplay;
  readonly artifacts: SealedArtifacts;
  readonly summarize?: Summarize | undefined;
  /** The most actions of a run that are executed at once. */
  readonly parallel?: number | undefined;
  /** The most attempts of a run, whatever its own budget is. */
  readonly calls?: number | undefined;
  /** Opens what carries durable runs; without one the embedded engine does. */
  readonly openDurable?: OpenDurableEngine | undefined;
  /** Called before a run begins or continues; what it returns, when it is over. */
  readonly register: (run: GraphRun) => Promise<() => void>;
  /**
   * Ends the child sessions that a run left open in an earlier process, by their keys, and records that the outcome of what
   * it was allowed there is unknown, where none is recorded.
   */
  readonly settleEarlier: (run: GraphRun, children: readonly string[]) => Promise<void>;
  /** Called when a run is over, and what it held can be released. */
  readonly onOver: (run: GraphRun) => Promise<void>;
  /** Resolves when {@link RunOrchestrator.cancel} was called for whatever an order has ended so far. */
  readonly caughtUpWithKills: () => Promise<void>;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** The most actions of a run that are executed at once. */
const PARALLEL = 8;
/** The most attempts of a run, where the operator says nothing else. */
const MOST_CALLS = 10_000;
/** How long effects that are under way may take when Reins stops. */
const GRACE_MS = 2_000;
/** The most characters that the results of all attempts of a run have together: its journal keeps them until it is over. */
const MOST_KEPT = 32 << 20;

/** Has runs scheduled by the embedded engine, and each attempt decided, performed and recorded. */
export class RunOrchestrator {
  readonly #options: RunOrchestratorOptions;
  readonly #journal: RecordedJournal<RunKey, RunResult>;
  readonly #engines: RunEngines<RunKey, RunResult>;
  readonly #stop = new AbortController();
  /** Effects that are under way. */
  readonly #performing = new Set<Promise<unknown>>();
  /** Runs that are about to begin. What changes one waits for that: none begins after its cancel. */
  readonly #beginning = new Map<string, Promise<unknown>>();
  /** The runs that are registered: all that are under way, also those that are about to be. */
  readonly #registered = new Map<GraphRun, () => void>();

  constructor(options: RunOrchestratorOptions) {
    this.#options = options;
    const { harness, store, openDurable, onError } = options;
    const onWait = (run: string, reason: string | undefined) => store.active.get(run)?.hold(reason);
    const isDurable = (run: string) => store.active.get(run)?.graph.isDurable ?? true;
    const journal = new RecordedJournal<RunKey, RunResult>({
      ...{ harness, stopping: this.#stop.signal, onWait, isDurable },
      ending: (run, end) => this.#ending(run, end),
      reopening: (run) => this.#reopening(run),
      onControl: (run, ...control) => (store.active.get(run) ?? store.pinned(run))?.control(...control),
    });
    const orchestrate = (key: RunKey, scope: RunScope) => this.#orchestrate(key, scope);
    this.#journal = journal;
    const isNode = harness.store.node !== undefined;
    const parts = { orchestrate, journal, seal: harness.vault, origin: harness.ledger.origin };
    this.#engines = new RunEngines({ ...parts, openDurable, isNode, isOwn: isDurable, onWait, onError });
  }

  /** Why durable runs wait; `undefined` while nothing is known to hold them. */
  get outage(): string | undefined {
    return this.#engines.outage;
  }

  /** Aborts when Reins stops. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** Continues the durable runs of an earlier process, of a tenant if one is named; others have failed with it. */
  async resume(tenant?: string): Promise<void> {
    const left = await this.#unfinished(tenant);
    for (const run of left) this.#options.store.active.set(run.key, run);
    // A process that ended before it wrote the journal of a run began nothing of it.
    for (const { key, id: run, declared } of left)
      await this.#journal.create(key, { tenant: declared.tenant, run });
    await this.#engines.resume(left, tenant);
  }

  /** Has the runs of a tenant carried here no more, of which none is under way. */
  release(tenant: string): Promise<void> {
    return this.#engines.release(tenant);
  }

  /** Runs a graph that was validated, once it is stored and shown. One that is stored and cannot begin has failed. */
  async start(run: GraphRun, create: () => Promise<void>, show: () => Promise<void>): Promise<void> {
    const { key } = run;
    const beginning = this.#begin(run, create, show);
    // Of several that are to have the same id, all but one are refused.
    const all = Promise.allSettled([this.#beginning.get(key), beginning]).then(() => {
      if (this.#beginning.get(key) === all) this.#beginning.delete(key);
    });
    this.#beginning.set(key, all);
    return beginning;
  }

  /** The runs that are under way, or about to be. */
  get underWay(): readonly GraphRun[] {
    return [...this.#registered.keys()];
  }

  /** Cancels a run; resolves when it is over. One that is about to be ends as it does. */
  async cancel(run: GraphRun, origin: ControlOrigin): Promise<GraphRun> {
    await this.#beginning.get(run.key);
    const current = this.#options.store.active.get(run.key) ?? run;
    const engine = await this.#engines.of(current);
    await this.#journal.cancelingBy(run.key, origin, () => engine.cancel(run.key));
    await engine.ended(run.key).catch(() => undefined);
    // One that was about to continue was read before it did.
    const { tenant } = current.declared;
    return (await this.#options.store.find(tenant, current.id)) ?? current;
  }

  /** Sends a control to a run; one that has failed or is blocked continues with it. */
  async send(run: GraphRun, control: Control): Promise<GraphRun> {
    await this.#beginning.get(run.key);
    this.#stop.signal.throwIfAborted();
    return this.#options.store.changing(run, async (current) => {
      if (!current) throw new SupervisorError("not_found", `there is no run ${run.id}`);
      // Others may have been revised into it since this was checked.
      if (control.kind === "revise") current.countActions(control.graph.actions);
      const uncount = current.countControl();
      try {
        if (await sendControl(await this.#engines.of(current), current.key, control)) return current;
      } catch (error) {
        uncount();
        throw error;
      }
      uncount();
      throw new ProtocolError("state", `the run ${current.id} is over`);
    });
  }

  /** Stops: effects that are under way have a moment to end, and durable runs are continued by the next process. */
  async close(): Promise<void> {
    const ending = Promise.allSettled(this.#performing);
    // What waits for a person is not waited for.
    const isBusy = [...this.#options.store.active.values()].some(({ states }) =>
      [...states.values()].some(({ status }) => status === "running"),
    );
    if (isBusy) await settlesWithin(ending, GRACE_MS);
    this.#stop.abort(new Error("Reins is stopping"));
    await this.#engines.close();
  }

  async #begin(run: GraphRun, create: () => Promise<void>, show: () => Promise<void>): Promise<void> {
    const { active } = this.#options.store;
    await this.#register(run);
    try {
      await create();
      active.set(run.key, run);
      try {
        await show();
        const input = { tenant: run.declared.tenant, run: run.id };
        await (await this.#engines.of(run)).start(run.key, input);
      } catch (error) {
        active.delete(run.key);
        abandon(run, `it could not begin: ${errorMessage(error)}`);
        throw error;
      }
    } catch (error) {
      this.#unregister(run);
      throw error;
    }
  }

  async #register(run: GraphRun): Promise<void> {
    if (this.#registered.has(run)) return;
    this.#registered.set(run, await this.#options.register(run));
  }

  #unregister(run: GraphRun): void {
    this.#registered.get(run)?.();
    this.#registered.delete(run);
  }

  /** The durable runs of an earlier process; ends the others. */
  async #unfinished(tenant: string | undefined): Promise<readonly GraphRun[]> {
    const durable: GraphRun[] = [];
    for (const run of await this.#options.store.unfinished()) {
      if (run.graph.isPlan || (tenant ?? run.declared.tenant) !== run.declared.tenant) continue;
      await (run.graph.isDurable ? durable.push(run) : this.#interrupted(run));
    }
    return durable;
  }

  async #orchestrate({ tenant, run: id }: RunKey, scope: RunScope): Promise<RunResult> {
    const { store, preparation, parallel = PARALLEL, calls = MOST_CALLS } = this.#options;
    const run = store.active.get(runKey(tenant, id)) ?? (await store.find(tenant, id));
    if (!run) throw new Error(`there is no run ${id}`);
    if (run.ended) throw new Error(`the run ${id} is over`);
    store.active.set(run.key, run);
    const earlier = (await this.#journal.load(run.key))?.entries ?? new Map<string, unknown>();
    // The parts of an attempt are in its result, too.
    const results = [...earlier].filter(([name]) => !/^(?:part|performed|known)\/.+\//.test(name));
    const kept = { size: results.reduce<number>((sum, [, value]) => sum + sizeOf(value), 0) };
    await recall(run, earlier, this.#options.harness);
    await this.#register(run);
    const result = await runGraph(run.declared.graph, scope, {
      ...{ parallel, calls, ...(await preparation.traits(run)) },
      attempt: async (request) => {
        if (kept.size > MOST_KEPT) return { kind: "failed", reason: TOO_MUCH };
        const attempt = await this.#attempt(run, request, scope, earlier);
        if (attempt.kind === "completed") run.children.completed(request.action.id);
        kept.size += sizeOf(attempt);
        return attempt;
      },
      onChange: (changed) => {
        if (this.#stop.signal.aborted) return;
        if ("action" in changed) run.change(changed.action, now());
        else if ("graph" in changed) run.revise(changed.graph);
        else run.stand(changed);
      },
    });
    if (this.#stop.signal.aborted) return result;
    await Promise.allSettled(run.writing);
    await this.#options.artifacts.collect(run).catch(this.#options.onError);
    if (earlier.size > 0)
      await this.#journal.untilRoom(run.key, () => this.#options.settleEarlier(run, childrenIn(earlier)));
    return result;
  }

  /** The engine stores the end of a run: it is shown with that, and what the run held is released before anything follows. */
  async #ending(key: string, end: EngineEnd<RunResult>): Promise<RunTransition> {
    const { store, onOver } = this.#options;
    const run = store.active.get(key);
    if (!run) return UNCHANGED;
    const endedAt = now();
    if (end.state === "failed") account(run, end.error);
    run.ending(
      end.state === "ended"
        ? { status: end.result.status, reason: end.result.reason, endedAt }
        : { status: "failed", reason: end.error, endedAt },
    );
    return {
      changes: () => [store.changeOf(run)],
      stored: async () => {
        store.active.delete(key);
        this.#unregister(run);
        run.over();
        await onOver(run);
      },
      undo: () => this.#unregister(run),
    };
  }

  /** The engine stores that a run continues after its end. */
  async #reopening(key: string): Promise<RunTransition> {
    const { store } = this.#options;
    const run = store.pinned(key);
    if (!run) return UNCHANGED;
    run.reopening();
    // It counts among those that are open.
    let release = () => {};
    const undo = () => {
      release();
      this.#unregister(run);
      run.over();
    };
    try {
      release = store.reserve(run);
      await this.#register(run);
    } catch (error) {
      undo();
      throw error;
    }
    return {
      changes: () => [store.changeOf(run)],
      stored: () => {
        store.active.set(key, run);
        release();
        run.open();
      },
      undo,
    };
  }

  async #attempt(
    run: GraphRun,
    request: AttemptRequest,
    scope: RunScope,
    earlier: ReadonlyMap<string, unknown>,
  ) {
    const { preparation, artifacts, display, summarize } = this.#options;
    const name = request.key.slice(run.key.length + 1);
    const stored = earlier.get(allowedName(name));
    // Under these names stands what an attempt stored.
    const performed = earlier.get(performedName(name)) as PerformedAction | undefined;
    const known: EarlierAttempt = { performed, ...(isRecord(stored) && { allowed: stored }) };
    const { artifact: before } = run.details(request.action.id);
    const signal = AbortSignal.any([request.signal, this.#stop.signal]);
    const untilRoom: ActionCall["untilRoom"] = (act) => this.#journal.untilRoom(run.key, act);
    const attempt = attemptAction(run, { ...request, signal }, scope, known, {
      prepare: (one, asked) =>
        preparation.prepare(one, { ...asked, signal: request.signal, untilRoom }, scope),
      artifacts: { put: (output) => artifacts.put(output, (one) => this.#journal.announce(run, one)) },
      ...{ display, summarize, journal: this.#journal },
      isStopping: () => this.#stop.signal.aborted,
    });
    this.#performing.add(attempt);
    const over = () => this.#performing.delete(attempt);
    attempt.then(over, over);
    const [ended] = await Promise.allSettled([attempt]);
    if (ended.status === "rejected" || ended.value.kind === "failed") {
      // The end of a killed process may be seen before the order is: the attempt is canceled then, and did not fail.
      await this.#options.caughtUpWithKills();
    }
    this.#keepKnown(run, request.action.id, name, before);
    return attempt;
  }

  /** Has what is known of an action stored with the result of its attempt; only its newest output is kept. */
  #keepKnown(run: GraphRun, action: string, name: string, before: SealedArtifact | undefined): void {
    const { artifact, replaced } = run.details(action);
    if (before && before !== artifact) {
      if (replaced) this.#options.artifacts.erase(replaced).catch(this.#options.onError);
      run.note(action, { replaced: before });
    }
    if (run.graph.isDurable)
      this.#journal.knownWith(run.key, name, { ...run.details(action), endedAt: now() });
  }

  /** Ends a run that an earlier process left and that is not continued. */
  async #interrupted(run: GraphRun): Promise<void> {
    const reason = "Reins was restarted while it ran, and it was not durable";
    abandon(run, reason);
    const { entries = new Map() } = (await this.#journal.load(run.key)) ?? {};
    await recall(run, entries, this.#options.harness);
    await this.#options.artifacts.collect(run).catch(this.#options.onError);
    await this.#journal.end(run.key, { state: "failed", error: reason });
    await this.#options.settleEarlier(run, []);
    const { approvals } = this.#options.harness;
    const { tenant, session } = run.declared;
    for (const { turn } of await approvals.list({ tenant, session, state: "pending", order: "oldest" }))
      if (turn?.startsWith(`${run.id}:`)) await approvals.withdraw({ tenant, session, turn }, reason);
    await this.#options.store.flush();
  }
}

/** Ends a run that goes no further, with every action accounted for. */
function abandon(run: GraphRun, reason: string): void {
  account(run, reason);
  run.end({ status: "failed", reason, endedAt: now() });
}

function account(run: GraphRun, reason: string): void {
  for (const state of run.states.values())
    if (!hasEnded(state.status)) run.change({ ...state, status: "canceled", reason }, now());
}

const UNCHANGED: RunTransition = { changes: () => [], stored: () => undefined, undo: () => undefined };

const TOO_MUCH = `the results of the run have more than ${MOST_KEPT} characters, which is the most`;

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

function now(): string {
  return new Date().toISOString();
}
