import { errorMessage, hasHidden, isRecord } from "@reins/kit";
import { parseDocument } from "yaml";
import { type ReadFields, readFields } from "./fields.ts";
import { SkillError } from "./skill.ts";

/** The most that a `SKILL.md` may hold, and its front matter. */
export const MAX_SKILL_FILE = 256 * 1024;
const MAX_FRONT_MATTER = 16 * 1024;
/** The deepest nesting of front matter; fields need three levels. */
const MAX_DEPTH = 16;

/** A `SKILL.md`: its fields and its body, as it is written. */
export interface SkillFile extends ReadFields {
  readonly body: string;
}

/**
 * Reads a `SKILL.md`. Without front matter, or with one that does not end, all of it is body; front matter that is no
 * YAML has no fields. A byte order mark and carriage returns do not matter.
 */
export function parseSkillFile(text: string): SkillFile {
  const plain = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const { front, body } = splitFrontMatter(plain);
  const { fields, faults } = front === undefined ? { fields: {}, faults: [] } : parseFrontMatter(front);
  const read = readFields(fields);
  const hidden = hasHidden(body.replace(/[\n\t]/g, "")) ? ["the body has hidden characters"] : [];
  return { ...read, warnings: [...faults, ...read.warnings, ...hidden], body: body.trim() };
}

function splitFrontMatter(text: string): { readonly front: string | undefined; readonly body: string } {
  if (!/^---[ \t]*\n/.test(text)) return { front: undefined, body: text };
  const start = text.indexOf("\n") + 1;
  for (let line = start; line < text.length; ) {
    const end = text.indexOf("\n", line);
    const next = end < 0 ? text.length : end;
    if (text.slice(line, next).trimEnd() === "---")
      return { front: text.slice(start, line), body: text.slice(next + 1) };
    line = next + 1;
  }
  return { front: undefined, body: text };
}

function parseFrontMatter(text: string): {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly faults: readonly string[];
} {
  const failed = (fault: string) => ({ fields: {}, faults: [`the front matter ${fault}`] });
  if (text.length > MAX_FRONT_MATTER) return failed("is too long and is not read");
  if (nestingOf(text) > MAX_DEPTH) return failed("is nested too deeply and is not read");
  try {
    const document = parseDocument(text, { schema: "core", merge: false, strict: true });
    const [error] = document.errors;
    if (error) return failed(`is no YAML: ${error.message.split("\n")[0]}`);
    // Without aliases nothing can be larger than it was written.
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (value === null) return { fields: {}, faults: [] };
    return isRecord(value) ? { fields: value, faults: [] } : failed("is no mapping");
  } catch (error) {
    return failed(`cannot be read: ${errorMessage(error)}`);
  }
}

/** An upper bound of the depth to which a text nests, so that no parser recurses further. */
function nestingOf(text: string): number {
  let open = 0;
  let deepest = 0;
  for (const line of text.split("\n")) {
    // Every two columns, and every `- ` and `? ` in front, can begin a level.
    const lead = /^[\s?-]*/.exec(line)?.[0].length ?? 0;
    for (const character of line) {
      if (character === "[" || character === "{") open += 1;
      if (character === "]" || character === "}") open = Math.max(0, open - 1);
      deepest = Math.max(deepest, open);
    }
    deepest = Math.max(deepest, Math.ceil(lead / 2));
  }
  return deepest;
}

/** Variables of a skill's body. */
export interface SkillVariables {
  /** All arguments as they were given; `$1` and so on are its words. */
  readonly arguments?: string | undefined;
  /** What `${NAME}` becomes, beside the variables of the environment that are allowed. */
  readonly values?: Readonly<Record<string, string | undefined>>;
  /** The environment of the process, and the names in it that a skill may see. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly allowed?: readonly string[];
}

/** The most that a body may become. */
const MAX_RENDERED = 512 * 1024;

const PLACE = /\$(?:\$|ARGUMENTS\b|(\d+)|\{([A-Za-z_][A-Za-z0-9_]*)\})/g;

/**
 * Fills in a body in one pass, so that nothing in an argument is filled in again. A place without a value stays as it is
 * written, `$0` too; `$$` is a dollar sign.
 */
export function substitute(body: string, variables: SkillVariables = {}): string {
  const { arguments: all = "", values = {}, environment = {}, allowed = [] } = variables;
  const words = splitArguments(all);
  let length = body.length;
  const filledAt = (place: string, number: string | undefined, name: string | undefined) => {
    if (place === "$$") return "$";
    if (number !== undefined) return Number(number) === 0 ? undefined : words[Number(number) - 1];
    if (name === undefined || name === "ARGUMENTS") return all;
    if (Object.hasOwn(values, name)) return values[name];
    return allowed.includes(name) && Object.hasOwn(environment, name) ? environment[name] : undefined;
  };
  return body.replace(PLACE, (place: string, number: string | undefined, name: string | undefined) => {
    const filled = filledAt(place, number, name) ?? place;
    length += filled.length - place.length;
    if (length > MAX_RENDERED)
      throw new SkillError("malformed", "the skill becomes too long with these arguments");
    return filled;
  });
}

/** Splits arguments at spaces; quotes hold words together. */
function splitArguments(text: string): readonly string[] {
  const words = text.match(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}
