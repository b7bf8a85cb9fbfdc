import { AgentRunner, type AgentRunnerOptions, haakMessaging } from "@reins/haak";
import { Hosting, type HostingOptions } from "@reins/host";
import type { Ledger } from "@reins/ledger";
import { type Store, StoreError, type StoreErrorCode } from "@reins/store";
import { Harness, type HarnessOptions } from "@reins/supervisor";

/** The store and the ledger of a home, open for writing. */
export interface LedgerHandle {
  readonly store: Store;
  readonly ledger: Ledger;
  close(): Promise<void>;
  /** Closes the store at once, after a failure. */
  abandon(): Promise<void>;
}

/** A home in which decisions are made. */
export interface OpenHarness extends Pick<LedgerHandle, "store" | "ledger"> {
  readonly harness: Harness;
  close(): Promise<void>;
  /** Closes the home if the error made its store unusable, and returns whether it did. */
  abandonAfter(error: unknown): Promise<boolean>;
}

export interface OpenHarnessOptions extends Omit<HarnessOptions, "store" | "ledger"> {
  readonly openLedger: () => Promise<LedgerHandle>;
}

/** A home in which agents run. */
export interface Reins extends OpenHarness {
  readonly hosting: Hosting;
}

/** A home with HAAK's sessions as well. */
export interface ServedReins extends Reins {
  readonly runner: AgentRunner;
}

export interface ReinsOptions extends OpenHarnessOptions {
  readonly hosting: Omit<HostingOptions, "harness" | "messaging" | "onError">;
  /** Opens HAAK's sessions as well. */
  readonly haak?: HaakSettings | undefined;
}

export type HaakSettings = Omit<AgentRunnerOptions, "harness" | "hosting" | "onError">;

/** After these errors a store accepts nothing until it is opened again. */
const BROKEN: ReadonlySet<StoreErrorCode> = new Set(["io", "corrupt", "closed"]);

/** Opens what decides in a home, without agents. */
export async function openHarness({ openLedger, ...options }: OpenHarnessOptions): Promise<OpenHarness> {
  const handle = await openLedger();
  const { store, ledger } = handle;
  try {
    const harness = await Harness.open({ ...options, store, ledger });
    return {
      ...{ harness, store, ledger },
      close: async () => {
        try {
          await harness.close();
        } finally {
          await handle.close();
        }
      },
      abandonAfter: async (error) => {
        if (!(error instanceof StoreError) || !BROKEN.has(error.code)) return false;
        await harness.close().catch(() => undefined);
        await handle.abandon();
        return true;
      },
    };
  } catch (error) {
    await handle.abandon();
    throw error;
  }
}

/** Opens a home: store, ledger, decisions, sessions and agents. The composition root of every process that runs agents. */
export function openReins(options: ReinsOptions & { readonly haak: HaakSettings }): Promise<ServedReins>;
export function openReins(options: ReinsOptions): Promise<Reins>;
export async function openReins({
  hosting: hostingOptions,
  haak,
  ...options
}: ReinsOptions): Promise<Reins & Partial<ServedReins>> {
  const { onError } = options;
  const opened = await openHarness(options);
  const { harness } = opened;
  let hosting: Hosting | undefined;
  let runner: AgentRunner | undefined;
  const close = async () => {
    runner?.close();
    try {
      await hosting?.close();
    } finally {
      await opened.close();
    }
  };
  try {
    hosting = await Hosting.open({
      ...hostingOptions,
      harness,
      messaging: haakMessaging(harness),
      ...(onError && { onError }),
    });
    runner = haak && (await openHaak({ ...haak, harness, hosting, onError }));
  } catch (error) {
    await close();
    throw error;
  }
  const abandonAfter = async (error: unknown) => {
    if (!(await opened.abandonAfter(error))) return false;
    runner?.close();
    await hosting.close().catch(() => undefined);
    return true;
  };
  return { ...opened, hosting, ...(runner && { runner }), close, abandonAfter };
}

/** Standing agents get their sessions afterwards, because an agent may take time to start. */
async function openHaak({ preloadStanding, ...options }: AgentRunnerOptions): Promise<AgentRunner> {
  const runner = await AgentRunner.open(options);
  if (preloadStanding) void runner.preload().catch(options.onError);
  return runner;
}
