import { readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { excessOf, isModest, PAYLOAD_LIMITS, readJson, spelledNumber } from "@reins/kit";
import { z } from "zod";
import type { Claims } from "../../action.ts";
import { tableFile } from "../files.ts";
import type { Finding } from "../findings.ts";

/** A tool call as a payload describes it, in any dialect. */
export interface ToolCall {
  /** Empty when none is named. */
  readonly tool: string;
  /** The arguments, or several versions of them when the payload contradicts itself. */
  readonly versions: readonly unknown[];
  readonly claims: Claims;
  /** Folders that the payload says the tool works in. */
  readonly folders: readonly string[];
  /** Why the call is not what it seems, in words. */
  readonly doubts: readonly string[];
}

const NAMES = ["tool_name", "tool", "toolName", "name"] as const;
const ARGUMENTS = [
  "arguments",
  "args",
  "input",
  "rawInput",
  "raw_input",
  "parameters",
  "tool_input",
] as const;
const TITLES = ["title"] as const;
const KINDS = ["kind"] as const;
const RISKS = ["risk", "risk_level", "riskLevel"] as const;
const FOLDERS = ["working_directory", "cwd", "workdir"] as const;
const NESTED = ["toolCall", "tool_call", "tool"] as const;
/** Every member that says something of a call. */
export const CALL_MEMBERS: ReadonlySet<string> = new Set([
  ...NAMES,
  ...ARGUMENTS,
  ...TITLES,
  ...KINDS,
  ...RISKS,
  ...FOLDERS,
  ...NESTED,
  "_meta",
]);

/** Reads a call out of a payload. What an agent says of itself beside name and arguments is a claim. */
export function readToolCall(payload: unknown): ToolCall {
  if (!isRecord(payload))
    return { tool: "", versions: [], claims: {}, folders: [], doubts: ["the payload is no object"] };
  const doubts: string[] = [];
  const sources = [payload, ...NESTED.map((key) => payload[key]).filter(isRecord)];
  const names = new Set<string>();
  for (const source of sources) {
    for (const key of NAMES) readName(own(source, key), names, doubts);
    readName(nameInMeta(source), names, doubts);
  }
  if (names.size > 1) doubts.push("the payload names several tools");
  const [tool = ""] = names;
  if (tool === "") doubts.push("the payload names no tool");
  const given: unknown[] = [];
  for (const source of sources) for (const key of ARGUMENTS) readArguments(own(source, key), given, doubts);
  const versions = distinct(given);
  if (versions.length > 1) doubts.push("the payload holds several arguments that differ");
  return { tool, versions, claims: claimsIn(sources), folders: foldersIn(sources), doubts };
}

type Source = Readonly<Record<string, unknown>>;

function nameInMeta({ _meta }: Source): unknown {
  return isRecord(_meta) && isRecord(_meta.claudeCode) ? _meta.claudeCode.toolName : undefined;
}

function readName(name: unknown, names: Set<string>, doubts: string[]): void {
  if (name === undefined || name === null) return;
  if (typeof name === "string" && name !== "") names.add(name);
  else if (!isRecord(name)) doubts.push("the tool's name is no text");
}

function readArguments(value: unknown, given: unknown[], doubts: string[]): void {
  if (value === undefined || value === null) return;
  if (typeof value !== "string") {
    if (!isModest(value)) doubts.push("the arguments are too large or nested too deep");
    given.push(value);
    return;
  }
  const read = /^\s*\{/.test(value) ? readArgumentText(value) : { value };
  if (read.doubt !== undefined) doubts.push(read.doubt);
  given.push("value" in read ? read.value : value);
}

function distinct(values: readonly unknown[]): readonly unknown[] {
  if (values.length < 2) return values;
  const found: unknown[] = [];
  for (const value of values) {
    if (!isModest(value) || !found.some((other) => isDeepStrictEqual(other, value))) found.push(value);
  }
  return found;
}

function claimsIn(sources: readonly Source[]): Claims {
  const title = firstText(sources, TITLES);
  const kind = firstText(sources, KINDS);
  const risk = firstText(sources, RISKS);
  return {
    ...(title !== undefined && { title }),
    ...(kind !== undefined && { kind }),
    ...(risk !== undefined && { risk }),
  };
}

function firstText(sources: readonly Source[], keys: readonly string[]): string | undefined {
  for (const source of sources) {
    for (const key of keys) {
      const value = own(source, key);
      if (typeof value === "string") return value;
    }
  }
  return undefined;
}

function foldersIn(sources: readonly Source[]): readonly string[] {
  const folders = new Set<string>();
  for (const source of sources) {
    for (const key of FOLDERS) {
      const value = own(source, key);
      if (typeof value === "string") folders.add(value);
    }
  }
  return [...folders];
}

function own(source: Source, key: string): unknown {
  return Object.hasOwn(source, key) ? source[key] : undefined;
}

/** What a JSON text says, or why that is not certain. */
export type ReadJson = { readonly value: unknown; readonly doubt?: string } | { readonly doubt: string };

/** Reads JSON that came as a text. A name that occurs twice means one thing to us and may mean another to the agent. */
export function readArgumentText(text: string): ReadJson {
  if (text.length > PAYLOAD_LIMITS.characters) return { doubt: "the arguments are too large to be read" };
  try {
    const { value, duplicate } = readJson(text, spelledNumber);
    const excess = excessOf(value);
    if (excess !== undefined) return { doubt: `the arguments are ${excess}` };
    return duplicate === undefined ? { value } : { value, doubt: "the arguments hold a name twice" };
  } catch {
    return { doubt: "the arguments are no JSON" };
  }
}

/** Every text in a value, however deep, at most so many, each with the name of the member that holds it. */
export function textsIn(
  value: unknown,
  limit: number,
): readonly { readonly name: string; readonly text: string }[] {
  const texts: { name: string; text: string }[] = [];
  const pending: { name: string; value: unknown; depth: number }[] = [{ name: "", value, depth: 0 }];
  // The list grows while it is gone through.
  for (const { name, value: one, depth } of pending) {
    if (texts.length >= limit) break;
    if (typeof one === "string") texts.push({ name, text: one });
    if (depth > PAYLOAD_LIMITS.depth || pending.length > PAYLOAD_LIMITS.members) continue;
    if (Array.isArray(one)) for (const item of one) pending.push({ name, value: item, depth: depth + 1 });
    else if (isRecord(one)) {
      for (const [key, item] of Object.entries(one))
        pending.push({ name: key, value: item, depth: depth + 1 });
    }
  }
  return texts;
}

declare global {
  interface JSON {
    rawJSON(text: string): { readonly rawJSON: string };
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

/** Whether a value is an object with members, and neither an array nor null. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** What an argument of a tool is. */
export const ArgumentRole = z.enum([
  /** Nothing that touches anything. */
  "text",
  "read",
  /** A folder that is searched, with what is below it. */
  "tree",
  /** A glob whose matches are read. */
  "glob",
  /** A glob of the files that are read of what is searched. */
  "only",
  /** Changed in place, or made. */
  "change",
  /** Replaced if it is there. */
  "overwrite",
  "delete",
  /** The folder that relative paths and commands of the same call start from. */
  "folder",
  /** A command line. */
  "shell",
  /** A program and its arguments, as a list. */
  "words",
  "url",
  /** A text in which addresses stand that are fetched. */
  "urls",
  "patch",
  /** Whether a git worktree is made of the repository whose top the searched folder is, and how. */
  "worktree",
  /** A list of edits, each with arguments of its own. */
  "edits",
  /** May be anything: a call with it is opaque. */
  "opaque",
]);
export type ArgumentRole = z.infer<typeof ArgumentRole>;

const Tool = z.strictObject({
  arguments: z.record(z.string(), ArgumentRole),
  /** Without these the call is not what the table describes. */
  required: z.array(z.string()).optional(),
  /** The arguments of each edit of a list. */
  edits: z.record(z.string(), ArgumentRole).optional(),
  /** What the tool does to the working folder if no argument names another. */
  without: ArgumentRole.optional(),
  /** Whether it connects to hosts that its arguments do not name. */
  net: z.boolean().optional(),
  /** Why the arguments do not show what it does. */
  opaque: z.string().optional(),
});

/** What one tool's arguments are. */
export type Tool = z.infer<typeof Tool>;

/** The tools of one agent, by the exact names it calls them. */
export const ToolTable = z.strictObject({
  agent: z.string(),
  /** Other names it goes by. */
  also: z.array(z.string()).default([]),
  /** The version that the table was written for, and where that is documented. */
  source: z.string(),
  tools: z.record(z.string(), Tool),
});
export type ToolTable = z.infer<typeof ToolTable>;

/** The tool tables by agent. */
export type ToolTables = ReadonlyMap<string, ToolTable>;

/** Checks tool tables and puts them under their agents' names. Throws when one does not fit. */
export function toolTables(documents: readonly unknown[]): ToolTables {
  const tables = documents.map((document) => ToolTable.parse(document));
  return new Map(
    tables.flatMap((table) => [table.agent, ...table.also].map((name) => [name, table] as const)),
  );
}

/** The tool tables that this package brings along. */
export function loadToolTables(): ToolTables {
  const folder = new URL("../../../tables/tools", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return toolTables(names.map((name) => tableFile(`tools/${name}`, z.unknown())));
}

/** Codex takes a mark for one with blanks around it, too. */
const CODEX_FILE = /^\s*\*\*\* (Add|Update|Delete) File: (.+)$/i;
const CODEX_MOVE = /^\s*\*\*\* Move to: (.+)$/i;
const CODEX_BEGIN = "*** Begin Patch";

/**
 * The files that a patch changes: in the form of Codex's `apply_patch`, or as a unified diff. `undefined` when it is
 * neither, or not well-formed.
 */
export function patchFindings(
  text: string,
  base: readonly string[] | undefined,
): readonly Finding[] | undefined {
  const lines = text.trim().split(/\r?\n/);
  if (lines[0]?.trim() === CODEX_BEGIN) return codexFindings(lines, base);
  // Codex looks for its patch behind the mark of a here-document.
  return lines.some((line) => line.trim() === CODEX_BEGIN) ? undefined : diffFindings(lines, base);
}

function change(
  path: string,
  base: readonly string[] | undefined,
  destroys: "always" | "existing" | "never",
  keeps = false,
): Finding {
  return { kind: "write", target: { text: path, base }, deep: false, destroys, keeps };
}

function codexFindings(
  lines: readonly string[],
  base: readonly string[] | undefined,
): readonly Finding[] | undefined {
  const findings: Finding[] = [];
  if (lines.at(-1)?.trim() !== "*** End Patch") return undefined;
  for (const line of lines.slice(1, -1)) {
    if (!line.trimStart().startsWith("***")) continue;
    const [, verb, path] = CODEX_FILE.exec(line) ?? [];
    const moved = CODEX_MOVE.exec(line)?.[1];
    if (path !== undefined) {
      const isDeleted = verb?.toLowerCase() === "delete";
      const destroys = isDeleted ? "always" : verb?.toLowerCase() === "add" ? "existing" : "never";
      findings.push(change(path.trim(), base, destroys, !isDeleted));
    } else if (moved !== undefined) findings.push(change(moved.trim(), base, "existing"));
    else if (line.startsWith("***") && line.trim() !== "*** End of File") return undefined;
  }
  return findings.length > 0 ? findings : undefined;
}

function diffFindings(
  lines: readonly string[],
  base: readonly string[] | undefined,
): readonly Finding[] | undefined {
  const findings: Finding[] = [];
  let hunkLeft = 0;
  for (const line of lines) {
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) hunkLeft = Number(hunk[1] ?? 1) + Number(hunk[2] ?? 1);
    else if (hunkLeft > 0 && /^[ +-]|^$/.test(line)) hunkLeft -= /^[+-]/.test(line) ? 1 : 2;
    else {
      const path = /^(?:---|\+\+\+|rename (?:from|to)|copy (?:from|to)) (?:"?)([^\t"]+)/
        .exec(line)?.[1]
        ?.trim();
      if (path === undefined || path === "/dev/null") continue;
      // Tools differ in how many leading parts they take off.
      findings.push(change(path, base, "always", true));
      const stripped = path.replace(/^[ab]\//, "");
      if (stripped !== path) findings.push(change(stripped, base, "always", true));
    }
  }
  return findings.length > 0 ? findings : undefined;
}
