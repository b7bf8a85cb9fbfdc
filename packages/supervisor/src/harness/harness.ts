import { join } from "node:path";
import type { Ledger } from "@reins/ledger";
import type { Operations, Store, Tables } from "@reins/store";
import { Approvals, type ApprovalsOptions } from "../approvals/approvals.ts";
import { approvalTables } from "../approvals/tables.ts";
import { type Clock, systemClock } from "../clock.ts";
import { Harnesses } from "../decision/harnesses.ts";
import { Supervisor } from "../decision/supervisor.ts";
import { Identity } from "../identity/identity.ts";
import { identityTables } from "../identity/tables/tables.ts";
import { limitTables } from "../limits/tables.ts";
import { PolicyKeeper, type PolicyStatus } from "../policies/policy-keeper.ts";
import { Commitment } from "../record/commitment.ts";
import { Runs } from "../runs/runs.ts";
import { runTables } from "../runs/tables.ts";
import { Facts } from "./facts.ts";
import { targetState } from "./target-state.ts";

/** The tables that a harness keeps, beside the ledger's own. */
export const harnessTables: readonly Tables<Operations, Operations>[] = [
  approvalTables,
  identityTables,
  limitTables,
  runTables,
];

/** What a harness stands on. The store holds the ledger's tables and {@link harnessTables}; both stay the caller's. */
export interface HarnessOptions {
  readonly home: string;
  /** The user's home folder. */
  readonly userHome: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock?: Clock;
  readonly webhooks?: ApprovalsOptions["webhooks"];
  /** Told of every change of a policy's status. */
  readonly onPolicy?: (status: PolicyStatus) => void;
  /** Told what went wrong in the background. */
  readonly onError?: (error: unknown) => void;
}

/** Everything that decides, of one home: who is who, what is allowed, who is asked, and the supervisor over it all. */
export class Harness {
  readonly home: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly identity: Identity;
  readonly policies: PolicyKeeper;
  readonly approvals: Approvals;
  readonly runs: Runs;
  readonly supervisor: Supervisor;
  readonly #harnesses = new Harnesses();

  private constructor(
    options: HarnessOptions,
    {
      identity,
      policies,
      commitment,
    }: { identity: Identity; policies: PolicyKeeper; commitment: Commitment },
  ) {
    const { home, userHome, store, ledger, clock = systemClock, webhooks, onError } = options;
    this.home = home;
    this.store = store;
    this.ledger = ledger;
    this.identity = identity;
    this.policies = policies;
    this.approvals = new Approvals({
      store,
      ledger,
      clock,
      ...(webhooks && { webhooks }),
      ...(onError && { onError }),
    });
    this.runs = new Runs(store);
    this.supervisor = new Supervisor({
      store,
      ledger,
      clock,
      approvals: this.approvals,
      policyFor: policies.policyFor,
      gatherFacts: new Facts({ harness: home, userHome }).gather,
      targetState,
      commitment,
      harnesses: this.#harnesses,
      ...(onError && { onRecordError: onError }),
    });
  }

  /** Opens what decides in a home. */
  static async open(options: HarnessOptions): Promise<Harness> {
    const { home, store, ledger, clock = systemClock, onPolicy, onError } = options;
    const identity = await Identity.open({ store, ledger, clock });
    const tenants = async () => (await identity.listTenants()).map(({ id }) => id);
    const policies = await PolicyKeeper.open({
      ...{ home, ledger, clock, tenants },
      ...(onPolicy && { onChange: onPolicy }),
      ...(onError && { onError }),
    });
    const commitment = await Commitment.open(join(home, "keys"));
    return new Harness(options, { identity, policies, commitment });
  }

  /** Ends what runs in the background. */
  async close(): Promise<void> {
    this.policies.close();
    await Promise.all([this.approvals.close(), this.#harnesses.close(), this.supervisor.close()]);
  }
}
