import type { Skill } from "./skill.ts";

/** What scoping looks at in a tool. */
export interface ScopedTool {
  readonly name: string;
  /** The namespaces that it belongs to, such as the MCP server that serves it. */
  readonly namespaces?: readonly string[] | undefined;
  /** Whether the runtime itself needs it; then no skill takes it away. */
  readonly isRuntime?: boolean | undefined;
}

/**
 * Narrows tools to those that the skills in use allow: the union of their lists. A skill without a list neither narrows
 * nor widens, and `*` stands for all tools. The result is a part of what was given, so it never holds a tool that policy
 * has taken away.
 */
export function scopeTools<Tool extends ScopedTool>(
  tools: readonly Tool[],
  skills: readonly Pick<Skill, "allowedTools">[],
): readonly Tool[] {
  const entries = new Set(skills.flatMap(({ allowedTools }) => allowedTools));
  if (entries.size === 0 || entries.has("*")) return tools;
  return tools.filter(
    ({ name, namespaces = [], isRuntime = false }) =>
      isRuntime || entries.has(name) || namespaces.some((tag) => entries.has(`namespace:${tag}`)),
  );
}
