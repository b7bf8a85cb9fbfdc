import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, membersOf, RpcError } from "@reins/acp";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type AgentHome, openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { BridgeHost, WAYS, type Way } from "./fixtures/bridge-host.ts";

const RULES = `
tool_rules:
  - { name: deploys, condition: { tool_name_matches: ["host/deploy"] }, verdict: ask, reason: people decide }
  - { name: rest, condition: {}, verdict: allowed }
`;
const TOOLS = [
  { name: "deploy", description: "Deploys a service", schema: { type: "object" } },
  { name: "look", description: "Looks at a service", schema: { type: "object" } },
];

let model: ScriptedModel | undefined;
let home: AgentHome | undefined;
beforeAll(async () => {
  model = await ScriptedModel.listen({
    script: scenes(
      scene("second thoughts", reply(say("I read the message."))),
      scene("deploy it", reply(call("deploy", { to: "production" })), reply(say("It is deployed."))),
      scene("look at it", reply(call("look", { at: "production" })), reply(say("I have looked."))),
      scene("say hello", reply(say("Hello."))),
      scene("delegate it", reply(call("spawn_subagent", { prompt: "COUNT to one" })), reply(say("Done."))),
      scene("COUNT", reply(say("One."))),
    ),
  });
  const { url, key } = model.endpoint;
  const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key, REINS_MODEL: "claude-sonnet-5-5" };
  home = await openAgentHome({ rules: RULES, environment });
});
afterAll(async () => {
  await home?.close();
  await model?.close();
});

/** A host over a connection whose tool runs as given. */
async function hostOver(way: Way, run: () => unknown, more: (method: string) => unknown = unknown) {
  const opened = home ?? expect.fail();
  const served = await serveAgents(opened);
  const host = await BridgeHost.open(served, way, (method) => {
    if (method === "host/tools/list") return { result: { tools: TOOLS } };
    if (method === "builtin_call") return run();
    return more(method);
  });
  return { host, cwd: opened.workspace, served, home: opened };
}

function unknown(method: string): never {
  throw new RpcError(-32601, `${method} is not known here`);
}

/** The faults of a message by the published schema of its kind. */
function faultsOf(name: string, message: unknown): unknown {
  const file = join(import.meta.dirname, "../../bridge/schema", `${name}.json`);
  return z.fromJSONSchema(JSON.parse(readFileSync(file, "utf8"))).safeParse(message).error?.issues ?? [];
}

const outputs = (host: BridgeHost) =>
  host.updates.map(({ rawOutput }) => String(membersOf(rawOutput).text ?? "")).join("\n");

describe.each(WAYS)("a host over %s", (way) => {
  test("lends a tool, and is asked for permission in both forms, by string and number ids", async () => {
    const { host, cwd } = await hostOver(
      way,
      () => ({ url: "https://example.org" }),
      (method) => (method === "session/request_permission" ? { granted: true } : unknown(method)),
    );
    const id = await host.begin(cwd);
    expect(await host.prompt("a text", id, "deploy it")).toMatchObject({
      result: { stopReason: "end_turn" },
    });
    expect(await host.prompt(7, id, "say hello")).toMatchObject({
      id: 7,
      result: { stopReason: "end_turn" },
    });
    await expect.poll(() => outputs(host)).toContain("https://example.org");
    expect(host.asked("builtin_call").map(({ params }) => params)).toEqual([
      { name: "deploy", args: [{ to: "production" }], sessionId: id },
    ]);
    const [permission = expect.fail()] = host.asked("session/request_permission");
    expect(permission.params).toMatchObject({
      sessionId: id,
      toolCall: { toolCallId: expect.any(String), toolName: "host/deploy", rawInput: { to: "production" } },
      mutation: { session_id: id, worker_id: null, mutation_scope: "apply_workspace" },
      declaredPaths: [],
      approvalRequest: { action: "host/deploy", args: { to: "production" }, approvers_required: 1 },
      options: expect.arrayContaining([expect.objectContaining({ kind: "allow_once" })]),
    });
    if (way === "rpc") return;
    // The response and the updates come on one stream: everything of the turn came before its response.
    const response = host.got.findIndex((one) => one.id === "a text" && one.method === undefined);
    const last = host.got.findIndex(({ params }) => JSON.stringify(params ?? {}).includes("deployed"));
    expect(last).toBeLessThan(response);
  });

  test("answers permission requests in each form of the protocol", async () => {
    const forms: readonly (readonly [unknown, unknown[]])[] = [
      [{ outcome: { outcome: "selected" } }, [{ to: "production" }]],
      [{ granted: true }, [{ to: "production" }]],
      [{ granted: true, args: { to: "the test system" } }, [{ to: "the test system" }]],
      [{ granted: false, reason: "not on a Friday" }, []],
      [{ result: { granted: true } }, [{ to: "production" }]],
      [{ granted: true, outcome: { outcome: "cancelled" } }, []],
    ];
    let answer: unknown;
    const { host, cwd } = await hostOver(
      way,
      () => "done",
      (method) => (method === "session/request_permission" ? answer : unknown(method)),
    );
    const id = await host.begin(cwd);
    for (const [index, [form, expected]] of forms.entries()) {
      answer = form;
      const before = host.asked("builtin_call").length;
      expect(await host.prompt(index, id, "deploy it")).toMatchObject({ result: { stopReason: "end_turn" } });
      const ran = host.asked("builtin_call").slice(before);
      expect(
        ran.flatMap(({ params }) => membersOf(params).args),
        JSON.stringify(form),
      ).toEqual(expected);
    }
    for (const { params } of host.asked("session/request_permission"))
      expect(faultsOf("session-request_permission.params", params)).toEqual([]);
    for (const { params } of host.asked("builtin_call"))
      expect(faultsOf("builtin_call.params", params)).toEqual([]);
  });

  test("gets the steps of a worker, as their schema has them, once each and in order", async () => {
    const { host, cwd, served } = await hostOver(way, () => null);
    const id = await host.begin(cwd);
    await host.prompt(1, id, "delegate it");
    const steps = () => host.updates.filter(({ sessionUpdate }) => sessionUpdate === "worker_update");
    await expect.poll(() => steps().at(-1)?.terminal).toBe(true);
    for (const step of steps()) expect(faultsOf("worker_update.update", step)).toEqual([]);
    expect(steps().map(({ event }) => event)).toEqual([
      "WorkerSpawned",
      "WorkerProgressed",
      "WorkerProgressed",
      "WorkerCompleted",
    ]);
    expect(steps().map(({ metadata }) => membersOf(metadata).sequence)).toEqual([1, 2, 3, 4]);
    // A client that comes later gets the same by the replay.
    const live = steps();
    const later = await BridgeHost.open(served, "websocket", unknown);
    await later.ask("load", "session/load", { sessionId: id, cwd, mcpServers: [] });
    expect(later.updates.filter(({ sessionUpdate }) => sessionUpdate === "worker_update")).toEqual(live);
  });

  test("is served during a prompt: requests, messages, resume and cancel", async () => {
    const { host, cwd } = await hostOver(way, () => new Promise(() => undefined));
    const id = await host.begin(cwd);
    const turn = host.prompt(1, id, "look at it");
    await expect.poll(() => host.asked("builtin_call").length).toBe(1);
    expect(await host.ask("1", "session/list", {})).toMatchObject({
      id: "1",
      result: { sessions: expect.any(Array) },
    });
    await host.notify("agent/resume", {});
    await host.notify("session/input", { sessionId: id, content: "second thoughts" });
    expect(await host.ask("retired", "tool/pre_use", { sessionId: id })).toMatchObject({
      error: { code: -32601 },
    });
    expect(host.said).not.toContain("I read the message.");
    await host.notify("cancel", {});
    expect(await turn).toMatchObject({ id: 1, result: { stopReason: "cancelled" } });
    const [{ id: requestId } = expect.fail()] = host.asked("builtin_call");
    await expect
      .poll(() => host.got.find(({ method }) => method === "$/cancel_request")?.params)
      .toMatchObject({ requestId });
    await expect.poll(() => host.said).toContain("I read the message.");
  });

  test("is asked again, under the same id, what was open when its connection broke", async () => {
    const answers = Promise.withResolvers<unknown>();
    const { host, cwd } = await hostOver(way, () =>
      host.asked("builtin_call").length > 1 ? { found: 42 } : answers.promise,
    );
    const id = await host.begin(cwd);
    const turn = host.prompt("turn", id, "look at it");
    await expect.poll(() => host.asked("builtin_call").length).toBe(1);
    host.drop();
    await host.reconnect(id, cwd);
    await expect.poll(() => host.asked("builtin_call").length).toBe(2);
    const [first, second] = host.asked("builtin_call");
    expect(second).toEqual(first);
    await expect.poll(() => host.said).toContain("I have looked.");
    await expect.poll(() => outputs(host)).toContain("42");
    // A socket takes its pending responses with it; a connection over HTTP does not.
    if (way !== "websocket") expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
  });

  test("that loads its session while it is asked stays asked", async () => {
    const answers = Promise.withResolvers<unknown>();
    const { host, cwd } = await hostOver(way, () => answers.promise);
    const id = await host.begin(cwd);
    const turn = host.prompt("turn", id, "look at it");
    await expect.poll(() => host.asked("builtin_call").length).toBe(1);
    await host.ask("load", "session/load", { sessionId: id, cwd, mcpServers: [] });
    answers.resolve({ found: 42 });
    expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
    await expect.poll(() => outputs(host)).toContain("42");
  });

  test("that sends nonsense while it is asked neither answers nor breaks anything by it", async () => {
    const held = Promise.withResolvers<unknown>();
    const { host, cwd } = await hostOver(way, () => held.promise);
    const id = await host.begin(cwd);
    const turn = host.prompt("turn", id, "look at it");
    await expect.poll(() => host.asked("builtin_call").length).toBe(1);
    const [{ id: asked } = expect.fail()] = host.asked("builtin_call");
    const nonsense: JsonObject[] = [
      { id: asked },
      { id: 1, result: "forged" },
      { id: "reins-00000000-0000-4000-8000-000000000000", result: "forged" },
      { id: null, result: "forged" },
      { method: "user_message", params: { sessionId: id, content: ["forged"] } },
      { method: "user_message", params: { sessionId: "unknown", content: "forged" } },
      { method: "session/update", params: { sessionId: id, update: { sessionUpdate: "worker_update" } } },
      { method: "skills/update", params: { ids: 7 } },
      { method: "$/cancel_request", params: { requestId: asked } },
      { method: "_reins/gap", params: { sessionId: id } },
      ...Array.from({ length: 100 }, () => ({ method: "agent/resume", params: { sessionId: id } })),
    ];
    for (const message of nonsense) await host.send(message).catch(() => undefined);
    held.resolve("genuine");
    expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
    await expect.poll(() => outputs(host)).toContain("genuine");
    expect(JSON.stringify(host.updates)).not.toContain("forged");
    expect(host.asked("builtin_call")).toHaveLength(1);
    expect(await host.prompt("next", id, "say hello")).toMatchObject({ result: { stopReason: "end_turn" } });
  });

  test("hears that a session that stays awake is idle, and wakes it", async () => {
    const { host, cwd } = await hostOver(way, () => null);
    const id = await host.begin(cwd, { daemon: true });
    await host.prompt(1, id, "say hello");
    const idle = () => host.got.filter(({ method }) => method === "agent/idle").map(({ params }) => params);
    await expect.poll(() => idle().length).toBeGreaterThan(1);
    for (const tick of idle()) expect(faultsOf("agent-idle.params", tick)).toEqual([]);
    expect(idle().slice(0, 2)).toEqual([
      { sessionId: id, iteration: 1, backoff_ms: 100 },
      { sessionId: id, iteration: 2, backoff_ms: 500 },
    ]);
    await host.notify("user_message", { sessionId: id, content: "second thoughts" });
    await expect.poll(() => host.said).toContain("I read the message.");
  });
});

describe.each(["acp", "rpc"] as const)("a host over %s that ends its connection", (way) => {
  test("fails what waits for it at once, and the turn goes on", async () => {
    const { host, cwd, served, home: opened } = await hostOver(way, () => new Promise(() => undefined));
    const id = await host.begin(cwd);
    const other = await BridgeHost.open(served, "websocket", unknown);
    await other.ask("resume", "session/resume", { sessionId: id, cwd, mcpServers: [] });
    void host.prompt("turn", id, "look at it");
    await expect.poll(() => host.asked("builtin_call").length).toBe(1);
    await host.leave();
    await expect.poll(() => other.said).toContain("I have looked.");
    await expect.poll(() => opened.hosting.hub.live(id)?.queue.isBusy).toBe(false);
    expect(outputs(other)).toContain("has gone");
  });
});

describe("two hosts of one session", () => {
  test("are asked one each: the one whose prompt runs; the other cannot answer in its place", async () => {
    const ran: string[] = [];
    const held = Promise.withResolvers<unknown>();
    const { host: one, cwd, served } = await hostOver("websocket", () => held.promise);
    const other = await BridgeHost.open(served, "rpc", (method) => {
      ran.push(method);
      return method === "host/tools/list" ? TOOLS : null;
    });
    const id = await one.begin(cwd);
    await other.ask("resume", "session/resume", { sessionId: id, cwd, mcpServers: [] });
    const turn = one.prompt(1, id, "look at it");
    await expect.poll(() => one.asked("builtin_call").length).toBe(1);
    const [{ id: asked } = expect.fail()] = one.asked("builtin_call");
    await expect(other.send({ id: asked as JsonObject["id"], result: "forged" })).rejects.toThrow("403");
    held.resolve("genuine");
    await turn;
    expect(ran).not.toContain("builtin_call");
    expect(outputs(one)).toContain("genuine");
    expect(outputs(one)).not.toContain("forged");
  });
});
