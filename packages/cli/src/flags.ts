import { text as readAll } from "node:stream/consumers";
import { CliError } from "./errors.ts";

/** Collects the values of a flag that may be repeated. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** Makes a reader of whole numbers. */
export function wholeNumber(least = 0): (text: string, flag: string) => number {
  return (text, flag) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && Number.isSafeInteger(number)) return number;
    throw new CliError(`${flag} is "${text}".`, { next: `Give a whole number, ${least} or more.` });
  };
}

/** Makes a reader of one of several words. */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string, flag: string) => Word {
  return (text, flag) => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    throw new CliError(`${flag} is "${text}".`, { next: `Use one of: ${words.join(", ")}.` });
  };
}

/** Reads a flag that counts something, from 1 on. */
export function readCount(text: string, flag: string, most: number): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= most) return count;
  throw new CliError(`${flag} is "${text}".`, { next: `Give a whole number from 1 to ${most}.` });
}

interface AmountRange {
  /** Such as "a number of minutes". */
  readonly what: string;
  readonly least: number;
  readonly most: number;
}

export function readAmount(text: string, source: string, { what, least, most }: AmountRange): number {
  const amount = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (amount >= least && amount <= most) return amount;
  throw new CliError(`${source} is "${text}", which is not ${what}.`, {
    next: `Give a number from ${least} to ${most}.`,
  });
}

/** Collects names from a flag that may be repeated or hold several, separated by commas; an empty value means none. */
export function commaList(value: string, before: readonly string[] | undefined): readonly string[] {
  const given = value.split(",").map((name) => name.trim());
  return [...(before ?? []), ...given.filter((name) => name !== "")];
}

export function nameList(list: readonly string[], none: string): string {
  if (list.includes("*")) return "all";
  return list.length === 0 ? none : list.join(", ");
}

/** The words of an argument as text; `-` alone reads stdin. */
export async function readText(words: readonly string[], what: string): Promise<string> {
  const text = words.length === 1 && words[0] === "-" ? await readAll(process.stdin) : words.join(" ");
  if (text.trim() !== "") return text.trim();
  throw new CliError(`There is no text in ${what}.`, {
    next: "Give a text, or - to read it from stdin.",
  });
}
