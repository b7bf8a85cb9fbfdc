import { decode, RunLifecycleEvent, TaskListEvent, VerificationEvent } from "@reins/ahp";
import { change, type Store } from "@reins/store";
import { SupervisorError } from "../supervisor-error.ts";
import { type RunContract, type RunState, runTables } from "./tables.ts";
import { lifecycleFault, taskListFault, verificationFault } from "./transitions.ts";

/** Told of every new state. */
export type RunListener = (state: RunState) => void;

/** The durable contracts of runs: checked, kept as the current state, and told to whoever listens. */
export class Runs {
  readonly #store: Store;
  readonly #listeners = new Set<RunListener>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Takes a new state; what does not follow from the one before is refused. */
  note(tenant: string, contract: RunContract, payload: unknown): Promise<RunState> {
    // One after the other: each is checked against what the one before left.
    const noted = this.#last.then(() => this.#note(tenant, contract, payload));
    this.#last = noted.catch(() => undefined);
    return noted;
  }

  /** The current state of a run, one for each contract it has told. */
  find(tenant: string, run_id: string): Promise<RunState[]> {
    return this.#store.query(runTables, "find", { tenant, run_id });
  }

  /** The newest states of a tenant, or of one of its sessions. */
  list(tenant: string, session_id?: string): Promise<RunState[]> {
    return this.#store.query(runTables, "list", { tenant, session_id, limit: 1_000 });
  }

  /** Listens; the returned function ends it. */
  subscribe(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #note(tenant: string, contract: RunContract, given: unknown): Promise<RunState> {
    const { run_id, session_id, updated_at, payload, fault } = await this.#check(tenant, contract, given);
    if (fault !== undefined) throw new SupervisorError("conflict", `${contract} of run ${run_id}: ${fault}`);
    const state: RunState = { tenant, run_id, contract, session_id, updated_at, payload };
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

  async #before(tenant: string, run_id: string, contract: RunContract): Promise<object | undefined> {
    const states = await this.find(tenant, run_id);
    const payload = states.find((state) => state.contract === contract)?.payload;
    return typeof payload === "object" && payload !== null ? payload : undefined;
  }
}

function tell(listener: RunListener, state: RunState): void {
  try {
    listener(state);
  } catch {
    // A listener's own trouble harms no other.
  }
}
