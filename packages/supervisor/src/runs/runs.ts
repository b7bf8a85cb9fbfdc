import { decode, RunLifecycleEvent, TaskListEvent, VerificationEvent } from "@reins/ahp";
import { recordedJson } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import { isAdmin, LOCAL, type Principal } from "../identity/principal.ts";
import { type Redact, redact as redactKnown } from "../redaction/redact.ts";
import { SupervisorError } from "../supervisor-error.ts";
import { type RunContract, type RunOwner, type RunState, runTables } from "./tables.ts";
import { lifecycleFault, taskListFault, verificationFault } from "./transitions.ts";

/** Who tells of a run. */
export type RunTeller = Pick<Principal, "id" | "tenant" | "user">;

/** Told of every new state. */
export type RunListener = (state: RunState) => void;

/** The durable contracts of runs: checked, kept as the current state, and told to whoever listens. */
export class Runs {
  readonly #store: Store;
  readonly #redact: Redact;
  readonly #listeners = new Set<RunListener>();
  #last: Promise<unknown> = Promise.resolve();

  /** `redact` takes secrets out of what is kept and told; by default those that are known by their form. */
  constructor(store: Store, redact: Redact = redactKnown) {
    this.#store = store;
    this.#redact = redact;
  }

  /**
   * Takes a new state; what does not follow from the one before is refused. A run stays whose it was at first: of
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

  /** Listens; the returned function ends it. */
  subscribe(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #note({ tenant, ...by }: RunTeller, contract: RunContract, given: unknown): Promise<RunState> {
    const { run_id, session_id, updated_at, payload, fault } = await this.#check(
      tenant,
      contract,
      this.#redact(given),
    );
    const [known] = await this.#find(tenant, run_id);
    if (known && !mayTell(known, by))
      throw new SupervisorError("forbidden", `the run ${run_id} is somebody else's; choose another run_id`);
    if (fault !== undefined) throw new SupervisorError("conflict", `${contract} of run ${run_id}: ${fault}`);
    const { principal, user } = known ?? { principal: by.id, user: by.user };
    // Kept by the store's thread, which takes plain data only.
    const kept = { tenant, run_id, contract, session_id, updated_at, payload: recordedJson(payload) };
    const state: RunState = { ...kept, principal, user };
    await this.#store.commit([change(runTables, "put", state)], { durable: false });
    for (const listener of this.#listeners) tell(listener, state);
    return state;
  }

  async #check(tenant: string, contract: RunContract, given: unknown) {
    switch (contract) {
      case "run_lifecycle": {
        const payload = decode(RunLifecycleEvent, given);
        const before = await this.#before(tenant, payload.run_id, contract);
        return {
          ...payload,
          payload,
          fault: lifecycleFault(before && decode(RunLifecycleEvent, before), payload),
        };
      }
      case "task_list": {
        const payload = decode(TaskListEvent, given);
        const before = await this.#before(tenant, payload.run_id, contract);
        return {
          ...payload,
          payload,
          fault: taskListFault(before && decode(TaskListEvent, before), payload),
        };
      }
      case "verification": {
        const payload = decode(VerificationEvent, given);
        const before = await this.#before(tenant, payload.run_id, contract);
        return {
          ...payload,
          payload,
          fault: verificationFault(before && decode(VerificationEvent, before), payload),
        };
      }
    }
  }

  #find(tenant: string, run_id: string): Promise<RunState[]> {
    return this.#store.query(runTables, "find", { tenant, run_id });
  }

  async #before(tenant: string, run_id: string, contract: RunContract): Promise<object | undefined> {
    const states = await this.#find(tenant, run_id);
    const payload = states.find((state) => state.contract === contract)?.payload;
    return typeof payload === "object" && payload !== null ? payload : undefined;
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

/** A run of an earlier version is nobody's, so whoever tells of it goes on. */
function mayTell({ principal, user }: RunState, by: Pick<RunTeller, "id" | "user">): boolean {
  return principal === null || principal === by.id || user === by.user || by.id === LOCAL;
}

function isOwn(state: RunState, { principal, user }: RunOwner): boolean {
  return state.principal === principal || (user !== undefined && state.user === user);
}

function tell(listener: RunListener, state: RunState): void {
  try {
    listener(state);
  } catch {
    // A listener's own trouble harms no other.
  }
}
