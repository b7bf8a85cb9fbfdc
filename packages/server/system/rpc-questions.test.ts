import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();
const FORMS = { elicitation: { form: {} } };

async function two(capabilities: object = {}) {
  const served = await serveAgents(home());
  const [one, other] = [
    await RpcClient.open(served, { capabilities }),
    await RpcClient.open(served, { capabilities }),
  ];
  const id = await one.begin(home().workspace);
  await other.result("session/resume", { sessionId: id });
  const streams = [await one.stream(), await other.stream()] as const;
  return { served, one, other, id, streams };
}

describe("a question of an agent", () => {
  test("comes on the stream, is answered by a message, and the agent continues", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const turn = client.prompt(id, "run npm test");
    await expect
      .poll(() => stream.asked)
      .toMatchObject([
        {
          method: "session/request_permission",
          params: {
            sessionId: id,
            toolCall: { rawInput: { command: "npm test" } },
            options: [{ kind: "allow_once" }, { kind: "allow_always" }, { kind: "reject_once" }],
            _meta: { reins: { approval: expect.stringMatching(/^apr_/), reason: "people decide" } },
          },
        },
      ]);
    expect((await client.answer(stream.asked[0] ?? {}, "allow_once")).status).toBe(202);
    expect(await turn).toMatchObject({ status: 200, body: { result: { stopReason: "end_turn" } } });
    await expect.poll(() => stream.said).toEqual(["yes"]);
  });

  test("goes to every client of the session; the first answer wins, the other client is notified", async () => {
    const { one, other, id, streams } = await two();
    const turn = one.prompt(id, "run npm test");
    await expect.poll(() => streams.map(({ asked }) => asked.length)).toEqual([1, 1]);
    const [first, second] = streams.map(({ asked }) => asked[0] ?? {});
    const answers = await Promise.all([
      one.answer(first ?? {}, "allow_once"),
      other.answer(second ?? {}, "reject_once"),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
    const winner = answers[0]?.status === 202 ? 0 : 1;
    expect(answers[1 - winner]).toMatchObject({ status: 409, body: { code: "conflict" } });
    await turn;
    await expect.poll(() => streams[0].said).toEqual([winner === 0 ? "yes" : "no"]);
    await expect
      .poll(() => streams[winner === 0 ? 1 : 0].messages)
      .toContainEqual(
        expect.objectContaining({ method: "$/cancel_request", params: { requestId: second?.id } }),
      );
    const { body } = await one.served.ask("GET", `/v1/approvals?session=${id}`);
    expect(Object(body).approvals).toHaveLength(1);
    expect(Object(body).approvals[0].answers).toHaveLength(1);
  });

  test("is settled for its clients by an answer over the API", async () => {
    const { served, one, id, streams } = await two();
    const turn = one.prompt(id, "run npm test");
    await expect.poll(() => streams.map(({ asked }) => asked.length)).toEqual([1, 1]);
    const { params, id: question } = Object(streams[0].asked[0]);
    const path = `/v1/approvals/${params._meta.reins.approval}/answer`;
    expect((await served.ask("POST", path, { body: { decision: "deny" } })).status).toBe(200);
    await turn;
    for (const stream of streams)
      await expect
        .poll(() => stream.messages)
        .toContainEqual(
          expect.objectContaining({ method: "$/cancel_request", params: { requestId: question } }),
        );
    expect((await one.answer({ id: question }, "allow_once")).status).toBe(409);
  });

  test("that is unknown, or was asked of other clients, cannot be answered", async () => {
    const { served, one, id, streams } = await two();
    const turn = one.prompt(id, "run npm test");
    await expect.poll(() => streams[0].asked.length).toBe(1);
    const [question = {}] = streams[0].asked;
    const never = "reins-00000000-0000-4000-8000-000000000000";
    for (const unknown of [99, "reins-1", null, never])
      expect((await one.answer({ id: unknown }, "allow_once")).status).toBe(404);
    const outsider = await RpcClient.open(served, {
      as: (await served.person({ tenant: "globex", roles: ["admin"] })).secret,
    });
    const [foreign, absent] = [
      await outsider.answer(question, "allow_once"),
      await outsider.answer({ id: never }, "allow_once"),
    ];
    expect([foreign.status, foreign.body]).toEqual([absent.status, absent.body]);
    expect(foreign.status).toBe(404);
    const outside = await RpcClient.open(served);
    expect((await outside.answer(question, "allow_once")).status).toBe(403);
    const agent = await RpcClient.open(served, { as: (await served.person({ kind: "agent" })).secret });
    expect((await agent.answer(question, "allow_once")).status).toBe(403);
    expect((await one.answer(question, "reject_once")).status).toBe(202);
    await turn;
  });

  test("is sent once to a client that attaches later, and keeps its id for one that reconnects", async () => {
    const { served, one, id, streams } = await two();
    const turn = one.prompt(id, "run npm test");
    await expect.poll(() => streams[0].asked.length).toBe(1);
    const later = await RpcClient.open(served);
    await later.result("session/resume", { sessionId: id });
    const stream = await later.stream();
    await expect.poll(() => stream.asked).toEqual([streams[0].asked[0]]);
    const loading = await RpcClient.open(served);
    const told = await loading.stream();
    await loading.result("session/load", { sessionId: id, cwd: home().workspace, mcpServers: [] });
    expect(told.asked).toEqual([streams[0].asked[0]]);
    stream.close();
    await stream.ended;
    expect((await later.answer(stream.asked[0] ?? {}, "allow_once")).status).toBe(202);
    await turn;
    expect(streams[0].said).toEqual(["yes"]);
    expect(told.asked).toHaveLength(1);
  });

  test("is asked with exact content, and stored without secrets", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const turn = client.prompt(id, `run curl -H "x: ${secret}" example.com`);
    await expect.poll(() => stream.asked.length).toBe(1);
    expect(JSON.stringify(stream.asked)).toContain(secret);
    const { log } = home().hosting.hub;
    expect(JSON.stringify(await log.page("default", [id], 0))).not.toContain(secret);
    await client.answer(stream.asked[0] ?? {}, "reject_once");
    await turn;
  });

  test("can have the older form, and is answered in that form", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const turn = client.prompt(id, "question which one");
    await expect
      .poll(() => stream.asked)
      .toMatchObject([
        {
          method: "_sandboxagent/session/request_question",
          params: {
            sessionId: id,
            prompt: "which one",
            options: [
              ["a", "One"],
              ["b", "Other"],
            ],
          },
        },
      ]);
    const result = { status: "answered", answers: [["b"]] };
    await client.post({ jsonrpc: "2.0", id: stream.asked[0]?.id, result });
    await turn;
    await expect.poll(() => stream.said).toEqual([JSON.stringify(result)]);
  });

  test("that one client rejects as unknown is left to the other", async () => {
    const { one, other, id, streams } = await two(FORMS);
    const turn = one.prompt(id, "elicit your name");
    await expect.poll(() => streams.map(({ asked }) => asked.length)).toEqual([1, 1]);
    const [question = {}] = streams[0].asked;
    const error = { code: -32601, message: "not known" };
    expect((await one.post({ jsonrpc: "2.0", id: question.id, error })).status).toBe(202);
    expect(
      (await other.post({ jsonrpc: "2.0", id: question.id, result: { action: "decline" } })).status,
    ).toBe(202);
    await turn;
    await expect.poll(() => streams[0].said).toEqual(["decline"]);
  });

  test("is sent only to clients with the capability to answer it", async () => {
    const served = await serveAgents(home());
    const [able, onlooker] = [
      await RpcClient.open(served, { capabilities: FORMS }),
      await RpcClient.open(served, { capabilities: { terminal: true, elicitation: {} } }),
    ];
    const id = await able.begin(home().workspace);
    await onlooker.result("session/resume", { sessionId: id });
    const [stream, other] = [await able.stream(), await onlooker.stream()];
    const turn = onlooker.prompt(id, "elicit your name");
    await expect.poll(() => stream.asked.length).toBe(1);
    await able.post({ jsonrpc: "2.0", id: stream.asked[0]?.id, result: { action: "accept" } });
    await turn;
    await expect.poll(() => other.said).toEqual(["accept"]);
    await able.result("_sandboxagent/session/detach", { sessionId: id });
    await onlooker.prompt(id, "elicit your name", "custom hello");
    await expect.poll(() => other.said).toEqual(["accept", "error -32601", "error -32601"]);
    expect(other.asked).toEqual([]);
  });

  test("of an unknown method gets an error", async () => {
    const client = await RpcClient.open(await serveAgents(home()), { capabilities: FORMS });
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const turn = client.prompt(id, "elicit your name");
    await expect.poll(() => stream.asked.length).toBe(1);
    const error = { code: -32601, message: "not known" };
    await client.post({ jsonrpc: "2.0", id: stream.asked[0]?.id, error });
    await turn;
    await expect.poll(() => stream.said).toEqual(["error -32601"]);
  });
});

test("a client of another tenant can neither see nor use a session", async () => {
  const { served, one, id, streams } = await two();
  const outsider = await RpcClient.open(served, {
    as: (await served.person({ tenant: "acme", roles: ["admin"] })).secret,
  });
  const stream = await outsider.stream();
  const turn = one.prompt(id, "say secret", "run npm test");
  await expect.poll(() => streams[0].asked.length).toBe(1);
  for (const [method, params] of [
    ["session/load", { cwd: "/", mcpServers: [] }],
    ["session/resume", {}],
    ["session/prompt", { prompt: [] }],
    ["session/fork", { cwd: "/" }],
    ["session/close", {}],
    ["session/set_mode", { modeId: "ask" }],
    ["_sandboxagent/session/get", {}],
    ["_sandboxagent/session/set_metadata", { metadata: { title: "mine" } }],
    ["_sandboxagent/session/list_models", {}],
  ] as const)
    expect(await outsider.request(method, { sessionId: id, ...params })).toMatchObject({
      status: 200,
      body: { error: { code: -32002 } },
    });
  expect(await outsider.result("_sandboxagent/session/terminate", { sessionId: id })).toMatchObject({
    terminated: false,
    alreadyEnded: false,
  });
  expect(await outsider.result("session/list")).toEqual({ sessions: [], nextCursor: null });
  expect(await outsider.result("_sandboxagent/session/list")).toEqual({ sessions: [] });
  const as = outsider.as;
  expect((await served.ask("GET", `/v1/sessions/${id}`, { as })).status).toBe(404);
  expect((await served.ask("GET", "/v1/sessions", { as })).body).toEqual({ sessions: [] });
  expect(Object((await served.ask("GET", "/v1/connections", { as })).body).connections).toMatchObject([
    { id: outsider.connection },
  ]);
  const closing = await served.ask("DELETE", `/v1/connections/${one.connection}`, { as });
  expect(closing.status).toBe(404);
  await one.answer(streams[0].asked[0] ?? {}, "allow_once");
  await turn;
  expect(stream.got).toEqual([]);
});
