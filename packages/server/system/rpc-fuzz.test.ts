import { Agent } from "node:http";
import { agentOperations } from "@reins/api";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Resolve } from "./fixtures/arbitraries.ts";
import { Description, expectSane, questions } from "./fixtures/questions.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll({ rules: "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n" });
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
afterAll(() => agent.destroy());

const RUNS = 60;
const SEED = 20_261_115;
const limits = { failures: 1_000_000, requestMs: 2_000, silenceMs: 2_000 };

describe("every operation on agents", () => {
  test("is described where agents are served", async () => {
    const served = await serveAgents(home());
    const { paths } = Description.parse((await served.ask("GET", "/openapi.json")).body);
    for (const { method, path } of agentOperations) expect(paths[path]?.[method.toLowerCase()]).toBeDefined();
  });

  test.each(agentOperations.map(({ id, method, path }) => [id, method.toLowerCase(), path] as const))(
    "%s answers whatever it is asked",
    async (_, method, path) => {
      const served = await serveAgents(home(), { limits, agents: { limits } });
      const { paths, components } = Description.parse((await served.ask("GET", "/openapi.json")).body);
      const resolve: Resolve = (reference) => components.schemas[reference.split("/").at(-1) ?? ""] ?? {};
      const described = paths[path]?.[method];
      if (!described) throw new Error(`${method} ${path} is not described`);
      const people = [served.access.token, (await served.person({ kind: "agent" })).secret, "reins_nobody"];
      for (const near of [false, true]) {
        const property = fc.asyncProperty(
          questions(method, path, described, resolve, near),
          fc.constantFrom(...people),
          async (question, who) => {
            const headers = { ...question.headers, authorization: `Bearer ${who}` };
            await expectSane(served, { ...question, headers }, agent);
          },
        );
        await fc.assert(property, { numRuns: RUNS, seed: SEED });
      }
    },
  );
});

describe("a connection", () => {
  test("answers any message, known methods with any parameters included", async () => {
    const served = await serveAgents(home(), { limits, agents: { limits } });
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const names = [
      ...[
        "initialize",
        "authenticate",
        "session/new",
        "session/load",
        "session/list",
        "session/resume",
        "session/fork",
      ],
      ...[
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
      ],
      ...["get", "list", "detach", "set_metadata", "list_models"].map(
        (name) => `_sandboxagent/session/${name}`,
      ),
      ...["$/cancel_request", "session/update", "toString", "__proto__", "constructor", ""],
    ];
    const params = fc.oneof(
      fc.constantFrom(undefined, null, [], 7, "x"),
      fc.dictionary(
        fc.constantFrom(
          "sessionId",
          "prompt",
          "cwd",
          "modeId",
          "_meta",
          "mcpServers",
          "metadata",
          "requestId",
          "cursor",
        ),
        fc.oneof(fc.constant(session), fc.constant("/"), fc.jsonValue({ maxDepth: 2 })),
      ),
    );
    const message = fc.record(
      {
        jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", "1.0"),
        id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
        method: fc.constantFrom(...names),
        params,
        result: fc.jsonValue({ maxDepth: 1 }),
        error: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: ["jsonrpc"] },
    );
    const property = fc.asyncProperty(message, fc.boolean(), async (body, later) => {
      const headers = {
        authorization: `Bearer ${served.access.token}`,
        "content-type": "application/json",
        ...client.named,
        ...(later && { prefer: "respond-async" }),
      };
      const status = await expectSane(
        served,
        { method: "POST", path: "/v1/rpc", headers, body: JSON.stringify(body) },
        agent,
      );
      expect([200, 202, 400, 403, 409, 504]).toContain(status);
    });
    await fc.assert(property, { numRuns: 300, seed: SEED });
    expect((await client.request("session/list")).status).toBe(200);
  });
});
