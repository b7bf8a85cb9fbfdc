import { CliError } from "./errors/cli-error.ts";

/** Collects the values of a flag that may be repeated. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** The whole number in a flag. */
export function wholeNumber(text: string, flag: string, least = 0): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && Number.isSafeInteger(number)) return number;
  throw new CliError(`${flag} is "${text}".`, { next: `Give a whole number, ${least} or more.` });
}
