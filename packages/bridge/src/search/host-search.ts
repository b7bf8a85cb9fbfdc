import { createHash } from "node:crypto";
import { isRecord, type JsonObject } from "@reins/kit";
import type { FoundTools } from "./regex-search.ts";
import { MAX_HITS, type SearchableTool } from "./tool-index.ts";

/** Sends `tool_search/query` to the host of a session; rejects on an error or a time-out. */
export type AskHost = (params: JsonObject, signal: AbortSignal) => Promise<unknown>;

const MAX_DIAGNOSTIC = 500;
/** The most candidates that are also described to the host. */
const MAX_DESCRIBED = 1_000;
const MAX_DESCRIPTION = 200;

/** The request `tool_search/query`. */
export function toolSearchQuery(
  strategy: "semantic" | "host",
  query: string,
  candidates: ReadonlyMap<string, SearchableTool>,
): JsonObject {
  const details = () => [...candidates].map(([name, tool]) => detailsOf(name, tool));
  return {
    strategy,
    query,
    candidates: [...candidates.keys()],
    // A host that does not know the tools cannot choose by name alone.
    ...(candidates.size <= MAX_DESCRIBED && { candidate_details: details() }),
  };
}

function detailsOf(name: string, { description, parameters }: SearchableTool): JsonObject {
  const schema_hash = createHash("sha256").update(JSON.stringify(parameters)).digest("hex");
  return { name, description: description.slice(0, MAX_DESCRIPTION), schema_hash };
}

/**
 * Reads the reply to `tool_search/query`; throws where it has no known shape. Names that are no candidates are ignored
 * before the limit counts.
 */
export function readToolSearchReply(
  reply: unknown,
  candidates: ReadonlyMap<string, SearchableTool>,
): FoundTools {
  const body = isRecord(reply) && isRecord(reply.result) ? reply.result : reply;
  if (!isRecord(body) || !Array.isArray(body.tool_names))
    throw new Error("the reply of the host has no list tool_names");
  const names = new Set<string>();
  for (const given of body.tool_names) {
    const tool = typeof given === "string" ? candidates.get(given) : undefined;
    if (tool) names.add(tool.name);
    if (names.size === MAX_HITS) break;
  }
  const { diagnostic } = body;
  return {
    hits: [...names].map((name, index) => ({ name, score: 1 / (index + 1), why: "host match" })),
    ...(typeof diagnostic === "string" &&
      diagnostic !== "" && { diagnostic: diagnostic.slice(0, MAX_DIAGNOSTIC) }),
  };
}
