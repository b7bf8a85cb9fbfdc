import { visibleJson } from "@reins/kit";
import { BAR } from "./sheet.ts";
import { exact, exactLines } from "./words.ts";

/** The names under which agents say what a text was and what it is to be. */
const BEFORE_AND_AFTER = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
] as const;

/** Deeper than this, what was given is shown as JSON. */
const DEEPEST = 6;

/** What a tool was given, all of it: one member on a line, long texts as blocks, changes of a text as such. */
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
    const place = Array.isArray(value) ? `${path}[${name}]` : join(path, exact(name));
    return isDeep(member) && depth < DEEPEST
      ? memberLines(member, place, depth + 1)
      : valueLines(place, member);
  });
  return [...rest, ...lines];
}

/** Whether a value is worth more than one line: an object, or a list of them. */
function isDeep(value: unknown): value is object {
  if (Array.isArray(value)) return value.length > 0 && value.every(isRecord);
  return isRecord(value) && Object.keys(value).length > 0;
}

function valueLines(place: string, value: unknown): string[] {
  const name = place === "" ? "" : `${place}: `;
  if (typeof value !== "string") return [`${name}${visibleJson(value)}`];
  if (!value.includes("\n")) return [`${name}${exact(value)}`];
  return [`${place === "" ? "text" : place}:`, ...block(exactLines(value).map((line) => ` ${line}`))];
}

/** Lines of somebody else's behind a bar, so that none can pass for a line of ours. */
function block(lines: readonly string[]): string[] {
  return lines.map((line) => BAR + line);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text and what becomes of it, line by line: what stays, what goes and what comes. Nothing is left out. */
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
