import { isObject, type JsonObject } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type { ToolCall } from "./tool-calls.ts";

/** The name of an unknown tool. No rule that names tools allows it. */
const UNKNOWN_TOOL = "unknown";

/** What a tool may be called, as opposed to a sentence about what it does. */
const NAME = /^[a-z][\w.-]{0,63}$/i;

/** The name of a call's tool, and how it was found. */
export interface ToolName {
  readonly name: string;
  /** Whether only the kind that the agent says it is tells it. */
  readonly byKind: boolean;
}

/**
 * The name of a tool: the protocol's own member first, then where this agent puts it, then by what else it tells, at
 * last by the kind it says it is.
 */
export function toolNameOf(
  call: Pick<ToolCall, "told"> & Partial<Pick<ToolCall, "first">>,
  entry: Pick<AgentEntry, "toolNames">,
): ToolName {
  const { told, first } = call;
  const { toolNames } = entry;
  for (const member of ["name", ...toolNames.members]) {
    const name = memberAt(told, member.split("."));
    if (typeof name === "string" && name !== "") return { name, byKind: false };
  }
  const known = knownCall(call, entry);
  if (known) return { name: known.tool, byKind: false };
  const titled = toolNames.titled && new RegExp(toolNames.titled).exec(textAt(told, "title"))?.[1];
  if (titled) return { name: titled, byKind: false };
  const title = toolNames.titles?.includes(String(told.kind)) ? first?.title : undefined;
  if (typeof title === "string" && NAME.test(title)) return { name: title, byKind: false };
  const byKind = typeof told.kind === "string" ? toolNames.kinds[told.kind] : undefined;
  return { name: byKind ?? UNKNOWN_TOOL, byKind: byKind !== undefined };
}

/** Every name that a call's tool might have. */
export function namesOf(
  call: Pick<ToolCall, "told" | "first">,
  entry: Pick<AgentEntry, "toolNames">,
): readonly string[] {
  const told = { ...call.told, first: call.first };
  const { mark, aliases: members } = entry.toolNames;
  const marked = mark === undefined || memberAt(told, mark.split(".")) === true;
  const aliases = marked ? members.map((alias) => memberAt(told, alias.split("."))) : [];
  return [toolNameOf(call, entry).name, ...aliases.filter((name) => typeof name === "string")];
}

/** The arguments of a call: as sent, or where this agent spells them out. */
export function argumentsOf(call: Pick<ToolCall, "told">, entry: Pick<AgentEntry, "toolNames">): unknown {
  const { told } = call;
  if (told.rawInput !== undefined) return told.rawInput;
  const found: JsonObject = {};
  for (const [name, { member, pattern }] of Object.entries(knownCall(call, entry)?.arguments ?? {})) {
    const [, text] = new RegExp(pattern).exec(textAt(told, member)) ?? [];
    if (text !== undefined) found[name] = text;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** What the catalogue knows of a call without arguments. */
function knownCall(
  { told }: Pick<ToolCall, "told">,
  { toolNames: { calls = [] } }: Pick<AgentEntry, "toolNames">,
) {
  if (told.rawInput !== undefined) return undefined;
  return calls.find(({ where }) => fits(told, where));
}

/** Whether the agent asks no permission for what a call leads to, like the subagents of some. */
export function isUngoverned(
  { told, first }: Pick<ToolCall, "told" | "first">,
  { toolNames: { ungoverned = [] } }: Pick<AgentEntry, "toolNames">,
): boolean {
  return ungoverned.some((where) => fits(told, where) || fits(first, where));
}

function fits(told: JsonObject, where: Readonly<Record<string, string>>): boolean {
  return Object.entries(where).every(([member, pattern]) => new RegExp(pattern).test(textAt(told, member)));
}

function textAt(told: JsonObject, member: string): string {
  const text = memberAt(told, member.split("."));
  return typeof text === "string" ? text : "";
}

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (Array.isArray(value)) return memberAt(value[Number(name)], rest);
  return isObject(value) && Object.hasOwn(value, name) ? memberAt(value[name], rest) : undefined;
}
