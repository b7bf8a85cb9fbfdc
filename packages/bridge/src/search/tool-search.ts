import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { errorMessage, isRecord, type JsonObject, LruCache, raceAbort, readLimited } from "@reins/kit";
import type { RE2JS } from "re2js";
import { z } from "zod";
import {
  fieldsOf,
  MAX_HITS,
  namedTools,
  type SearchableTool,
  type ToolHit,
  type ToolIndex,
} from "./tool-index.ts";

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

/** As much of each text as counts whatever is left. */
const LEAST = 64;

/**
 * How many characters an index takes: to index them takes time in which nothing else is
 * done. What comes first is taken whole, and of what comes after the budget is used up only the beginning.
 */
export class TextBudget {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  /** What counts of a text. */
  take(text: string): string {
    const taken = text.slice(0, Math.max(LEAST, this.#left));
    this.#left -= taken.length;
    return taken;
  }

  /** Gives back what an indexed text took. */
  give(characters: number): void {
    this.#left += characters;
  }
}

/** Sends `tool_search/query` to the host of a session; rejects on an error or a time-out. */
export type AskHost = (params: JsonObject, signal: AbortSignal) => Promise<unknown>;

/** The most candidates that are also described to the host. */
const MAX_DESCRIBED = 1_000;
const MAX_DESCRIPTION = 200;

/** The request `tool_search/query`. */
function toolSearchQuery(
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
function readToolSearchReply(reply: unknown, candidates: ReadonlyMap<string, SearchableTool>): FoundTools {
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

/** The outcome of a search; the diagnostic says what went wrong or was left out. */
export interface FoundTools {
  readonly hits: readonly ToolHit[];
  readonly diagnostic?: string | undefined;
}

/** The time that a search may take. */
export interface RegexLimits {
  readonly totalMs: number;
  /** After how long other work gets its turn. */
  readonly sliceMs: number;
  /** Milliseconds of a clock that does not go back. */
  readonly now: () => number;
}

const LIMITS: RegexLimits = { totalMs: 500, sliceMs: 10, now: () => performance.now() };
const MAX_PATTERN = 256;
/** Instructions of a compiled pattern: the time of a match grows with them, and a match cannot be interrupted. */
const MAX_INSTRUCTIONS = 500;
/** Characters of a field that are searched. */
const MAX_SEARCHED = 2_000;
/** Occurrences in one field that count. */
const MAX_COUNT = 4;

/**
 * Finds tools by a regular expression without regard to case, in each field by itself. The engine needs time linear in
 * the text, and the search yields to other work and ends at its time limit with what it has.
 */
export async function searchByRegex(
  tools: Iterable<SearchableTool>,
  pattern: string,
  limits: Partial<RegexLimits> = {},
): Promise<FoundTools> {
  const { totalMs, sliceMs, now } = { ...LIMITS, ...limits };
  const expression = await compile(pattern);
  if (typeof expression === "string") return { hits: [], diagnostic: expression };
  const end = now() + totalMs;
  let slice = now() + sliceMs;
  const hits: ToolHit[] = [];
  let diagnostic: string | undefined;
  for (const tool of tools) {
    if (now() >= slice) {
      await setImmediate();
      slice = now() + sliceMs;
    }
    if (now() >= end) {
      diagnostic = `the search was stopped after ${totalMs} ms; not all tools were searched`;
      break;
    }
    const hit = hitOf(tool, expression);
    if (hit) hits.push(hit);
  }
  const best = hits.toSorted((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1));
  return { hits: best.slice(0, MAX_HITS), ...(diagnostic !== undefined && { diagnostic }) };
}

async function compile(pattern: string): Promise<RE2JS | string> {
  if (pattern.length > MAX_PATTERN) return `a pattern has at most ${MAX_PATTERN} characters`;
  // Loaded when it is used: most sessions never search by a pattern.
  const { RE2JS: Engine } = await import("re2js");
  try {
    const compiled = Engine.compile(pattern, Engine.CASE_INSENSITIVE);
    if (compiled.programSize() <= MAX_INSTRUCTIONS) return compiled;
    return "the pattern is too large; repeat less in it";
  } catch (error) {
    return `the pattern is invalid: ${errorMessage(error)}`;
  }
}

function hitOf(tool: SearchableTool, expression: RE2JS): ToolHit | undefined {
  const { name, label = name } = tool;
  const counts = Object.entries(fieldsOf(tool)).flatMap(([field, text]) => {
    // A model knows a tool by its whole name, people by that at its source.
    const whole = field === "name" && name !== label ? occurrences(expression, name) : 0;
    const count = occurrences(expression, text) + whole;
    return count > 0 ? [{ field, count }] : [];
  });
  if (counts.length === 0) return undefined;
  const score = counts.reduce((sum, { count }) => sum + count, 0);
  return { name, score, why: `matches in ${counts.map(({ field }) => field).join(", ")}` };
}

function occurrences(expression: RE2JS, text: string): number {
  if (text === "") return 0;
  const matcher = expression.matcher(text.slice(0, MAX_SEARCHED));
  let count = 0;
  while (count < MAX_COUNT && matcher.find()) count += 1;
  return count;
}

/** An embeddings endpoint in OpenAI's form. */
export interface EmbeddingEndpoint {
  /** The base, such as `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  readonly model: string;
  readonly apiKey?: string | undefined;
}

/** The vectors of texts. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<readonly Vector[]>;

type Vector = readonly number[];

const BATCH = 128;
const MAX_BODY = 64 * 1024 * 1024;
const MAX_CACHED = 20_000;
const MAX_TEXT = 2_000;

const Reply = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1).max(8_192) })),
});

/** Embeds texts by an endpoint; each text is sent once. */
export function embedderFor(endpoint: EmbeddingEndpoint): Embed {
  const known = new LruCache<string, Vector>({ entries: MAX_CACHED });
  return async (texts, signal) => {
    const keys = texts.map((text) => createHash("sha256").update(text).digest("base64"));
    const missing = new Map<string, string>();
    for (const [index, key] of keys.entries()) if (!known.get(key)) missing.set(key, texts[index] ?? "");
    const fresh = new Map<string, Vector>();
    const wanted = [...missing];
    for (let from = 0; from < wanted.length; from += BATCH) {
      const batch = wanted.slice(from, from + BATCH);
      const vectors = await request(
        endpoint,
        batch.map(([, text]) => text),
        signal,
      );
      for (const [index, [key]] of batch.entries()) {
        const vector = vectors[index];
        if (!vector) throw new Error("the embeddings endpoint left texts out");
        fresh.set(key, vector);
        known.set(key, vector);
      }
    }
    return keys.map((key) => fresh.get(key) ?? known.get(key) ?? []);
  };
}

async function request(
  { url, model, apiKey }: EmbeddingEndpoint,
  input: readonly string[],
  signal: AbortSignal,
): Promise<readonly Vector[]> {
  const response = await fetch(`${url.replace(/\/$/, "")}/embeddings`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ model, input, encoding_format: "float" }),
    redirect: "error",
    signal,
  });
  if (!response.ok) throw new Error(`the embeddings endpoint answered ${response.status}`);
  const body = response.body && (await readLimited(response.body, MAX_BODY));
  if (!body) throw new Error("the embeddings endpoint's reply is too large");
  const { data, error } = Reply.safeParse(JSON.parse(body.toString()));
  if (error) throw new Error("the embeddings endpoint's reply is not in OpenAI's form");
  const vectors: Vector[] = [];
  for (const { index, embedding } of data.data) if (index < input.length) vectors[index] = unit(embedding);
  return vectors;
}

/** Finds tools whose text is near a query in meaning. */
async function searchByEmbedding(
  tools: readonly SearchableTool[],
  query: string,
  embed: Embed,
  signal: AbortSignal,
): Promise<readonly ToolHit[]> {
  const [wanted = [], ...vectors] = await embed([query.slice(0, MAX_TEXT), ...tools.map(textOf)], signal);
  return tools
    .map(({ name }, index) => ({ name, score: dot(wanted, vectors[index] ?? []) }))
    .filter(({ score }) => score > 0)
    .toSorted((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1))
    .slice(0, MAX_HITS)
    .map((hit) => ({ ...hit, why: `similarity ${hit.score.toFixed(2)}` }));
}

function textOf(tool: SearchableTool): string {
  const { name, tags, description, parameters } = fieldsOf(tool);
  return `${name} (${tags}): ${description}\n${parameters}`.slice(0, MAX_TEXT);
}

function unit(vector: Vector): Vector {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 ? vector.map((value) => value / length) : vector;
}

function dot(left: Vector, right: Vector): number {
  if (left.length !== right.length) return 0;
  return left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
}
