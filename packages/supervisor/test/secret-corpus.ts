import { readFileSync } from "node:fs";
import fc from "fast-check";
import { z } from "zod";

const SecretCase = z.strictObject({
  id: z.string(),
  secret: z.string(),
  in: z.array(z.string()).min(1).readonly().optional(),
});

const OrdinaryCase = z.strictObject({ id: z.string(), text: z.string() });

/** A form of secrets: `secret` is a template, `in` the texts that make it one, if it is none by itself. */
export type SecretCase = z.infer<typeof SecretCase>;

/** A secret that was drawn. */
export interface DrawnSecret {
  /** What it says, in its surroundings. */
  readonly text: string;
  readonly secret: string;
  /** The parts of it that must be hidden. */
  readonly hidden: readonly string[];
}

/** Texts in which a secret may stand that is one by itself. */
export const SURROUNDINGS: readonly string[] = [
  "{}",
  "The key is {}.",
  "It is {}, and that is that.",
  'key "{}" (new)',
  "key '{}'",
  "`{}`",
  "<{}>",
  "x={} y",
  "before\n{}\nafter",
  "before\r\n{}\r\nafter",
  "\t{}\t",
  "+{}\n-old",
  "a\\n{}\\nb",
  '{\\"k\\":\\"{}\\"}',
  "https://api.example.com/v1?k={}&x=1",
  "v%3D{}",
  "\u001b[32m{}\u001b[0m",
  "日本語{}です",
];

/** The secrets of `redaction/secrets.jsonl`. */
export function secretCases(): readonly SecretCase[] {
  return lines("secrets.jsonl").map((line) => SecretCase.parse(line));
}

/** The texts of `redaction/ordinary.jsonl`. */
export function ordinaryCases(): readonly z.infer<typeof OrdinaryCase>[] {
  return lines("ordinary.jsonl").map((line) => OrdinaryCase.parse(line));
}

/** Draws secrets of a form, each in one of its surroundings. */
export function drawn({ secret, in: texts = SURROUNDINGS }: SecretCase): fc.Arbitrary<DrawnSecret> {
  return fc.tuple(filled(secret), fc.constantFrom(...texts)).map(([{ secret, hidden }, surroundings]) => ({
    text: surroundings.replace("{}", () => secret),
    secret,
    hidden,
  }));
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const ALNUM = `${LETTERS}${LETTERS.toUpperCase()}${DIGITS}`;
const KINDS: Readonly<Record<string, string>> = {
  alnum: ALNUM,
  upper: `${LETTERS.toUpperCase()}${DIGITS}`,
  lower: LETTERS,
  digits: DIGITS,
  hex: `${DIGITS}abcdef`,
  base64: `${ALNUM}+/`,
  url: `${ALNUM}_-`,
  password: `${ALNUM}!%^*_+~-`,
};

/** Fills a template: `<url:20>` with characters of a kind, `<~url:20>` with such that may be seen. */
function filled(template: string): fc.Arbitrary<Omit<DrawnSecret, "text">> {
  const parts = template.split(/(<~?[a-z0-9]+:\d+>)/).map((part) => {
    const found = /^<(~?)([a-z0-9]+):(\d+)>$/.exec(part);
    if (!found) return fc.constant({ secret: part, hidden: [] });
    const [, seen, kind = "", size] = found;
    const isHidden = seen === "" && Number(size) >= 6;
    return characters(kind, Number(size)).map((secret) => ({ secret, hidden: isHidden ? [secret] : [] }));
  });
  return fc.tuple(...parts).map((all) => ({
    secret: all.map(({ secret }) => secret).join(""),
    hidden: all.flatMap(({ hidden }) => hidden),
  }));
}

function characters(kind: string, size: number): fc.Arbitrary<string> {
  if (kind === "password") return of("password", size - 4).map((text) => `Kq${text}u7`);
  if (kind === "basic") return of("alnum", size).map((text) => Buffer.from(`ann:${text}`).toString("base64"));
  return of(kind, size);
}

function of(kind: string, size: number): fc.Arbitrary<string> {
  const unit = fc.constantFrom(...(KINDS[kind] ?? ""));
  return fc.array(unit, { minLength: size, maxLength: size }).map((units) => units.join(""));
}

function lines(name: string): readonly unknown[] {
  const text = readFileSync(new URL(`../redaction/${name}`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}

/** Cuts a text at so many places as there are numbers, which say where. */
export function cut(text: string, places: readonly number[]): readonly string[] {
  const borders = [...new Set(places.map((place) => place % (text.length + 1)))].sort(
    (left, right) => left - right,
  );
  return [0, ...borders].map((border, index) => text.slice(border, borders[index] ?? text.length));
}

/** Places to cut at: few of them, many, or everywhere. */
export const places: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.array(fc.nat(5_000), { maxLength: 4 }),
  fc.array(fc.nat(5_000), { maxLength: 200 }),
  fc.constant(Array.from({ length: 2_000 }, (_, index) => index)),
);
