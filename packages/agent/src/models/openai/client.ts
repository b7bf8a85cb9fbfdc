import type OpenAI from "openai";

/** How to reach OpenAI, or whoever speaks like it. */
export interface OpenAiAccess {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** The SDK takes a while to load, so it is loaded by the first request. Servers of one's own often want no key. */
export async function clientFor({ apiKey, baseUrl }: OpenAiAccess): Promise<OpenAI> {
  const { default: Client } = await import("openai");
  return new Client({
    apiKey: apiKey ?? "none",
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    maxRetries: 0,
    logLevel: "off",
  });
}
