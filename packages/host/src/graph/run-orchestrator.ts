import {
  type AttemptRequest,
  type Control,
  hasEnded,
  JournalEngine,
  ProtocolError,
  type RunEngine,
  type RunResult,
  type RunScope,
  runGraph,
  sendControl,
} from "@reins/graph";
import { errorMessage, isRecord, settlesWithin } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Summarize } from "./agent-executors.ts";
import type { DurableEngine, OpenDurableEngine } from "./durable-engine.ts";
import type { PerformedAction } from "./executor.ts";
import { type GraphRun, runKey } from "./graph-run.ts";
import { allowedName, attemptAction, type EarlierAttempt, performedName } from "./perform-action.ts";
import { type ActionPreparation, CHILD } from "./prepare-action.ts";
import { RecordedJournal } from "./recorded-journal.ts";
import type { RunStore } from "./run-store.ts";
import type { SealedArtifacts } from "./sealed-artifacts.ts";
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
  /** Called when a run begins or continues; what it returns, when it ends. */
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

/** Has runs scheduled by an engine, and each attempt decided, performed and recorded. */
export class RunOrchestrator {
  readonly #options: RunOrchestratorOptions;
  readonly #journal: RecordedJournal<RunKey, RunResult>;
  readonly #embedded: JournalEngine<RunKey, RunResult>;
  readonly #durable: DurableEngine<RunKey, RunResult> | undefined;
  readonly #stop = new AbortController();
  /** Effects that are under way. */
  readonly #performing = new Set<Promise<unknown>>();
  /** Runs that are about to begin, or to continue, by key. What changes one waits for that: none begins after its cancel. */
  readonly #beginning = new Map<string, Promise<void>>();
  /** Cancels that are not stored yet, by run. */
  readonly #canceling = new Map<string, Promise<unknown>>();

  constructor(options: RunOrchestratorOptions) {
    this.#options = options;
    const { harness, store, openDurable, onError } = options;
    const onWait = (run: string, reason: string | undefined) => store.active.get(run)?.hold(reason);
    const journal = new RecordedJournal<RunKey, RunResult>({
      ...{ harness, stopping: this.#stop.signal, onWait },
      isDurable: (run) => store.active.get(run)?.graph.isDurable ?? true,
    });
    this.#journal = journal;
    const orchestrate = (key: RunKey, scope: RunScope) => this.#orchestrate(key, scope);
    this.#embedded = new JournalEngine({ orchestrate, journal });
    const parts = { orchestrate, journal, seal: harness.vault, origin: harness.ledger.origin };
    this.#durable = openDurable?.({ ...parts, onWait, onError });
  }

  /** Why durable runs wait; `undefined` while nothing is known to hold them. */
  get outage(): string | undefined {
    return this.#durable?.outage;
  }

  /** Aborts when Reins stops. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** Continues the durable runs of an earlier process; others have failed with it. */
  async resume(): Promise<void> {
    const left = await this.#unfinished();
    for (const run of left) this.#options.store.active.set(run.key, run);
    // A process that ended before it wrote the journal of a run began nothing of it.
    for (const { key, id, declared } of left)
      await this.#journal.create(key, { tenant: declared.tenant, run: id });
    await (this.#durable ?? this.#embedded).resume();
  }

  /** Runs a graph that was validated and stored, once it was shown. One that cannot begin has failed. */
  async start(run: GraphRun, show: () => Promise<void>): Promise<void> {
    const { active } = this.#options.store;
    active.set(run.key, run);
    const beginning = show().then(() => this.#start(run));
    this.#begins(run, beginning);
    try {
      await beginning;
    } catch (error) {
      active.delete(run.key);
      abandon(run, `it could not begin: ${errorMessage(error)}`);
      throw error;
    }
  }

  /** Cancels a run; resolves when it is over. */
  async cancel(run: GraphRun): Promise<void> {
    await this.#begun(run);
    const engine = this.#engineOf(run);
    const canceling = engine.cancel(run.key);
    this.#canceling.set(run.key, canceling);
    await canceling.finally(() => this.#canceling.delete(run.key));
    await engine.ended(run.key).catch(() => undefined);
  }

  /** Sends a control to a run; one that has failed or is blocked continues with it. */
  async send(run: GraphRun, control: Control): Promise<GraphRun> {
    const { store } = this.#options;
    await this.#begun(run);
    const { status } = run.standing;
    const { reason, isOver: wasOver } = run;
    run.countControl();
    if (wasOver) {
      // One that is continued counts among those that are open.
      store.reserve(run.declared.principal)();
      store.active.set(run.key, run);
      run.reopen();
    }
    const sending = sendControl(this.#engineOf(run), run.key, control);
    if (wasOver) this.#begins(run, sending);
    if (await sending) return run;
    if (wasOver) run.end(status, now(), reason);
    store.active.delete(run.key);
    throw new ProtocolError("state", `the run ${run.id} is over`);
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
    await Promise.all([this.#embedded.close(), this.#durable?.close()]);
  }

  #engineOf({ graph }: GraphRun): RunEngine<RunKey, RunResult> {
    return (graph.isDurable ? this.#durable : undefined) ?? this.#embedded;
  }

  #begins({ key }: GraphRun, beginning: Promise<unknown>): void {
    const over = () => void this.#beginning.delete(key);
    this.#beginning.set(key, beginning.then(over, over));
  }

  async #begun({ key }: GraphRun): Promise<void> {
    await this.#beginning.get(key);
  }

  async #start(run: GraphRun): Promise<void> {
    const { key, id, declared } = run;
    await this.#engineOf(run).start(key, { tenant: declared.tenant, run: id });
  }

  /** The durable runs of an earlier process; ends the others. */
  async #unfinished(): Promise<readonly GraphRun[]> {
    const durable: GraphRun[] = [];
    for (const run of await this.#options.store.unfinished()) {
      if (run.graph.isPlan) continue;
      if (run.graph.isDurable) durable.push(run);
      else await this.#interrupted(run);
    }
    return durable;
  }

  async #orchestrate({ tenant, run: id }: RunKey, scope: RunScope): Promise<RunResult> {
    const { store, preparation, onError, parallel = PARALLEL, calls = MOST_CALLS } = this.#options;
    const run = store.active.get(runKey(tenant, id)) ?? (await store.find(tenant, id));
    if (!run) throw new Error(`there is no run ${id}`);
    store.active.set(run.key, run);
    const earlier = (await this.#journal.load(run.key))?.entries ?? new Map<string, unknown>();
    if (run.isOver) run.reopen();
    // The parts of an attempt are in its result, too.
    const results = [...earlier].filter(([name]) => !/^(?:part|performed)\/.+\//.test(name));
    const kept = { size: results.reduce<number>((sum, [, value]) => sum + sizeOf(value), 0) };
    const unregister = await this.#options.register(run);
    const result = await runGraph(run.declared.graph, scope, {
      ...{ parallel, calls, ...(await preparation.traits(run)) },
      attempt: async (request) => {
        if (kept.size > MOST_KEPT) return { kind: "failed", reason: TOO_MUCH };
        const attempt = await this.#attempt(run, request, scope, earlier);
        kept.size += sizeOf(attempt);
        return attempt;
      },
      onChange: (changed) => {
        if (this.#stop.signal.aborted) return;
        if ("action" in changed) run.change(changed.action, now());
        else if ("graph" in changed) run.revise(changed.graph);
        else run.stand(changed);
      },
    }).finally(unregister);
    if (this.#stop.signal.aborted) return result;
    await Promise.allSettled(run.writing);
    if (earlier.size > 0) await this.#options.settleEarlier(run, childrenIn(earlier));
    run.end(result.status, now(), result.reason);
    // What cannot be stored now is stored later.
    await store.flush().catch(onError);
    store.active.delete(run.key);
    await this.#options.onOver(run);
    return result;
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
    const signal = AbortSignal.any([request.signal, this.#stop.signal]);
    const attempt = attemptAction(run, { ...request, signal }, scope, known, {
      prepare: (one, asked) => preparation.prepare(one, { ...asked, signal: request.signal }, scope),
      ...{ artifacts, display, summarize, journal: this.#journal },
      isStopping: () => this.#stop.signal.aborted,
    });
    this.#performing.add(attempt);
    const over = () => this.#performing.delete(attempt);
    attempt.then(over, over);
    const [ended] = await Promise.allSettled([attempt]);
    if (ended.status === "rejected" || ended.value.kind === "failed") {
      // The end of a killed process may be seen before the order is: the attempt is canceled then, and did not fail.
      await this.#options.caughtUpWithKills();
      await this.#canceling.get(run.key);
    }
    return attempt;
  }

  /** Ends a run that an earlier process left and that is not continued. */
  async #interrupted(run: GraphRun): Promise<void> {
    const reason = "Reins was restarted while it ran, and it was not durable";
    abandon(run, reason);
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
  for (const state of run.states.values())
    if (!hasEnded(state.status)) run.change({ ...state, status: "canceled", reason }, now());
  run.end("failed", now(), reason);
}

const TOO_MUCH = `the results of the run have more than ${MOST_KEPT} characters, which is the most`;

/** The keys of the child sessions that a journal has. */
function childrenIn(entries: ReadonlyMap<string, unknown>): readonly string[] {
  return [...entries].flatMap(([name, key]) => (name.startsWith(CHILD) ? String(key) : []));
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

function now(): string {
  return new Date().toISOString();
}
