import { stat } from "node:fs/promises";
import { type Clock, errorCode, errorMessage, SerialQueue, systemClock } from "@reins/kit";
import { type Ledger, SYSTEM } from "@reins/ledger";
import { isNoLooser, loadTestedPolicy, type Policy, PolicyError, Roster } from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import { DEFAULT_TENANT } from "../identity/principal.ts";
import {
  lastInForce,
  type NamedPolicyFiles,
  type PolicyFiles,
  policyDraft,
  policyFiles,
  readIfThere,
  readPolicyFiles,
} from "./policy-files.ts";

/** The state of a tenant's policy. */
export interface PolicyStatus {
  readonly tenant: string;
  /** In force now; absent blocks everything. */
  readonly policy: Policy | undefined;
  /** A changed file that would allow more, and so waits for an admin. */
  readonly waiting: Policy | undefined;
  /** What is wrong with the file as it is now, if anything; the policy in force stays. */
  readonly fault: string | undefined;
}

/** What a keeper needs. */
export interface PolicyKeeperOptions {
  readonly home: string;
  /** Where the harness's own constitution lies, as far as that is not in the home. */
  readonly files?: NamedPolicyFiles;
  readonly ledger: Ledger;
  readonly clock?: Clock;
  /** The tenants there are now; each gets a policy. By default the one that is always there. */
  readonly tenants?: () => Promise<readonly string[]>;
  /** Whether other processes write to the ledger: what they put into force is in force here, too. */
  readonly isShared?: boolean;
  /** How often the files are looked at. */
  readonly everyMs?: number;
  /** Called with every change of status. */
  readonly onChange?: (status: PolicyStatus) => void;
  /** Called with every new roster. */
  readonly onRoster?: (roster: Roster) => void;
  /** Called with errors of the watch; the files are read again. */
  readonly onError?: (error: unknown) => void;
}

interface Kept extends PolicyStatus {
  readonly files: PolicyFiles;
  readonly seen: string;
}

const DEFAULT_EVERY_MS = 1_000;
const ABSENT = "absent";
const UNREADABLE = "unreadable";

/**
 * Keeps each tenant's policy in step with its files: checked, tested and swapped in one step. A change that can be seen to
 * be no looser applies at once; any other waits for an admin; a bad file leaves the policy in force as it was.
 */
export class PolicyKeeper {
  readonly #options: PolicyKeeperOptions;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #inForce = new Map<string, Policy>();
  /** The policies in force, by tenant. */
  readonly inForce: ReadonlyMap<string, Policy> = this.#inForce;
  #roster = Roster.read("");
  #rosterSeen = "";
  /** The newest constitution in the ledger that was looked at. */
  #newest: string | undefined;
  readonly #changes = new SerialQueue();
  #cancelTimer: (() => void) | undefined;
  #closed = false;

  private constructor(options: PolicyKeeperOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Loads the policies of all tenants and begins to watch their files. */
  static async open(options: PolicyKeeperOptions): Promise<PolicyKeeper> {
    const keeper = new PolicyKeeper(options);
    await keeper.refresh();
    keeper.#watch();
    return keeper;
  }

  /** Who is known, as the roster says now. */
  get roster(): Roster {
    return this.#roster;
  }

  /** The state of a tenant's policy. */
  status(tenant: string): PolicyStatus | undefined {
    return this.#kept.get(tenant);
  }

  /** Where the constitution of a tenant lies, or would lie if it had one of its own. */
  filesOf(tenant: string): PolicyFiles {
    const { home, files } = this.#options;
    const inHome = policyFiles(home, tenant);
    return tenant === DEFAULT_TENANT ? { ...inHome, ...files } : inHome;
  }

  /** The policy in force for a tenant; one that came to be since the files were looked at is loaded now. */
  async load(tenant: string): Promise<Policy | undefined> {
    if (!this.#kept.has(tenant))
      await this.#inTurn(async () => {
        if (!this.#kept.has(tenant)) await this.#refresh();
      });
    return this.#inForce.get(tenant);
  }

  /** Looks at the files now. */
  refresh(): Promise<void> {
    return this.#inTurn(() => this.#refresh());
  }

  async #refresh(): Promise<void> {
    const tenants = (await this.#options.tenants?.()) ?? [DEFAULT_TENANT];
    // The harness's own first: tenants without a constitution of theirs live under it.
    for (const tenant of new Set([DEFAULT_TENANT, ...tenants])) await this.#look(tenant);
    if (this.#options.isShared) await this.#followOthers();
    for (const tenant of this.#kept.keys()) {
      if (tenant === DEFAULT_TENANT || tenants.includes(tenant)) continue;
      this.#kept.delete(tenant);
      this.#inForce.delete(tenant);
    }
    await this.#lookAtRoster();
  }

  /** Puts the policy that waits now into force, on an admin's word; what comes to wait meanwhile is not it. */
  accept(tenant: string, admin: string): Promise<void> {
    const seen = this.#kept.get(tenant)?.waiting;
    return this.#inTurn(() => this.#accept(tenant, admin, seen));
  }

  /** Ends the watch. */
  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
  }

  /** One after the other: two at once would record the same change twice. */
  #inTurn(run: () => Promise<void>): Promise<void> {
    return this.#changes.run(run);
  }

  async #accept(tenant: string, admin: string, seen: Policy | undefined): Promise<void> {
    const kept = this.#kept.get(tenant);
    if (!kept || !seen)
      throw new SupervisorError("not_found", "no changed constitution waits to be accepted");
    if (kept.waiting !== seen)
      throw new SupervisorError("conflict", "what waited was accepted or changed meanwhile; look again");
    await this.#enforce({ ...kept, waiting: undefined }, seen, admin);
  }

  #watch(): void {
    if (this.#closed) return;
    this.#cancelTimer = this.#clock.after(this.#options.everyMs ?? DEFAULT_EVERY_MS, () => {
      void this.refresh()
        .catch((error: unknown) => this.#options.onError?.(error))
        .finally(() => this.#watch());
    });
  }

  async #look(tenant: string): Promise<void> {
    const files = await this.#ownOrShared(tenant);
    const seen = [files.rules, ...(await Promise.all([files.rules, files.prose].map(stampOf)))].join();
    const before = this.#kept.get(tenant);
    if (before?.seen === seen) return;
    const loaded = await load(files);
    const kept: Kept = {
      tenant,
      policy: before ? undefined : await this.#firstFor(tenant, files, loaded.policy),
      ...before,
      waiting: undefined,
      fault: undefined,
      files,
      seen,
    };
    if (!loaded.policy) return this.#keepFault({ ...kept, ...loaded }, before);
    if (isSame(loaded.policy, kept.policy)) return this.#keep(kept);
    const first = kept.policy === undefined;
    if (first || isNoLooser(loaded.policy.file, kept.policy.file))
      return this.#enforce(kept, loaded.policy, SYSTEM);
    this.#keep({ ...kept, waiting: loaded.policy });
  }

  /** Puts into force what another process has put into force since. */
  async #followOthers(): Promise<void> {
    const { ledger } = this.#options;
    const [newest] = await ledger.read({ tag: "constitution", order: "newest", limit: 1 });
    if (!newest || newest.entry.cid === this.#newest) return;
    for (const [tenant, kept] of this.#kept) {
      const policy = await lastInForce(ledger, tenant, kept.policy);
      if (policy && !isSame(policy, kept.policy))
        this.#keep({ ...kept, policy, waiting: isSame(policy, kept.waiting) ? undefined : kept.waiting });
    }
    this.#newest = newest.entry.cid;
  }

  /** The files of a tenant; one without a constitution of its own lives under that of the harness. */
  async #ownOrShared(tenant: string): Promise<PolicyFiles> {
    const own = this.filesOf(tenant);
    return (await stampOf(own.rules)) === ABSENT ? this.filesOf(DEFAULT_TENANT) : own;
  }

  /** What a tenant that was not looked at yet lives under: what was in force for it, or for the harness whose files it shares. */
  async #firstFor(
    tenant: string,
    files: PolicyFiles,
    loaded: Policy | undefined,
  ): Promise<Policy | undefined> {
    const shared = files.rules === this.filesOf(DEFAULT_TENANT).rules;
    const earlier = await lastInForce(this.#options.ledger, tenant, loaded);
    return earlier ?? (shared ? this.inForce.get(DEFAULT_TENANT) : undefined);
  }

  /** Puts a policy into force, once the ledger says so. */
  async #enforce(kept: Kept, policy: Policy, actor: string): Promise<void> {
    await this.#options.ledger.record([policyDraft(kept, policy, actor)]);
    this.#keep({ ...kept, policy });
  }

  /** The policy in force stays, and a fault is reported once. */
  #keepFault(kept: Kept, before: Kept | undefined): void {
    if (before && before.fault === kept.fault && before.waiting === undefined)
      this.#kept.set(kept.tenant, kept);
    else this.#keep(kept);
  }

  #keep(kept: Kept): void {
    this.#kept.set(kept.tenant, kept);
    if (kept.policy) this.#inForce.set(kept.tenant, kept.policy);
    this.#options.onChange?.(kept);
  }

  /** An unreadable roster leaves every agent unknown. */
  async #lookAtRoster(): Promise<void> {
    const { roster } = this.filesOf(DEFAULT_TENANT);
    const seen = await stampOf(roster);
    if (seen === this.#rosterSeen) return;
    try {
      this.#useRoster((await readIfThere(roster))?.toString("utf8") ?? "");
      this.#rosterSeen = seen;
    } catch (error) {
      this.#useRoster("");
      if (this.#rosterSeen !== UNREADABLE) this.#options.onError?.(error);
      this.#rosterSeen = UNREADABLE;
    }
  }

  #useRoster(text: string): void {
    this.#roster = Roster.read(text);
    this.#options.onRoster?.(this.#roster);
  }
}

function isSame(policy: Policy, other: Policy | undefined): boolean {
  return JSON.stringify(policy.hashes) === JSON.stringify(other?.hashes);
}

/** The policy in files, or what is wrong with them; what could not even be read is looked at again. */
async function load(
  files: PolicyFiles,
): Promise<{ policy: Policy } | { policy?: never; fault: string; seen?: string }> {
  try {
    const text = await readPolicyFiles(files);
    return text ? { policy: await loadTestedPolicy(text) } : { fault: "there is no constitution" };
  } catch (error) {
    if (error instanceof PolicyError) return { fault: error.message };
    return {
      fault: `it could not be read: ${errorMessage(error)}`,
      seen: UNREADABLE,
    };
  }
}

/** Identifies the state of a file without reading it. */
async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs}/${size}/${ino}`;
  } catch (error) {
    const code = errorCode(error) ?? "unknown";
    return code === "ENOENT" || code === "ENOTDIR" ? ABSENT : `${UNREADABLE}, ${code}`;
  }
}
