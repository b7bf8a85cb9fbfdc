import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { AgentEntry, InstalledAgent } from "@reins/agents";
import { ProviderKeys } from "@reins/gateway";
import type { InstallGovernor, WireTap } from "@reins/host";
import { errorMessage, isLoopback } from "@reins/kit";
import { SYSTEM } from "@reins/ledger";
import {
  type HaakSettings,
  homeTables,
  type LedgerHandle,
  type OpenHarness,
  openHarness,
  openReins,
  type Reins,
  type ServedReins,
} from "@reins/server";
import { originOf } from "@reins/server/oidc";
import type { Store, StoreLoss } from "@reins/store";
import { type PolicyStatus, Redactor, writeFirstFiles } from "@reins/supervisor";
import { readAgentsFile } from "../configuration/agents-file.ts";
import { type Configuration, readConfiguration } from "../configuration/configuration.ts";
import { headersIn, telemetrySettings } from "../configuration/exports.ts";
import { durableEngine } from "../configuration/graphs.ts";
import { modelAccess } from "../configuration/model-access.ts";
import { namedPolicyFiles, type PolicyFileFlags } from "../configuration/policy-files.ts";
import { CONFIGURATION_FILE, readIfExists, unusable } from "../files.ts";
import { postgresOf } from "../home-database.ts";
import { startAuditExports, startTelemetry } from "../hosting/audit-exports.ts";
import { installDecided } from "../hosting/governed-install.ts";
import { HomeAgents, loadCatalogue } from "../hosting/home-agents.ts";
import { installOnFirstUse } from "../hosting/install-agent.ts";
import { version } from "../installation.ts";
import { damageError } from "../ledger/ledger-error.ts";
import { WritableLedger } from "../ledger/open-ledger.ts";
import { SeenCheckpoints } from "../ledger/seen-checkpoints.ts";
import { type Log, redactLog } from "../log.ts";
import type { Notice } from "../output.ts";

export interface HomeOptions {
  readonly home: string;
  readonly log: Log;
  /** Receives errors of background work; by default they go to the log. */
  readonly report?: ((error: unknown) => void) | undefined;
  readonly flags?: PolicyFileFlags | undefined;
  readonly openStore?: (() => Promise<Store>) | undefined;
  /** Whether to open a home that lost recorded data. */
  readonly acceptLoss?: boolean | undefined;
  /** What the database lacks, once it is open. */
  readonly losses?: (() => readonly StoreLoss[]) | undefined;
  /** The folder of sessions that name none. */
  readonly workspace?: string | undefined;
  /** Folders with skills that the command line names. */
  readonly skillDirs?: readonly string[] | undefined;
  /** The host at which others reach this process, where it is a node. */
  readonly nodeHost?: string | undefined;
  /** Sees every message between clients, Reins and agents. */
  readonly tap?: WireTap | undefined;
  /** Whether audit exports may use standard output. */
  readonly exportsToOutput?: boolean | undefined;
}

/** Opens the home of a command without agents. Records no start, and creates no first constitution. */
export async function openHomeHarness(home: string, notice: Notice): Promise<OpenHarness> {
  const { policyFiles, redactor, origins } = await readHome({ home });
  const openLedger = () =>
    WritableLedger.open({ home, tables: homeTables, seen: SeenCheckpoints.ofUser(process.env), notice });
  const onError = (error: unknown) => notice(errorMessage(error));
  return openHarness({ home, userHome: homedir(), policyFiles, redactor, origins, openLedger, onError });
}

/**
 * Opens a home with its agents as its configuration says, writes the first constitution and roster where there is none,
 * and records start and end.
 */
export function openHome(options: HomeOptions & { readonly haak: HaakSettings }): Promise<ServedReins>;
export function openHome(options: HomeOptions): Promise<Reins>;
export async function openHome(options: HomeOptions & { readonly haak?: HaakSettings }): Promise<Reins> {
  const { home, log, haak, exportsToOutput = false } = options;
  const onError =
    options.report ?? ((error: unknown) => log.error({ err: error }, "a background task failed"));
  const agents = await HomeAgents.open(home);
  const openDurable = await durableEngine(agents.engine, options.nodeHost);
  // The store opens in its threads while the files are read here.
  const lost: string[] = [];
  const opening = openLedger(options, lost);
  opening.catch(() => undefined);
  const { audit, telemetry, ...setup } = await prepareHome(options).catch(async (error: unknown) => {
    await (await opening.catch(() => undefined))?.abandon();
    throw error;
  });
  const reins = await openReins({
    ...setup,
    home,
    userHome: homedir(),
    openLedger: async () => recorded(await opening, [...lost, ...lossTexts(options)], log),
    onPolicy: (status) => logPolicy(status, log),
    onError,
    hosting: {
      ...hostingOptions(agents, options),
      graphs: { ...agents.graphs, openDurable },
      models: modelAccess(home, agents.gateway, process.env, onError),
    },
    ...(haak && { haak: { ...haak, isInstalled: (agent: string) => agents.isInstalled(agent) } }),
  });
  const { origin } = reins.ledger;
  log.info({ ledger: origin }, `decisions are recorded in the ledger ${origin}`);
  const audited = await withExports(reins, () =>
    startAuditExports({ home, settings: audit, opened: reins, log, hasOutput: exportsToOutput }),
  );
  return withExports(audited, () => startTelemetry({ settings: telemetry, opened: reins, log }));
}

/** A home whose exports end before it is closed. */
async function withExports(reins: Reins, start: () => Promise<() => Promise<void>>): Promise<Reins> {
  const stop = await start().catch(async (error: unknown) => {
    await reins.close();
    throw error;
  });
  return {
    ...reins,
    close: async () => {
      await stop();
      await reins.close();
    },
    abandonAfter: async (error) => {
      const isAbandoned = await reins.abandonAfter(error);
      if (isAbandoned) await stop();
      return isAbandoned;
    },
  };
}

async function prepareHome(options: HomeOptions) {
  const { home, log } = options;
  const setup = await readHome(options);
  const { policyFiles, redactor, webhooks } = setup;
  const telemetry = telemetrySettings(setup.telemetry, process.env);
  redactLog(log, redactor);
  for (const { name } of readableWebhooks(webhooks))
    log.warn(
      { webhook: name },
      `the webhook "${name}" has details: true and an http: address on another machine: what is asked can be read on the way; use https:`,
    );
  const written = await writeFirstFiles(home, policyFiles);
  for (const path of written) log.info({ path }, `wrote ${path}; read and adapt it`);
  return { ...setup, telemetry };
}

function openLedger(options: HomeOptions, lost: string[]): Promise<WritableLedger> {
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

function lossTexts({ losses }: HomeOptions): string[] {
  return (losses?.() ?? []).map(({ text }) => text);
}

/** Records the start, and the end when the ledger is closed. */
async function recorded(writable: WritableLedger, lost: readonly string[], log: Log): Promise<LedgerHandle> {
  const { ledger, store } = writable;
  try {
    for (const text of lost) log.error(`this home lost recorded data: ${text}`);
    const losses = lost.length > 0 ? [serverDraft("loss", { losses: lost })] : [];
    await ledger.record([serverDraft("server_start"), ...losses]);
  } catch (error) {
    await writable.abandon();
    throw error;
  }
  return {
    ...{ ledger, store },
    abandon: () => writable.abandon(),
    close: async () => {
      try {
        await ledger.record([serverDraft("server_stop")]);
      } finally {
        await writable.close();
      }
    },
  };
}

function hostingOptions(agents: HomeAgents, { log, tap, workspace, skillDirs = [] }: HomeOptions) {
  const { tenants, native, idleMs, cancelGraceMs, retentionMs, serversFor } = agents;
  const write = (text: string) => log.info(text.trim());
  const reporter = { notice: write, screen: { write } };
  return {
    ...{ workspace, tap, tenants, native, idleMs, cancelGraceMs, retentionMs, serversFor },
    skills: { ...agents.skills, cli: skillDirs },
    catalogue: agents.catalogue,
    install: (entry: AgentEntry, govern: InstallGovernor) =>
      installOnFirstUse(agents, entry, reporter, (wanted) =>
        installDecided(agents.installer, entry.id, wanted, govern),
      ),
    isInstalled: async ({ id }: AgentEntry) => (await agents.installer.installed(id)) !== undefined,
    admit: (entry: AgentEntry, installed: InstalledAgent) => agents.admit(entry, installed),
    levelFor: (entry: AgentEntry, installed: InstalledAgent) => agents.levelOf(entry, installed),
    environment: process.env,
    userHome: homedir(),
    networkFor: (agent: string) => agents.networkFor(agent),
    declares: (agent: string) => agents.declares(agent),
    passFor: (agent: string) => agents.passFor(agent),
    killSocket: true,
  };
}

async function readHome({ home, flags = {} }: Pick<HomeOptions, "home" | "flags">) {
  const file = await readConfiguration(home);
  const environment = process.env;
  return {
    policyFiles: namedPolicyFiles({ home, flags, environment, file }),
    redactor: await homeRedactor({ home, environment, file }),
    webhooks: file.webhooks,
    origins: file.oidc.map(originOf),
    quotas: file.quotas,
    audit: file.audit,
    telemetry: file.telemetry,
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

interface SecretSources {
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly file: Pick<Configuration, "redact" | "webhooks"> &
    Partial<Pick<Configuration, "audit" | "telemetry" | "graphs">>;
}

/**
 * Redacts secrets of known formats, the credentials of agents, keys of providers, the secrets of webhooks, exports and
 * telemetry, the password of the database, the token of Restate, and what `reins.yaml` names.
 */
export async function homeRedactor({ home, environment, file }: SecretSources): Promise<Redactor> {
  const { redact, webhooks, audit = [], telemetry, graphs } = file;
  const { credentialVariables } = loadCatalogue(home, await readAgentsFile(home));
  const values = [
    ...[...credentialVariables, ...redact.variables].flatMap((name) => environment[name] || []),
    ...(await new ProviderKeys(home).secrets()),
    ...webhooks.map(({ secret }) => secret),
    ...[(await postgresOf(home, environment))?.password ?? []].flat(),
    ...audit.flatMap(({ secret = [], headers }) => [secret, Object.values(headers)].flat()),
    ...Object.values({ ...telemetry?.headers, ...headersIn(environment.OTEL_EXPORTER_OTLP_HEADERS) }),
    ...[graphs?.restate.token ?? []].flat(),
    ...(await Promise.all(redact.files.map((path) => linesOf(home, path)))).flat(),
  ];
  try {
    return Redactor.create({ values, extra: redact.formats });
  } catch (error) {
    const why = errorMessage(error);
    throw unusable(join(home, CONFIGURATION_FILE), `redact.formats: ${why}`, error);
  }
}

async function linesOf(home: string, path: string): Promise<readonly string[]> {
  const text = await readIfExists(resolve(home, path));
  if (text === undefined) throw unusable(resolve(home, path), "it is to hold secrets, and does not exist");
  return text.split(/\r?\n/).filter((line) => line !== "");
}
