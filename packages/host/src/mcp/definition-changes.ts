import { isDeepStrictEqual } from "node:util";
import { isObject, type JsonObject } from "@reins/acp";
import type { McpTool } from "@reins/mcp";
import type { PinRow } from "./tables.ts";

/** The most characters of each side of a change that people are shown. */
const MOST_SHOWN = 4_000;
/** The characters that are the same around a change. */
const CONTEXT = 60;

/** What changed in the definition of a tool, for people: member by member, and the hashes that are accepted. */
export function definitionChanges(
  before: Pick<PinRow, "hash" | "definition">,
  { hash = "", definition = "{}" }: Pick<McpTool, "hash" | "definition">,
): JsonObject {
  const [was, is] = [membersOf(before.definition), membersOf(definition)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort();
  const changes = names.flatMap((member) =>
    isDeepStrictEqual(was[member], is[member]) ? [] : [{ member, ...shownChange(was[member], is[member]) }],
  );
  return { changes, hashes: { before: before.hash, after: hash } };
}

function membersOf(definition: string): JsonObject {
  const parsed: unknown = JSON.parse(definition);
  return isObject(parsed) ? parsed : {};
}

/** Both sides of a change: what differs, with a little of what is the same around it. */
function shownChange(before: unknown, after: unknown): JsonObject {
  const [was, is] = [textOf(before), textOf(after)];
  if (was === undefined || is === undefined) return { before: cut(was), after: cut(is) };
  let [start, end] = [0, 0];
  const shorter = Math.min(was.length, is.length);
  while (start < shorter && was[start] === is[start]) start += 1;
  while (end < shorter - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  const part = (text: string) => {
    const [from, to] = [Math.max(0, start - CONTEXT), Math.min(text.length, text.length - end + CONTEXT)];
    return `${from > 0 ? "… " : ""}${cut(text.slice(from, to))}${to < text.length ? " …" : ""}`;
  };
  return { before: part(was), after: part(is) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || value === undefined ? value : JSON.stringify(value);
}

function cut(text: string | undefined): string | null {
  if (text === undefined || text.length <= MOST_SHOWN) return text ?? null;
  return `${text.slice(0, MOST_SHOWN)} … and ${text.length - MOST_SHOWN} more characters`;
}
