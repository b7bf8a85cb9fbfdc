import { HIDDEN, hasHidden, isRecord, visibleText } from "@reins/kit";
import { SkillError, type SkillFields, type SkillHook } from "./skill.ts";

/** Longest texts and lists that a skill can have; what is longer is cut, or left out. */
const MAX_TEXT = 4_096;
const MAX_SHORT = 160;
const MAX_ITEMS = 128;
const MAX_ITEM = 256;
const MAX_ID = 200;

/** Keys of the ecosystem that need no warning and have no meaning here. */
const IGNORED = new Set(["license", "compatibility", "metadata", "version", "author"]);

/** Fields as they were read, under the names of their keys with underscores. */
type Given = ReadonlyMap<string, unknown>;

/** The fields of a skill, its own name where it has one, and what is odd about them. */
export interface ReadFields {
  readonly name: string | undefined;
  readonly fields: SkillFields;
  readonly warnings: readonly string[];
}

/**
 * Reads the fields of a skill from its front matter or its manifest. Odd values are left out; only lists that narrow
 * throw {@link SkillError} when they are malformed, because without them more would be allowed.
 */
export function readFields(source: Readonly<Record<string, unknown>>): ReadFields {
  const warnings: string[] = [];
  const given: Given = new Map(
    Object.entries(source)
      .slice(0, MAX_ITEMS)
      .map(([key, value]) => [key.replaceAll("-", "_"), value]),
  );
  const read = new FieldReader(given, warnings);
  const description = read.text("description");
  const short = read.text("short").slice(0, MAX_SHORT) || shortOf(description);
  const fields: SkillFields = {
    short,
    description: description || short,
    whenToUse: read.text("when_to_use"),
    disableModelInvocation: read.flag("disable_model_invocation", false, true),
    userInvocable: read.flag("user_invocable", true, false),
    allowedTools: toolEntries(read),
    paths: read.list("paths"),
    hooks: hooksIn(read.value("hooks")),
    requireSignature: read.flag("require_signature", false, true),
    trustedSigners: read.list("trusted_signers", true),
    argumentHint: read.text("argument_hint") || undefined,
    context: read.text("context") || undefined,
    agent: read.text("agent") || undefined,
    model: read.text("model") || undefined,
    effort: read.text("effort") || undefined,
    shell: read.text("shell") || undefined,
  };
  const name = read.text("name") || undefined;
  for (const key of read.unread())
    if (!IGNORED.has(key)) warnings.push(`the key ${visibleText(key.slice(0, 60))} is unknown`);
  if (fields.hooks.length > 0) warnings.push("its hooks are shown and not run");
  return { name, fields, warnings };
}

class FieldReader {
  readonly #given: Given;
  readonly #warnings: string[];
  readonly #read = new Set<string>();

  constructor(given: Given, warnings: string[]) {
    this.#given = given;
    this.#warnings = warnings;
  }

  value(key: string): unknown {
    this.#read.add(key);
    return this.#given.get(key);
  }

  /** A text on one line, with hidden characters removed. */
  text(key: string): string {
    const value = this.value(key);
    if (value === undefined || value === null) return "";
    if (typeof value !== "string" && typeof value !== "number") return this.#odd(key, "is no text", "");
    return plainLine(String(value)).slice(0, MAX_TEXT);
  }

  /** A yes or no. A value that is neither counts as the stricter one. */
  flag(key: string, standard: boolean, strict: boolean): boolean {
    const value = this.value(key);
    if (value === undefined || value === null) return standard;
    if (typeof value === "boolean") return value;
    if (value === "true" || value === "false") return value === "true";
    return this.#odd(key, "is neither true nor false", strict);
  }

  /** A list of texts, or one text with commas or spaces between its items. */
  list(key: string, narrows = false): readonly string[] {
    const value = this.value(key);
    if (value === undefined || value === null) return [];
    const items = typeof value === "string" ? splitItems(value) : value;
    const texts = Array.isArray(items) ? items.filter(isItem) : [];
    const isWhole = Array.isArray(items) && texts.length === items.length && texts.length <= MAX_ITEMS;
    if (!isWhole && narrows) throw new SkillError("malformed", `${key} is malformed`);
    if (!isWhole) this.#warnings.push(`${key} has entries that are left out`);
    return texts.slice(0, MAX_ITEMS);
  }

  unread(): readonly string[] {
    return [...this.#given.keys()].filter((key) => !this.#read.has(key));
  }

  #odd<Value>(key: string, fault: string, value: Value): Value {
    this.#warnings.push(`${key} ${fault}`);
    return value;
  }
}

/** Splits `Read, Grep` and `Bash(git add:*) Read` at commas and spaces outside of parentheses. */
function splitItems(text: string): readonly string[] {
  const items: string[] = [];
  let item = "";
  let depth = 0;
  for (const character of text.slice(0, MAX_TEXT)) {
    if (character === "(") depth += 1;
    if (character === ")") depth = Math.max(0, depth - 1);
    if (depth > 0 || !/[\s,]/.test(character)) item += character;
    else {
      items.push(item);
      item = "";
    }
  }
  return [...items, item].filter((one) => one !== "");
}

function isItem(item: unknown): item is string {
  return typeof item === "string" && item !== "" && item.length <= MAX_ITEM && !hasHidden(item);
}

/** The entries of `allowed_tools`. What other harnesses write in parentheses behind a tool is for policy to decide. */
function toolEntries(read: FieldReader): readonly string[] {
  return read.list("allowed_tools", true).map((entry) => {
    const open = entry.indexOf("(");
    const tool = open > 0 && entry.endsWith(")") ? entry.slice(0, open) : entry;
    if (!/^(?:\*|[^\s*]+)$/.test(tool))
      throw new SkillError("malformed", `allowed_tools has the entry ${entry}`);
    return tool;
  });
}

function hooksIn(value: unknown): readonly SkillHook[] {
  const pairs: readonly (readonly [unknown, unknown])[] = Array.isArray(value)
    ? value.map((hook) => (isRecord(hook) ? [hook.event ?? hook.name, hook.command ?? hook.run] : [0, 0]))
    : isRecord(value)
      ? Object.entries(value)
      : [];
  return pairs
    .slice(0, MAX_ITEMS)
    .flatMap(([event, command]) =>
      typeof event === "string" && typeof command === "string"
        ? [{ event: plainLine(event).slice(0, MAX_ITEM), command: plainLine(command).slice(0, MAX_TEXT) }]
        : [],
    );
}

/** The first sentence of a description, for a card. */
function shortOf(description: string): string {
  const end = /[.!?](?=\s)/.exec(description.slice(0, MAX_SHORT));
  if (end) return description.slice(0, end.index + 1);
  return description.length <= MAX_SHORT ? description : `${description.slice(0, MAX_SHORT - 1).trimEnd()}…`;
}

/** A foreign text on one line, without characters that a reader would not see. */
export function plainLine(text: string): string {
  return text
    .slice(0, 4 * MAX_TEXT)
    .replace(/\s+/g, " ")
    .replace(HIDDEN, "")
    .trim();
}

/** Whether a text can be a skill's id: names joined by `/`, of visible characters. */
export function isSkillId(text: string): boolean {
  return (
    text.length <= MAX_ID &&
    /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]*(?:\/[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]*)*$/u.test(text)
  );
}
