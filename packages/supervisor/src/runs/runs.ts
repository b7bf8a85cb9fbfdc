import { decode, RunLifecycleEvent, TaskListEvent, VerificationEvent } from "@reins/ahp";
import { type Clock, LruCache, systemClock } from "@reins/kit";
import { recordedJson } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { isAdmin, LOCAL, type Principal } from "../identity/principal.ts";
import { type Redact, redact as redactKnown } from "../redaction/redactor.ts";
import {
  lifecycleFault,
  type RunContract,
  type RunEvent,
  type RunNote,
  type RunOwner,
  type RunState,
  runTables,
  taskListFault,
  verificationFault,
} from "./tables.ts";

/** Who tells of a run. */
export type RunTeller = Pick<Principal, "id" | "tenant" | "user">;

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

  /** `redact` takes secrets out of what is kept and told; by default those that are known by their form. */
  constructor(store: Store, redact: Redact = redactKnown, clock: Clock = systemClock) {
    this.#store = store;
    this.#redact = redact;
    this.#clock = clock;
  }

  /**
   * Stores a new state. One that cannot follow the state before is rejected, and stored as a fault of the run. A run keeps
   * its owner; of another's run, only the operator reports.
   */
  note(by: RunTeller, contract: RunContract, payload: unknown, options: NoteOptions = {}): Promise<RunState> {
    const noting = this.#note(by, contract, payload, options);
    this.#noting.add(noting);
    const forget = () => this.#noting.delete(noting);
    noting.then(forget, forget);
    return noting;
  }

  /** The current state of a run that a principal may see, one for each contract it has told. */
  async find(principal: Principal, run_id: string): Promise<RunState[]> {
    const owner = ownerFor(principal);
    await this.#flush();
    const states = await this.#find(principal.tenant, run_id);
    return owner ? states.filter((state) => isOwn(state, owner)) : states;
  }

  /** The newest states that a principal may see, or those of one session. */
  async list(principal: Principal, session_id?: string): Promise<RunState[]> {
    const { tenant } = principal;
    const owner = ownerFor(principal);
    await this.#flush();
    return this.#store.query(runTables, "list", { tenant, session_id, owner, limit: 1_000 });
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

  async #note(
    { tenant, ...by }: RunTeller,
    contract: RunContract,
    given: unknown,
    { isNew = false, relaxed = false }: NoteOptions,
  ): Promise<RunState> {
    const told = readContract(contract, this.#redact(given));
    const { run_id, session_id, updated_at } = told;
    const key = `${tenant}\n${run_id}`;
    if (isNew) this.#recent.set(key, []);
    let states = this.#recent.get(key);
    for (; !states; states = this.#recent.get(key)) await this.#read(key, tenant, run_id);
    // From here to the commit nothing waits: notes of a run are checked and stored in the order of the calls.
    const [known] = states;
    if (known && !mayTell(known, by))
      throw new SupervisorError(
        "forbidden",
        `the run ${run_id} belongs to another principal; choose another run_id`,
      );
    const { principal, user } = known ?? { principal: by.id, user: by.user };
    // The store's thread takes plain data only.
    const payload = recordedJson(told.payload);
    const state: RunState = { tenant, run_id, contract, session_id, updated_at, payload, principal, user };
    const fault = told.faultAfter(states.find((one) => one.contract === contract)?.payload);
    const at = this.#clock.now().toISOString();
    if (fault === undefined)
      this.#recent.set(key, [state, ...states.filter((one) => one.contract !== contract)]);
    const note = { state, at, fault: fault ?? null };
    try {
      await (relaxed ? this.#storeLater(note) : this.#storeNow(note));
    } catch (error) {
      this.#recent.delete(key);
      throw error;
    }
    const event = {
      tenant,
      run_id,
      contract,
      session_id,
      payload,
      principal,
      user,
      at,
      fault: fault ?? null,
    };
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
      .then((states) => this.#recent.set(key, states))
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  #find(tenant: string, run_id: string): Promise<RunState[]> {
    return this.#store.query(runTables, "find", { tenant, run_id });
  }
}

function newCache(): LruCache<string, readonly RunState[]> {
  return new LruCache({ entries: MOST_CACHED });
}

/** A contract as it was sent, and why it cannot follow another, if so. */
interface ReadContract {
  readonly run_id: string;
  readonly session_id: string;
  readonly updated_at: string;
  readonly payload: object;
  faultAfter(before: unknown): string | undefined;
}

function readContract(contract: RunContract, given: unknown): ReadContract {
  switch (contract) {
    case "run_lifecycle": {
      const payload = decode(RunLifecycleEvent, given);
      const faultAfter = (before: unknown) =>
        lifecycleFault(before === undefined ? undefined : decode(RunLifecycleEvent, before), payload);
      return { ...payload, payload, faultAfter };
    }
    case "task_list": {
      const payload = decode(TaskListEvent, given);
      const faultAfter = (before: unknown) =>
        taskListFault(before === undefined ? undefined : decode(TaskListEvent, before), payload);
      return { ...payload, payload, faultAfter };
    }
    case "verification": {
      const payload = decode(VerificationEvent, given);
      const faultAfter = (before: unknown) =>
        verificationFault(before === undefined ? undefined : decode(VerificationEvent, before), payload);
      return { ...payload, payload, faultAfter };
    }
  }
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
function mayTell({ principal, user }: RunState, by: Pick<RunTeller, "id" | "user">): boolean {
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
