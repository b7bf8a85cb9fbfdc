import {
  type Configuration,
  MAX_HEARTBEAT_SECONDS,
  MAX_TTL_MINUTES,
} from "../../configuration/configuration.ts";
import { CliError } from "../../errors.ts";
import { readAmount } from "../../flags.ts";
import type { RunnerSettings } from "../../hosting/open-runner.ts";

/** The flags about sessions, as they were written. */
export interface RunnerFlags {
  readonly ttl?: string;
  readonly preloadStanding?: boolean;
  readonly heartbeatInterval?: string;
  /** False after `--no-heartbeat`. */
  readonly heartbeat?: boolean;
}

/** What `reins.yaml` says about sessions. */
export type RunnerConfiguration = Partial<
  Pick<Configuration, "ttl" | "preload_standing" | "heartbeat_interval" | "ws">
>;

const TTL_MINUTES = 30;
const HEARTBEAT_SECONDS = 300;
const MINUTES = { what: "a number of minutes", least: 0.01, most: MAX_TTL_MINUTES } as const;
const SECONDS = { what: "a number of seconds", least: 0, most: MAX_HEARTBEAT_SECONDS } as const;

/** How sessions are kept, evicted and woken: flags before the environment, that before the file. */
export function settleRunner(
  flags: RunnerFlags,
  environment: NodeJS.ProcessEnv,
  file: RunnerConfiguration,
): RunnerSettings {
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
