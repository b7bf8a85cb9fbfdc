import { resolve } from "node:path";
import { isLoopback } from "@reins/kit";
import type { HaakSettings } from "@reins/server";
import type { ValuesOf } from "../../command.ts";
import {
  type Configuration,
  MAX_HEARTBEAT_SECONDS,
  MAX_TTL_MINUTES,
  tenantRoots,
} from "../../configuration/configuration.ts";
import { nativeSettings } from "../../configuration/native.ts";
import { type ClusterNode, clusterNode } from "../../configuration/node.ts";
import { namedPolicyFiles } from "../../configuration/policy-files.ts";
import { CliError } from "../../errors.ts";
import { readAmount } from "../../flags.ts";
import { homeFolder } from "../../home.ts";
import { DEFAULT_PORT, readPort } from "../../serving/address.ts";
import { type TlsFiles, tlsFiles } from "../../serving/listen.ts";
import { readTokens } from "../../serving/tokens.ts";

/** The flags of `reins up`. */
export const UP_INPUTS = {
  host: ["--bind, --host <host>", "address to listen on (default: 127.0.0.1)"],
  port: ["--port <port>", "port to listen on, 0 for any free one (default: 18789)"],
  home: ["--home <folder>", "the home folder (default: reins in the user's data folder)"],
  token: [
    "--token <secret>",
    "secret of the operator, instead of the one in start-token in the home; @file reads one per line; may be repeated",
    { many: "repeated" },
  ],
  skillDir: [
    "--skill-dir <folder>",
    "a folder with skills, before all others; may be repeated",
    { many: "repeated" },
  ],
  workspace: [
    "--workspace <folder>",
    "folder of agents that name none (default: this one, and none for those that only speak AHP); may be repeated",
    { many: "repeated" },
  ],
  db: ["--db <file>", "the path of the database; the home links to it (default: reins.db in the home)"],
  policy: ["--policy <file>", "the rules of the constitution (default: constitution.yaml in the home)"],
  constitution: ["--constitution <file>", "its prose (default: constitution.md in the home)"],
  ttl: ["--ttl <minutes>", "how long an idle session of the mode domain stays open (default: 30)"],
  preloadStanding: ["--preload-standing", "create the session of every standing agent at the start"],
  heartbeatInterval: [
    "--heartbeat-interval <seconds>",
    "how often idle standing agents with mail are woken (default: 300)",
  ],
  heartbeat: ["--no-heartbeat", "do not wake them"],
  allowHost: [
    "--allow-host <name>",
    "name this machine is addressed by; may be repeated",
    { many: "repeated" },
  ],
  acceptLoss: [
    "--accept-loss",
    "open a home that is damaged or was rolled back; the loss is recorded in the ledger",
  ],
  open: ["--no-open", "do not open the page in a browser"],
  tlsCert: ["--tls-cert <file>", "certificate in PEM; serves HTTP/2 and 1.1 over TLS"],
  tlsKey: ["--tls-key <file>", "its key in PEM"],
} as const;

type UpFlags = Partial<ValuesOf<typeof UP_INPUTS>>;

export interface UpSettings {
  readonly host: string;
  readonly port: number;
  readonly home: string;
  readonly tokens: readonly string[];
  readonly allowHosts: readonly string[];
  /** As far as they were given. */
  readonly tls: TlsFiles;
  /** Folders of agents that name none, absolute. */
  readonly workspaces: readonly string[];
  /** Set when the database is not in the home; absolute. */
  readonly database: string | undefined;
  /** Set where they are not in the home. */
  readonly policyFiles: ReturnType<typeof namedPolicyFiles>;
  /** Whether `/ws` requires a token. */
  readonly auth: Configuration["ws"]["auth"];
  readonly oidc: Configuration["oidc"];
  readonly quotas: Configuration["quotas"] | undefined;
  /** The folders that sessions of each tenant may use, absolute. */
  readonly tenants: Readonly<Record<string, readonly string[]>>;
  /** The labels of the nodes that may serve each tenant. */
  readonly placement: Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
  /** Set where this Reins is one of several. */
  readonly cluster: ClusterNode | undefined;
  readonly runner: HaakSettings;
  readonly native: ReturnType<typeof nativeSettings>;
}

type UpConfiguration = Partial<Omit<Configuration, "ws">> & { readonly ws?: Configuration["ws"] };

/**
 * Flags override the environment, the environment overrides the file, the file overrides the defaults; an empty
 * variable counts as unset.
 */
export function resolveUpSettings(
  flags: UpFlags,
  environment: NodeJS.ProcessEnv,
  file: UpConfiguration = {},
): UpSettings {
  const home = homeFolder(flags.home, environment);
  const host = flags.host ?? (environment.REINS_HOST || file.host || "127.0.0.1");
  const database = flags.db ?? (environment.REINS_DB || undefined);
  return {
    host,
    port: given(["--port", flags.port], ["REINS_PORT", environment], readPort) ?? file.port ?? DEFAULT_PORT,
    home,
    tokens: readTokens(flags.token ?? [], environment),
    allowHosts: flags.allowHost ?? file.allow_hosts ?? [],
    tls: tlsFiles(flags, { home, tls: file.tls }),
    workspaces:
      flags.workspace?.map((folder) => resolve(folder)) ??
      (file.workspaces ?? []).map((folder) => resolve(home, folder)),
    tenants: tenantRoots(home, file.tenants),
    placement: Object.fromEntries(
      Object.entries(file.tenants ?? {}).map(([tenant, { nodes }]) => [tenant, nodes]),
    ),
    cluster: clusterNode(file.node, environment, environment.REINS_STORE || file.store),
    database: database === undefined ? file.db && resolve(home, file.db) : resolve(database),
    policyFiles: namedPolicyFiles({ home, flags, environment, file }),
    auth: authOn(host, file),
    oidc: file.oidc ?? [],
    quotas: file.quotas,
    runner: resolveHaakSettings(flags, environment, file),
    native: nativeSettings(file.native ?? {}),
  };
}

/** Reads a flag, else an environment variable; undefined if neither is set. */
function given<Value>(
  [flag, text]: readonly [string, string | undefined],
  [variable, environment]: readonly [string, NodeJS.ProcessEnv],
  read: (text: string, source: string) => Value,
): Value | undefined {
  if (text !== undefined) return read(text, flag);
  const said = environment[variable];
  return said ? read(said, variable) : undefined;
}

/** Access without a token requires that only this machine can reach the port. */
function authOn(host: string, { ws }: UpConfiguration): UpSettings["auth"] {
  const auth = ws?.auth ?? "token";
  if (auth === "token" || isLoopback(host)) return auth;
  throw new CliError(
    `ws.auth is none in reins.yaml, which is only allowed on this machine, and not on ${host}.`,
    {
      next: "Remove it, or listen on 127.0.0.1.",
    },
  );
}

const TTL_MINUTES = 30;
const HEARTBEAT_SECONDS = 300;

export function resolveHaakSettings(
  flags: UpFlags,
  environment: NodeJS.ProcessEnv,
  file: UpConfiguration,
): HaakSettings {
  const ttl = given(["--ttl", flags.ttl], ["REINS_TTL", environment], readMinutes) ?? file.ttl ?? TTL_MINUTES;
  return {
    backend: file.ws?.backend ?? "native",
    ttlMs: ttl * 60_000,
    preloadStanding: flags.preloadStanding ?? preloadOf(environment) ?? file.preload_standing ?? false,
    heartbeatMs: heartbeatOf(flags, environment, file) * 1_000,
  };
}

function heartbeatOf(flags: UpFlags, environment: NodeJS.ProcessEnv, file: UpConfiguration): number {
  const { heartbeatInterval, heartbeat } = flags;
  if (heartbeat === false && heartbeatInterval !== undefined)
    throw new CliError("--no-heartbeat and --heartbeat-interval contradict each other.", {
      next: "Leave one of them out.",
    });
  if (heartbeat === false) return 0;
  const flag = ["--heartbeat-interval", heartbeatInterval] as const;
  const interval = given(flag, ["REINS_HEARTBEAT_INTERVAL", environment], readSeconds);
  return interval ?? file.heartbeat_interval ?? HEARTBEAT_SECONDS;
}

function readMinutes(text: string, source: string): number {
  return readAmount(text, source, { what: "a number of minutes", least: 0.01, most: MAX_TTL_MINUTES });
}

function readSeconds(text: string, source: string): number {
  return readAmount(text, source, { what: "a number of seconds", least: 0, most: MAX_HEARTBEAT_SECONDS });
}

function preloadOf({ REINS_PRELOAD_STANDING: said }: NodeJS.ProcessEnv): boolean | undefined {
  if (!said) return undefined;
  const word = said.toLowerCase();
  if (["1", "true", "yes"].includes(word)) return true;
  if (["0", "false", "no"].includes(word)) return false;
  throw new CliError(`REINS_PRELOAD_STANDING is "${said}", which is neither true nor false.`, {
    next: "Set it to true or false, or leave it unset.",
  });
}
