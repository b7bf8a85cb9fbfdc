import { errorMessage } from "@reins/kit";
import { LedgerReader, ledgerTables } from "@reins/ledger";
import { readConfiguration } from "../../configuration/configuration.ts";
import { type AuditSettings, isAddress, telemetrySettings } from "../../configuration/exports.ts";
import { auditCursorIn } from "../../home.ts";
import { hasDatabase, openHomeReader } from "../../home-database.ts";
import { auditDestination, probeReceiver } from "../../hosting/audit-exports.ts";
import { type Check, type Finding, fine, note, wrong } from "./doctor.ts";

/** Whether the audit exports of the configuration get the ledger away. */
export const auditCheck: Check = async ({ home }) => {
  const { audit } = await readConfiguration(home);
  if (audit.length === 0) return [];
  const newest = await lastEntry(home);
  return Promise.all(audit.map((one) => auditFinding(home, one, newest)));
};

/** Whether the receivers of traces and metrics answer. */
export const telemetryCheck: Check = async ({ home, environment }) => {
  const settings = telemetrySettings((await readConfiguration(home)).telemetry, environment);
  const { traces, metrics, headers = {} } = settings ?? {};
  return Promise.all(
    Object.entries({ traces, metrics }).flatMap(([signal, url]) =>
      url === undefined ? [] : [telemetryFinding(signal, url, headers)],
    ),
  );
};

async function telemetryFinding(
  signal: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Finding> {
  const { origin } = new URL(url);
  const failure = await probeReceiver(url, headers).catch(
    (error: unknown) =>
      `it does not answer: ${errorMessage(error instanceof Error ? (error.cause ?? error) : error)}`,
  );
  if (failure === undefined) return fine(`${signal} are received at ${origin}`);
  return wrong(
    `${signal} are not received at ${origin}: ${failure}`,
    "Repair the receiver, or correct telemetry in reins.yaml or the variables of OpenTelemetry; nothing else waits for it.",
  );
}

/** The place of the newest entry; -1 where there is none. */
async function lastEntry(home: string): Promise<number> {
  if (!(await hasDatabase(home))) return -1;
  const store = await openHomeReader(home, [ledgerTables]);
  try {
    return (await (await LedgerReader.of(store)).size()) - 1;
  } finally {
    await store.close();
  }
}

async function auditFinding(home: string, one: AuditSettings[number], newest: number): Promise<Finding> {
  const { name, to } = one;
  try {
    await auditDestination(home, one);
  } catch (error) {
    return wrong(`"${name}" cannot begin: ${errorMessage(error)}`, "Correct audit in reins.yaml.");
  }
  const { CursorFile } = await import("@reins/telemetry/audit");
  const { marks, at, failure } = await new CursorFile(auditCursorIn(home, name)).load();
  const exported = marks.at(-1)?.seq ?? -1;
  const where = `${exported + 1} of ${newest + 1} entries are at ${to}`;
  if (failure)
    return wrong(
      `"${name}" stands still since ${failure.since}: ${failure.error}; ${where}`,
      isAddress(to)
        ? "Repair the receiver, or correct the address under audit in reins.yaml; nothing is lost meanwhile."
        : "Make the file writable, or correct the path under audit in reins.yaml; nothing is lost meanwhile.",
    );
  if (at === undefined)
    return note(`"${name}" has exported nothing yet`, "It begins with the next reins up.");
  return fine(`"${name}": ${where}, the last at ${at}`);
}
