import { isRecord, visibleJson } from "@reins/kit";
import { exact, exactLines } from "./words.ts";

const LABEL = 9;
/** Lines stay at least this wide. */
const NARROWEST = 20;
const INDENT = "  ";
/** Lines of a block begin with this. */
const BAR = "  |";
const FOLDED_BAR = "  ¦   ";

export interface SheetRow {
  readonly label: string;
  readonly lines: readonly string[];
}

/** Formats labelled rows. Folds long lines itself, so that no text from others can begin a line at the left margin. */
export function sheet(rows: readonly SheetRow[], width: number): string {
  const room = Math.max(width - LABEL - 2, NARROWEST);
  return rows
    .flatMap(({ label, lines }) =>
      lines
        .flatMap((line) => (isBarred(line) ? foldedAnywhere(line, room) : foldedAtSpaces(line, room)))
        .map((line, index) => `${(index === 0 ? label : "").padEnd(LABEL)}  ${line}`.trimEnd()),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function isBarred(line: string): boolean {
  return line.startsWith(BAR);
}

function foldedAtSpaces(line: string, room: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const word of line.split(" ")) {
    const longer = piece === "" ? word : `${piece} ${word}`;
    if (piece !== "" && columnsOf(longer) > room) {
      pieces.push(piece);
      piece = `${INDENT}${word}`;
    } else piece = longer;
  }
  return [...pieces, piece].flatMap((each) => foldedAnywhere(each, room));
}

function foldedAnywhere(line: string, room: number): string[] {
  const mark = isBarred(line) ? FOLDED_BAR : INDENT;
  const pieces: string[] = [];
  let piece = "";
  let taken = 0;
  for (const character of line) {
    const columns = columnsOf(character);
    if (taken + columns > room) {
      pieces.push(piece);
      piece = mark;
      taken = mark.length;
    }
    piece += character;
    taken += columns;
  }
  return [...pieces, piece];
}

/** An upper bound: characters outside of ASCII may take two columns. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += character <= "~" ? 1 : 2;
  return columns;
}

/** The names that agents use for a text and its replacement. */
const BEFORE_AND_AFTER = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
] as const;

/** Deeper values are shown as JSON. */
const DEEPEST = 6;

/** Shows everything a tool was given: one member per line, long texts as blocks, replacements as diffs. */
export function argumentLines(given: unknown): string[] {
  if (!isRecord(given) && !Array.isArray(given)) return given === undefined ? [] : valueLines("", given);
  const lines = memberLines(given, "", 0);
  return lines.length > 0 ? lines : [visibleJson(given)];
}

function memberLines(value: object, path: string, depth: number): string[] {
  const members = new Map(Object.entries(value));
  const lines: string[] = [];
  for (const [was, becomes] of BEFORE_AND_AFTER) {
    const [before, after] = [members.get(was), members.get(becomes)];
    if (typeof before !== "string" || typeof after !== "string") continue;
    lines.push(`${join(path, `${was} → ${becomes}`)}:`, ...block(changedLines(before, after)));
    members.delete(was);
    members.delete(becomes);
  }
  const rest = [...members].flatMap(([name, member]) => {
    const memberPath = Array.isArray(value) ? `${path}[${name}]` : join(path, exact(name));
    return isDeep(member) && depth < DEEPEST
      ? memberLines(member, memberPath, depth + 1)
      : valueLines(memberPath, member);
  });
  return [...rest, ...lines];
}

function isDeep(value: unknown): value is object {
  if (Array.isArray(value)) return value.length > 0 && value.every(isRecord);
  return isRecord(value) && Object.keys(value).length > 0;
}

function valueLines(memberPath: string, value: unknown): string[] {
  const name = memberPath === "" ? "" : `${memberPath}: `;
  if (typeof value !== "string") return [`${name}${visibleJson(value)}`];
  if (!value.includes("\n")) return [`${name}${exact(value)}`];
  return [
    `${memberPath === "" ? "text" : memberPath}:`,
    ...block(exactLines(value).map((line) => ` ${line}`)),
  ];
}

/** Puts a bar before lines from others, so that none looks like a line of ours. */
function block(lines: readonly string[]): string[] {
  return lines.map((line) => BAR + line);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** A line diff that leaves nothing out. */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [before === "" ? [] : exactLines(before), after === "" ? [] : exactLines(after)];
  const shorter = Math.min(old.length, now.length);
  let same = 0;
  while (same < shorter && old[same] === now[same]) same += 1;
  let tail = 0;
  while (tail < shorter - same && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  return [
    ...old.slice(0, same).map((line) => `   ${line}`),
    ...old.slice(same, old.length - tail).map((line) => ` - ${line}`),
    ...now.slice(same, now.length - tail).map((line) => ` + ${line}`),
    ...old.slice(old.length - tail).map((line) => `   ${line}`),
  ];
}
