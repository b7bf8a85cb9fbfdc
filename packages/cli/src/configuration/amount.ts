import { CliError } from "../errors/cli-error.ts";

/** What a number has to be, and in which words that is said. */
export interface AmountRange {
  /** Such as "a number of minutes". */
  readonly what: string;
  readonly least: number;
  readonly most: number;
}

/** Reads a number that a person wrote; `source` is where. */
export function readAmount(text: string, source: string, { what, least, most }: AmountRange): number {
  const amount = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (amount >= least && amount <= most) return amount;
  throw new CliError(`${source} is "${text}", which is not ${what}.`, {
    next: `Give a number from ${least} to ${most}.`,
  });
}
