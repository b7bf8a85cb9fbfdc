import { statfs } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { json } from "node:stream/consumers";
import { accessOperations } from "@reins/api";
import { errorMessage, systemClock } from "@reins/kit";
import { LedgerReader, ledgerTables } from "@reins/ledger";
import type { OidcIssuer } from "@reins/server";
import { readConfiguration } from "../../configuration/configuration.ts";
import { type AuditSettings, isAddress, telemetrySettings } from "../../configuration/exports.ts";
import { restateSettings } from "../../configuration/graphs.ts";
import { systemCode } from "../../errors.ts";
import { auditCursorIn, operatorSocketIn } from "../../home.ts";
import { hasDatabase, openHomeReader } from "../../home-database.ts";
import { auditDestination, probeReceiver } from "../../hosting/audit-exports.ts";
import { browserOpener, DEFAULT_PORT, readPort } from "../../serving/address.ts";
import { isServed } from "../../serving/listen.ts";
import { type Check, type Finding, fine, note, wrong } from "./doctor.ts";

const LEAST = [22, 18] as const;

export const nodeCheck: Check = async () => [nodeFinding(process.versions.node)];

export function nodeFinding(version: string) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return fine(`Node ${version}`);
  return wrong(
    `Node ${version} is too old`,
    `Use Node ${LEAST.join(".")} or newer; npm start in the repository brings its own.`,
  );
}

/** How long a server may take to say how it is. */
const RESPONSE_MS = 30_000;

const TIGHT = 2 * 1024 ** 3;
const FULL = 200 * 1024 ** 2;

export const diskCheck: Check = async ({ home }) => [diskFinding(await freeBytes(home))];

export function diskFinding(bytes: number) {
  const said =
    bytes >= 1024 ** 3 ? `${(bytes / 1024 ** 3).toFixed(1)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`;
  if (bytes < FULL)
    return wrong(
      `only ${said} are free: without space for the ledger nothing is allowed`,
      "Free disk space, or move the home: --home",
    );
  if (bytes < TIGHT)
    return note(
      `${said} are free; an agent needs at most half a gigabyte`,
      "Free disk space before installing agents.",
    );
  return fine(`${said} are free`);
}

/** The free space of the nearest folder that exists. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return freeBytes(dirname(folder));
  }
}

/** Whether the OpenID issuers of the configuration answer; their users have no access otherwise. */
export const issuersCheck: Check = async ({ home }) => {
  const { oidc } = await readConfiguration(home);
  if (oidc.length === 0) return [];
  const { OidcIssuer } = await import("@reins/server");
  return Promise.all(oidc.map((settings) => issuerFinding(new OidcIssuer(settings, systemClock))));
};

async function issuerFinding(issuer: OidcIssuer): Promise<Finding> {
  const { name } = issuer.settings;
  try {
    const { authorization_endpoint } = await issuer.metadata();
    if (issuer.settings.client_id === undefined || authorization_endpoint !== undefined)
      return fine(`the issuer "${name}" answers`);
    return wrong(
      `the issuer "${name}" has no login for browsers`,
      `Remove client_id from its entry in reins.yaml.`,
    );
  } catch (error) {
    return wrong(
      errorMessage(error),
      "Check the address under oidc in reins.yaml, and whether this machine reaches it.",
    );
  }
}

/** Whether Restate answers, where it carries durable runs. */
export const restateCheck: Check = async ({ home }) => {
  const { graphs } = await readConfiguration(home);
  const settings = restateSettings(graphs);
  if (!settings) return [];
  const { RestateApi } = await import("@reins/restate");
  const { origin } = new URL(settings.ingress);
  try {
    await new RestateApi(settings).check();
  } catch (error) {
    return [
      wrong(
        `durable runs wait: ${errorMessage(error)}`,
        "Start Restate, or correct graphs.restate in reins.yaml; everything else goes on.",
      ),
    ];
  }
  if (settings.identityKeys.length > 0) return [fine(`Restate at ${origin} carries durable runs`)];
  return [
    note(
      `Restate at ${origin} carries durable runs; any program of this machine may call Reins in its place`,
      "Give Restate an identity, and name its key in graphs.restate.identity_keys.",
    ),
  ];
};

export const browserCheck: Check = async ({ environment }) => {
  const opener = browserOpener(environment);
  if (opener !== undefined) return [fine(`pages are opened with ${opener}`)];
  return [
    note(
      "no desktop here, so the page does not open by itself",
      "Print its address for another machine: reins open --print",
    ),
  ];
};

export const serverCheck: Check = async ({ home, environment }) => {
  const socket = operatorSocketIn(home);
  if (await isServed(socket)) return [await health(socket)];
  const file = await readConfiguration(home);
  const host = environment.REINS_HOST || file.host || "127.0.0.1";
  const port = environment.REINS_PORT ? readPort(environment.REINS_PORT, "REINS_PORT") : file.port;
  return [await portFinding(host, port ?? DEFAULT_PORT)];
};

async function health(socket: string): Promise<Finding> {
  try {
    const { status, version, reason } = await healthAt(socket);
    if (status !== "failed") return fine(`Reins ${version} runs on this home`);
    return wrong(
      `Reins runs, but cannot use its home, so nothing is allowed${reason === undefined ? "" : `: ${reason}`}`,
      "Its log says why; stop it, and reins doctor checks the database too.",
    );
  } catch (error) {
    return wrong(
      `Reins runs and does not answer: ${errorMessage(error)}`,
      "If it hangs, end its agents with reins kill --all, then restart it.",
    );
  }
}

/** The health of a server that cannot decide comes with status 503. */
async function healthAt(socket: string) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const signal = AbortSignal.timeout(RESPONSE_MS);
  request({ socketPath: socket, path: "/v1/health", signal })
    .once("response", resolve)
    .once("error", reject)
    .end();
  return accessOperations.getHealth.answer.parse(await json(await promise));
}

export async function portFinding(host: string, port: number): Promise<Finding> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  server.once("error", resolve).listen(port, host, () => resolve(undefined));
  const fault = await promise;
  await new Promise((closed) => server.close(closed));
  if (!fault) return fine(`no Reins runs; port ${port} on ${host} is free`);
  if (systemCode(fault) === "EADDRINUSE")
    return wrong(
      `another program has port ${port} on ${host}`,
      `Stop it, or choose another: reins up --port ${port + 1}`,
    );
  return wrong(
    `cannot listen on ${host}:${port}: ${fault.message}`,
    "Choose another with --host and --port.",
  );
}

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
