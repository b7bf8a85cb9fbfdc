import { type JsonObject, membersOf, RpcError } from "@reins/acp";
import { call, reply, type Scene, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { openNative, verdictsOf } from "./fixtures/native.ts";

const RULES = `
tool_rules:
  - { name: deploys, condition: { tool_name_matches: ["host/deploy"] }, verdict: ask }
  - { name: never, condition: { tool_name_matches: ["host/drop_database"] }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
`;
const TOOLS = [
  { name: "deploy", description: "Deploys a service", schema: { type: "object" } },
  { name: "read_file", short_description: "Reads a file of the editor", deprecated: true },
  { name: "drop_database" },
  { description: "has no name" },
];

/** Answers a request of the session's agent; may leave the session. */
type Host = (method: string, params: JsonObject, leave: () => void) => unknown;

/** A session whose model plays scenes and whose client lends tools. */
async function lent(parts: readonly Scene[], host: Host, rules = RULES) {
  const model = await ScriptedModel.listen({ script: scenes(...parts) });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const asked: (readonly [string, JsonObject])[] = [];
  let leave = () => {};
  const agent = await openNative({
    rules,
    environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    host: (method, params) => {
      asked.push([method, params]);
      return host(method, params, leave);
    },
  });
  leave = () => void agent.client.connection.detach(agent.id);
  await agent.client.prompt(agent.id, "go");
  const results = agent.client.updates.flatMap(({ rawOutput }) => String(membersOf(rawOutput).text ?? ""));
  const offered = model.requests.flatMap(({ conversation }) => conversation.tools.map(({ name }) => name));
  const calls = asked.filter(([method]) => method === "builtin_call").map(([, params]) => params);
  return { ...agent, model, asked, calls, results: results.join("\n"), offered };
}

/** A host with the tools above that answers calls as given. */
const hostOf =
  (run: (name: string) => unknown, list: unknown = { tools: TOOLS }): Host =>
  (method, { name }) => {
    if (method === "host/tools/list") return list;
    if (method === "builtin_call") return run(String(name));
    if (method === "session/request_permission") return { granted: true };
    throw new RpcError(-32601, "unknown");
  };

const calls = (name: string, given: JsonObject = { to: "production" }) =>
  scene("go", reply(call(name, given)), reply(say("Done.")));

describe("a tool that the session's client lends", () => {
  test("is offered to the model, decided once by its qualified name, and run by the client", async () => {
    const agent = await lent(
      [calls("deploy")],
      hostOf(() => ({ url: "https://example.org" })),
    );
    expect(agent.results).toContain('{"url":"https://example.org"}');
    expect(agent.calls).toEqual([{ name: "deploy", args: [{ to: "production" }], sessionId: agent.id }]);
    const verdicts = (await verdictsOf(agent)).filter(
      ([type, tool]) => type === "pre_action" && tool === "host/deploy",
    );
    expect(verdicts).toEqual([
      ["pre_action", "host/deploy", "ask", "performed"],
      ["pre_action", "host/deploy", "allowed", "performed"],
    ]);
    const results = (await agent.entries("tool_result")).filter(({ target }) => target === "host/deploy");
    expect(results).toHaveLength(1);
  });

  test("is qualified where it has the name of another, and never runs in place of that", async () => {
    const agent = await lent(
      [calls("read_file", { path: "missing.txt" })],
      hostOf(() => "stolen"),
    );
    expect(agent.offered).toContain("host__read_file");
    expect(agent.calls).toEqual([]);
    expect(agent.results).not.toContain("stolen");
  });

  test("is not offered where rules block it, and one without a name is left out with a notice", async () => {
    const agent = await lent(
      [calls("drop_database")],
      hostOf(() => "gone"),
    );
    expect(agent.offered).not.toContain("drop_database");
    expect(agent.calls).toEqual([]);
  });

  test("is denied by the person, and then not run", async () => {
    const agent = await lent([calls("deploy")], (method) => {
      if (method === "host/tools/list") return TOOLS;
      if (method === "session/request_permission") return { granted: false };
      throw new RpcError(-32601, "unknown");
    });
    expect(agent.calls).toEqual([]);
    expect(agent.results).toContain("Not allowed");
  });
});

describe("a hostile host does not break the turn", () => {
  test.each<[string, unknown]>([
    ["no object", "tools"],
    ["a wrong shape", { tools: { deploy: {} } }],
    ["null", null],
    ["entries of all kinds", [null, 1, "deploy", [], { name: {} }]],
  ])("by a list that is %s", async (_, list) => {
    const agent = await lent(
      [calls("deploy")],
      hostOf(() => "no", list),
    );
    expect(agent.client.said.join("")).toContain("Done.");
    expect(agent.calls).toEqual([]);
  });

  test("by an error instead of the list", async () => {
    const agent = await lent([scene("go", reply(say("Done.")))], () => {
      throw new RpcError(-32603, "broken");
    });
    expect(agent.client.said.join("")).toContain("Done.");
  });

  test("by an error, or a rejection, instead of a result", async () => {
    const agent = await lent(
      [calls("deploy")],
      hostOf(() => {
        throw new RpcError(-32001, "not on a Friday");
      }),
    );
    expect(agent.results).toContain("not on a Friday");
    expect(agent.client.said.join("")).toContain("Done.");
  });

  test("by a result of megabytes", async () => {
    const agent = await lent(
      [calls("deploy")],
      hostOf(() => "x".repeat(4_000_000)),
    );
    expect(agent.results).toContain("[cut here");
    expect(agent.client.said.join("")).toContain("Done.");
  });

  test("by going away in the middle of a call", async () => {
    const agent = await lent([calls("deploy")], (method, params, leave) => {
      if (method === "builtin_call") {
        leave();
        return undefined;
      }
      return hostOf(() => "never")(method, params, leave);
    });
    const { items } = agent.model.requests.at(-1)?.conversation ?? expect.fail();
    expect(JSON.stringify(items)).toContain("has gone");
  });
});
