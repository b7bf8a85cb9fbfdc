import { CliError } from "../errors/cli-error.ts";

/** Reads a flag that says how many are wanted. */
export function readCount(text: string | undefined, flag: string, most: number): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= most) return count;
  throw new CliError(`${flag} is "${text}".`, { next: `Give a whole number from 1 to ${most}.` });
}
