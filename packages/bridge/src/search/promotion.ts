import type { SearchableTool } from "./tool-index.ts";

/** Which tools stay out of the prompt until a search finds them. */
export interface DeferralSettings {
  /** Tools of MCP servers and of the host are deferred when there are more than this. */
  readonly threshold: number;
  /** Tools that are deferred however many there are; `*` at the end of a name stands for any text. */
  readonly defer: readonly string[];
  /** Tools that are never deferred; `*` at the end of a name stands for any text. */
  readonly alwaysLoaded: readonly string[];
  /** How many tokens of tools that were found a prompt may hold. */
  readonly budgetTokens: number;
}

/** The tools of a prompt, and those behind the search. */
export interface DividedTools<Tool> {
  readonly loaded: readonly Tool[];
  readonly deferred: readonly Tool[];
}

/** Divides tools into those that the prompt lists and those that a search finds. Tools without a source are the agent's own. */
export function divideTools<Tool extends Partial<SearchableTool> & Pick<SearchableTool, "name">>(
  tools: readonly Tool[],
  { threshold, defer, alwaysLoaded }: Pick<DeferralSettings, "threshold" | "defer" | "alwaysLoaded">,
): DividedTools<Tool> {
  const isMany = tools.filter(({ source }) => source !== undefined).length > threshold;
  const isDeferred = (tool: Tool) => {
    if (isNamed(tool, alwaysLoaded)) return false;
    return isNamed(tool, defer) || (isMany && tool.source !== undefined);
  };
  const deferred = new Set(tools.filter(isDeferred));
  return { loaded: tools.filter((tool) => !deferred.has(tool)), deferred: [...deferred] };
}

/** Whether a list names a tool: by what it is called by, by its name at its source, or by both as `source/name`. */
function isNamed({ name, label = name, source }: Partial<SearchableTool>, list: readonly string[]): boolean {
  const names = [name, label, `${source}/${label}`];
  return list.some((pattern) =>
    pattern.endsWith("*")
      ? names.some((one) => one?.startsWith(pattern.slice(0, -1)))
      : names.includes(pattern),
  );
}

/** The tools in a prompt after a search, oldest first, and what the search changed. */
export interface Promotion {
  readonly loaded: readonly string[];
  readonly promoted: readonly string[];
  /** Tools that made room. */
  readonly evicted: readonly string[];
  /** Tools that are larger than what is left of the budget. */
  readonly skipped: readonly string[];
}

/**
 * Promotes tools that a search found, best first, under a budget. Tools of earlier searches make room, the oldest first;
 * those of the same search do not make room for one another.
 */
export function promote(
  before: readonly string[],
  found: readonly string[],
  sizeOf: (name: string) => number,
  budget: number,
): Promotion {
  const earlier = before.filter((name) => !found.includes(name));
  const [promoted, evicted, skipped]: [string[], string[], string[]] = [[], [], []];
  let used = earlier.reduce((sum, name) => sum + sizeOf(name), 0);
  let mine = 0;
  for (const name of found) {
    const size = sizeOf(name);
    if (mine + size > budget) {
      skipped.push(name);
      continue;
    }
    while (used + size > budget) {
      const oldest = earlier.shift();
      if (oldest === undefined) break;
      evicted.push(oldest);
      used -= sizeOf(oldest);
    }
    promoted.push(name);
    mine += size;
    used += size;
  }
  return { loaded: [...earlier, ...promoted], promoted, evicted, skipped };
}

/** Estimates the tokens of a tool in a prompt. */
export function toolTokens({
  name,
  description,
  parameters,
}: Pick<SearchableTool, "name" | "description" | "parameters">): number {
  return Math.ceil(JSON.stringify({ name, description, parameters }).length / 4);
}
