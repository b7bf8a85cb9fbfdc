import { ModelPrice } from "@reins/gateway";
import type { HostingOptions } from "@reins/host";
import { z } from "zod";
import { ToolSearch, toolSearchSettings } from "./tool-search.ts";

/** `native` in `reins.yaml`: the agent of Reins itself. */
export const NativeConfiguration = z
  .strictObject({
    /** Hours of the day, in local time, without background work. */
    quiet_hours: z.strictObject({ from: z.int().min(0).max(23), to: z.int().min(0).max(24) }).optional(),
    /** The load per processor up to which background work runs. */
    most_load: z.number().positive().optional(),
    /** Seconds to wait for a model at its rate limit. */
    patience: z.number().min(0).max(86_400).optional(),
    /** Whether a long turn continues without a question. */
    may_spend: z.boolean().optional(),
    /** The price of models in dollars per million tokens, by id or name; limits on `cost` use it. */
    prices: z.record(z.string().min(1), ModelPrice).default({}),
    /** Variables of the commands that it runs, in place of those of Reins. */
    environment: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string().max(32_768)).optional(),
    /** How many tools are kept out of prompts and found. */
    tool_search: ToolSearch.optional(),
  })
  .prefault({});

/** Maps the configuration of the native agent to the options of the host. */
export function nativeSettings({
  quiet_hours,
  most_load,
  patience,
  may_spend,
  prices = {},
  environment,
  tool_search,
}: Partial<z.infer<typeof NativeConfiguration>>): NonNullable<HostingOptions["native"]> {
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
    ...(environment && { environment }),
    ...(tool_search && { toolSearch: toolSearchSettings(tool_search) }),
  };
}
