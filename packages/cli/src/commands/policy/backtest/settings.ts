import { CliError } from "../../../errors.ts";
import { wholeNumber } from "../../../flags.ts";
import { DEFAULT_TENANT, type PolicyFlags } from "../constitution-file.ts";
import { settleRange, type VerdictFlags, type VerdictRange } from "../verdicts.ts";

/** The flags of `reins policy backtest` as they were written. */
export interface BacktestFlags extends PolicyFlags, VerdictFlags {
  readonly examples: string;
  readonly failOn?: string;
}

/** What makes a backtest fail. */
export type FailOn = "looser" | "change" | "nothing";

/** How a backtest is made. */
interface BacktestSettings {
  readonly range: VerdictRange;
  readonly tenant: string;
  readonly examples: number;
  readonly failOn: FailOn;
}

/** Reads the flags. */
export function settleBacktest(flags: BacktestFlags, now: Date): BacktestSettings {
  return {
    range: settleRange(flags, now),
    tenant: flags.tenant ?? DEFAULT_TENANT,
    examples: wholeNumber(flags.examples, "--examples"),
    failOn: readFailOn(flags.failOn),
  };
}

function readFailOn(text: string | undefined): FailOn {
  if (text === undefined) return "nothing";
  if (text === "looser" || text === "change") return text;
  throw new CliError(`--fail-on is "${text}".`, { next: "Give looser or change." });
}
