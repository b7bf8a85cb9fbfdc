import { BridgeCallError, type BridgePort, toolTokens } from "@reins/bridge";
import { describe, expect, test } from "vitest";
import { calling, ScriptedModel } from "../../test/scripted-model.ts";
import { type Loose, TestClient } from "../../test/test-client.ts";
import { testWorkspace } from "../../test/workspace.ts";
import type { NativeAgentOptions } from "../agent-dependencies.ts";
import type { ModelEvent } from "../models/model.ts";
import type { ClientTool } from "./host-services.ts";

const NAMES = [
  ...["merge_pull_request", "list_pull_requests", "send_invoice", "deploy_service", "rollback_service"],
  ...Array.from({ length: 60 }, (_, index) => `filler_${index}`),
];

const toolOf = (name: string): ClientTool => ({
  name,
  description: `Does ${name.replaceAll("_", " ")}`,
  parameters: { type: "object", properties: { id: { type: "string" } } },
});

/** The size of one of the tools in a prompt. */
const SIZE = toolTokens(toolOf("deploy_service"));

interface Lab {
  readonly model?: ScriptedModel;
  readonly tools?: readonly ClientTool[];
  /** Answers searches alone. */
  readonly bridge?: BridgePort["call"];
  /** Answers every request. */
  readonly host?: BridgePort["call"] | undefined;
}

async function session(
  options: NativeAgentOptions = {},
  { model, tools = NAMES.map(toolOf), bridge, host = bridge && searchesOnly(bridge) }: Lab = {},
) {
  const { cwd } = await testWorkspace();
  const called: string[] = [];
  const client = await TestClient.open(cwd, {
    ...(model && { models: model.models }),
    services: {
      clientTools: {
        offered: () => tools,
        async call(_, name) {
          called.push(name);
          return { text: `${name} was done`, isError: false };
        },
      },
      ...(host && { bridge: { call: host, subscribe: () => () => undefined } }),
    },
    ...options,
  });
  const offered = (request: number) => model?.asked[request]?.tools.map(({ name }) => name) ?? [];
  const lastResult = () => {
    const results = model?.asked.at(-1)?.messages.findLast(({ role }) => role === "tool");
    return results?.role === "tool" ? results.results.at(-1)?.text : undefined;
  };
  return { client, called, offered, lastResult, prompt: () => client.prompt(client.sessionId, "go on") };
}

/** A host that lends no tools and no skills, and is asked about searches as given. */
const searchesOnly =
  (search: BridgePort["call"]): BridgePort["call"] =>
  async (sessionId, method, params, signal) => {
    if (method === "tool_search/query") return search(sessionId, method, params, signal);
    throw new BridgeCallError("no_host", "not offered");
  };

const searching = (query: string, id = "s1") => calling("search_tools", { query }, id);

describe("deferred tools", () => {
  test("stay out of the prompt until a search finds them, and can then be called", async () => {
    const model = new ScriptedModel([
      searching("merge a pull request"),
      calling("merge_pull_request", { id: "7" }),
      "Done.",
    ]);
    const { client, called, offered, prompt } = await session({}, { model });
    await prompt();
    expect(offered(0)).toContain("search_tools");
    expect(offered(0)).toContain("read_file");
    expect(offered(0).filter((name) => NAMES.includes(name))).toEqual([]);
    expect(offered(1).filter((name) => NAMES.includes(name))).toEqual([
      "merge_pull_request",
      "list_pull_requests",
    ]);
    expect(called).toEqual(["merge_pull_request"]);
    expect(client.asked).toMatchObject([{ name: "merge_pull_request" }]);
    const promoted = ["merge_pull_request", "list_pull_requests"];
    const [query] = client.of("tool_search_query");
    const { toolUseId } = query;
    expect(query).toEqual({
      sessionUpdate: "tool_search_query",
      ...{ toolUseId: expect.any(String), name: "search_tools", query: "merge a pull request" },
      ...{ strategy: "bm25", mode: "client" },
    });
    expect(client.of("tool_search_result")).toEqual([
      {
        sessionUpdate: "tool_search_result",
        ...{ toolUseId, promoted, evicted: [], skipped: [], strategy: "bm25", mode: "client" },
      },
    ]);
  });

  test("that were not found are not called, and the model learns why", async () => {
    const model = new ScriptedModel([calling("send_invoice", { id: "1" }), "Hm."]);
    const { client, called, lastResult, prompt } = await session({}, { model });
    await prompt();
    expect(called).toEqual([]);
    expect(client.asked).toEqual([]);
    expect(lastResult()).toMatch(/send_invoice is not loaded; search for it with search_tools first/);
  });

  test("count from the next request, not in the message that searches", async () => {
    const both: readonly ModelEvent[] = [
      { type: "call", id: "1", name: "search_tools", arguments: `{"query":"send invoice"}` },
      { type: "call", id: "2", name: "send_invoice", arguments: "{}" },
      { type: "end", stop: "tool_use" },
    ];
    const model = new ScriptedModel([both, calling("send_invoice", {}), "Done."]);
    const { called, prompt } = await session({}, { model });
    await prompt();
    expect(called).toEqual(["send_invoice"]);
  });

  test("stay found in later turns, and in a session that is loaded again", async () => {
    const model = new ScriptedModel([searching("send invoice"), "Found.", "And on."]);
    const { client, offered, prompt } = await session({}, { model });
    await prompt();
    await prompt();
    expect(offered(2)).toContain("send_invoice");
    await client.request("session/close", { sessionId: client.sessionId });
    client.updates.length = 0;
    await client.request("session/load", { sessionId: client.sessionId, cwd: process.cwd(), mcpServers: [] });
    expect(client.of("tool_call")).toEqual([]);
    await prompt();
    expect(offered(3)).toContain("send_invoice");
  });

  test("make room for others, the oldest first, and one that is too large is skipped and reported", async () => {
    const huge = {
      ...toolOf("send_huge_invoice"),
      description: `invoice ${"x".repeat(9_000)}`.slice(0, 2_000),
    };
    const model = new ScriptedModel([
      searching("^deploy"),
      searching("^merge"),
      searching("^rollback"),
      searching("invoice"),
      "Done.",
    ]);
    const tools = [...NAMES.map(toolOf), huge];
    const { client, offered, lastResult, prompt } = await session(
      { toolSearch: { budgetTokens: 3 * SIZE, strategy: "regex" } },
      { model, tools },
    );
    await prompt();
    const found = (request: number) =>
      offered(request).filter((name) => tools.some((tool) => tool.name === name));
    expect(found(1)).toEqual(["deploy_service"]);
    expect(found(2)).toEqual(["deploy_service", "merge_pull_request"]);
    expect(
      client
        .of("tool_search_result")
        .map(({ promoted, evicted, skipped }: Loose) => ({ promoted, evicted, skipped })),
    ).toEqual([
      { promoted: ["deploy_service"], evicted: [], skipped: [] },
      { promoted: ["merge_pull_request"], evicted: [], skipped: [] },
      { promoted: ["rollback_service"], evicted: ["deploy_service"], skipped: [] },
      { promoted: ["send_invoice"], evicted: ["merge_pull_request"], skipped: ["send_huge_invoice"] },
    ]);
    expect(JSON.parse(lastResult() ?? "")).toEqual({
      tool_names: ["send_invoice"],
      evicted: ["merge_pull_request"],
      too_large: ["send_huge_invoice"],
    });
  });

  test("are few where only few are offered, and those of always_loaded never", async () => {
    const model = new ScriptedModel(["Hello."]);
    const few = await session({}, { model, tools: NAMES.slice(0, 5).map(toolOf) });
    await few.prompt();
    expect(few.offered(0)).toContain("deploy_service");
    expect(few.offered(0)).not.toContain("search_tools");
    const always = await session({ toolSearch: { alwaysLoaded: ["deploy_*"] } }, { model });
    await always.prompt();
    expect(always.offered(1)).toContain("deploy_service");
    expect(always.offered(1)).not.toContain("rollback_service");
  });

  test("that the session may not use are never found", async () => {
    const model = new ScriptedModel([searching("deploy service rollback"), "Done."]);
    const { client, prompt } = await session({ mayUse: (name) => name !== "deploy_service" }, { model });
    await prompt();
    expect(client.of("tool_search_result")).toMatchObject([{ promoted: ["rollback_service"] }]);
  });

  test("cannot be found where the search itself is forbidden", async () => {
    const model = new ScriptedModel([searching("deploy"), "Done."]);
    const { client, offered, prompt } = await session(
      { mayUse: (name) => name !== "search_tools" },
      { model },
    );
    await prompt();
    expect(offered(0)).not.toContain("search_tools");
    expect(client.of("tool_search_result")).toEqual([]);
  });

  test("are found in plan mode no more than they can be used there", async () => {
    const model = new ScriptedModel(["A plan."]);
    const { client, offered, prompt } = await session({}, { model });
    await client.request("session/set_mode", { sessionId: client.sessionId, modeId: "plan" });
    await prompt();
    expect(offered(0)).not.toContain("search_tools");
  });

  test("of ten thousand take at most 5 % of the tokens of listing them", async () => {
    const tools = Array.from({ length: 10_000 }, (_, index) => toolOf(`tool_for_purpose_${index}`));
    const model = new ScriptedModel([searching("purpose"), "Done."]);
    const { prompt } = await session({}, { model, tools });
    await prompt();
    const size = (request: number) => JSON.stringify(model.asked[request]?.tools).length;
    expect(Math.max(size(0), size(1))).toBeLessThanOrEqual(0.05 * JSON.stringify(tools).length);
  });

  test("of ten thousand are checked in parts, with other work in between", async () => {
    const tools = Array.from({ length: 10_000 }, (_, index) => toolOf(`tool_for_purpose_${index}`));
    let checked = 0;
    let most = 0;
    const mayUse = (tool: string) => {
      if (checked === 0)
        setImmediate(() => {
          checked = 0;
        });
      checked += 1;
      most = Math.max(most, checked);
      return tool !== "tool_for_purpose_9999";
    };
    const model = new ScriptedModel([searching("purpose 9999"), searching("purpose 9998"), "Done."]);
    const { client, prompt } = await session({ mayUse }, { model, tools });
    await prompt();
    expect(most).toBeLessThan(500);
    const promoted = client.of("tool_search_result").flatMap((result) => result.promoted);
    expect(promoted).toContain("tool_for_purpose_9998");
    expect(promoted).not.toContain("tool_for_purpose_9999");
  });
});

describe("tools of a client and of the host", () => {
  test("are deferred and found together, and qualified where they share a name", async () => {
    const lent = [
      "deploy_service",
      "light_lamp",
      ...Array.from({ length: 30 }, (_, index) => `lent_${index}`),
    ];
    const ran: unknown[] = [];
    const model = new ScriptedModel([
      searching("deploy service"),
      calling("host__deploy_service", { id: "1" }),
      calling("deploy_service", { id: "2" }),
      searching("light a lamp"),
      calling("light_lamp", {}),
      "Done.",
    ]);
    const { client, called, offered, prompt } = await session(
      {},
      {
        model,
        tools: NAMES.slice(0, 20).map(toolOf),
        host: async (_, method, params) => {
          if (method === "host/tools/list") return { tools: lent.map(toolOf) };
          if (method === "builtin_call") ran.push(params.name);
          return "done";
        },
      },
    );
    await prompt();
    expect(offered(0)).not.toContain("light_lamp");
    expect(client.of("tool_search_result")[0].promoted).toEqual(
      expect.arrayContaining(["deploy_service", "host__deploy_service"]),
    );
    expect(client.of("tool_search_result")[1].promoted).toContain("light_lamp");
    expect(called).toEqual(["deploy_service"]);
    expect(ran).toEqual(["deploy_service", "light_lamp"]);
    expect(client.asked).toHaveLength(3);
  });
});

describe("a search by the host", () => {
  const asked: unknown[] = [];
  const search = async (reply: () => Promise<unknown>, fallback?: "bm25") => {
    asked.length = 0;
    const model = new ScriptedModel([searching("deploy"), calling("deploy_service", {}), "Done."]);
    const lab = await session(
      { toolSearch: { strategy: "host", fallback, defer: [] } },
      {
        model,
        bridge: (sessionId, method, params) => {
          asked.push([sessionId, method, params]);
          return reply();
        },
      },
    );
    expect(await lab.prompt()).toMatchObject({ stopReason: "end_turn" });
    return { ...lab, result: JSON.parse(textOf(model)) };
  };
  const textOf = (model: ScriptedModel) => {
    const message = model.asked[1]?.messages.at(-1);
    return (message?.role === "tool" && message.results[0]?.text) || "";
  };

  test("asks with the names of all candidates and promotes what it names", async () => {
    const { called, client, result } = await search(async () => ({
      result: { tool_names: ["gone", "deploy_service"], diagnostic: "by similarity" },
    }));
    expect(asked).toMatchObject([
      [client.sessionId, "tool_search/query", { strategy: "host", query: "deploy", candidates: NAMES }],
    ]);
    expect(result).toEqual({ tool_names: ["deploy_service"], diagnostic: "by similarity" });
    expect(called).toEqual(["deploy_service"]);
    expect(client.of("tool_search_result")).toMatchObject([
      { strategy: "host", diagnostic: "by similarity" },
    ]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["an error", () => Promise.reject(new Error("down"))],
    ["nothing known", async () => ({ names: ["deploy_service"] })],
    ["null", async () => null],
    ["names that do not exist", async () => ({ tool_names: ["read_secrets", "../etc"] })],
    ["a huge list", async () => ({ tool_names: Array.from({ length: 100_000 }, (_, index) => `x${index}`) })],
    ["numbers", async () => ({ tool_names: [1, 2, {}] })],
  ])("that answers with %s finds nothing and breaks no turn", async (_, reply) => {
    const { called, result } = await search(reply);
    expect(result.tool_names).toEqual([]);
    expect(result.diagnostic).toEqual(expect.any(String));
    expect(called).toEqual([]);
  });

  test("that fails is replaced by words where that is configured", async () => {
    const { called, result } = await search(() => Promise.reject(new Error("down")), "bm25");
    expect(result).toEqual({ tool_names: ["deploy_service"], diagnostic: expect.stringContaining("down") });
    expect(called).toEqual(["deploy_service"]);
  });

  test("that never answers ends with the turn", async () => {
    const model = new ScriptedModel([searching("deploy"), "Done."]);
    const { client, prompt } = await session(
      { toolSearch: { strategy: "host" } },
      { model, bridge: () => new Promise(() => undefined) },
    );
    const ended = prompt();
    await expect.poll(() => client.of("tool_search_query")).toHaveLength(1);
    client.notify("session/cancel", { sessionId: client.sessionId });
    expect(await ended).toMatchObject({ stopReason: "cancelled" });
  });
});

describe("a search by the provider of the model", () => {
  const found: ModelEvent = { type: "search", query: "ship", found: ["deploy_service"], seal: { search: 1 } };

  test("gets every tool, marked, and what it found can be called at once", async () => {
    const model = new ScriptedModel(
      [[found, ...calling("deploy_service", {})], calling("send_invoice", {}), "Done."],
      { toolSearch: "always" },
    );
    const { client, called, lastResult, prompt } = await session({}, { model });
    await prompt();
    expect(model.asked[0]).toMatchObject({ toolSearch: "bm25" });
    expect(model.asked[0]?.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["read_file", ...NAMES]),
    );
    expect(called).toEqual(["deploy_service"]);
    expect(lastResult()).toMatch(/send_invoice is not loaded/);
    expect(client.of("tool_search_query")).toMatchObject([
      { name: "tool_search_tool_bm25", query: "ship", strategy: "bm25", mode: "native" },
    ]);
    expect(client.of("tool_search_result")).toMatchObject([{ promoted: ["deploy_service"], mode: "native" }]);
  });

  test("does not count the tools that the model is not shown", async () => {
    const tools = Array.from({ length: 5_000 }, (_, index) => toolOf(`tool_for_purpose_${index}`));
    const model = new ScriptedModel(["Hello."], { toolSearch: "always" });
    const { client, prompt } = await session({}, { model, tools });
    await prompt();
    expect(model.asked[0]?.tools.length).toBeGreaterThan(5_000);
    expect(client.of("usage_update")[0].used).toBeLessThan(10_000);
  });

  test.each([
    ["client", "always", "bm25", false, undefined],
    ["auto", "possible", "bm25", false, undefined],
    ["native", "possible", "regex", true, undefined],
    ["native", "possible", "regex", false, "bm25"],
    ["native", "possible", "bm25", true, "bm25"],
    ["auto", "always", "host", false, undefined],
    ["native", undefined, "bm25", false, undefined],
  ] as const)(
    "with the mode %s, a provider that can %s and the strategy %s: %s",
    async (mode, toolSearch, strategy, isNative, toolSearchBy) => {
      const model = new ScriptedModel(["Hello."], { toolSearch, toolSearchBy });
      const { offered, prompt } = await session({ toolSearch: { mode, strategy } }, { model });
      await prompt();
      expect(model.asked[0]?.toolSearch).toBe(isNative ? strategy : undefined);
      expect(offered(0).includes("search_tools")).toBe(!isNative);
    },
  );
});
