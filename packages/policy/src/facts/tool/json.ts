import { readJson, spelledNumber } from "@reins/kit";

const DEPTH_LIMIT = 64;
const MEMBER_LIMIT = 50_000;
const TEXT_LIMIT = 8 * 1_024 * 1_024;

/** Whether a value is of a size and depth that honest arguments have. Also stops at a circle. */
export function isModest(value: unknown): boolean {
  return excessOf(value) === undefined;
}

/** The limit that a value exceeds, in words, if it exceeds one; a circle is too deep. */
export function excessOf(value: unknown): string | undefined {
  return excessIn({ members: MEMBER_LIMIT, characters: TEXT_LIMIT }, value, 0);
}

const COUNT = new Intl.NumberFormat("en");
const TOO_DEEP = `nested too deep: more than ${COUNT.format(DEPTH_LIMIT)} levels`;
const TOO_MANY = `too large: more than ${COUNT.format(MEMBER_LIMIT)} members`;
const TOO_LONG = `too large: more than ${COUNT.format(TEXT_LIMIT)} characters`;

/** Takes a value from what is left of the limits; the one that it exceeds. */
function excessIn(
  left: { members: number; characters: number },
  value: unknown,
  depth: number,
): string | undefined {
  left.members -= 1;
  if (typeof value === "string") left.characters -= value.length;
  if (depth > DEPTH_LIMIT) return TOO_DEEP;
  if (left.members < 0) return TOO_MANY;
  if (left.characters < 0) return TOO_LONG;
  if (typeof value !== "object" || value === null) return undefined;
  for (const member of Object.values(value)) {
    const excess = excessIn(left, member, depth + 1);
    if (excess !== undefined) return excess;
  }
  return undefined;
}

/** What a JSON text says, or why that is not certain. */
export type ReadJson = { readonly value: unknown; readonly doubt?: string } | { readonly doubt: string };

/** Reads JSON that came as a text. A name that occurs twice means one thing to us and may mean another to the agent. */
export function readArgumentText(text: string): ReadJson {
  if (text.length > TEXT_LIMIT) return { doubt: "the arguments are too large to be read" };
  try {
    const { value, duplicate } = readJson(text, spelledNumber);
    const excess = excessOf(value);
    if (excess !== undefined) return { doubt: `the arguments are ${excess}` };
    return duplicate === undefined ? { value } : { value, doubt: "the arguments hold a name twice" };
  } catch {
    return { doubt: "the arguments are no JSON" };
  }
}

/** Every text in a value, however deep, at most so many, each with the name of the member it stands under. */
export function textsIn(
  value: unknown,
  limit: number,
): readonly { readonly name: string; readonly text: string }[] {
  const texts: { name: string; text: string }[] = [];
  const pending: { name: string; value: unknown; depth: number }[] = [{ name: "", value, depth: 0 }];
  // The list grows while it is gone through.
  for (const { name, value: one, depth } of pending) {
    if (texts.length >= limit) break;
    if (typeof one === "string") texts.push({ name, text: one });
    if (depth > DEPTH_LIMIT || pending.length > MEMBER_LIMIT) continue;
    if (Array.isArray(one)) for (const item of one) pending.push({ name, value: item, depth: depth + 1 });
    else if (isRecord(one)) {
      for (const [key, item] of Object.entries(one))
        pending.push({ name: key, value: item, depth: depth + 1 });
    }
  }
  return texts;
}

declare global {
  interface JSON {
    rawJSON(text: string): { readonly rawJSON: string };
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

/** Whether a value is an object with members, and neither an array nor null. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}
