import { homedir } from "node:os";
import { SYSTEM } from "@reins/ledger";
import { type Store, StoreError, type StoreErrorCode, type StoreLoss } from "@reins/store";
import { Harness, type PolicyStatus, writeFirstFiles } from "@reins/supervisor";
import { type Configuration, readConfiguration } from "../configuration/configuration.ts";
import { homeRedactor } from "../configuration/home-redactor.ts";
import { namedPolicyFiles, type PolicyFileFlags } from "../configuration/policy-files.ts";
import { version } from "../installation.ts";
import { damageError } from "../ledger/ledger-error.ts";
import { WritableLedger } from "../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../ledger/seen-checkpoints.ts";
import { type Log, redactLog } from "../log.ts";
import { isLoopback } from "../serving/address.ts";
import { homeTables } from "./home-store.ts";

/** After these errors a store accepts nothing until it is opened again. */
const BROKEN: ReadonlySet<StoreErrorCode> = new Set(["io", "corrupt", "closed"]);

export interface OpenHarnessOptions {
  readonly home: string;
  readonly log: Log;
  /** Receives errors of background work. */
  readonly report: (error: unknown) => void;
  readonly flags?: PolicyFileFlags | undefined;
  readonly openStore?: (() => Promise<Store>) | undefined;
  /** Whether to open a home that lost recorded data. */
  readonly acceptLoss?: boolean | undefined;
  /** What the database lacks, once it is open. */
  readonly losses?: (() => readonly StoreLoss[]) | undefined;
}

/** Everything that decides in a home, for the one process that may write to it. */
export class OpenHarness {
  readonly harness: Harness;
  readonly #writable: WritableLedger;

  private constructor(harness: Harness, writable: WritableLedger) {
    this.harness = harness;
    this.#writable = writable;
  }

  /** Opens a home, writes the first constitution and roster where there is none, and records the start. */
  static async open(options: OpenHarnessOptions): Promise<OpenHarness> {
    const { home, log, report } = options;
    // The store opens in its threads while the files are read here.
    const lost: string[] = [];
    const opening = openLedger(options, lost);
    opening.catch(() => undefined);
    try {
      const { policyFiles, redactor, webhooks } = await readHome(options);
      redactLog(log, redactor);
      for (const { name } of readableWebhooks(webhooks))
        log.warn(
          { webhook: name },
          `the webhook "${name}" has details: true and an http: address on another machine: what is asked can be read on the way; use https:`,
        );
      const written = await writeFirstFiles(home, policyFiles);
      for (const path of written) log.info({ path }, `wrote ${path}; read and adapt it`);
      const writable = await opening;
      const { ledger, store } = writable;
      lost.push(...(options.losses?.() ?? []).map(({ text }) => text));
      for (const text of lost) log.error(`this home lost recorded data: ${text}`);
      const losses = lost.length > 0 ? [serverDraft("loss", { losses: lost })] : [];
      await ledger.record([serverDraft("server_start"), ...losses]);
      const harness = await Harness.open({
        home,
        policyFiles,
        userHome: homedir(),
        store,
        ledger,
        redactor,
        webhooks,
        onPolicy: (status) => logPolicy(status, log),
        onError: report,
      });
      log.info({ ledger: ledger.origin }, `decisions are recorded in the ledger ${ledger.origin}`);
      return new OpenHarness(harness, writable);
    } catch (error) {
      await opening.then(
        (writable) => writable.abandon(),
        () => undefined,
      );
      throw error;
    }
  }

  /** Records the end and closes the home. */
  async close(): Promise<void> {
    try {
      await this.harness.close();
      await this.#writable.ledger.record([serverDraft("server_stop")]);
    } finally {
      await this.#writable.close();
    }
  }

  /** Closes the home if the error made its store unusable. */
  async abandonAfter(error: unknown): Promise<boolean> {
    if (!(error instanceof StoreError) || !BROKEN.has(error.code)) return false;
    await this.harness.close().catch(() => undefined);
    await this.#writable.abandon();
    return true;
  }
}

async function openLedger(options: OpenHarnessOptions, lost: string[]): Promise<WritableLedger> {
  const { home, log, openStore, acceptLoss } = options;
  return WritableLedger.open({
    home,
    tables: homeTables,
    ...(openStore && { openStore }),
    seen: SeenCheckpoints.ofUser(process.env),
    notice: (message) => log.info(message),
    onCheckpointError: (error) => log.error({ err: error }, "a checkpoint could not be made"),
    acceptLoss,
    onLoss: (text) => void lost.push(text),
  }).catch((error: unknown) => {
    throw damageError(error, home) ?? error;
  });
}

async function readHome({ home, flags = {} }: OpenHarnessOptions) {
  const file = await readConfiguration(home);
  const environment = process.env;
  return {
    policyFiles: namedPolicyFiles({ home, flags, environment, file }),
    redactor: await homeRedactor({ home, environment, file }),
    webhooks: file.webhooks,
  };
}

/** Webhooks whose requests say what is asked, and are not encrypted on their way to another machine. */
export function readableWebhooks(webhooks: Configuration["webhooks"]): Configuration["webhooks"] {
  return webhooks.filter(({ url, details }) => {
    const { protocol, hostname } = new URL(url);
    return details === true && protocol === "http:" && !isLoopback(hostname);
  });
}

function serverDraft(event: "server_start" | "server_stop" | "loss", details: object = {}) {
  return {
    quality: "session_lifecycle",
    actor: SYSTEM,
    target: SYSTEM,
    tags: ["server"],
    payload: { event, version: version(), ...details },
  } as const;
}

function logPolicy({ tenant, policy, waiting, fault }: PolicyStatus, log: Log): void {
  if (policy)
    log.info({ tenant, ...policy.hashes }, `${policy.rules.length} rules are in force for ${tenant}`);
  if (waiting)
    log.warn(
      { tenant, ...waiting.hashes },
      "a changed constitution would allow more; it waits for an admin: reins policy accept",
    );
  if (fault !== undefined) log.error({ tenant }, fault);
}
