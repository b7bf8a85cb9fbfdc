import { SkillError } from "./skill.ts";

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
