import { type JsonObject, membersOf } from "@reins/acp";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { openNative } from "./fixtures/native.ts";

const RULES = `
tool_rules:
  - { name: never, condition: { tool_name_matches: ["host/drop_database"] }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
`;
const TOOLS = ["deploy", "drop_database", ...Array.from({ length: 60 }, (_, index) => `shelf_${index}`)].map(
  (name) => ({ name, description: `Does ${name}`, schema: { type: "object" } }),
);

/** A session whose client lends many tools and searches for them as given. */
async function searching(search: (params: JsonObject, leave: () => void) => unknown) {
  const script = scenes(
    scene(
      "go",
      reply(call("search_tools", { query: "ship it" })),
      reply(call("drop_database", {}), call("deploy", {})),
      reply(say("Done.")),
    ),
  );
  const model = await ScriptedModel.listen({ script });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const queries: JsonObject[] = [];
  const ran: unknown[] = [];
  let leave = () => {};
  const agent = await openNative({
    rules: RULES,
    environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    native: { toolSearch: { strategy: "host" } },
    host: (method, params) => {
      if (method === "host/tools/list") return { tools: TOOLS };
      if (method === "builtin_call") ran.push(params.name);
      if (method !== "tool_search/query") return {};
      queries.push(params);
      return search(params, leave);
    },
  });
  leave = () => void agent.client.connection.detach(agent.id);
  const ended = await agent.client.prompt(agent.id, "go");
  const results = model.requests.map(({ conversation }) => JSON.stringify(conversation)).join("\n");
  const found = agent.client.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_search_result");
  return { agent, ended, queries, ran, found, results };
}

describe("a host that searches", () => {
  test("gets the names that the session may use, and what it names can be called", async () => {
    const { queries, ran, found } = await searching(() => ({
      result: { tool_names: ["drop_database", "nothing", "deploy"], diagnostic: "by similarity" },
    }));
    expect(queries).toMatchObject([{ strategy: "host", query: "ship it" }]);
    const candidates = queries[0]?.candidates;
    expect(candidates).toContain("deploy");
    expect(candidates).not.toContain("drop_database");
    expect(found).toMatchObject([{ promoted: ["deploy"], diagnostic: "by similarity" }]);
    expect(ran).toEqual(["deploy"]);
  });

  test.each<[string, (params: JsonObject, leave: () => void) => unknown]>([
    [
      "fails",
      () => {
        throw new Error("the index is gone");
      },
    ],
    ["answers nonsense", () => ({ tool_names: { deploy: true } })],
    [
      "names what is blocked",
      () => ({ tool_names: ["drop_database", "host/drop_database", "host__drop_database"] }),
    ],
    [
      "answers with far too much",
      () => ({ tool_names: Array.from({ length: 50_000 }, (_, index) => `x${index}`) }),
    ],
    [
      "leaves in the middle",
      (_, leave) => {
        leave();
        return new Promise(() => undefined);
      },
    ],
  ])("and %s breaks no turn and widens nothing", async (_, search) => {
    const { ended, ran, found, results } = await searching(search);
    expect(membersOf(ended)).toMatchObject({ stopReason: "end_turn" });
    expect(ran).toEqual([]);
    expect(found.flatMap(({ promoted }) => promoted)).toEqual([]);
    expect(results).toContain("deploy is not loaded");
  });
});
