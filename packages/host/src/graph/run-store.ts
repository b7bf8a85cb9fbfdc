import { graphTables, type ProjectedRun, ProtocolError } from "@reins/graph";
import { type Change, change, parseStored } from "@reins/store";
import { type Harness, type Principal, SupervisorError, VaultError } from "@reins/supervisor";
import { type DeclaredRun, GraphRun, type GraphRunListener, type RunProgress, runKey } from "./graph-run.ts";
import { maySee } from "./references.ts";
import { runPlace, turnPlace } from "./sealed-artifacts.ts";
import { declaredRunTables, type StoredDeclaredRun } from "./tables.ts";

const idOf = ({ tenant, run_id: run }: DeclaredRun) => ({ tenant, run });

export interface RunStoreOptions {
  readonly harness: Pick<Harness, "store" | "redact" | "vault">;
  /** Called with every change of a run, before listeners are. */
  readonly onChange: (run: GraphRun) => void;
  /** The most runs of a user that are under way. */
  readonly mostOpen?: number | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

interface PinnedRun {
  readonly found: Promise<GraphRun | undefined>;
  /** What was found. */
  run?: GraphRun | undefined;
  users: number;
}

/** How long nothing changes before changes are stored, and how long they wait for that at most. */
const GATHER_MS = 50;
const MOST_GATHER_MS = 1_000;
/** The pause before changes are stored again that could not be. */
const AGAIN_MS = 1_000;
/** How many runs and turns one commit forgets. */
const SWEEP = 100;
/** The most runs of a user that are under way, where the operator says nothing else. */
const MOST_OPEN = 100;

/** The runs of a home: those that are under way, and those that are stored. The only writer of their rows. */
export class RunStore {
  readonly #options: RunStoreOptions;
  /** The runs that are not over, by key. */
  readonly active = new Map<string, GraphRun>();
  readonly #listeners = new Set<GraphRunListener>();
  readonly #unstored = new Set<GraphRun>();
  /** Runs that something is about to change: whatever changes one at the same time changes the same object. */
  readonly #pinned = new Map<string, PinnedRun>();
  /** Runs that are about to be under way. */
  readonly #reserved = new Set<GraphRun>();
  #cancelFlush: (() => void) | undefined;
  /** When the oldest change was made that is not stored. */
  #gathersSince: number | undefined;

  constructor(options: RunStoreOptions) {
    this.#options = options;
  }

  /** Calls a listener for every change of a run; returns `unsubscribe`. */
  subscribe(listener: GraphRunListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Reserves a place for a run among the open ones of its user, until what is returned is called; throws where there is
   * none. One that is under way before that has one place all the same.
   */
  reserve(run: GraphRun): () => void {
    const { mostOpen = MOST_OPEN } = this.#options;
    const { tenant, user } = run.declared.principal;
    const isOwn = ({ declared: { principal } }: GraphRun) =>
      principal.tenant === tenant && principal.user === user;
    const open = new Set([...this.active.values(), ...this.#reserved].filter(isOwn));
    if (open.size >= mostOpen)
      throw new ProtocolError(
        "state",
        `${user} has ${mostOpen} runs under way, which is the most; cancel one, or wait until one is over`,
      );
    this.#reserved.add(run);
    return () => void this.#reserved.delete(run);
  }

  /** A run that is about to be declared; not stored yet. */
  make(declared: DeclaredRun): GraphRun {
    return new GraphRun(declared, (run, action) => this.#changed(run, action));
  }

  /** The change that stores how a run stands, in a commit of the caller. */
  changeOf(run: GraphRun): Change<undefined> {
    const { tenant, run_id, revised, controls } = run.declared;
    const declared = revised || controls ? this.#sealed(run, "declared") : null;
    const { ended_at: endedAt = null } = run.progress;
    const state = this.#sealed(run, "state");
    return change(declaredRunTables, "update", { tenant, run: run_id, state, endedAt, declared });
  }

  /** Stores a new run, with the turn that the transcript of its session gets; false if there is one of its id. */
  async create(run: GraphRun, turn: object | undefined): Promise<boolean> {
    const { tenant, session, run_id } = run.declared;
    const [isNew] = await this.#options.harness.store.commit(
      [
        change(declaredRunTables, "create", {
          ...{ tenant, run: run_id, session },
          ...{ declared: this.#sealed(run, "declared"), state: this.#sealed(run, "state") },
        }),
        ...(turn === undefined ? [] : [this.turn({ tenant, session }, turn)]),
      ],
      { durable: run.graph.isDurable },
    );
    return isNew;
  }

  /** The run of an id in a tenant; `undefined` for none. */
  async find(tenant: string, id: string): Promise<GraphRun | undefined> {
    const key = runKey(tenant, id);
    const known = this.active.get(key) ?? [...this.#unstored].find((run) => run.key === key);
    if (known) return known;
    const stored = await this.#options.harness.store.query(declaredRunTables, "get", { tenant, run: id });
    return this.active.get(key) ?? (stored && this.#readable(stored)[0]);
  }

  /**
   * Changes a run, also one that is over: as it stands now, together with all that change it at the same time; `undefined`
   * for one that is not there any more.
   */
  async changing<Value>(
    { key, declared: { tenant, run_id } }: GraphRun,
    change: (run: GraphRun | undefined) => Promise<Value>,
  ): Promise<Value> {
    const pin: PinnedRun = this.#pinned.get(key) ?? { found: this.find(tenant, run_id), users: 0 };
    this.#pinned.set(key, pin);
    pin.users += 1;
    try {
      pin.run = await pin.found;
      return await change(pin.run);
    } finally {
      pin.users -= 1;
      if (pin.users === 0) this.#pinned.delete(key);
    }
  }

  /** A run that something is changing. */
  pinned(key: string): GraphRun | undefined {
    return this.#pinned.get(key)?.run;
  }

  /** A run that a principal may see; for others there is none. */
  async expect(principal: Principal, id: string): Promise<GraphRun> {
    const run = await this.find(principal.tenant, id);
    if (run && maySee(principal, run)) return run;
    throw new SupervisorError("not_found", `there is no run ${id}`);
  }

  /** The stored runs of all tenants that are not over. */
  async unfinished(): Promise<readonly GraphRun[]> {
    const stored = await this.#options.harness.store.query(declaredRunTables, "open", null);
    return stored.flatMap((one) => this.#readable(one));
  }

  /** A run as people are shown it, without secrets. */
  shown(run: GraphRun): ProjectedRun {
    // Redaction keeps the form of what it is given.
    return this.#options.harness.redact(run.project()) as ProjectedRun;
  }

  /** Stores the runs that have changed. */
  async flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    this.#gathersSince = undefined;
    const runs = [...this.#unstored].filter(({ isChanging }) => !isChanging);
    if (runs.length === 0) return;
    const changes = runs.map((run) => this.changeOf(run));
    for (const run of runs) this.#unstored.delete(run);
    try {
      await this.#options.harness.store.commit(changes, { durable: false });
    } catch (error) {
      for (const run of runs) this.#unstored.add(run);
      this.#flushAfter(AGAIN_MS);
      throw error;
    }
  }

  /** Adds a turn to the transcript of a session, in a commit of the caller. */
  turn({ tenant, session }: { readonly tenant: string; readonly session: string }, turn: object) {
    const sealed = this.#options.harness.vault.seal(turnPlace({ tenant, session }), JSON.stringify(turn));
    const at = new Date().toISOString();
    return change(declaredRunTables, "turn", { tenant, session, turn: sealed, at });
  }

  /** The transcript of a session, the oldest turn first. Turns are written by {@link turn}. */
  async turns(place: { readonly tenant: string; readonly session: string }): Promise<readonly unknown[]> {
    const { store, vault } = this.#options.harness;
    const stored = await store.query(declaredRunTables, "turns", place);
    return stored.flatMap((turn): unknown[] => {
      const text = this.#opened(() => vault.open(turnPlace(place), turn));
      return text === undefined ? [] : [parseStored(text)];
    });
  }

  /** Forgets runs that were over before an instant, with their journals and outputs, and turns of transcripts from before. */
  async prune(before: Date, erase: (run: GraphRun) => Promise<void>): Promise<void> {
    const { store } = this.#options.harness;
    const range = { before: before.toISOString(), limit: SWEEP };
    for (let swept = SWEEP; swept === SWEEP; ) {
      const stored = await store.query(declaredRunTables, "endedBefore", range);
      swept = 0;
      for (const run of stored.flatMap((one) => this.#readable(one)))
        if (await this.changing(run, (current) => this.#forget(current, range.before, erase))) swept += 1;
    }
    for (let swept = SWEEP; swept === SWEEP; )
      [swept] = await store.commit([change(declaredRunTables, "forgetTurns", range)], { durable: false });
  }

  /** Forgets a run that was over before an instant, and still is. */
  async #forget(
    run: GraphRun | undefined,
    before: string,
    erase: (run: GraphRun) => Promise<void>,
  ): Promise<boolean> {
    if (run?.ended === undefined || run.ended.endedAt >= before || !run.forget()) return false;
    try {
      await erase(run);
      await this.#options.harness.store.commit(
        [
          change(declaredRunTables, "forget", { runs: [idOf(run.declared)] }),
          change(graphTables, "forget", { runs: [run.key] }),
        ],
        { durable: false },
      );
    } catch (error) {
      run.over();
      throw error;
    }
    this.#unstored.delete(run);
    return true;
  }

  #sealed(run: GraphRun, part: "declared" | "state"): string {
    const { tenant, run_id } = run.declared;
    const text = JSON.stringify(part === "declared" ? run.declared : run.progress);
    return this.#options.harness.vault.seal(runPlace({ tenant, run: run_id }, part), text);
  }

  /** A stored run, unless the key that it was sealed with is lost: then there is none. */
  #readable(stored: StoredDeclaredRun): readonly GraphRun[] {
    const run = this.#opened(() => this.#read(stored));
    return run ? [run] : [];
  }

  #opened<Value>(open: () => Value): Value | undefined {
    try {
      return open();
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      this.#options.onError(error);
      return undefined;
    }
  }

  /** A stored run. What is stored was written by this class. */
  #read(stored: StoredDeclaredRun): GraphRun {
    const { vault } = this.#options.harness;
    const declared = parseStored<DeclaredRun>(vault.open(runPlace(stored, "declared"), stored.declared));
    const progress = parseStored<RunProgress>(vault.open(runPlace(stored, "state"), stored.state));
    return new GraphRun(declared, (run, action) => this.#changed(run, action), progress);
  }

  #changed(run: GraphRun, action: string | undefined): void {
    const { onChange, onError } = this.#options;
    onChange(run);
    for (const listener of this.#listeners) {
      try {
        listener(run, action);
      } catch (error) {
        onError(error);
      }
    }
    this.#unstored.add(run);
    this.#gathersSince ??= performance.now();
    const left = this.#gathersSince + MOST_GATHER_MS - performance.now();
    this.#flushAfter(Math.max(0, Math.min(GATHER_MS, left)));
  }

  #flushAfter(milliseconds: number): void {
    this.#cancelFlush?.();
    const timer = setTimeout(() => this.flush().catch(this.#options.onError), milliseconds);
    this.#cancelFlush = () => clearTimeout(timer);
  }
}
