import type { HostingOptions } from "@reins/host";
import type { Configuration } from "./configuration.ts";

/** What a configuration says of the native agent, in the host's words. */
export function nativeSettings({
  quiet_hours,
  most_load,
  patience,
  may_spend,
  prices = {},
}: Partial<Configuration["native"]>): NonNullable<HostingOptions["native"]> {
  return {
    idle: {
      ...(quiet_hours && { quietHours: quiet_hours }),
      ...(most_load !== undefined && { mostLoad: most_load }),
    },
    patience: { ...(patience !== undefined && { mostMs: patience * 1_000 }) },
    presence: { ...(may_spend !== undefined && { maySpend: may_spend }) },
    prices: Object.fromEntries(
      Object.entries(prices).map(([model, { input, output, cache_read, cache_write }]) => [
        model,
        { input, output, cacheRead: cache_read, cacheWrite: cache_write },
      ]),
    ),
  };
}
