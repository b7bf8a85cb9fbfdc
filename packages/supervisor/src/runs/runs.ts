import { decode, RunLifecycleEvent, type RunStatus, TaskListEvent, VerificationEvent } from "@reins/ahp";
import { type Clock, LruCache, systemClock } from "@reins/kit";
import { recordedJson } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import type { z } from "zod";
import { SupervisorError } from "../errors.ts";
import { isAdmin, LOCAL, type Principal } from "../identity/principal.ts";
import { type Redact, redact as redactKnown } from "../redaction/redactor.ts";
import {
  type RunContract,
  type RunEvent,
  type RunNote,
  type RunOwner,
  type RunReports,
  type RunState,
  type RunStatePage,
  runTables,
} from "./tables.ts";

/** Who reports a run. */
export type RunReporter = Pick<Principal, "id" | "tenant" | "user">;

/** Called with every event of a run, also with those that were refused. */
export type RunListener = (event: Omit<RunEvent, "seq">) => void;

/** How many events of one run are kept; the oldest go first. */
const MOST_EVENTS = 5_000;
/** How many faults of a run are listed. */
const MOST_FAULTS = 100;
/** How many events one commit forgets. */
const SWEEP = 500;
/** How many runs are cached: those that were reported last. */
const MOST_CACHED = 1_000;
/** How long a relaxed note waits for others to be stored with, and how many wait at most. */
const GATHER_MS = 20;
const MOST_GATHERED = 256;

/** How a contract of a run is noted. */
export interface NoteOptions {
  /** Whether the run has just got its id from the harness, so that nothing of it can be stored. */
  readonly isNew?: boolean;
  /** Whether the harness itself continues a run that had failed: for reports of agents, a run that is over stays so. */
  readonly isReopened?: boolean;
  /** Whether its time is that of this machine: where the clock was set back, it counts as that of the report before. */
  readonly isOwn?: boolean;
  /** Whether it may wait for other commits to be stored with. */
  readonly relaxed?: boolean;
}

/** Which events of runs are wanted. */
export interface RunEventQuery {
  readonly run?: string | undefined;
  readonly session?: string | undefined;
  /** The number of the last one that was seen. */
  readonly after: number;
  readonly limit: number;
}

/** The durable contracts of runs: checked, kept as events and as the current state, and published to subscribers. */
export class Runs {
  readonly #store: Store;
  readonly #redact: Redact;
  readonly #clock: Clock;
  readonly #listeners = new Set<RunListener>();
  /** The states of recent runs, those on their way to the store included; each note is checked against them. */
  #recent = newCache();
  readonly #reading = new Map<string, Promise<void>>();
  readonly #noting = new Set<Promise<unknown>>();
  /** Relaxed notes that are not sent to the store yet, and the promise that they are stored. */
  #gathered: RunNote[] = [];
  #stored: PromiseWithResolvers<void> = Promise.withResolvers();
  #cancelTimer: (() => void) | undefined;

  /** `redact` takes secrets out of what is stored and published; by default those that are known by their form. */
  constructor(store: Store, redact: Redact = redactKnown, clock: Clock = systemClock) {
    this.#store = store;
    this.#redact = redact;
    this.#clock = clock;
  }

  /**
   * Stores a new state. One that cannot follow the state before is rejected, and stored as a fault of the run. A run keeps
   * its owner; of another's run, only the operator reports.
   */
  note<Contract extends RunContract>(
    by: RunReporter,
    contract: Contract,
    report: RunReports[Contract],
    options: NoteOptions = {},
  ): Promise<RunState> {
    const noting = this.#note(by, contract, report, options);
    this.#noting.add(noting);
    const forget = () => this.#noting.delete(noting);
    noting.then(forget, forget);
    return noting;
  }

  /** The current state of a run that a principal may see, one for each contract that was reported. */
  async find(principal: Principal, run_id: string): Promise<RunState[]> {
    const owner = ownerFor(principal);
    await this.#flush();
    const states = await this.#find(principal.tenant, run_id);
    return owner ? states.filter((state) => isOwn(state, owner)) : states;
  }

  /** The states of the newest runs that a principal may see, or of those of one session, behind a run if one is given. */
  async list(principal: Principal, session_id?: string, page: RunStatePage = {}): Promise<RunState[]> {
    const range = { tenant: principal.tenant, owner: ownerFor(principal), session_id };
    await this.#flush();
    return this.#store.query(runTables, "list", { ...range, limit: 1_000, ...page });
  }

  /** The lifecycles of runs of a tenant that have not come to an end, by id; those after a run, so many at most. */
  async unfinished(tenant: string, after: string, limit: number): Promise<RunState[]> {
    await this.#flush();
    return this.#store.query(runTables, "unfinished", { tenant, after, limit });
  }

  /** Events that a principal may see after a number, the oldest first: all, or those of one run or session. */
  async events(
    principal: Principal,
    { run, session, after, limit }: RunEventQuery,
  ): Promise<{ readonly events: RunEvent[]; readonly seen: number }> {
    const { tenant } = principal;
    const last = await this.lastEvent();
    const range = { tenant, run_id: run, session_id: session, owner: ownerFor(principal), after, limit };
    const events = await this.#store.query(runTables, "events", range);
    const end = events.at(-1)?.seq ?? after;
    return { events, seen: events.length < limit ? Math.max(end, last) : end };
  }

  /** Why news of a run was refused, the oldest first, the last few of them. */
  async faults(
    principal: Principal,
    run: string,
  ): Promise<Pick<RunEvent, "seq" | "contract" | "at" | "fault">[]> {
    const { events } = await this.events(principal, { run, after: 0, limit: MOST_EVENTS });
    return events
      .filter(({ fault }) => fault !== null)
      .slice(-MOST_FAULTS)
      .map(({ seq, contract, at, fault }) => ({ seq, contract, at, fault }));
  }

  /** The number of the newest event; 0 before the first. */
  async lastEvent(): Promise<number> {
    await this.#flush();
    return this.#store.query(runTables, "lastEvent", null);
  }

  /** Forgets events that arrived before an instant, and runs of which none is left. */
  async prune(before: Date): Promise<void> {
    const args = { before: before.toISOString(), limit: SWEEP };
    await this.#flush();
    for (let pruned = SWEEP; pruned === SWEEP; ) {
      [pruned] = await this.#store.commit([change(runTables, "prune", args)], { durable: false });
      this.#recent = newCache();
    }
  }

  /** Settles when everything noted so far is stored or rejected. */
  async close(): Promise<void> {
    await this.#flush().catch(() => undefined);
    await Promise.allSettled(this.#noting);
  }

  /** Listens; the returned function ends it. */
  subscribe(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #note<Contract extends RunContract>(
    { tenant, ...by }: RunReporter,
    contract: Contract,
    given: RunReports[Contract],
    { isNew = false, isReopened = false, isOwn = false, relaxed = false }: NoteOptions,
  ): Promise<RunState> {
    const shown = this.#redact(given);
    const read = shown === given ? given : readReport(contract, shown);
    const { run_id, session_id } = read;
    const key = `${tenant}\n${run_id}`;
    if (isNew) this.#recent.set(key, { reports: {} });
    let run = this.#recent.get(key);
    for (; !run; run = this.#recent.get(key)) await this.#read(key, tenant, run_id);
    // From here to the commit nothing waits: notes of a run are checked and stored in the order of the calls.
    const { owner = { principal: by.id, user: by.user }, reports } = run;
    if (!mayReport(owner, by))
      throw new SupervisorError(
        "forbidden",
        `the run ${run_id} belongs to another principal; choose another run_id`,
      );
    const { updated_at: last = read.updated_at } = reports[contract] ?? {};
    const updated_at = isOwn && isEarlier(read.updated_at, last) ? last : read.updated_at;
    const report = updated_at === read.updated_at ? read : readReport(contract, { ...read, updated_at });
    // The store's thread takes plain data only.
    const payload = recordedJson(report);
    const state: RunState = { tenant, run_id, contract, session_id, updated_at, payload, ...owner };
    const before = isReopened && contract === "run_lifecycle" ? reopened(reports) : reports;
    const fault = CONTRACTS[contract].faultAfter(before[contract], report);
    const at = this.#clock.now().toISOString();
    if (fault === undefined) this.#recent.set(key, { owner, reports: { ...reports, [contract]: report } });
    const note = { state, at, fault: fault ?? null };
    try {
      await (relaxed ? this.#storeLater(note) : this.#storeNow(note));
    } catch (error) {
      this.#recent.delete(key);
      throw error;
    }
    const { updated_at: _, ...reported } = state;
    const event = { ...reported, at, fault: fault ?? null };
    for (const listener of this.#listeners) notify(listener, event);
    if (fault !== undefined) throw new SupervisorError("conflict", `${contract} of run ${run_id}: ${fault}`);
    return state;
  }

  #storeLater(note: RunNote): Promise<void> {
    const { promise } = this.#stored;
    if (this.#gathered.push(note) >= MOST_GATHERED) void this.#flush().catch(() => undefined);
    else this.#cancelTimer ??= this.#clock.after(GATHER_MS, () => void this.#flush().catch(() => undefined));
    return promise;
  }

  #storeNow(note: RunNote): Promise<void> {
    this.#gathered.push(note);
    return this.#flush();
  }

  /** Stores what was gathered in one commit. */
  #flush(): Promise<void> {
    if (this.#gathered.length === 0) return Promise.resolve();
    const [notes, { promise, resolve, reject }] = [this.#gathered, this.#stored];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#gathered = [];
    this.#stored = Promise.withResolvers();
    const stored = change(runTables, "note", { notes, most: MOST_EVENTS });
    this.#store.commit([stored], { durable: false }).then(() => resolve(), reject);
    return promise;
  }

  /** Reads the states of a run into the cache, once for all notes that wait for them. */
  #read(key: string, tenant: string, run_id: string): Promise<void> {
    const started = this.#reading.get(key);
    if (started) return started;
    const reading = this.#find(tenant, run_id)
      .then((states) => this.#recent.set(key, knownFrom(states)))
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  #find(tenant: string, run_id: string): Promise<RunState[]> {
    return this.#store.query(runTables, "find", { tenant, run_id });
  }
}

/** What is known of a run: its owner, once there is one, and its last report under each contract. */
interface KnownRun {
  readonly owner?: Pick<RunState, "principal" | "user">;
  readonly reports: Partial<RunReports>;
}

function newCache(): LruCache<string, KnownRun> {
  return new LruCache({ entries: MOST_CACHED });
}

function knownFrom(states: readonly RunState[]): KnownRun {
  const [first] = states;
  const reports = Object.fromEntries(
    states.map(({ contract, payload }) => [contract, readReport(contract, payload)]),
  );
  return { ...(first && { owner: { principal: first.principal, user: first.user } }), reports };
}

/**
 * Whose runs a principal may see; everybody's without an answer. A person sees what is done in their name, by whatever
 * token; an agent sees its own.
 */
function ownerFor(principal: Principal): RunOwner | undefined {
  if (isAdmin(principal)) return undefined;
  const { id, kind, user } = principal;
  return { principal: id, ...(kind !== "agent" && { user }) };
}

/** A run without an owner may be continued by any principal. */
function mayReport(
  { principal, user }: Pick<RunState, "principal" | "user">,
  by: Pick<RunReporter, "id" | "user">,
): boolean {
  return principal === null || principal === by.id || user === by.user || by.id === LOCAL;
}

function isOwn(state: RunState, { principal, user }: RunOwner): boolean {
  return state.principal === principal || (user !== undefined && state.user === user);
}

function notify(listener: RunListener, event: Omit<RunEvent, "seq">): void {
  try {
    listener(event);
  } catch {
    // A listener's own trouble harms no other.
  }
}

/** Reads what is reported under a contract; rejects what has another form. */
export function readReport<Contract extends RunContract>(
  contract: Contract,
  value: unknown,
): RunReports[Contract] {
  return decode(CONTRACTS[contract].schema, value);
}

/** The reports of a run that had failed, as one that goes on. */
function reopened(reports: Partial<RunReports>): Partial<RunReports> {
  const { run_lifecycle } = reports;
  if (run_lifecycle?.status !== "failed") return reports;
  return { ...reports, run_lifecycle: { ...run_lifecycle, status: "executing" } };
}

const NEXT: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  created: ["planning", "executing", "failed", "cancelled"],
  planning: ["executing", "failed", "cancelled"],
  executing: ["planning", "verifying", "completed", "failed", "cancelled"],
  verifying: ["executing", "completed", "failed", "cancelled"],
  completed: [],
  failed: [],
  cancelled: [],
};

/** Why a run cannot go on as it says, if so. The same state again is news of the same state. */
export function lifecycleFault(
  before: RunLifecycleEvent | undefined,
  now: RunLifecycleEvent,
): string | undefined {
  // The first report of a run is a snapshot: its sender may have started to report late.
  if (!before) return undefined;
  if (before.session_id !== now.session_id) return `the run ${now.run_id} belongs to another session`;
  if (isEarlier(now.updated_at, before.updated_at)) return "it is older than what is known";
  if (now.status === before.status || NEXT[before.status].includes(now.status)) return undefined;
  return `a run that is ${before.status} does not become ${now.status}`;
}

/** Why a list of tasks is none, if so. */
export function taskListFault(before: TaskListEvent | undefined, now: TaskListEvent): string | undefined {
  if (before && isEarlier(now.updated_at, before.updated_at)) return "it is older than what is known";
  const dependsOn = new Map(now.tasks.map(({ id, depends_on }) => [id, depends_on]));
  if (dependsOn.size < now.tasks.length) return "two tasks have the same id";
  for (const [id, others] of dependsOn) {
    const missing = others.find((other) => !dependsOn.has(other));
    if (missing !== undefined) return `task ${id} depends on ${missing}, which is not there`;
  }
  return hasCycle(dependsOn) ? "tasks depend on each other in a circle" : undefined;
}

/** Why a verification is none, if so. */
export function verificationFault(
  before: VerificationEvent | undefined,
  now: VerificationEvent,
): string | undefined {
  if (before && isEarlier(now.updated_at, before.updated_at)) return "it is older than what is known";
  const ids = new Set(now.checks.map(({ id }) => id));
  return ids.size < now.checks.length ? "two checks have the same id" : undefined;
}

function isEarlier(now: string, before: string): boolean {
  return Date.parse(now) < Date.parse(before);
}

/** Takes out what waits for nothing that is left, until nothing is; in a circle, everything waits. */
function hasCycle(dependsOn: ReadonlyMap<string, readonly string[]>): boolean {
  const waits = [...dependsOn].flatMap(([id, others]) => others.map((other) => ({ id, other })));
  const waitFor = Map.groupBy(waits, ({ other }) => other);
  const open = new Map([...dependsOn].map(([id, others]) => [id, others.length]));
  const done = [...open].filter(([, left]) => left === 0).map(([id]) => id);
  // The list grows while it is gone through.
  for (const id of done)
    for (const { id: waiting } of waitFor.get(id) ?? []) {
      const left = (open.get(waiting) ?? 0) - 1;
      open.set(waiting, left);
      if (left === 0) done.push(waiting);
    }
  return done.length < dependsOn.size;
}

const CONTRACTS: {
  readonly [Contract in RunContract]: {
    readonly schema: z.ZodType<RunReports[Contract]>;
    /** Why a report cannot follow the one before, if so. */
    readonly faultAfter: (
      before: RunReports[Contract] | undefined,
      now: RunReports[Contract],
    ) => string | undefined;
  };
} = {
  run_lifecycle: { schema: RunLifecycleEvent, faultAfter: lifecycleFault },
  task_list: { schema: TaskListEvent, faultAfter: taskListFault },
  verification: { schema: VerificationEvent, faultAfter: verificationFault },
};
