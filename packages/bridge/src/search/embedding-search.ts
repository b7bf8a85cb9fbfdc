import { createHash } from "node:crypto";
import { LruCache, readLimited } from "@reins/kit";
import { z } from "zod";
import { fieldsOf, MAX_HITS, type SearchableTool, type ToolHit } from "./tool-index.ts";

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
export async function searchByEmbedding(
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
