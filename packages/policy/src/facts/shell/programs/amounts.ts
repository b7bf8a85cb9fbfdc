import type { Value } from "../value.ts";
import type { Call, ReadWords } from "./words.ts";

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
