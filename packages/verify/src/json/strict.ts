import { membersHeld, membersWritten, repeatedMember } from "./members.ts";
import { parseJson } from "./parse.ts";
import { PlainError } from "./plain-error.ts";
import type { JsonValue } from "./value.ts";

/**
 * Reads JSON. `JSON.parse` keeps the last of two members with the same name and says nothing; here that is an error,
 * because another reader may keep the first.
 *
 * @throws SyntaxError or PlainError.
 */
export function parseStrict(text: string): JsonValue {
  const value = parseJson(text);
  const name = repetition(text, value);
  if (name === undefined) return value;
  throw new PlainError(`the member ${JSON.stringify(name)} is there twice`);
}

/**
 * The name of a member that is twice in the text from which a value was parsed.
 *
 * @throws PlainError when the value is nested so deep that a reader would fall over.
 */
export function repetition(text: string, value: JsonValue): string | undefined {
  return membersWritten(text) === membersHeld(value) ? undefined : repeatedMember(text);
}
