import { createHash } from "node:crypto";
import { HIDDEN, hasHidden } from "@reins/kit";
import type { McpTool } from "../gate.ts";
import { isObject, type Message, toNearlyPlain } from "../message.ts";

/** A tool as it stands in a list, and as the agent gets to see it. */
export interface Definition {
  readonly tool: McpTool;
  readonly listed: Message;
}

/** A longer definition, in characters of JSON, is none that a person could review. */
const MOST_DEFINITION = 65_536;

/** Reads a tool from a server's list. Nothing comes of one without a name, with a hidden one, or too long. */
export function readDefinition(server: string, entry: unknown): Definition | undefined {
  if (!isObject(entry)) return undefined;
  const { name } = entry;
  if (typeof name !== "string" || name === "" || hasHidden(name)) return undefined;
  try {
    const listed = visibleProse(entry);
    return { listed, tool: describe(server, name, entry, listed) };
  } catch (error) {
    // Nested deeper than the stack, a number beyond all bounds, half a surrogate pair: nothing that could be compared.
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function describe(server: string, name: string, entry: Message, listed: Message): McpTool {
  const { description, annotations, inputSchema } = listed;
  const definition = definitionIn(entry);
  return {
    server,
    name,
    ...(typeof description === "string" && { description }),
    ...(annotations !== undefined && { annotations: toNearlyPlain(annotations) }),
    ...(inputSchema !== undefined && { inputSchema: toNearlyPlain(inputSchema) }),
    definition,
    hash: createHash("sha256").update(definition).digest("hex"),
  };
}

/** Everything that defines a tool, but for icons and `_meta`, which servers vary freely and models do not read. */
function definitionIn({ icons: _, _meta: __, ...told }: Message): string {
  const definition = canonicalJson(toNearlyPlain(told));
  if (definition.length > MOST_DEFINITION) throw new Error("a definition that is too long");
  return definition;
}

/** JSON with sorted members (RFC 8785). Throws on what has no such form. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (isObject(value)) {
    const names = Object.keys(value).filter((name) => value[name] !== undefined);
    return `{${names
      .sort()
      .map((name) => `${canonicalJson(name)}:${canonicalJson(value[name])}`)
      .join()}}`;
  }
  if (typeof value === "string" && !value.isWellFormed()) throw new Error("half of a surrogate pair");
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error("a number beyond all bounds");
  return JSON.stringify(value);
}

/**
 * Hidden characters that prose needs: line ends, tabs, the spaces of scripts, joiners, and the mark of a colored emoji.
 * Everything else that {@link HIDDEN} lists is written out, because it can carry text that only a model reads.
 */
const PROSE: ReadonlySet<string> = new Set("\n\r\t\u00a0\u3000\u200c\u200d\ufe0f");

/** The text with hidden characters written out. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    PROSE.has(character) ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** A tool's definition in which all prose is visible, however deep in its schemas. */
export function visibleProse(definition: Message): Message {
  return Object.fromEntries(Object.entries(definition).map(([name, member]) => [name, shown(name, member)]));
}

function shown(name: string, member: unknown): unknown {
  if (typeof member === "string")
    return name === "description" || name === "title" ? visible(member) : member;
  if (Array.isArray(member)) return member.map((item) => shown("", item));
  return isObject(member) ? visibleProse(member) : member;
}
