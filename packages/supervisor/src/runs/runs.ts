import { decode, RunLifecycleEvent, TaskListEvent, VerificationEvent } from "@reins/ahp";
import { type Clock, systemClock } from "@reins/kit";
import { recordedJson } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { isAdmin, LOCAL, type Principal } from "../identity/principal.ts";
import { type Redact, redact as redactKnown } from "../redaction/redactor.ts";
import {
  lifecycleFault,
  type RunContract,
  type RunEvent,
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
  #last: Promise<unknown> = Promise.resolve();

  /** `redact` takes secrets out of what is kept and told; by default those that are known by their form. */
  constructor(store: Store, redact: Redact = redactKnown, clock: Clock = systemClock) {
    this.#store = store;
    this.#redact = redact;
    this.#clock = clock;
  }

  /**
   * Takes a new state; what does not follow from the one before is refused, and kept as a fault of the run. A run stays whose it was at first: of
   * another's, only the operator tells.
   */
  note(by: RunTeller, contract: RunContract, payload: unknown): Promise<RunState> {
    // One after the other: each is checked against what the one before left.
    const noted = this.#last.then(() => this.#note(by, contract, payload));
    this.#last = noted.catch(() => undefined);
    return noted;
  }

  /** The current state of a run that a principal may see, one for each contract it has told. */
  async find(principal: Principal, run_id: string): Promise<RunState[]> {
    const owner = ownerFor(principal);
    const states = await this.#find(principal.tenant, run_id);
    return owner ? states.filter((state) => isOwn(state, owner)) : states;
  }

  /** The newest states that a principal may see, or those of one session. */
  list(principal: Principal, session_id?: string): Promise<RunState[]> {
    const { tenant } = principal;
    const owner = ownerFor(principal);
    return this.#store.query(runTables, "list", { tenant, session_id, owner, limit: 1_000 });
  }

  /** The lifecycles of runs of a tenant that have not come to an end, by id; those after a run, so many at most. */
  unfinished(tenant: string, after: string, limit: number): Promise<RunState[]> {
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
  lastEvent(): Promise<number> {
    return this.#store.query(runTables, "lastEvent", null);
  }

  /** Forgets events that arrived before an instant, and runs of which none is left. */
  async prune(before: Date): Promise<void> {
    const args = { before: before.toISOString(), limit: SWEEP };
    for (let pruned = SWEEP; pruned === SWEEP; )
      [pruned] = await this.#store.commit([change(runTables, "prune", args)], { durable: false });
  }

  /** Settles when everything noted so far is kept or refused. */
  async close(): Promise<void> {
    await this.#last;
  }

  /** Listens; the returned function ends it. */
  subscribe(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #note({ tenant, ...by }: RunTeller, contract: RunContract, given: unknown): Promise<RunState> {
    const told = readContract(contract, this.#redact(given));
    const { run_id, session_id, updated_at } = told;
    const states = await this.#find(tenant, run_id);
    const [known] = states;
    if (known && !mayTell(known, by))
      throw new SupervisorError(
        "forbidden",
        `the run ${run_id} belongs to another principal; choose another run_id`,
      );
    const { principal, user } = known ?? { principal: by.id, user: by.user };
    // Kept by the store's thread, which takes plain data only.
    const payload = recordedJson(told.payload);
    const kept = { tenant, run_id, contract, session_id, payload, principal, user };
    const fault = told.faultAfter(states.find((state) => state.contract === contract)?.payload);
    const event = { ...kept, at: this.#clock.now().toISOString(), fault: fault ?? null };
    const appended = change(runTables, "append", { event, most: MOST_EVENTS });
    const state: RunState = { ...kept, updated_at };
    const changes = fault === undefined ? [appended, change(runTables, "put", state)] : [appended];
    await this.#store.commit(changes, { durable: false });
    for (const listener of this.#listeners) notify(listener, event);
    if (fault !== undefined) throw new SupervisorError("conflict", `${contract} of run ${run_id}: ${fault}`);
    return state;
  }

  #find(tenant: string, run_id: string): Promise<RunState[]> {
    return this.#store.query(runTables, "find", { tenant, run_id });
  }
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
