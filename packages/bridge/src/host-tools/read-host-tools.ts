import { isObject, type JsonObject } from "@reins/acp";
import { hasHidden } from "@reins/kit";
import { unwrapped } from "../wire/envelope.ts";

/** A tool that a host lends, in its normal form: exactly these members. */
export interface HostTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of its one argument; null where the host gives none. */
  readonly schema: JsonObject | null;
  readonly deprecated: boolean;
}

/** The tools of a host, and what of its list could not be used. */
export interface HostToolList {
  readonly tools: readonly HostTool[];
  readonly warnings: readonly string[];
}

const MAX_TOOLS = 10_000;
const MAX_NAME = 128;
const MAX_DESCRIPTION = 8_192;
const MAX_SCHEMA = 64 * 1024;
const MAX_WARNINGS = 20;

/**
 * Reads the reply to `host/tools/list`: `{ tools }`, a list alone, or either in an envelope, with the names of members that
 * hosts use. An entry that is no tool is dropped with a warning. Throws where there is no list.
 */
export function readHostTools(reply: unknown): HostToolList {
  const body = unwrapped(reply);
  const list: unknown = Array.isArray(body) ? body : isObject(body) ? body.tools : undefined;
  if (!Array.isArray(list)) throw new Error("the reply to host/tools/list has no list of tools");
  const tools = new Map<string, HostTool>();
  const warnings: string[] = [];
  for (const [index, entry] of list.slice(0, MAX_TOOLS).entries()) {
    const tool = readTool(entry);
    if (typeof tool === "string") warnings.push(`entry ${index + 1} was left out: ${tool}`);
    else if (tools.has(tool.name))
      warnings.push(`entry ${index + 1} was left out: ${tool.name} is there already`);
    else tools.set(tool.name, tool);
  }
  if (list.length > MAX_TOOLS) warnings.push(`of ${list.length} tools the first ${MAX_TOOLS} are used`);
  const more = warnings.length - MAX_WARNINGS;
  return {
    tools: [...tools.values()],
    warnings: more > 0 ? [...warnings.slice(0, MAX_WARNINGS), `and ${more} more warnings`] : warnings,
  };
}

/** A tool in its normal form, or why the entry is none. */
function readTool(entry: unknown): HostTool | string {
  if (!isObject(entry)) return "it is no object";
  const { name, deprecated } = entry;
  if (typeof name !== "string" || name.trim() === "") return "it has no name";
  if (name.length > MAX_NAME || hasHidden(name) || name.trim() !== name)
    return `its name is longer than ${MAX_NAME} characters or holds some that cannot be seen`;
  const description = [entry.description, entry.short_description].find((one) => typeof one === "string");
  const schema = [entry.schema, entry.parameters, entry.input_schema].find(isObject) ?? null;
  if (schema && JSON.stringify(schema).length > MAX_SCHEMA)
    return `the schema of ${name} has more than ${MAX_SCHEMA} characters`;
  return {
    name,
    description: typeof description === "string" ? description.slice(0, MAX_DESCRIPTION) : "",
    schema,
    deprecated: deprecated === true,
  };
}
