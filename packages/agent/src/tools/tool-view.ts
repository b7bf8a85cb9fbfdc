import { type FoundTools, type SearchStrategy, searchTools, ToolIndex, toolTokens } from "@reins/bridge";
import type { TurnSetting } from "../turn/turn.ts";
import { askHostOf, type ToolSearchSettings, type ToolState } from "./tool-search.ts";

/** A tool that a session may use, as people see it. */
interface ToolDescription {
  readonly name: string;
  readonly source?: string | undefined;
  readonly label?: string | undefined;
  readonly description: string;
  readonly state: ToolState;
  /** About how many it takes in a prompt. */
  readonly tokens: number;
}

/** The tools of a session, as people see them. */
export interface ToolView {
  readonly tools: readonly ToolDescription[];
  /** Searches all of them and promotes none. */
  search(
    query: string,
    strategy: SearchStrategy | undefined,
    signal: AbortSignal,
  ): Promise<FoundTools & { readonly strategy: SearchStrategy }>;
}

/** Describes the tools that a session may use now. */
export function toolView(
  {
    tools,
    deferred,
    toolContext,
    sessionId,
  }: Pick<TurnSetting, "tools" | "deferred" | "toolContext" | "sessionId">,
  settings: ToolSearchSettings,
): ToolView {
  const states = deferred
    ? [...deferred.states()]
    : tools.map((tool) => ({ tool, state: "loaded" as const }));
  return {
    tools: states.map(({ tool, state }) => {
      const { name, source, label, description } = tool;
      return { name, source, label, description, state, tokens: toolTokens(tool) };
    }),
    async search(query, strategy = settings.strategy, signal) {
      const index = new ToolIndex(states.map(({ tool }) => tool));
      const askHost = askHostOf(toolContext.services, sessionId);
      const found = await searchTools(index, query, { ...settings, strategy, askHost }, signal);
      return { ...found, strategy };
    },
  };
}
