import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { accessOperations } from "@reins/api";
import { errorMessage } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";
import type { Stalls } from "../watchdog/watchdog.ts";

/** What health is told from. */
export interface HealthOptions {
  readonly harness: () => Promise<Harness>;
  readonly version: string;
  /** How often the main thread stood still, where somebody watches it. */
  readonly stalls?: (() => Stalls) | undefined;
}

interface Condition {
  readonly status: "ok" | "starting" | "failed";
  readonly reason?: string;
}

const OK: Condition = { status: "ok" };
const STARTING: Condition = { status: "starting" };
const MAX_REASON = 300;

/** Tells whether this Reins answers. Anyone may ask, so that nothing of its files is told. */
export function healthDialect({ harness, version, stalls }: HealthOptions): Dialect {
  let failed: Condition | undefined;
  /** Does not wait: a harness that is not open at once is being opened; one that failed has failed until it is open. */
  const look = (): Promise<Condition> => {
    const opened = harness().then(
      () => {
        failed = undefined;
        return OK;
      },
      (error: unknown) => {
        failed = { status: "failed", reason: reasonOf(error) };
        return failed;
      },
    );
    return Promise.race([opened, setImmediate(undefined).then(() => failed ?? STARTING)]);
  };
  return {
    name: "health",
    mount(place) {
      place.plain(accessOperations.getHealth, async ({ otherwise }) => {
        const condition = await look();
        if (condition.status !== "ok") otherwise();
        return { ...condition, version, ...stallsOf(stalls?.()) };
      });
    },
  };
}

function stallsOf(stalls: Stalls | undefined): object {
  if (!stalls?.last) return {};
  const { count, last } = stalls;
  return { stalls: { count, last_at: last.at, last_ms: last.ms } };
}

/** Why it failed, with files by their names alone. */
function reasonOf(error: unknown): string {
  const message = errorMessage(error);
  return message.replaceAll(/(?:\/[^\s/"'`:]+){2,}\/?/g, (path) => basename(path)).slice(0, MAX_REASON);
}
