import { resolve } from "node:path";
import { type Configuration, nativeSettings, tenantRoots } from "../../configuration/configuration.ts";
import { namedPolicyFiles, type PolicyFileFlags } from "../../configuration/policy-files.ts";
import { CliError } from "../../errors.ts";
import { homeFolder } from "../../home.ts";
import type { RunnerSettings } from "../../hosting/open-runner.ts";
import { DEFAULT_PORT, isLoopback, readPort } from "../../serving/address.ts";
import { type TlsFiles, type TlsFlags, tlsFiles } from "../../serving/tls.ts";
import { readTokens } from "../../serving/tokens.ts";
import { type RunnerConfiguration, type RunnerFlags, settleRunner } from "./runner-settings.ts";

/** The flags of `reins up` as they were written. */
export interface UpFlags extends RunnerFlags, PolicyFileFlags, TlsFlags {
  readonly verbose?: boolean;
  /** False where no browser is to be opened. */
  readonly open?: boolean;
  readonly host?: string;
  readonly port?: string;
  readonly home?: string;
  readonly token?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly workspace?: readonly string[];
  readonly db?: string;
  /** Whether to go on with a home that lacks something of what was recorded. */
  readonly acceptLoss?: boolean;
}

/** Where `reins up` listens and for whom. */
export interface UpSettings {
  readonly host: string;
  readonly port: number;
  readonly home: string;
  readonly tokens: readonly string[];
  readonly allowHosts: readonly string[];
  /** The certificate and its key, as far as they were named. */
  readonly tls: TlsFiles;
  /** The folders in which agents work that are told of no other, absolute. */
  readonly workspaces: readonly string[];
  /** The database, absolute, where it is not to lie in the home. */
  readonly database: string | undefined;
  /** Where the constitution lies, as far as that is not in the home. */
  readonly policyFiles: ReturnType<typeof namedPolicyFiles>;
  /** Whether whoever comes to `/ws` has to show a token. */
  readonly auth: Configuration["ws"]["auth"];
  /** The folders that sessions of tenants may work in, absolute. */
  readonly tenants: Readonly<Record<string, readonly string[]>>;
  readonly runner: RunnerSettings;
  /** What the native agent, and the answers to typed events at `/ahp`, do otherwise than by default. */
  readonly native: ReturnType<typeof nativeSettings>;
}

/** What `reins.yaml` says about where to listen. */
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
 * Flags override the environment, the environment overrides the file, the file overrides the defaults; an empty variable
 * counts as unset.
 */
export function settleUp(
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
    runner: settleRunner(flags, environment, file),
    native: nativeSettings(file.native ?? {}),
  };
}

/** Strangers are let in from this machine alone, so nobody else may reach the port at all. */
function authOn(host: string, { ws }: UpConfiguration): UpSettings["auth"] {
  const auth = ws?.auth ?? "token";
  if (auth === "token" || isLoopback(host)) return auth;
  throw new CliError(`ws.auth is none in reins.yaml, which is only for this machine, and not for ${host}.`, {
    next: "Take it out, or listen on 127.0.0.1.",
  });
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
