import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "@reins/kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ToolIndex } from "../src/search/tool-index.ts";
import { embedderFor, searchTools } from "../src/search/tool-search.ts";

const TOOLS = [
  { name: "play_song", source: "music", description: "Plays a song", parameters: null },
  { name: "send_invoice", source: "billing", description: "Sends an invoice", parameters: null },
];

let server: LoopbackServer;
let requests: { path: string | undefined; authorization: string | undefined; body: { input: string[] } }[];
let reply: (input: readonly string[], response: ServerResponse) => unknown;

/** Music points one way, money the other. */
const vectorOf = (text: string) => (/song|music|tune/i.test(text) ? [3, 0] : [0.1, 2]);

beforeEach(async () => {
  requests = [];
  reply = (input) => ({ data: input.map((text, index) => ({ index, embedding: vectorOf(text) })) });
  server = await LoopbackServer.listen();
  server.serve(async (request: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    requests.push({ path: request.url, authorization: request.headers.authorization, body });
    response.end(JSON.stringify(reply(body.input, response)));
  });
});

afterEach(() => server.close());

async function search(query: string, timeoutMs = 30_000, embed = embedder()) {
  const options = { strategy: "semantic", embed, timeoutMs, fallback: undefined } as const;
  const { hits, diagnostic } = await searchTools(
    new ToolIndex(TOOLS),
    query,
    options,
    new AbortController().signal,
  );
  return { names: hits.map(({ name }) => name), diagnostic };
}

const embedder = () => embedderFor({ url: `${server.url}/v1/`, model: "small", apiKey: "k" });

describe("a search by embedding", () => {
  it("ranks by similarity and sends each text once", async () => {
    const embed = embedder();
    expect(await search("a tune to dance to", 30_000, embed)).toEqual({
      names: ["play_song", "send_invoice"],
    });
    expect(await search("money", 30_000, embed)).toMatchObject({ names: ["send_invoice", "play_song"] });
    expect(requests).toMatchObject([
      { path: "/v1/embeddings", authorization: "Bearer k", body: { model: "small", input: { length: 3 } } },
      { body: { input: ["money"] } },
    ]);
  });

  it.each<[string, typeof reply, RegExp]>([
    ["an error", (_, response) => response.writeHead(500) && {}, /answered 500/],
    ["another shape", () => ({ vectors: [] }), /OpenAI's form/],
    ["too few vectors", () => ({ data: [{ index: 0, embedding: [1, 2] }] }), /left texts out/],
    ["numbers that are none", () => ({ data: [{ index: 0, embedding: [null] }] }), /OpenAI's form/],
  ])("that gets %s finds nothing and says why", async (_, made, diagnostic) => {
    reply = made;
    expect(await search("a tune")).toEqual({ names: [], diagnostic: expect.stringMatching(diagnostic) });
  });

  it("that gets no reply ends at its time limit", async () => {
    server.serve(() => undefined);
    await server.close();
    server = await LoopbackServer.listen();
    server.serve(() => undefined);
    expect(await search("a tune", 50)).toEqual({ names: [], diagnostic: expect.stringMatching(/time/) });
  });
});
