import { type Format, MARK } from "./format.ts";
import { assignments, isSecretMember, namesSecret } from "./formats/assignment.ts";
import { configuredFormats, patternFormat } from "./formats/pattern-format.ts";
import { privateKeys } from "./formats/private-key.ts";
import { authorizations, cookie, TOKENS, urlPassword, userOption } from "./formats/tokens.ts";
import { RedactingStream } from "./redacting-stream.ts";
import { suits, Triggers } from "./triggers.ts";

/** The formats of secrets that need no configuration. */
export const KNOWN_FORMATS: readonly Format[] = [
  ...TOKENS.map(patternFormat),
  ...privateKeys,
  urlPassword,
  ...authorizations,
  cookie,
  userOption,
  ...assignments,
];

/** What a redactor looks for besides the known formats. */
export interface RedactorOptions {
  /** Secrets known literally: the values of credential variables, our own tokens. */
  readonly values?: readonly string[];
  /** Configured formats; `readPattern` says how a pattern is written. */
  readonly extra?: readonly { readonly name: string; readonly pattern: string }[];
}

/** How a text ends: `end` if it is complete, `cut` if the rest is missing. */
export type Ending = "end" | "cut";

/** Deeper than any nesting that a person reads. */
const DEEPEST = 256;
/** How many names of members are cached, and how long the longest of them is. */
const MOST_NAMES = 2_000;
const LONGEST_NAME = 64;

/** Removes secrets from what is stored or shown. Made once from known formats and configured values; never changes. */
export class Redactor {
  /** Those of the known formats alone: never changed, and slow to make. */
  static #known: Triggers | undefined;
  readonly #triggers: Triggers;
  /** A cache of names of members that hold no secret and announce none. */
  readonly #plainNames = new Set<string>();
  /** Objects that hold no secret and never change. */
  readonly #remembered = new WeakSet<object>();

  private constructor(triggers: Triggers) {
    this.#triggers = triggers;
  }

  /** A redactor for the known formats, and what the options add to them. */
  static create({ values = [], extra = [] }: RedactorOptions = {}): Redactor {
    const configured = [...configuredFormats(values), ...extra.map(patternFormat)];
    if (configured.length > 0) return new Redactor(new Triggers([...configured, ...KNOWN_FORMATS]));
    Redactor.#known ??= new Triggers(KNOWN_FORMATS);
    return new Redactor(Redactor.#known);
  }

  /** For a text that arrives in pieces. */
  stream(): RedactingStream {
    return new RedactingStream(this.#triggers);
  }

  /** A whole text, well-formed and without its secrets. */
  text(text: string, ending: Ending = "end"): string {
    const isPlain =
      ending === "end" ? this.#isPlain(text) : this.#triggers.pass(text, Triggers.START) !== undefined;
    if (isPlain) return text.toWellFormed();
    const stream = this.stream();
    const shown = stream.push(text);
    return shown + (ending === "end" ? stream.end() : stream.flush());
  }

  /** Whether a whole text holds no secret, whatever triggers are in it. */
  #isPlain(text: string): boolean {
    const { columns, next, ending, ended, width } = this.#triggers;
    let row = Triggers.START;
    for (let index = 0; index < text.length; index += 1) {
      row = next[row + (columns[text.charCodeAt(index)] ?? 0)] ?? 0;
      if (row < ending) continue;
      const at = index + 1;
      for (const { format, length } of ended[row / width] ?? []) {
        const start = at - length;
        if (suits(format, text, start) && format.read(text, start, at, true).is !== "no") return false;
      }
    }
    return true;
  }

  /** A value of JSON, its strings and names well-formed and without secrets. The same value if there are none. */
  value(value: unknown, ending: Ending = "end"): unknown {
    return this.#value(value, ending, 0);
  }

  /** Checks an object that never changes once; wherever it occurs in a value from now on, it is skipped. */
  remember(lasting: object): void {
    if (!this.#remembered.has(lasting) && this.value(lasting) === lasting) this.#remembered.add(lasting);
  }

  /**
   * For what was derived from a value, such as the words of a command: hides the secrets of the value also where nothing
   * around them marks them as such any more.
   */
  knowing(source: unknown): (value: unknown) => unknown {
    const shown = this.value(source);
    if (shown === source) return (value) => this.value(value);
    return this.also(hiddenIn(source, shown, (text) => this.#secretsIn(text)));
  }

  /** The same, with more secrets that are known literally. */
  also(secrets: readonly string[]): (value: unknown) => unknown {
    if (secrets.length === 0) return (value) => this.value(value);
    const words = new SecretWords(secrets);
    return (value) => words.hideIn(this.value(value));
  }

  #secretsIn(text: string): readonly string[] {
    const secrets: string[] = [];
    const stream = new RedactingStream(this.#triggers, (secret, goesOn) => {
      secrets.push(goesOn ? `${secrets.pop() ?? ""}${secret}` : secret);
    });
    stream.push(text);
    stream.end();
    return secrets;
  }

  #value(value: unknown, ending: Ending, depth: number): unknown {
    if (typeof value === "string") return this.text(value, ending);
    if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return value;
    if (depth === DEEPEST) return MARK;
    if (Array.isArray(value)) return this.#list(value, ending, depth);
    return isObject(value) ? this.#object(value, ending, depth) : value;
  }

  #list(list: readonly unknown[], ending: Ending, depth: number): readonly unknown[] {
    let changed: unknown[] | undefined;
    for (let index = 0; index < list.length; index += 1) {
      const item = list[index];
      const shown = isSecretArgument(list[index - 1], item, ending)
        ? MARK
        : this.#value(item, ending, depth + 1);
      if (shown === item) continue;
      changed ??= [...list];
      changed[index] = shown;
    }
    return changed ?? list;
  }

  #object(object: JsonObject, ending: Ending, depth: number): JsonObject {
    if (this.#remembered.has(object)) return object;
    const names = Object.keys(object);
    let shown: ShownMembers | undefined;
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] ?? "";
      const value = this.#member(object, name, ending, depth);
      const key = this.#name(name);
      if (!shown && (key !== name || value !== object[name]))
        shown = new ShownMembers(names.slice(0, index).map((before) => [before, object[before]]));
      shown?.add(key, value);
    }
    return shown ? shown.object() : object;
  }

  #name(name: string): string {
    if (this.#plainNames.has(name)) return name;
    const shown = this.text(name);
    if (shown !== name || name.length > LONGEST_NAME || namesSecret(name)) return shown;
    if (this.#plainNames.size < MOST_NAMES) this.#plainNames.add(name);
    return name;
  }

  #member(object: JsonObject, name: string, ending: Ending, depth: number): unknown {
    const member = object[name];
    if (typeof member !== "string") return this.#value(member, ending, depth + 1);
    const called = nameFor(object, name);
    if (!this.#plainNames.has(called) && isSecretMember(called, member, ending === "end")) return MARK;
    return name === "data" && isPicture(object, member) ? member : this.text(member, ending);
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: object): value is JsonObject {
  return !Array.isArray(value);
}

/** Whether it is what follows `--password` in a list of arguments. */
function isSecretArgument(option: unknown, argument: unknown, ending: Ending): boolean {
  if (typeof option !== "string" || typeof argument !== "string" || !option.startsWith("--")) return false;
  return isSecretMember(option, argument, ending === "end");
}

/** The name of a member; of `{name: "API_TOKEN", value: "…"}`, as headers and variables are given, `API_TOKEN`. */
function nameFor(object: JsonObject, member: string): string {
  if (member !== "value") return member;
  const name = object.name ?? object.key;
  return typeof name === "string" ? name : member;
}

/** Whether it is the data of a picture or a sound, in which formats are found only by chance. */
function isPicture({ type }: JsonObject, data: string): boolean {
  return (type === "image" || type === "audio") && /^[A-Za-z0-9+/]*=*$/.test(data);
}

/** The members of an object under the names they are shown by; a name that is in use gets a number. */
class ShownMembers {
  readonly #members: Map<string, unknown>;
  /** Only grows, or names made to collide would take quadratic time. */
  #number = 1;

  constructor(members: readonly (readonly [string, unknown])[]) {
    this.#members = new Map(members);
  }

  add(name: string, value: unknown): void {
    let unused = name;
    for (; this.#members.has(unused); this.#number += 1)
      unused = `${name} ${Math.max(this.#number, this.#members.size + 1)}`;
    this.#members.set(unused, value);
  }

  object(): JsonObject {
    return Object.fromEntries(this.#members);
  }
}

/** Removes the secrets from a value that is stored or shown. */
export type Redact = (value: unknown) => unknown;

let known: Redactor | undefined;

/** A value for the record: every string in it well-formed and without secrets of known formats. */
export function redact(value: unknown): unknown {
  return knownRedactor().value(value);
}

/** The redactor for secrets of known formats. */
export function knownRedactor(): Redactor {
  known ??= Redactor.create();
  return known;
}

/** Shorter words occur by chance, and hiding them would garble every text. */
const SHORTEST = 6;

/** With more words than these, every text is hidden. */
const MOST = 256;

/** Secrets that are hidden literally, and each of their words as well: programs split their input. */
class SecretWords {
  readonly #words: readonly string[];

  constructor(secrets: readonly string[]) {
    const words = secrets.flatMap((secret) => [secret, ...secret.split(/\s+/)]);
    this.#words = [...new Set(words)]
      .filter((word) => word.length >= SHORTEST)
      .sort((left, right) => right.length - left.length);
  }

  /** A value of JSON without them. */
  hideIn(value: unknown): unknown {
    if (typeof value === "string") return this.#hide(value);
    if (Array.isArray(value)) return value.map((item) => this.hideIn(item));
    if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return value;
    const members = Object.entries(value).map(([name, member]) => [this.#hide(name), this.hideIn(member)]);
    return Object.fromEntries(members);
  }

  #hide(text: string): string {
    // Searching for each of very many words would take quadratic time.
    if (this.#words.length > MOST) return MARK;
    return this.#words.reduce((rest, word) => rest.replaceAll(word, MARK), text);
  }
}

/** The secrets that were removed from a value, given what is shown of it; `inText` finds those of one text. */
function hiddenIn(
  value: unknown,
  shown: unknown,
  inText: (text: string) => readonly string[],
): readonly string[] {
  if (value === shown) return [];
  if (typeof value === "string") return shown === MARK ? [value] : inText(value);
  if (!isStructure(value) || !isStructure(shown)) return [];
  const after = Object.entries(shown);
  return Object.entries(value).flatMap(([name, member], index) => {
    const [newName = "", newMember] = after[index] ?? [];
    return [...(name === newName ? [] : inText(name)), ...hiddenIn(member, newMember, inText)];
  });
}

function isStructure(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The shortest random text that counts. */
const SHORTEST_RANDOM = 20;
const WORDS = new RegExp(`[A-Za-z0-9+/_=-]{${SHORTEST_RANDOM},}`, "g");
/** Bits of each character: English has two or three, base64 drawn at random comes near to five in forty characters. */
const RANDOM = 3.6;
/** Hashes, identifiers and the like: as random as keys, and no secret. */
const PUBLIC = /^(?:sha(?:1|256|384|512)-|[0-9a-f]+$|[0-9A-F]+$|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9/_=-]+$)/;

/** Whether a word in a text looks random. That is a reason to look at it, not to remove it. */
export function looksSecret(text: string): boolean {
  for (const [word] of text.matchAll(WORDS)) if (isRandom(word)) return true;
  return false;
}

function isRandom(word: string): boolean {
  if (PUBLIC.test(word) || word.split("/").length > 3) return false;
  if (!/\d/.test(word) || !/[A-Z]/.test(word) || !/[a-z]/.test(word)) return false;
  return bitsPerCharacter(word) >= RANDOM;
}

/** Shannon's entropy. */
function bitsPerCharacter(word: string): number {
  const counts = new Map<string, number>();
  for (const one of word) counts.set(one, (counts.get(one) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}
