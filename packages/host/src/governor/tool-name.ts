import { isObject, type JsonObject } from "../acp/message.ts";

/** The name of a tool that nobody could find out. No rule that names tools lets it pass. */
export const UNKNOWN_TOOL = "unknown";

/** How an agent tells the names of its tools. */
export interface ToolNaming {
  /** Where a name may stand in what it tells of a call; dots lead into objects. The first that is there counts. */
  readonly members: readonly string[];
  /** Which tool of its table each ACP kind is, where no name is told. */
  readonly kinds: Readonly<Record<string, string>>;
}

/** The name of a tool: the protocol's own member first, then where this agent puts it, then by the kind it says it is. */
export function toolNameOf(told: JsonObject, { members, kinds }: ToolNaming): string {
  for (const member of ["name", ...members]) {
    const name = memberAt(told, member.split("."));
    if (typeof name === "string" && name !== "") return name;
  }
  return (typeof told.kind === "string" ? kinds[told.kind] : undefined) ?? UNKNOWN_TOOL;
}

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  return isObject(value) && Object.hasOwn(value, name) ? memberAt(value[name], rest) : undefined;
}
