import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

describe("the extension methods", () => {
  test("are advertised if and only if they exist", async () => {
    const client = new RpcClient(await serveAgents(home()));
    const { agentCapabilities } = await client.result("initialize", {
      protocolVersion: 1,
      _meta: { "sandboxagent.dev": { agent: "stub" } },
    });
    const { _meta, ...standard } = Object(agentCapabilities);
    expect(standard).toMatchObject({
      loadSession: true,
      sessionCapabilities: { list: {}, resume: {}, close: {}, fork: {} },
    });
    const { methods, ...flags } = _meta["sandboxagent.dev"].extensions;
    expect(flags).toEqual({
      sessionDetach: true,
      sessionTerminate: true,
      sessionEndedNotification: true,
      sessionListModels: true,
      sessionSetMetadata: true,
      sessionAgentMeta: true,
      sessionList: true,
      sessionGet: true,
      ...{ fsListEntries: true, fsReadFile: true, fsWriteFile: true, fsDeleteEntry: true },
      ...{ fsMkdir: true, fsMove: true, fsStat: true, fsUploadBatch: true },
    });
    const opened = await RpcClient.open(client.served);
    for (const method of methods) {
      const { status, body } = await opened.request(method, { sessionId: "none" });
      expect([method, status, Object(body).error?.code]).not.toEqual([method, 200, -32601]);
    }
  });

  test("return the details of a session", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace, "stub", { title: "First", permissionMode: "plan" });
    await client.prompt(id, "say one");
    expect(await client.result("_sandboxagent/session/get", { sessionId: id })).toMatchObject({
      sessionId: id,
      agent: "stub",
      agentMode: "ask",
      permissionMode: "plan",
      model: "small",
      nativeSessionId: expect.stringMatching(/^stub-/),
      ended: false,
      eventCount: 2,
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      directory: home().workspace,
      title: "First",
    });
    expect(await client.request("_sandboxagent/session/get", { sessionId: "none" })).toMatchObject({
      status: 200,
      body: { error: { code: -32002 } },
    });
    expect(await client.request("_sandboxagent/session/get")).toMatchObject({
      status: 200,
      body: { error: { code: -32602 } },
    });
  });

  test("list the models that the agent reported", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const catalogue = {
      availableModels: [
        { modelId: "small", name: "Small", description: null, defaultVariant: null, variants: [] },
        {
          modelId: "large",
          name: "Large",
          description: "thinks for longer",
          defaultVariant: null,
          variants: [],
        },
      ],
      currentModelId: "small",
    };
    expect(await client.result("_sandboxagent/session/list_models", { sessionId: id })).toEqual(catalogue);
    expect(await client.result("_sandboxagent/session/list_models", { agent: "stub" })).toMatchObject({
      availableModels: catalogue.availableModels,
    });
    await client.result("session/set_model", { sessionId: id, modelId: "large" });
    expect(await client.result("_sandboxagent/session/list_models", { sessionId: id })).toMatchObject({
      currentModelId: "large",
    });
    expect(await client.request("_sandboxagent/session/list_models")).toMatchObject({
      body: { error: { code: -32602 } },
    });
  });

  test("change the stored metadata of a session for every client that lists it", async () => {
    const served = await serveAgents(home());
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home().workspace);
    const metadata = { title: "Renamed", ticket: 7, nested: { a: [1] } };
    expect(await client.result("_sandboxagent/session/set_metadata", { sessionId: id, metadata })).toEqual(
      {},
    );
    const meta = { "sandboxagent.dev": { model: "huge" } };
    const told = await client.notify("_sandboxagent/session/set_metadata", { sessionId: id, _meta: meta });
    expect(told.status).toBe(202);
    const { sessions } = await other.result("session/list");
    expect(Object(sessions).find(({ sessionId }: { sessionId: string }) => sessionId === id)).toMatchObject({
      title: "Renamed",
      _meta: {
        reins: { metadata: { ...metadata, model: "huge" } },
        "sandboxagent.dev": { agent: "stub", ended: false, eventCount: 0, model: "huge" },
      },
    });
    const huge = await client.request("_sandboxagent/session/set_metadata", {
      sessionId: id,
      metadata: { much: "x".repeat(70_000) },
    });
    expect(huge).toMatchObject({ status: 200, body: { error: { code: -32602 } } });
    await client.prompt(id, "crash");
    await client.prompt(id, "retitle By itself");
    expect(await client.result("_sandboxagent/session/get", { sessionId: id })).toMatchObject({
      title: "By itself",
      metadata: { ticket: 7 },
    });
  });

  test("list every session for every client of its principal", async () => {
    const served = await serveAgents(home());
    const { secret: as } = await served.person();
    const [client, other] = [await RpcClient.open(served, { as }), await RpcClient.open(served, { as })];
    const ids = [await client.begin(home().workspace), await other.begin(home().workspace)].toSorted();
    for (const one of [client, other]) {
      const { sessions } = await one.result("_sandboxagent/session/list");
      expect(Object(sessions).map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(ids);
    }
  });

  test("detach a client from a session, which continues for the others", async () => {
    const served = await serveAgents(home());
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home().workspace);
    await other.result("session/resume", { sessionId: id });
    const [stream, watched] = [await client.stream(), await other.stream()];
    await client.prompt(id, "say one");
    await expect.poll(() => watched.said).toEqual(["one"]);
    expect(await other.result("_sandboxagent/session/detach", { sessionId: id })).toEqual({});
    await client.prompt(id, "say two");
    await expect.poll(() => stream.said).toEqual(["one", "two"]);
    await other.result("session/list");
    expect(watched.said).toEqual(["one"]);
  });

  test("end a session for good, once, and notify every client", async () => {
    const served = await serveAgents(home());
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home().workspace);
    await other.result("session/resume", { sessionId: id });
    const [stream, watched] = [await client.stream(), await other.stream()];
    const turn = client.prompt(id, "say begun", "wait");
    await expect.poll(() => stream.said).toEqual(["begun"]);
    const end = { reason: "terminated", terminatedBy: "daemon" };
    const method = "_sandboxagent/session/terminate";
    expect(await other.result(method, { sessionId: id })).toEqual({
      terminated: true,
      alreadyEnded: false,
      ...end,
    });
    expect(await turn).toMatchObject({ status: 200, body: { result: { stopReason: "cancelled" } } });
    expect(await client.result(method, { sessionId: id })).toEqual({
      terminated: false,
      alreadyEnded: true,
      ...end,
    });
    expect(await client.result(method, { sessionId: "none" })).toMatchObject({ terminated: false });
    const ended = {
      method: "_sandboxagent/session/ended",
      params: { session_id: id, data: { reason: "terminated", terminated_by: "daemon" } },
    };
    for (const told of [stream, watched])
      await expect
        .poll(() => told.messages.filter(({ method: name }) => name === ended.method))
        .toMatchObject([ended]);
    expect(await client.result("_sandboxagent/session/get", { sessionId: id })).toMatchObject({
      ended: true,
      terminationInfo: { reason: "terminated", terminatedBy: "daemon" },
    });
    expect(await client.prompt(id, "say hello")).toMatchObject({ body: { error: { code: -32002 } } });
  });

  test("end a session whose agent is still running, and no later message of it reopens the session", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const turn = client.prompt(id, "say begun", "sleep 300", "say late");
    await expect.poll(() => stream.said).toEqual(["begun"]);
    await client.result("_sandboxagent/session/terminate", { sessionId: id });
    await turn;
    expect(home().hosting.hub.live(id)).toBeUndefined();
    const again = await client.result("_sandboxagent/session/terminate", { sessionId: id });
    expect(again).toMatchObject({ terminated: false, alreadyEnded: true });
    expect(stream.said).toEqual(["begun"]);
  });

  test("are not needed to detach: a client that closes its connection ends nothing else", async () => {
    const served = await serveAgents(home());
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home().workspace);
    await client.delete();
    expect(await other.result("_sandboxagent/session/get", { sessionId: id })).toMatchObject({
      ended: false,
    });
    expect((await other.prompt(id, "say hello")).status).toBe(200);
  });
});

describe("a oneshot session", () => {
  test("ends with its turn", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const stream = await client.stream();
    const { sessionId: id } = await client.result("session/new", {
      cwd: home().workspace,
      mcpServers: [],
      _meta: { "sandboxagent.dev": { agent: "stub" }, reins: { mode: "oneshot" } },
    });
    expect((await client.prompt(String(id), "say one")).status).toBe(200);
    await expect
      .poll(() => stream.messages.at(-1))
      .toMatchObject({ params: { data: { reason: "completed" } } });
    expect(await client.prompt(String(id), "say two")).toMatchObject({ body: { error: { code: -32002 } } });
  });
});
