import type { SessionTool } from "@reins/api";

/** Which tools are listed. */
export type ToolFilter = "all" | SessionTool["state"];

/** The tools of a source in numbers. */
export interface SourceCount {
  readonly source: string;
  readonly tools: number;
  readonly promoted: number;
  readonly deferred: number;
  /** What all of them would take in a prompt. */
  readonly tokens: number;
}

/** Counts tools by source, the agent's own first, then the largest. */
export function sourcesOf(tools: readonly SessionTool[]): readonly SourceCount[] {
  const groups = [...Map.groupBy(tools, ({ source = "agent" }) => source)].map(([source, all]) => ({
    source,
    tools: all.length,
    promoted: all.filter(({ state }) => state === "promoted").length,
    deferred: all.filter(({ state }) => state === "deferred").length,
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
  }));
  return groups.toSorted(
    (left, right) =>
      Number(right.source === "agent") - Number(left.source === "agent") || right.tools - left.tools,
  );
}

/** The tools in a state, in their order. */
export function toolsIn(tools: readonly SessionTool[], filter: ToolFilter): readonly SessionTool[] {
  return filter === "all" ? tools : tools.filter(({ state }) => state === filter);
}

const MAX_DESCRIPTION = 200;

/** The beginning of a description. */
export function shortened(description: string): string {
  return description.length > MAX_DESCRIPTION ? `${description.slice(0, MAX_DESCRIPTION)} …` : description;
}
