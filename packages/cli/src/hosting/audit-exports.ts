import { join, resolve } from "node:path";
import { type Clock, errorMessage, readLimited, systemClock } from "@reins/kit";
import { LedgerReader } from "@reins/ledger";
import type { OpenHarness } from "@reins/server";
import type { AuditDestination } from "@reins/telemetry/audit";
import type { OtelSettings } from "@reins/telemetry/otel";
import { type AuditSettings, isAddress, OUTPUT } from "../configuration/exports.ts";
import { CONFIGURATION_FILE, unusable } from "../files.ts";
import { auditCursorIn } from "../home.ts";
import { version } from "../installation.ts";
import type { Log } from "../log.ts";

interface AuditExportsOptions {
  readonly home: string;
  readonly settings: AuditSettings;
  readonly opened: Pick<OpenHarness, "store" | "ledger">;
  readonly log: Log;
  /** Whether standard output is for exports: to a command that serves an editor or prints a result it is not. */
  readonly hasOutput: boolean;
}

/** Begins the exports of a home; returns what ends them. Those that lack their output go on when it is there. */
export async function startAuditExports(options: AuditExportsOptions): Promise<() => Promise<void>> {
  const { home, opened, log, hasOutput } = options;
  const settings = options.settings.filter(({ to }) => to !== OUTPUT || hasOutput);
  if (settings.length === 0) return async () => undefined;
  const { AuditRecords, ContinuousExport, CursorFile } = await import("@reins/telemetry/audit");
  // Reads what was committed, where the writer's own reader would wait for what is being written.
  const ledger = await LedgerReader.of(opened.store);
  const all = await Promise.all(
    settings.map(async ({ name, format, ...where }) => ({
      ...{ name, ledger, clock: systemClock },
      records: new AuditRecords(ledger, format, version()),
      destination: await auditDestination(home, where).catch((error: unknown) => {
        throw unusable(join(home, CONFIGURATION_FILE), `audit: "${name}": ${errorMessage(error)}`, error);
      }),
      cursor: new CursorFile(auditCursorIn(home, name)),
      subscribe: (listener: () => void) => opened.ledger.subscribe(listener),
      onError: (error: unknown) => log.warn({ export: name }, errorMessage(error)),
    })),
  );
  const exports = all.map((one) => new ContinuousExport(one));
  return async () => void (await Promise.all(exports.map((one) => one.close())));
}

/** Where records go: an address, a file or standard output. */
export async function auditDestination(
  home: string,
  {
    to,
    secret = "",
    headers,
  }: Omit<AuditSettings[number], "name" | "format" | "headers"> & {
    readonly headers?: Readonly<Record<string, string>>;
  },
  clock: Clock = systemClock,
): Promise<AuditDestination> {
  const { fileDestination, streamDestination, webhookDestination } = await import("@reins/telemetry/audit");
  if (to === OUTPUT) return streamDestination(process.stdout);
  return isAddress(to)
    ? webhookDestination({ url: to, secret, headers }, clock)
    : fileDestination(resolve(home, to));
}

interface TelemetryOptions {
  readonly settings: OtelSettings | undefined;
  readonly opened: Pick<OpenHarness, "harness">;
  readonly log: Log;
}

/** Begins to export traces and metrics, where an address is configured; returns what ends it. */
export async function startTelemetry({
  settings,
  opened,
  log,
}: TelemetryOptions): Promise<() => Promise<void>> {
  if (!settings) return async () => undefined;
  const { OtelExport } = await import("@reins/telemetry/otel");
  const running = new OtelExport({
    ...{ settings, version: version(), harness: opened.harness },
    onChange: (signal, failure) => {
      if (failure === undefined) log.info({ signal }, `${signal} are received again`);
      else log.warn({ signal }, `${signal} are not received, and some are dropped: ${failure}`);
    },
    onError: (err) => log.error({ err }, "telemetry failed"),
  });
  return () => running.close();
}

/** How long a receiver has to answer the doctor, and how much it may say. */
const PROBE_MS = 5_000;
const MOST_ANSWER = 1_048_576;

/** Why a receiver takes no telemetry, if so: sends it an export without content. */
export async function probeReceiver(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const member = url.endsWith("metrics") ? "resourceMetrics" : "resourceSpans";
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ [member]: [] }),
    redirect: "manual",
    signal: AbortSignal.timeout(PROBE_MS),
  });
  if (response.body && !(await readLimited(response.body, MOST_ANSWER))) return "its answer is too large";
  return response.ok ? undefined : `it answers with status ${response.status}`;
}
