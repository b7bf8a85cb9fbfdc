import { errorMessage, raceAbort } from "@reins/kit";
import { type Embed, searchByEmbedding } from "./embedding-search.ts";
import { type AskHost, readToolSearchReply, toolSearchQuery } from "./host-search.ts";
import { type FoundTools, searchByRegex } from "./regex-search.ts";
import { namedTools, type ToolIndex } from "./tool-index.ts";

/** How tools are found: by words, by a pattern, by meaning, or by the host. */
export type SearchStrategy = "bm25" | "regex" | "semantic" | "host";

/** How a search is done. */
export interface ToolSearchOptions {
  readonly strategy: SearchStrategy;
  /** Finds names where the host or the embedding fails; none by default. */
  readonly fallback?: "bm25" | undefined;
  /** The local embedding of `semantic`; the host is asked where it is absent. */
  readonly embed?: Embed | undefined;
  readonly askHost?: AskHost | undefined;
  /** Whether a tool is a candidate; all are by default. */
  readonly accepts?: ((name: string) => boolean) | undefined;
  /** How long the host or the embedding may take. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const MAX_QUERY = 2_000;
const MAX_DIAGNOSTIC = 500;

/**
 * Searches for tools. It throws only when the signal aborts: a failure is a result without names, with its reason in
 * the diagnostic.
 */
export async function searchTools(
  index: ToolIndex,
  query: string,
  options: ToolSearchOptions,
  signal: AbortSignal,
): Promise<FoundTools> {
  const wanted = query.trim();
  if (wanted === "") return { hits: [], diagnostic: "the query is empty; say what the tool should do" };
  if (wanted.length > MAX_QUERY)
    return { hits: [], diagnostic: `a query has at most ${MAX_QUERY} characters` };
  const found = await find(index, wanted, options, signal);
  if (found.hits.length > 0 || found.diagnostic !== undefined) return found;
  return { hits: [], diagnostic: "no tool matches; try other or broader words" };
}

async function find(
  index: ToolIndex,
  query: string,
  { strategy, fallback, embed, askHost, accepts = () => true, timeoutMs = TIMEOUT_MS }: ToolSearchOptions,
  signal: AbortSignal,
): Promise<FoundTools> {
  const byWords = () => raceAbort(index.search(query, accepts), signal);
  if (strategy === "bm25") return { hits: await byWords() };
  const tools = [...index.tools.values()].filter(({ name }) => accepts(name));
  if (strategy === "regex") return searchByRegex(tools, query);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    if (strategy === "semantic" && embed)
      return { hits: await searchByEmbedding(tools, query, embed, deadline) };
    if (!askHost) throw new Error(`no host is connected that searches by "${strategy}"`);
    const candidates = namedTools(tools);
    const params = toolSearchQuery(strategy, query, candidates);
    return readToolSearchReply(await raceAbort(askHost(params, deadline), deadline), candidates);
  } catch (error) {
    signal.throwIfAborted();
    const diagnostic = `the search by "${strategy}" failed: ${errorMessage(error)}`.slice(0, MAX_DIAGNOSTIC);
    return { hits: fallback === "bm25" ? await byWords() : [], diagnostic };
  }
}
