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

/** More bytes than this are asked about: they fill some disks. */
const MOST = 2 ** 30;
/** More lines, or columns of a line, than this are, where each may be filled up. */
const MOST_COLUMNS = 100_000;
/** Programs that count bytes, or lines that they read or make. */
const BY_BYTES = /^(?:head|truncate|seq|shuf|base64|base32)$/;
/** No output that a person reads is padded to more columns than this. */
const WIDEST_DIGITS = 6;

const UNITS = "kmgtpezyrq";

/** Programs whose numbers say how much they write, by the options they stand behind; `*` stands for operands. */
const COUNTING: Readonly<Record<string, string>> = {
  head: "n c lines bytes",
  truncate: "s size",
  seq: "* f format",
  shuf: "n i head-count input-range",
  "expand unexpand": "t tabs",
  pr: "l o w W N length indent width page-width columns",
  nl: "w number-width s number-separator",
  fmt: "w width",
  column: "c output-width",
  numfmt: "padding format",
  "od hexdump hd": "w width e",
  "base64 base32": "w wrap",
};
const COUNTING_BY_NAME: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(COUNTING).flatMap(([names, options]) =>
    names.split(" ").map((name) => [name, new Set(options.split(" "))] as const),
  ),
);

/** `10M`, `+1T`, `2KiB`, `1e12`, `512b`, `1-900`: the largest of the numbers; `undefined` for what is no number. */
function amountOf(text: string): number | undefined {
  const amounts = text.split(/[,:-]/).filter((part) => part !== "");
  const numbers = amounts.map((part) => {
    if (/^inf/i.test(part)) return Number.POSITIVE_INFINITY;
    const [, digits, unit = ""] = /^[+<>/%]?(\d+(?:\.\d+)?(?:e\+?\d+)?)([a-z])?(?:i?b)?$/i.exec(part) ?? [];
    if (digits === undefined) return Number.NaN;
    const power = UNITS.indexOf(unit.toLowerCase()) + 1;
    return Number(digits) * (unit === "" || power === 0 ? 512 ** Number(unit !== "") : 1_024 ** power);
  });
  const most = Math.max(...numbers);
  return Number.isNaN(most) || numbers.length === 0 ? undefined : most;
}

/** Whether a number of bytes or lines is too large, or only known at run time. */
function isMuch({ text }: Value, most: number): boolean {
  return text === null || (amountOf(text) ?? 0) > most;
}

/** `head -c 100G`, `truncate -s 1T`, `seq 1 99999999999`: more than fits on some disks. */
export function isHuge(name: string, words: readonly Value[], { options, operands }: ReadWords): boolean {
  const counting = COUNTING_BY_NAME.get(name);
  if (!counting) return false;
  // `-5` stands for `-n 5`.
  if (words.some(({ text }) => /^-\d{10,}/.test(text ?? ""))) return true;
  const most = BY_BYTES.test(name) ? MOST : MOST_COLUMNS;
  const isMuchOf = (value: Value): boolean => isMuch(value, most);
  if (counting.has("*") && operands.filter(({ text }) => text !== null).some(isMuchOf)) return true;
  return options.some((option) => counting.has(option.name) && isMuchOf(option.value));
}

/** `%999999999d`, `%<(99999999)`, `%*d`: a field that is filled up to a width. */
export function hasWideFormat(text: string): boolean {
  return new RegExp(`%[-+ 0#'^_:<>|(]{0,8}(?:\\d+\\.)?\\d{${WIDEST_DIGITS},}`).test(text);
}

/** Whether `head` ends what has no end: by bytes it does, by lines only where there are some, "all but" never. */
export function endsInput(words: readonly string[], source: readonly string[]): boolean {
  const line = ` ${words.join(" ")}`;
  if (/ (?:-[qvz]*[cn]|--[bl]\w*=?) *-\d/.test(line)) return false;
  if (/ (?:-[qvz]*c|--b)/.test(line)) return true;
  const from = source.join(" ");
  if (/\/dev\/(?:zero|full)\b/.test(from)) return false;
  return !/(?:^| )(?:tr |base(?:32|64) .*-w)/.test(from) || /(?:^| )fold\b/.test(from);
}

/** Whether dd copies very much: so many blocks of such a size, or to a place that is far behind the end. */
export function isLargeCopy({ words }: Call): boolean {
  const amount = (name: string, otherwise: number): number => {
    const text = words.findLast(({ start }) => start.startsWith(`${name}=`))?.text?.slice(name.length + 1);
    return text === undefined ? otherwise : (amountOf(text) ?? Number.POSITIVE_INFINITY);
  };
  const block = Math.max(amount("bs", 512), amount("obs", 512), amount("ibs", 512));
  const blocks = amount("count", 0) + Math.max(amount("seek", 0), amount("oseek", 0));
  return words.some(({ text }) => text === null) || blocks * block > MOST || block > MOST;
}

/** Whether a program of awk goes round until something happens that may never. */
export function awkMayLoop(script: string): boolean {
  const plain = script.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const rounds = [...plain.matchAll(/\bfor\s*\(([^;)]*(?:;[^;]*;[^)]*)?)\)?/g)].map(([, head = ""]) => head);
  const hasEnd = (head: string): boolean =>
    /^\s*\w+\s+in\s+\w+/.test(head) ||
    /^[^;]*;\s*\w+\s*(?:[<>]=?|!=)\s*(?:NF|NR|n|length\b|\d{1,6}\b|\w+)[^;]*;\s*(?:\w+\s*(?:\+\+|--|[-+]=)|(?:\+\+|--)\w+)/.test(
      head,
    );
  return /\b(?:while|do|function|func)\b/.test(plain) || !rounds.every(hasEnd);
}

/** Whether a filter of jq goes round until something happens that may never, or very often. */
export function jqMayLoop(filter: string): boolean {
  return /\b(?:repeat|while|until|recurse|def|input_line_number|combinations)\b|\brange\s*\((?!\s*\d{1,6}\s*[;)]|\s*length\s*\))|\*\s*\d{5,}|\de\+?\d/.test(
    filter,
  );
}
