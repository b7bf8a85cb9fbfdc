import { resolve } from "node:path";
import type { HaakSettings } from "@reins/server";
import {
  type Configuration,
  MAX_HEARTBEAT_SECONDS,
  MAX_TTL_MINUTES,
  nativeSettings,
  tenantRoots,
} from "../../configuration/configuration.ts";
import { namedPolicyFiles, type PolicyFileFlags } from "../../configuration/policy-files.ts";
import { CliError } from "../../errors.ts";
import { readAmount } from "../../flags.ts";
import { homeFolder } from "../../home.ts";
import { DEFAULT_PORT, isLoopback, readPort } from "../../serving/address.ts";
import { type TlsFiles, type TlsFlags, tlsFiles } from "../../serving/tls.ts";
import { readTokens } from "../../serving/tokens.ts";

export interface UpFlags extends RunnerFlags, PolicyFileFlags, TlsFlags {
  readonly verbose?: boolean;
  /** False after `--no-open`. */
  readonly open?: boolean;
  readonly host?: string;
  readonly port?: string;
  readonly home?: string;
  readonly token?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly workspace?: readonly string[];
  readonly db?: string;
  /** Whether to open a home that lost recorded data. */
  readonly acceptLoss?: boolean;
}

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
  /** The folders that sessions of each tenant may use, absolute. */
  readonly tenants: Readonly<Record<string, readonly string[]>>;
  readonly runner: HaakSettings;
  readonly native: ReturnType<typeof nativeSettings>;
}

type UpConfiguration = RunnerConfiguration &
  Partial<
    Pick<
      Configuration,
      | "host"
      | "port"
      | "allow_hosts"
      | "tls"
      | "workspaces"
      | "tenants"
      | "db"
      | "policy"
      | "constitution"
      | "native"
    >
  >;

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
  return {
    host,
    port: portOf(flags, environment, file),
    home,
    tokens: readTokens(flags.token ?? [], environment),
    allowHosts: flags.allowHost ?? file.allow_hosts ?? [],
    tls: tlsFiles(flags, { home, tls: file.tls }),
    workspaces:
      flags.workspace?.map((folder) => resolve(folder)) ??
      (file.workspaces ?? []).map((folder) => resolve(home, folder)),
    tenants: tenantRoots(home, file.tenants),
    database: databaseOf(home, flags, environment, file),
    policyFiles: namedPolicyFiles({ home, flags, environment, file }),
    auth: authOn(host, file),
    runner: resolveHaakSettings(flags, environment, file),
    native: nativeSettings(file.native ?? {}),
  };
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

function databaseOf(
  home: string,
  { db }: UpFlags,
  { REINS_DB }: NodeJS.ProcessEnv,
  file: UpConfiguration,
): string | undefined {
  const said = db ?? (REINS_DB || undefined);
  if (said !== undefined) return resolve(said);
  return file.db === undefined ? undefined : resolve(home, file.db);
}

function portOf({ port }: UpFlags, { REINS_PORT }: NodeJS.ProcessEnv, file: UpConfiguration): number {
  if (port !== undefined) return readPort(port, "--port");
  return REINS_PORT ? readPort(REINS_PORT, "REINS_PORT") : (file.port ?? DEFAULT_PORT);
}

interface RunnerFlags {
  readonly ttl?: string;
  readonly preloadStanding?: boolean;
  readonly heartbeatInterval?: string;
  /** False after `--no-heartbeat`. */
  readonly heartbeat?: boolean;
}

type RunnerConfiguration = Partial<
  Pick<Configuration, "ttl" | "preload_standing" | "heartbeat_interval" | "ws">
>;

const TTL_MINUTES = 30;
const HEARTBEAT_SECONDS = 300;
const MINUTES = { what: "a number of minutes", least: 0.01, most: MAX_TTL_MINUTES } as const;
const SECONDS = { what: "a number of seconds", least: 0, most: MAX_HEARTBEAT_SECONDS } as const;

export function resolveHaakSettings(
  flags: RunnerFlags,
  environment: NodeJS.ProcessEnv,
  file: RunnerConfiguration,
): HaakSettings {
  return {
    backend: file.ws?.backend ?? "native",
    ttlMs: ttlOf(flags, environment, file) * 60_000,
    preloadStanding: preloadOf(flags, environment, file),
    heartbeatMs: heartbeatOf(flags, environment, file) * 1_000,
  };
}

function ttlOf({ ttl }: RunnerFlags, { REINS_TTL }: NodeJS.ProcessEnv, file: RunnerConfiguration): number {
  if (ttl !== undefined) return readAmount(ttl, "--ttl", MINUTES);
  return REINS_TTL ? readAmount(REINS_TTL, "REINS_TTL", MINUTES) : (file.ttl ?? TTL_MINUTES);
}

function heartbeatOf(flags: RunnerFlags, environment: NodeJS.ProcessEnv, file: RunnerConfiguration): number {
  const { heartbeatInterval: interval, heartbeat } = flags;
  const { REINS_HEARTBEAT_INTERVAL: said } = environment;
  if (heartbeat === false && interval !== undefined)
    throw new CliError("--no-heartbeat and --heartbeat-interval contradict each other.", {
      next: "Leave one of them out.",
    });
  if (heartbeat === false) return 0;
  if (interval !== undefined) return readAmount(interval, "--heartbeat-interval", SECONDS);
  if (said) return readAmount(said, "REINS_HEARTBEAT_INTERVAL", SECONDS);
  return file.heartbeat_interval ?? HEARTBEAT_SECONDS;
}

const WORDS: Readonly<Record<string, boolean | undefined>> = {
  "1": true,
  true: true,
  yes: true,
  "0": false,
  false: false,
  no: false,
};

function preloadOf(flags: RunnerFlags, environment: NodeJS.ProcessEnv, file: RunnerConfiguration): boolean {
  const { REINS_PRELOAD_STANDING: said } = environment;
  if (flags.preloadStanding) return true;
  if (!said) return file.preload_standing ?? false;
  const preload = WORDS[said.toLowerCase()];
  if (preload !== undefined) return preload;
  throw new CliError(`REINS_PRELOAD_STANDING is "${said}", which is neither true nor false.`, {
    next: "Set it to true or false, or leave it unset.",
  });
}
