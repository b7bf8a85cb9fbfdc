import { join, resolve } from "node:path";
import { type Clock, errorMessage, systemClock } from "@reins/kit";
import { LedgerReader } from "@reins/ledger";
import type { OpenHarness } from "@reins/server";
import type { AuditDestination } from "@reins/telemetry/audit";
import { CONFIGURATION_FILE, unusable } from "../configuration/configuration.ts";
import { type AuditSettings, isAddress } from "../configuration/exports.ts";
import { auditCursorIn } from "../home.ts";
import { version } from "../installation.ts";
import type { Log } from "../log.ts";

interface AuditExportsOptions {
  readonly home: string;
  readonly settings: AuditSettings;
  readonly opened: Pick<OpenHarness, "store" | "ledger">;
  readonly log: Log;
}

/** Begins the exports of a home; returns what ends them. */
export async function startAuditExports(options: AuditExportsOptions): Promise<() => Promise<void>> {
  const { home, settings, opened, log } = options;
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
  if (to === "-") return streamDestination(process.stdout);
  return isAddress(to)
    ? webhookDestination({ url: to, secret, headers }, clock)
    : fileDestination(resolve(home, to));
}
