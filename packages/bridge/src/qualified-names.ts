/** A tool by where it comes from: an MCP server, or `host`; the agent's own tools have no source. */
export interface SourcedName {
  readonly source?: string | undefined;
  readonly name: string;
}

/** The source of the tools that the host of a session lends. */
export const HOST_SOURCE = "host";

/**
 * The names under which tools are offered, found and called, in their order. A name that tools of several sources have,
 * letter case aside, is qualified for each of them as `source/name`; the agent's own tools keep theirs.
 */
export function qualifiedNames(tools: readonly SourcedName[]): readonly string[] {
  const sources = new Map<string, Set<string | undefined>>();
  for (const { source, name } of tools) {
    const folded = name.toLowerCase();
    sources.set(folded, (sources.get(folded) ?? new Set()).add(source));
  }
  return tools.map(({ source, name }) =>
    source === undefined || sources.get(name.toLowerCase())?.size === 1 ? name : `${source}/${name}`,
  );
}

const MAX_MODEL_NAME = 64;

/** A name that the interfaces of all models accept: `host/deploy` becomes `host__deploy`. */
export function modelToolName(name: string): string {
  return name
    .replaceAll("/", "__")
    .replace(/[^A-Za-z0-9_-]/g, "_")
    .slice(0, MAX_MODEL_NAME);
}
