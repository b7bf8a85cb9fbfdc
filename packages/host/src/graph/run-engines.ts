import {
  JournalEngine,
  type JournalSeal,
  type Orchestration,
  type RunEngine,
  type RunJournal,
} from "@reins/graph";

/** What an engine that carries durable runs is opened with. */
interface DurableEngineParts<Input, Result> {
  readonly orchestrate: Orchestration<Input, Result>;
  /** Where what runs did is stored, in one commit with what the ledger says of it. */
  readonly journal: RunJournal<Input, Result>;
  /** Whether a run in the journal is durable, and one of this engine. */
  readonly isOwn: (run: string) => boolean;
  /** Seals what the engine keeps elsewhere. */
  readonly seal: JournalSeal;
  /** The name of the ledger: the same in all processes that serve one home. */
  readonly origin: string;
  /** Set on a node: an engine carries the runs of one tenant there, which one process at a time serves. */
  readonly tenant?: string | undefined;
  /** Called when a run has to wait for the engine, and with `undefined` when it no longer does. */
  readonly onWait: (run: string, reason: string | undefined) => void;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** An engine beside the embedded one. */
export interface DurableEngine<Input, Result> extends RunEngine<Input, Result> {
  /** Why it carries no runs now; `undefined` while it does. */
  readonly outage: string | undefined;
}

export type OpenDurableEngine = <Input, Result>(
  parts: DurableEngineParts<Input, Result>,
) => DurableEngine<Input, Result>;

export interface RunEnginesOptions<Input, Result> extends Omit<DurableEngineParts<Input, Result>, "tenant"> {
  /** Opens what carries durable runs; without it the embedded engine does. */
  readonly openDurable?: OpenDurableEngine | undefined;
  /** Whether this process is one of several, of which each serves tenants of its own. */
  readonly isNode: boolean;
}

interface CarriedRun {
  readonly key: string;
  readonly graph: { readonly isDurable: boolean };
  readonly declared: { readonly tenant: string };
}

/**
 * What carries runs: the embedded engine, and beside it one for durable runs where that is configured; on a node one for
 * each tenant that has durable runs.
 */
export class RunEngines<Input, Result> {
  readonly #options: RunEnginesOptions<Input, Result>;
  readonly #embedded: JournalEngine<Input, Result>;
  readonly #durable = new Map<string, DurableEngine<Input, Result>>();

  constructor(options: RunEnginesOptions<Input, Result>) {
    const { orchestrate, journal } = options;
    this.#options = options;
    this.#embedded = new JournalEngine({ orchestrate, journal });
  }

  /** Why durable runs wait; `undefined` while nothing is known to hold them. */
  get outage(): string | undefined {
    return [...this.#durable.values()].find(({ outage }) => outage !== undefined)?.outage;
  }

  /** What carries a run of a tenant. */
  async of({ graph, declared }: CarriedRun): Promise<RunEngine<Input, Result>> {
    return graph.isDurable ? this.#durableOf(declared.tenant) : this.#embedded;
  }

  /** Continues the durable runs of an earlier process, of a tenant if one is named. */
  async resume(runs: readonly CarriedRun[], tenant: string | undefined): Promise<void> {
    if (this.#options.openDurable) {
      if (tenant === undefined || runs.length > 0) await this.#durableOf(tenant ?? "");
    } else if (tenant === undefined) await this.#embedded.resume();
    else for (const { key } of runs) await this.#embedded.continue(key);
  }

  /** Carries the durable runs of a tenant no more, which another node serves now. */
  async release(tenant: string): Promise<void> {
    const engine = this.#durable.get(tenant);
    this.#durable.delete(tenant);
    await engine?.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#embedded, ...this.#durable.values()].map((engine) => engine.close()));
  }

  /** The engine of a tenant's durable runs; it continues those that it finds. */
  async #durableOf(tenant: string): Promise<RunEngine<Input, Result>> {
    const { openDurable, isNode, isOwn, ...parts } = this.#options;
    if (!openDurable) return this.#embedded;
    const key = isNode ? tenant : "";
    const isOfTenant = (run: string) => run.startsWith(`${tenant}/`) && isOwn(run);
    const engine =
      this.#durable.get(key) ??
      openDurable({ ...parts, ...(isNode ? { tenant, isOwn: isOfTenant } : { isOwn }) });
    this.#durable.set(key, engine);
    await engine.resume();
    return engine;
  }
}
