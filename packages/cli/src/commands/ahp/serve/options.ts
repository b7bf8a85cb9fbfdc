import type { HarnessConfig, ServerOptions } from "@reins/ahp";
import { CliError } from "../../../errors.ts";
import { wholeNumber } from "../../../flags.ts";
import type { ServeFlags } from "./flags.ts";

const DEFAULT_LIMIT = { timeoutMs: 10_000, batchSize: 100, maxDepth: 10 };

/** How the server presents itself and what it insists on. */
export function settleServer(flags: ServeFlags): ServerOptions {
  if (flags.compat && flags.deadlineMs !== undefined) {
    throw new CliError("--deadline-ms has no effect with --compat, which holds handlers to no deadline.", {
      next: "Leave one of them out.",
    });
  }
  const config: HarnessConfig = {
    timeout_ms: number(flags.deadlineMs, "--deadline-ms", 1) ?? DEFAULT_LIMIT.timeoutMs,
    batch_size: number(flags.batchSize, "--batch-size", 1) ?? DEFAULT_LIMIT.batchSize,
    max_depth: number(flags.maxDepth, "--max-depth", 0) ?? DEFAULT_LIMIT.maxDepth,
  };
  return {
    config,
    compat: flags.compat ?? false,
    requireHandshake: flags.requireHandshake ?? false,
    ...(flags.name !== undefined && { info: { name: flags.name } }),
  };
}

function number(text: string | undefined, flag: string, least: number): number | undefined {
  return text === undefined ? undefined : wholeNumber(text, flag, least);
}
