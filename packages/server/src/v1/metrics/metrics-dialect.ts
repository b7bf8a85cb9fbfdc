import { metricsOperations } from "@reins/api";
import type { Hosting } from "@reins/host";
import type { GovernedCall } from "../../dialect/call.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import type { Stalls, Watchdog } from "../../watchdog/watchdog.ts";
import { openedHosting } from "../opened-hosting.ts";
import { expectOperatorsTenant } from "../operators-tenant.ts";
import type { Measures } from "./measures.ts";
import { overviewOf, type Standing, standingOf } from "./overview.ts";
import { prometheusText } from "./prometheus.ts";

/** What the metrics stand on. */
export interface MetricsOptions {
  readonly measures: Measures;
  readonly watchdog: Watchdog;
  readonly hosting: () => Promise<Hosting>;
  readonly version: string;
}

/** How this Reins does, for people and for machines. */
export function metricsDialect({ measures, watchdog, hosting, version }: MetricsOptions): Dialect {
  const look = async ({ harness, principal }: GovernedCall): Promise<Standing> => {
    expectOperatorsTenant(principal, "this is about all tenants");
    const opened = await openedHosting(hosting);
    const standing = await standingOf(harness, opened, new Date());
    measures.pending = standing.pending;
    return standing;
  };
  return {
    name: "metrics",
    mount(place) {
      place.governed(metricsOperations.getOverview, async (call) => ({
        ...overviewOf(measures, await look(call), new Date(), version),
        stalls: shownStalls(watchdog.stalls),
      }));
      place.text(metricsOperations.getMetrics, async function* (call) {
        yield prometheusText(measures, await look(call), version, watchdog.stalls);
      });
    },
    close: async () => {
      measures.stop();
      watchdog.stop();
    },
  };
}

function shownStalls({ count, totalMs, last }: Stalls): object {
  return { count, total_ms: totalMs, last: last ?? null };
}
