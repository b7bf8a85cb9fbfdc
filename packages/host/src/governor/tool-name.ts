import { isObject, type JsonObject, toolCallIn } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type { ToolCall } from "./tool-calls.ts";

/** How an agent names tools. */
export type ToolNaming = Pick<AgentEntry, "toolNames">;

/** The name of an unknown tool. No rule that names tools allows it. */
const UNKNOWN_TOOL = "unknown";

/** What a tool may be called, as opposed to a sentence about what it does. */
const NAME = /^[a-z][\w.-]{0,63}$/i;

/** The name of a call's tool, and how it was found. */
export interface ToolName {
  readonly name: string;
  /** Whether it is known only by the kind that the agent reports. */
  readonly byKind: boolean;
}

/** The name that an agent itself gives the tool of a call: in the protocol's own member, or where this agent puts it. */
export function givenName(reported: JsonObject, members: readonly string[]): string | undefined {
  for (const member of ["name", ...members]) {
    const name = textAt(reported, member);
    if (name !== "") return name;
  }
  return undefined;
}

/**
 * The name of a tool: as the agent first named it, then by what else it reports, at last by its kind.
 */
export function toolNameOf(
  call: Pick<ToolCall, "reported"> & Partial<Pick<ToolCall, "first" | "named">>,
  entry: ToolNaming,
): ToolName {
  const { reported, first } = call;
  const { toolNames } = entry;
  const named = call.named ?? givenName(reported, toolNames.members);
  if (named !== undefined) return { name: named, byKind: false };
  const known = knownCall(call, entry);
  if (known) return { name: known.tool, byKind: false };
  const titled = toolNames.titled && new RegExp(toolNames.titled).exec(textAt(reported, "title"))?.[1];
  if (titled) return { name: titled, byKind: false };
  const title = toolNames.titles?.includes(String(reported.kind)) ? first?.title : undefined;
  if (typeof title === "string" && NAME.test(title)) return { name: title, byKind: false };
  const byKind = typeof reported.kind === "string" ? toolNames.kinds[reported.kind] : undefined;
  return { name: byKind ?? UNKNOWN_TOOL, byKind: byKind !== undefined };
}

/** Every name that a call's tool might have; where the agent named it, only that. */
export function namesOf(
  call: Pick<ToolCall, "reported" | "first"> & Partial<Pick<ToolCall, "named">>,
  entry: ToolNaming,
): readonly string[] {
  if (call.named !== undefined) return [call.named];
  const reported = { ...call.reported, first: call.first };
  const { mark, aliases: members } = entry.toolNames;
  const marked = mark === undefined || memberAt(reported, mark.split(".")) === true;
  const aliases = marked ? members.map((alias) => memberAt(reported, alias.split("."))) : [];
  return [toolNameOf(call, entry).name, ...aliases.filter((name) => typeof name === "string")];
}

/** What an agent says that a call runs. */
export interface Act {
  /** Every name that its tool might have, the most likely first. */
  readonly names: readonly string[];
  /** Whether more than its kind names the tool. */
  readonly isNamed: boolean;
  /** The tool as the protocol's own member names it. */
  readonly name: unknown;
  readonly kind: unknown;
  readonly arguments: unknown;
  /** The files that it is said to be about. */
  readonly paths: readonly string[];
}

/** What a call says now that it runs, whatever it was named before. */
export function actOf({ reported, first }: Pick<ToolCall, "reported" | "first">, entry: ToolNaming): Act {
  const call = { reported, first };
  const { name, byKind } = toolNameOf(call, entry);
  const isNamed = !byKind && name !== UNKNOWN_TOOL;
  const { name: own, kind } = reported;
  const given = { arguments: argumentsOf(call, entry), paths: pathsOf(call) };
  return { names: namesOf(call, entry), isNamed, name: own, kind, ...given };
}

/** The files that an agent says a call is about. */
export function pathsOf({ reported }: Pick<ToolCall, "reported">): readonly string[] {
  const { content, locations } = toolCallIn(reported);
  const changed = content.flatMap(({ type, path, newText }) =>
    type === "diff" && newText !== undefined ? [path] : [],
  );
  const all = [...changed, ...locations.map(({ path }) => path)];
  return [...new Set(all.filter((path) => path !== undefined))];
}

/** The arguments of a call: as sent, or where this agent spells them out. */
export function argumentsOf(call: Pick<ToolCall, "reported">, entry: ToolNaming): unknown {
  const { reported } = call;
  if (reported.rawInput !== undefined) return reported.rawInput;
  const found: JsonObject = {};
  for (const [name, { member, pattern }] of Object.entries(knownCall(call, entry)?.arguments ?? {})) {
    const [, text] = new RegExp(pattern).exec(textAt(reported, member)) ?? [];
    if (text !== undefined) found[name] = text;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** Whether a value has no content: no arguments, an empty list. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return (
    typeof value === "object" &&
    Object.values(value).every((member) => member === undefined || member === null)
  );
}

/** What the catalogue knows of a call without arguments. */
function knownCall({ reported }: Pick<ToolCall, "reported">, { toolNames: { calls = [] } }: ToolNaming) {
  if (reported.rawInput !== undefined) return undefined;
  return calls.find(({ where }) => fits(reported, where));
}

/** Whether the agent asks no permission for what a call leads to, like the subagents of some. */
export function isUngoverned(
  { reported, first }: Pick<ToolCall, "reported" | "first">,
  { toolNames: { ungoverned = [] } }: ToolNaming,
): boolean {
  return ungoverned.some((where) => fits(reported, where) || fits(first, where));
}

function fits(reported: JsonObject, where: Readonly<Record<string, string>>): boolean {
  return Object.entries(where).every(([member, pattern]) =>
    new RegExp(pattern).test(textAt(reported, member)),
  );
}

function textAt(reported: JsonObject, member: string): string {
  const text = memberAt(reported, member.split("."));
  return typeof text === "string" ? text : "";
}

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (Array.isArray(value)) return memberAt(value[Number(name)], rest);
  return isObject(value) && Object.hasOwn(value, name) ? memberAt(value[name], rest) : undefined;
}
