import { describe, expect, it } from "vitest";
import { namedTools, type SearchableTool, ToolIndex } from "./tool-index.ts";
import { type AskHost, searchByRegex, searchTools, type ToolSearchOptions } from "./tool-search.ts";

function tool(name: string, description: string, more: Partial<SearchableTool> = {}): SearchableTool {
  return { name, description, source: "ops", parameters: null, ...more };
}

const TOOLS = [
  tool("deploy_service", "Deploys a new version of a service", {
    parameters: { type: "object", properties: { service: { type: "string", description: "The service" } } },
  }),
  tool("rollback_service", "Returns a service to its earlier version"),
  tool("query_metrics", "Reads time series"),
];

const never = new AbortController().signal;

async function namesFor(query: string, options: Partial<ToolSearchOptions> = {}, tools = TOOLS) {
  const found = await searchTools(new ToolIndex(tools), query, { strategy: "bm25", ...options }, never);
  return { tool_names: found.hits.map(({ name }) => name), diagnostic: found.diagnostic };
}

describe("a search by words", () => {
  it("finds tools by name, description and parameters", async () => {
    expect((await namesFor("ship a version")).tool_names).toEqual(["deploy_service", "rollback_service"]);
    expect((await namesFor("time series")).tool_names).toEqual(["query_metrics"]);
  });

  it("says why a tool was found", async () => {
    const { hits } = await searchTools(new ToolIndex(TOOLS), "metrics", { strategy: "bm25" }, never);
    expect(hits).toMatchObject([{ name: "query_metrics", why: "metric (name)" }]);
  });

  it.each([
    ["", /query is empty/],
    ["   ", /query is empty/],
    ["x".repeat(2_001), /at most 2000/],
    ["zebra", /no tool matches/],
  ])("explains why nothing was found for %j", async (query, diagnostic) => {
    expect(await namesFor(query)).toEqual({ tool_names: [], diagnostic: expect.stringMatching(diagnostic) });
  });

  it("returns at most 20", async () => {
    const many = Array.from({ length: 50 }, (_, index) => tool(`read_${index}`, "Reads a record"));
    for (const [strategy, query] of [
      ["bm25", "read"],
      ["regex", "read"],
    ] as const)
      expect((await namesFor(query, { strategy }, many)).tool_names).toHaveLength(20);
    const askHost: AskHost = async () => ({ tool_names: many.map(({ name }) => name) });
    expect((await namesFor("read", { strategy: "host", askHost }, many)).tool_names).toHaveLength(20);
    const embed = async (texts: readonly string[]) => texts.map(() => [1, 0]);
    expect((await namesFor("read", { strategy: "semantic", embed }, many)).tool_names).toHaveLength(20);
  });

  it("follows changes of the tools", async () => {
    const index = new ToolIndex(TOOLS);
    index.replace([...TOOLS.slice(1), tool("deploy_site", "Publishes a site")]);
    expect((await index.search("deploy")).map(({ name }) => name)).toEqual(["deploy_site"]);
    expect([...index.tools.keys()].toSorted()).toEqual(["deploy_site", "query_metrics", "rollback_service"]);
  });
});

describe("a search by a regular expression", () => {
  it.each([
    ["DEPLOY", ["deploy_service"]],
    ["^deploy_service$", ["deploy_service"]],
    ["^reads", ["query_metrics"]],
    ["earlier version$", ["rollback_service"]],
    ["version$", ["rollback_service"]],
    ["service: the", ["deploy_service"]],
    ["nothing", []],
  ] as [string, string[]][])("%s anchors at fields and ignores case", async (pattern, names) => {
    expect((await namesFor(pattern, { strategy: "regex" })).tool_names).toEqual(names);
  });

  it.each([["("], ["a{2000}"], ["(.{0,900})z"], ["((a?){30}){30}"], ["(?=x)"], ["[z-a]"], ["x".repeat(300)]])(
    "reports the invalid pattern %s",
    async (pattern) => {
      const { tool_names, diagnostic } = await namesFor(pattern, { strategy: "regex" });
      expect(tool_names).toEqual([]);
      expect(diagnostic).toMatch(/pattern/);
    },
  );

  it("matches the name at the source, and the whole name", async () => {
    const lent = [tool("mcp__git__log", "Shows commits", { label: "log", source: "git" })];
    for (const pattern of ["^log$", "^mcp__git__", "^git$"])
      expect((await namesFor(pattern, { strategy: "regex" }, lent)).tool_names).toEqual(["mcp__git__log"]);
  });

  it("ends at its time limit with what it has, and says so", async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => tool(`t${index}`, "a".repeat(4_000)));
    let clock = 0;
    const now = () => (clock += 1);
    const { hits, diagnostic } = await searchByRegex(many, "(a+)+$", { totalMs: 100, now });
    expect(hits.length).toBeGreaterThan(0);
    expect(diagnostic).toMatch(/stopped after 100 ms/);
  });

  it("lets other work run", async () => {
    const many = Array.from({ length: 200 }, (_, index) => tool(`t${index}`, "b".repeat(4_000)));
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    await searchByRegex(many, "(.*)(.*)(.*)c", { totalMs: 60_000 }).finally(() => clearInterval(timer));
    expect(ticks).toBeGreaterThan(1);
  });
});

describe("a search by the host", () => {
  const asked: unknown[] = [];
  const host =
    (reply: unknown): AskHost =>
    async (params) => {
      asked.push(params);
      return reply;
    };
  const search = (reply: unknown, options: Partial<ToolSearchOptions> = {}) =>
    namesFor("deploy a new service version", { strategy: "host", askHost: host(reply), ...options });

  it.each(["host", "semantic"] as const)(
    "sends the query, the candidates and the word %s",
    async (strategy) => {
      asked.length = 0;
      await search({ tool_names: [] }, { strategy });
      expect(asked).toEqual([
        {
          strategy,
          query: "deploy a new service version",
          candidates: ["deploy_service", "rollback_service", "query_metrics"],
          candidate_details: TOOLS.map(({ name, description }) => ({
            name,
            description,
            schema_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
          })),
        },
      ]);
    },
  );

  it.each([
    [{ tool_names: ["deploy_service", "rollback_service"], diagnostic: "matched by vector similarity" }],
    [
      {
        result: {
          tool_names: ["deploy_service", "rollback_service"],
          diagnostic: "matched by vector similarity",
        },
      },
    ],
    [
      {
        tool_names: ["query_metrics"],
        result: {
          tool_names: ["deploy_service", "rollback_service"],
          diagnostic: "matched by vector similarity",
        },
      },
    ],
    [
      {
        tool_names: [
          "x",
          7,
          null,
          "deploy_service",
          "deploy_service",
          ...Array(30).fill("y"),
          "rollback_service",
        ],
        diagnostic: "matched by vector similarity",
      },
    ],
  ])("accepts the reply %j and ignores unknown names", async (reply) => {
    expect(await search(reply)).toEqual({
      tool_names: ["deploy_service", "rollback_service"],
      diagnostic: "matched by vector similarity",
    });
  });

  it("ignores a diagnostic that is no text and cuts a long one", async () => {
    expect(
      (await search({ tool_names: ["query_metrics"], diagnostic: { a: 1 } })).diagnostic,
    ).toBeUndefined();
    expect((await search({ tool_names: [], diagnostic: "d".repeat(9_000) })).diagnostic).toHaveLength(500);
  });

  const hung: AskHost = () => new Promise(() => undefined);
  const failing: AskHost = () => Promise.reject(new Error("vector store is down"));
  it.each<[string, Partial<ToolSearchOptions>, RegExp]>([
    ["an RPC error", { askHost: failing }, /vector store is down/],
    ["a time-out", { askHost: hung, timeoutMs: 5 }, /time/],
    ["a bare array", { askHost: host(["deploy_service"]) }, /no list tool_names/],
    ["null", { askHost: host(null) }, /no list tool_names/],
    ["names that are no list", { askHost: host({ tool_names: "deploy_service" }) }, /no list tool_names/],
    ["no host", { askHost: undefined }, /no host is connected/],
  ])("that fails by %s finds nothing, or BM25 names with the fallback", async (_, options, diagnostic) => {
    expect(await search({}, options)).toEqual({
      tool_names: [],
      diagnostic: expect.stringMatching(diagnostic),
    });
    expect(await search({}, { ...options, fallback: "bm25" })).toEqual({
      tool_names: ["deploy_service", "rollback_service"],
      diagnostic: expect.stringMatching(diagnostic),
    });
  });

  it("throws when its caller cancels", async () => {
    const controller = new AbortController();
    const found = searchTools(
      new ToolIndex(TOOLS),
      "x",
      { strategy: "host", askHost: hung, fallback: "bm25" },
      controller.signal,
    );
    controller.abort(new Error("cancelled"));
    await expect(found).rejects.toThrow("cancelled");
  });

  it("qualifies names that two sources share, and promotes the right one", async () => {
    const same = [
      tool("mcp__a__search", "Searches a", { label: "search", source: "a" }),
      tool("mcp__b__search", "Searches b", { label: "search", source: "b" }),
      tool("mcp__b__open", "Opens", { label: "open", source: "b" }),
    ];
    expect([...namedTools(same).keys()]).toEqual(["a/search", "b/search", "open"]);
    const askHost = host({ tool_names: ["b/search", "search", "open"] });
    expect((await namesFor("x", { strategy: "host", askHost }, same)).tool_names).toEqual([
      "mcp__b__search",
      "mcp__b__open",
    ]);
  });

  it("describes no more than 1000 candidates", async () => {
    asked.length = 0;
    const many = Array.from({ length: 1_001 }, (_, index) => tool(`t${index}`, "x"));
    await namesFor("x", { strategy: "host", askHost: host({ tool_names: [] }) }, many);
    expect(Object.keys(Object(asked[0]))).toEqual(["strategy", "query", "candidates"]);
  });
});
