import { setImmediate } from "node:timers/promises";
import { accessOperations } from "@reins/api";
import type { Harness } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";

/** Tells whether this Reins answers. */
export function healthDialect(harness: () => Promise<Harness>, version: string): Dialect {
  return {
    name: "health",
    mount(place) {
      place.plain(accessOperations.getHealth, async () => ({ status: await statusOf(harness), version }));
    },
  };
}

/** Does not wait: a harness that is not open at once is still being opened. */
function statusOf(harness: () => Promise<Harness>): Promise<"ok" | "starting" | "failed"> {
  const opened = harness().then(
    () => "ok" as const,
    () => "failed" as const,
  );
  return Promise.race([opened, setImmediate("starting" as const)]);
}
