import { resolve } from "node:path";
import type { Configuration } from "../../configuration/configuration.ts";
import { homeFolder } from "../../home.ts";
import { DEFAULT_PORT, readPort } from "../../serving/port.ts";
import { readTokens } from "../../serving/tokens.ts";

/** The flags of `reins up` as they were written. */
export interface UpFlags {
  readonly verbose?: boolean;
  readonly host?: string;
  readonly port?: string;
  readonly home?: string;
  readonly token?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly workspace?: readonly string[];
}

/** Where `reins up` listens and for whom. */
export interface UpSettings {
  readonly host: string;
  readonly port: number;
  readonly home: string;
  readonly tokens: readonly string[];
  readonly allowHosts: readonly string[];
  /** The folders in which agents that only speak AHP work, absolute. */
  readonly workspaces: readonly string[];
}

/** What `reins.yaml` says about where to listen. */
export type UpConfiguration = Partial<Pick<Configuration, "host" | "port" | "allow_hosts" | "workspaces">>;

/**
 * Flags override the environment, the environment overrides the file, the file overrides the defaults; an empty variable
 * counts as unset.
 */
export function settleUp(
  flags: UpFlags,
  environment: NodeJS.ProcessEnv,
  file: UpConfiguration = {},
): UpSettings {
  return {
    host: flags.host ?? (environment.REINS_HOST || file.host || "127.0.0.1"),
    port: portOf(flags, environment, file),
    home: homeFolder(flags.home, environment),
    tokens: readTokens(flags.token ?? [], environment),
    allowHosts: flags.allowHost ?? file.allow_hosts ?? [],
    workspaces: (flags.workspace ?? file.workspaces ?? []).map((folder) => resolve(folder)),
  };
}

function portOf({ port }: UpFlags, { REINS_PORT }: NodeJS.ProcessEnv, file: UpConfiguration): number {
  if (port !== undefined) return readPort(port, "--port");
  return REINS_PORT ? readPort(REINS_PORT, "REINS_PORT") : (file.port ?? DEFAULT_PORT);
}
