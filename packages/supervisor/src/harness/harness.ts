import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Decisions, PayloadFor, SpecialisedEventType } from "@reins/ahp";
import { type Clock, errorCode, systemClock } from "@reins/kit";
import type { Draft, Ledger, RecordOptions } from "@reins/ledger";
import {
  type Action,
  type ControlEvent,
  type FactsContext,
  type FilePort,
  findFolders,
  gatherFacts,
  loadToolTables,
  realFiles,
  runInputs,
  type Subject,
  type ToolTables,
} from "@reins/policy";
import type { Change, Store } from "@reins/store";
import { Approvals, type ApprovalsOptions } from "../approvals/approvals.ts";
import { renewApprovalSeals } from "../approvals/at-rest.ts";
import type { RequestContext, Workspace } from "../decision/decision.ts";
import { Harnesses } from "../decision/harnesses.ts";
import { Supervisor } from "../decision/supervisor.ts";
import { Identity } from "../identity/identity.ts";
import { type QuotaSettings, Quotas } from "../limits/quotas.ts";
import type { NamedPolicyFiles } from "../policies/policy-files.ts";
import { PolicyKeeper, type PolicyStatus } from "../policies/policy-keeper.ts";
import { Commitment, withoutSecrets } from "../record/record.ts";
import { Vault } from "../record/vault.ts";
import { type Redact, Redactor } from "../redaction/redactor.ts";
import { Reports } from "../reports/reports.ts";
import { Runs } from "../runs/runs.ts";

/** The store holds the ledger's tables and `harnessTables`; both stay the caller's. */
export interface HarnessOptions {
  readonly home: string;
  /** Where the constitution lies, as far as that is not in the home. */
  readonly policyFiles?: NamedPolicyFiles;
  /** The user's home folder. */
  readonly userHome: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock?: Clock;
  readonly webhooks?: ApprovalsOptions["webhooks"];
  /** What principals and tenants may use at most; by default {@link Quotas} decides. */
  readonly quotas?: QuotaSettings;
  /** The OpenID issuers, with their settings, whose users are valid. */
  readonly origins?: readonly string[];
  /** Removes secrets from everything that is stored or shown; by default those of known formats. */
  readonly redactor?: Redactor;
  /** Called with every change of a policy's status. */
  readonly onPolicy?: (status: PolicyStatus) => void;
  /** Called with errors in the background. */
  readonly onError?: (error: unknown) => void;
}

/** What is opened before the rest of a harness is made. */
interface OpenedParts {
  readonly identity: Identity;
  readonly policies: PolicyKeeper;
  readonly commitment: Commitment;
  readonly vault: Vault;
  readonly redactor: Redactor;
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
  /** What agents report of themselves. */
  readonly reports: Reports;
  readonly supervisor: Supervisor;
  /** Removes secrets from everything that is stored or shown. */
  readonly redactor: Redactor;
  /** The same, of a value. */
  readonly redact: Redact;
  /** Seals what has to be kept exactly. */
  readonly vault: Vault;
  /** What principals and tenants may use at most. */
  readonly quotas: Quotas;
  readonly #harnesses = new Harnesses();
  readonly #facts: Facts;
  readonly #onError: (error: unknown) => void;

  private constructor(
    {
      home,
      userHome,
      store,
      ledger,
      clock = systemClock,
      webhooks,
      quotas,
      onError = () => {},
    }: HarnessOptions,
    { identity, policies, commitment, vault, redactor }: OpenedParts,
  ) {
    this.home = home;
    this.store = store;
    this.ledger = ledger;
    this.identity = identity;
    this.policies = policies;
    this.redactor = redactor;
    this.redact = (value) => redactor.value(value);
    this.vault = vault;
    this.quotas = new Quotas(quotas, clock);
    this.#onError = onError;
    const shared = { store, ledger, clock, commitment, redactor };
    this.approvals = new Approvals({ ...shared, vault, onError, ...(webhooks && { webhooks }) });
    this.runs = new Runs(store, this.redact, clock);
    this.reports = new Reports(store, this.redact, clock);
    this.#facts = new Facts({ harness: home, userHome });
    this.supervisor = new Supervisor({
      ...shared,
      approvals: this.approvals,
      policies: policies.inForce,
      loadPolicy: (tenant) => policies.load(tenant),
      gatherFacts: this.#facts.gather,
      targetState,
      inputState,
      harnesses: this.#harnesses,
      onRecordError: onError,
    });
  }

  /** Opens what decides in a home. */
  static async open(options: HarnessOptions): Promise<Harness> {
    const { home, policyFiles: files, store, ledger, clock = systemClock, onPolicy, onError } = options;
    const { redactor = Redactor.create() } = options;
    const redact = (value: unknown) => redactor.value(value);
    const identity = await Identity.open({ store, ledger, clock, redact, origins: options.origins });
    const tenants = async () => (await identity.listTenants()).map(({ id }) => id);
    const policies = await PolicyKeeper.open({
      ...{ home, ledger, clock, tenants, isShared: store.node !== undefined },
      onRoster: (roster) => identity.useRoster(roster),
      ...(files && { files }),
      ...(onPolicy && { onChange: onPolicy }),
      ...(onError && { onError }),
    });
    const keys = join(home, "keys");
    const [commitment, vault] = await Promise.all([Commitment.open(keys), Vault.open(keys)]);
    await renewApprovalSeals(store, vault);
    return new Harness(options, { identity, policies, commitment, vault, redactor });
  }

  /** Looks where the folders of a session really lie, so that its first action need not wait for that. */
  enter(workspace: Workspace, agent: string): void {
    this.#facts.enter(workspace, agent);
  }

  /** Records entries without the secrets in them, and whatever changes belong with them, in one commit. */
  record<const Changes extends readonly Change<unknown>[] = []>(
    drafts: readonly Draft[],
    options: RecordOptions<Changes> = {},
  ): ReturnType<typeof this.ledger.record<Changes>> {
    const recorded = drafts.map((draft) => this.redacted(draft));
    return this.ledger.record(recorded, options);
  }

  /** A draft as it is recorded: without the secrets in it. */
  redacted(draft: Draft): Draft {
    return withoutSecrets(draft, this.redact);
  }

  /**
   * What another harness that the constitution of a tenant names says to an event of a family that it answers; nothing
   * where none does, and rejects where one fails that may not.
   */
  async advise<Type extends SpecialisedEventType>(
    tenant: string,
    type: Type,
    payload: PayloadFor<Type>,
  ): Promise<Decisions[Type] | undefined> {
    const named = this.policies.inForce.get(tenant)?.file.harnesses ?? [];
    return named.length === 0 ? undefined : this.#harnesses.advise(named, type, payload);
  }

  /**
   * Forwards an event without a decision to the harnesses that the constitution of a tenant names and that list it. Does
   * not wait for them; what they do not get is an error in the background.
   */
  forward(tenant: string, event: ControlEvent): void {
    const named = this.policies.inForce.get(tenant)?.file.harnesses ?? [];
    if (named.length === 0) return;
    this.#harnesses.forward(named, event).catch((error: unknown) => this.#onError(error));
  }

  /** Ends what runs in the background. */
  async close(): Promise<void> {
    this.policies.close();
    await this.runs.close();
    await Promise.all([this.approvals.close(), this.#harnesses.close(), this.supervisor.close()]);
  }
}

/** What finding out facts needs to know of the machine. */
export interface FactsOptions {
  /** The folder of the harness itself. */
  readonly harness: string;
  /** The user's home, which is the agent's where nothing else is known. */
  readonly userHome: string;
  readonly files?: FilePort;
  readonly tables?: ToolTables;
}

/** Finds out what actions would do, on this machine. */
export class Facts {
  readonly #options: FactsOptions;
  readonly #contexts = new WeakMap<Workspace, Map<string, FactsContext>>();
  #tables: ToolTables | undefined;

  constructor(options: FactsOptions) {
    this.#options = options;
    this.#tables = options.tables;
  }

  /** The facts of an event. */
  readonly gather = (
    event: ControlEvent,
    { agent }: Subject,
    { workspace, files }: Pick<RequestContext, "workspace" | "files">,
  ): Promise<Action> => gatherFacts(event, this.#contextOf(workspace, workspace.tools ?? agent), files);

  /** Finds the folders of a session ahead of its first action, which reports a failure. */
  enter(workspace: Workspace, agent: string): void {
    findFolders(this.#contextOf(workspace, workspace.tools ?? agent)).catch(() => undefined);
  }

  #contextOf(workspace: Workspace, agent: string): FactsContext {
    const known = this.#contexts.get(workspace) ?? new Map<string, FactsContext>();
    this.#contexts.set(workspace, known);
    const context = known.get(agent) ?? this.#newContext(workspace, agent);
    known.set(agent, context);
    return context;
  }

  #newContext({ cwd, roots, realRoots, home, environment }: Workspace, agent: string): FactsContext {
    const { harness, userHome, files = realFiles } = this.#options;
    this.#tables ??= loadToolTables();
    const tables = this.#tables;
    return { cwd, roots, realRoots, home: home ?? userHome, environment, harness, agent, tables, files };
  }
}

let known: ToolTables | undefined;

/** The tools that an agent itself has, by the name of its table; none where there is no table. */
export function toolsOfAgent(agent: string): readonly string[] {
  known ??= loadToolTables();
  return Object.keys(known.get(agent)?.tools ?? {});
}

/** How many targets are looked at; an action that changes more is bound to these. */
const MAX_TARGETS = 64;
/** How much of a target is read; longer ones are identified by size and times, too. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What an action would change is now: path to digest, or `absent`. An answer counts for exactly that. */
export async function targetState(action: Action): Promise<Record<string, string>> {
  const deep = new Map<string, boolean>();
  for (const effect of action.effects)
    if (effect.kind === "write")
      deep.set(effect.path, (deep.get(effect.path) ?? false) || effect.deep === true);
  const targets = [...deep].toSorted(([left], [right]) => (left < right ? -1 : 1)).slice(0, MAX_TARGETS);
  const states = targets.map(async ([path, isDeep]) => [path, await stateOf(path, isDeep)] as const);
  return Object.fromEntries(await Promise.all(states));
}

/** What the files are now that an action runs, has read by a build tool, or sends: path to digest. */
async function inputState(action: Action, cwd: string): Promise<Record<string, string>> {
  const { files, folders } = await runInputs(action, cwd);
  const inputs = [
    ...files.map((path) => [path, false] as const),
    ...folders.map((path) => [path, true] as const),
  ];
  const states = inputs.map(async ([path, isDeep]) => [path, await stateOf(path, isDeep)] as const);
  return Object.fromEntries(await Promise.all(states));
}

async function stateOf(path: string, isDeep: boolean): Promise<string> {
  try {
    // Non-blocking: opening a pipe without a writer would wait.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (stat.isDirectory() && isDeep)
        return `folder ${stat.dev}/${stat.ino}, below ${await digestBelow(path)}`;
      if (!stat.isFile()) return `not a file, ${stat.dev}/${stat.ino}`;
      const start = Buffer.alloc(Math.min(stat.size, MAX_BYTES));
      await file.read(start, 0, start.length, 0);
      const digest = createHash("sha256").update(start).digest("hex");
      return stat.size > MAX_BYTES
        ? `sha256:${digest}, ${stat.size} bytes, ${stat.mtimeMs}`
        : `sha256:${digest}`;
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errorCode(error) ?? "unknown";
    return code === "ENOENT" ? "absent" : `unreadable, ${code}`;
  }
}

/** The most entries of a folder that are read; the others do not count. */
const MAX_ENTRIES = 2_000;

/** A digest of what lies below a folder: names, kinds, sizes and times. Links are not followed. */
async function digestBelow(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const pending = [""];
  let entries = 0;
  // The list grows during the loop, level by level, so that a tree is always read in the same order.
  for (const inside of pending) {
    const names = (await readdir(join(folder, inside))).toSorted();
    for (const name of names) {
      if (entries === MAX_ENTRIES) return `sha256:${hash.digest("hex")} of the first ${MAX_ENTRIES} entries`;
      entries += 1;
      const path = join(inside, name);
      const found = await lstat(join(folder, path));
      if (found.isDirectory()) pending.push(path);
      const facts = found.isDirectory() ? ["folder"] : [found.mode, found.size, found.mtimeMs, found.ino];
      hash.update(`${JSON.stringify([path, ...facts])}\n`);
    }
  }
  return `sha256:${hash.digest("hex")}`;
}
