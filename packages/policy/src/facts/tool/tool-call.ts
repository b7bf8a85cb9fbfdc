import { isDeepStrictEqual } from "node:util";
import type { Claims } from "../../action.ts";
import { isRecord } from "../is-record.ts";
import { isModest, readJson } from "./json.ts";

/** A tool call as a payload tells it, whatever its dialect. */
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
const RISKS = ["risk", "risk_level", "riskLevel"] as const;
const FOLDERS = ["working_directory", "cwd", "workdir"] as const;
const NESTED = ["toolCall", "tool_call", "tool"] as const;
/** Every member that says something of a call. */
const TELLING: ReadonlySet<string> = new Set([
  ...NAMES,
  ...ARGUMENTS,
  ...RISKS,
  ...FOLDERS,
  ...NESTED,
  "title",
  "kind",
  "_meta",
]);

/** Reads a call out of a payload. What an agent says of itself beside name and arguments is a claim. */
export function readToolCall(payload: unknown): ToolCall {
  if (!isRecord(payload))
    return { tool: "", versions: [], claims: {}, folders: [], doubts: ["the payload is no object"] };
  // A prompt, for one.
  if (!Object.keys(payload).some((key) => TELLING.has(key)))
    return { tool: "", versions: [], claims: {}, folders: [], doubts: ["the payload names no tool"] };
  const doubts: string[] = [];
  const nested = NESTED.map((key) => payload[key]).filter(isRecord);
  const sources = [payload, ...nested];
  const names = new Set(sources.flatMap((source) => namesIn(source, doubts)));
  if (names.size > 1) doubts.push("the payload names several tools");
  const [tool = ""] = names;
  if (tool === "") doubts.push("the payload names no tool");
  const versions = distinct(sources.flatMap((source) => argumentsIn(source, doubts)));
  if (versions.length > 1) doubts.push("the payload holds several arguments that differ");
  return { tool, versions, claims: claimsIn(sources), folders: textsUnder(sources, FOLDERS), doubts };
}

function namesIn(source: Readonly<Record<string, unknown>>, doubts: string[]): readonly string[] {
  const meta =
    isRecord(source._meta) && isRecord(source._meta.claudeCode)
      ? source._meta.claudeCode.toolName
      : undefined;
  const given = [...NAMES.map((key) => own(source, key)), meta].filter(
    (name) => name !== undefined && name !== null,
  );
  return given.flatMap((name) => {
    if (typeof name === "string" && name !== "") return [name];
    if (!isRecord(name)) doubts.push("the tool's name is no text");
    return [];
  });
}

function argumentsIn(source: Readonly<Record<string, unknown>>, doubts: string[]): readonly unknown[] {
  const given = ARGUMENTS.map((key) => own(source, key)).filter(
    (value) => value !== undefined && value !== null,
  );
  return given.map((value) => {
    if (typeof value !== "string") {
      if (!isModest(value)) doubts.push("the arguments are too large or nested too deep");
      return value;
    }
    const isObject = /^\s*\{/.test(value);
    const read = isObject ? readJson(value) : { value };
    if (read.doubt !== undefined) doubts.push(read.doubt);
    return "value" in read ? read.value : value;
  });
}

function distinct(values: readonly unknown[]): readonly unknown[] {
  const found: unknown[] = [];
  for (const value of values) {
    if (!isModest(value) || !found.some((other) => isDeepStrictEqual(other, value))) found.push(value);
  }
  return found;
}

function claimsIn(sources: readonly Readonly<Record<string, unknown>>[]): Claims {
  const [title] = textsUnder(sources, ["title"]);
  const [kind] = textsUnder(sources, ["kind"]);
  const [risk] = textsUnder(sources, RISKS);
  return {
    ...(title !== undefined && { title }),
    ...(kind !== undefined && { kind }),
    ...(risk !== undefined && { risk }),
  };
}

function textsUnder(
  sources: readonly Readonly<Record<string, unknown>>[],
  keys: readonly string[],
): readonly string[] {
  const values = sources.flatMap((source) => keys.map((key) => own(source, key)));
  return [...new Set(values.filter((value) => typeof value === "string"))];
}

function own(source: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(source, key) ? source[key] : undefined;
}
