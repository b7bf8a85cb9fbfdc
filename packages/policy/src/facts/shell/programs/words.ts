import type { Obeyed } from "../../findings.ts";
import type { Input, Outcome, Shell } from "../shell.ts";
import type { Scope, Value } from "../value.ts";
import type { Program, Role } from "./program.ts";

/** A program about to run. */
export interface Call {
  readonly shell: Shell;
  readonly name: string;
  readonly words: readonly Value[];
  readonly scope: Scope;
  readonly input: Input;
}

/** What came of reading a call. */
export interface Answer {
  /** Whether what it does cannot be seen from its words. */
  readonly opaque: boolean;
  /** Where the shell may be afterwards, if that changes. */
  readonly outcome?: Outcome | undefined;
  /** The folders whose git repository may make it run more. */
  readonly repository?: readonly string[] | undefined;
  /** Whether the hooks of that repository are among it. */
  readonly hooks?: boolean | undefined;
  /** Files that choose what runs in its place. */
  readonly obeys?: Obeyed | undefined;
}

/** Reads the words of one kind of program. */
export type Handler = (call: Call) => Answer;

/** All of it can be seen. */
export const CLEAR: Answer = { opaque: false };

/** Puts down why not all can be seen. */
export function hidden({ shell }: Call, why: string): Answer {
  shell.findings.hideIn(why);
  return { opaque: true };
}

/** A word of a program, and what it is to the program. */
interface ReadWord {
  /** The option it is the value of, without dashes. */
  readonly name: string;
  readonly value: Value;
  readonly role: Role;
}

/** The words of a program, sorted. */
export interface ReadWords {
  /** The values of options. */
  readonly options: readonly ReadWord[];
  /** Which options are there, without their dashes. */
  readonly present: ReadonlySet<string>;
  readonly operands: readonly Value[];
  /** Why the options cannot be trusted, in words. */
  readonly doubts: readonly string[];
}

/** How options are written, for which programs differ. */
type Options = Pick<
  Program,
  "any" | "plain" | "flags" | "long" | "single" | "digits" | "values" | "attached" | "never" | "when"
>;

/** Sorts the words of a program into options, their values, and operands, as getopt does. */
export function readWords(
  words: readonly Value[],
  options: Options,
  settings: { stopsAtOperand?: boolean } = {},
): ReadWords {
  const sorter = new Sorter(words, options);
  sorter.sort(settings.stopsAtOperand ?? false);
  return sorter;
}

class Sorter implements ReadWords {
  readonly options: ReadWord[] = [];
  readonly present = new Set<string>();
  readonly operands: Value[] = [];
  readonly doubts: string[] = [];
  readonly #words: readonly Value[];
  readonly #known: Options;
  #next = 0;

  constructor(words: readonly Value[], known: Options) {
    this.#words = words;
    this.#known = known;
  }

  sort(stopsAtOperand: boolean): void {
    let ended = false;
    for (let word = this.#take(); word !== undefined; word = this.#take()) {
      const { text, start } = word;
      if (ended || this.#known.plain || text === "-" || (text !== null && !text.startsWith("-"))) {
        this.operands.push(word);
        ended ||= stopsAtOperand;
      } else if (text === null) {
        const isOperand = start !== "" && !start.startsWith("-") && !word.many;
        if (!isOperand && hasTellingOptions(this.#known))
          this.doubts.push("a word that is only known at run time may be an option");
        this.operands.push(word);
        ended ||= stopsAtOperand;
      } else if (text === "--") ended = true;
      else if (text.startsWith("--")) this.#long(text.slice(2));
      else this.#short(text.slice(1));
    }
  }

  #take(): Value | undefined {
    this.#next += 1;
    return this.#words[this.#next - 1];
  }

  #long(text: string): void {
    const equals = text.indexOf("=");
    const given = equals === -1 ? text : text.slice(0, equals);
    const name = this.#fullName(given);
    const attached = equals === -1 ? undefined : text.slice(equals + 1);
    this.present.add(name);
    const { values = {}, attached: optional = {}, long = [], never = [], any } = this.#known;
    if (never.includes(name)) this.doubts.push(`--${name} makes it do anything`);
    else if (roleOf(values, name)) this.#value(name, roleOf(values, name), attached);
    else if (attached !== undefined && roleOf(optional, name))
      this.#value(name, roleOf(optional, name), attached);
    else if (!long.includes(name) && !roleOf(optional, name) && !any)
      this.doubts.push(`--${name} is not a known option`);
  }

  /** Most programs take the beginning of an option's name for the option. */
  #fullName(given: string): string {
    const { values = {}, attached = {}, long = [], never = [], when = [] } = this.#known;
    const telling = when.flatMap(({ options }) => options);
    const all = [...Object.keys(values), ...Object.keys(attached), ...long, ...never, ...telling];
    if (all.includes(given)) return given;
    const guarded = [...never, ...Object.keys(values), ...telling].filter((name) => name.length > 1);
    return guarded.find((name) => name.startsWith(given)) ?? given;
  }

  #short(cluster: string): void {
    const { values = {}, attached = {}, flags = "", never = [], digits, any } = this.#known;
    if (digits && /^\d+$/.test(cluster)) return;
    if (this.#known.single?.includes(cluster)) {
      this.present.add(cluster);
      return;
    }
    // Programs of one dash (`-name`) list their options whole.
    if (cluster.length > 1 && roleOf(values, cluster)) {
      this.present.add(cluster);
      this.#value(cluster, roleOf(values, cluster), undefined);
      return;
    }
    for (let at = 0; at < cluster.length; at += 1) {
      const letter = cluster[at] ?? "";
      const rest = cluster.slice(at + 1);
      this.present.add(letter);
      if (never.includes(letter)) this.doubts.push(`-${letter} makes it do anything`);
      else if (roleOf(values, letter)) {
        this.#value(letter, roleOf(values, letter), rest === "" ? undefined : rest);
        return;
      } else if (roleOf(attached, letter)) {
        if (rest !== "") this.#value(letter, roleOf(attached, letter), rest);
        return;
      } else if (!flags.includes(letter) && !any) this.doubts.push(`-${letter} is not a known option`);
    }
  }

  #value(name: string, role: Role | undefined, attached: string | undefined): void {
    const value = attached === undefined ? this.#take() : { text: attached, start: attached, many: false };
    if (value !== undefined) this.options.push({ name, value, role: role ?? "opaque" });
    if (value?.many) this.doubts.push("the value of an option is only known at run time");
  }
}

const QUIET: ReadonlySet<Role> = new Set([
  "text",
  "format",
  "read",
  "list",
  "tree",
  "folder",
  "tracked",
  "outside",
]);

/** Whether some option does more than read: then it matters whether a word is one. */
function hasTellingOptions({ any, values = {}, attached = {}, never = [] }: Options): boolean {
  if (any) return false;
  return (
    never.length > 0 ||
    ![...Object.values(values), ...Object.values(attached)].every((role) => QUIET.has(role))
  );
}

function roleOf(roles: Readonly<Record<string, Role>>, name: string): Role | undefined {
  return Object.hasOwn(roles, name) ? roles[name] : undefined;
}
