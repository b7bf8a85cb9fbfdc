import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

/** Answers to a permission request that choose none of its options. */
const NO_CHOICE: readonly (readonly [string, object])[] = [
  ["cancelled", { result: { outcome: { outcome: "cancelled" } } }],
  ["an empty result", { result: {} }],
  ["no result", { result: null }],
  ["text for a result", { result: "yes" }],
  ["an outcome that is text", { result: { outcome: "selected" } }],
  ["an outcome that is not known", { result: { outcome: { outcome: "perhaps", optionId: "yes" } } }],
  ["a method that is not known", { error: { code: -32601, message: "not known" } }],
  ["an internal error", { error: { code: -32603, message: "no window" } }],
  ["an error of the client's own", { error: { code: -1, message: "dismissed" } }],
  ["an error that is text", { error: "dismissed" }],
  ["a cancelled request", { error: { code: -32800, message: "cancelled" } }],
];

/** Choices that were never offered. */
const NOT_OFFERED: readonly (readonly [string, object])[] = [
  ["an option that was never offered", { outcome: { outcome: "selected", optionId: "always" } }],
  ["the id that the agent gave an option", { outcome: { outcome: "selected", optionId: "yes" } }],
  ["a number for an option", { outcome: { outcome: "selected", optionId: 0 } }],
];

async function asked(clients: number) {
  const served = await serveAgents(home());
  const one = await RpcClient.open(served);
  const id = await one.begin(home().workspace);
  const others = await Promise.all(
    Array.from({ length: clients - 1 }, async () => {
      const other = await RpcClient.open(served);
      await other.result("session/resume", { sessionId: id });
      return other;
    }),
  );
  const all = [one, ...others];
  const streams = await Promise.all(all.map((client) => client.stream()));
  const turn = one.prompt(id, "run npm test");
  await expect.poll(() => streams.every((stream) => stream.asked.length === 1)).toBe(true);
  const [question = {}] = streams[0]?.asked ?? [];
  const approval = async () =>
    Object((await served.ask("GET", `/v1/approvals?session=${id}`)).body).approvals[0].state;
  const answer = (client: RpcClient | undefined, said: object) =>
    client?.post({ jsonrpc: "2.0", id: question.id, ...said });
  return { served, id, one, other: others[0], streams, turn, question, approval, answer };
}

describe("an answer that chooses nothing", () => {
  test.each(NO_CHOICE)("denies when no other client is connected: %s", async (_, said) => {
    const { one, streams, turn, approval, answer } = await asked(1);
    expect((await answer(one, said))?.status).toBe(202);
    expect(await turn).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
    await expect.poll(() => streams[0]?.said).toEqual(["no"]);
    expect(await approval()).toBe("denied");
  });

  test.each(NO_CHOICE)(
    "of a client that did not prompt leaves the question to the other client: %s",
    async (_, said) => {
      const { one, other, question, streams, turn, approval, answer } = await asked(2);
      expect((await answer(other, said))?.status).toBe(202);
      expect(await approval()).toBe("pending");
      expect((await one.answer(question, "allow_once")).status).toBe(202);
      expect(await turn).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
      await expect.poll(() => streams[0]?.said).toEqual(["yes"]);
    },
  );

  test.each(NO_CHOICE)("of the client that prompted: %s", async (what, said) => {
    const { one, other, question, streams, turn, approval, answer } = await asked(2);
    expect((await answer(one, said))?.status).toBe(202);
    if (what !== "cancelled") {
      expect(await approval()).toBe("pending");
      expect((await other?.answer(question, "allow_once"))?.status).toBe(202);
    }
    expect(await turn).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
    await expect.poll(() => streams[0]?.said).toEqual([what === "cancelled" ? "no" : "yes"]);
  });

  test.each(NO_CHOICE)("of every client denies: %s", async (_, said) => {
    const { one, other, streams, turn, answer } = await asked(2);
    await answer(other, said);
    await answer(one, said);
    await turn;
    await expect.poll(() => streams[0]?.said).toEqual(["no"]);
  });

  test("leaves the question to clients that attach or return later", async () => {
    const { served, id, other, question, streams, turn, answer } = await asked(2);
    await answer(other, { result: { outcome: { outcome: "cancelled" } } });
    const later = await RpcClient.open(served);
    await later.result("session/resume", { sessionId: id });
    const stream = await later.stream();
    await expect.poll(() => stream.asked).toEqual([question]);
    const last = streams[1]?.ids.at(-1);
    streams[1]?.close();
    await streams[1]?.ended;
    let again: Awaited<ReturnType<RpcClient["stream"]>> | undefined;
    await expect
      .poll(async () => {
        again = await other?.stream({ "last-event-id": String(last) });
        return again?.status;
      })
      .toBe(200);
    await expect.poll(() => again?.asked).toEqual([question]);
    expect((await other?.answer(question, "allow_once"))?.status).toBe(202);
    await turn;
    await expect.poll(() => streams[0]?.said).toEqual(["yes"]);
  });

  test.each(["sees", "does not see"])(
    "does not keep the question from a client that %s it before it reconnects",
    async (how) => {
      const { one, question, streams, turn } = await asked(1);
      const [stream] = streams;
      const { id: order = 0 } = stream?.got.find(({ message }) => message.id === question.id) ?? {};
      stream?.close();
      await stream?.ended;
      let again: Awaited<ReturnType<RpcClient["stream"]>> | undefined;
      const seen = String(how === "sees" ? order : order - 1);
      await expect
        .poll(async () => {
          again = await one.stream({ "last-event-id": seen });
          return again.status;
        })
        .toBe(200);
      await expect.poll(() => again?.asked).toEqual([question]);
      expect(again?.ids.toSorted((left, right) => left - right)).toEqual(again?.ids);
      await one.answer(question, "allow_once");
      await turn;
      expect(again?.asked).toHaveLength(1);
      await expect.poll(() => again?.said).toEqual(["yes"]);
    },
  );
});

test("an answer that selects without naming an option permits once, as hosts of the bridge answer", async () => {
  const { one, streams, turn, approval, answer } = await asked(1);
  expect((await answer(one, { result: { outcome: { outcome: "selected" } } }))?.status).toBe(202);
  expect(await turn).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
  await expect.poll(() => streams[0]?.said).toEqual(["yes"]);
  expect(await approval()).toBe("used");
});

describe("an option that was never offered", () => {
  test.each(NOT_OFFERED)("is rejected, and a valid answer still counts: %s", async (_, result) => {
    const { one, question, streams, turn, approval, answer } = await asked(1);
    expect(await answer(one, { result })).toMatchObject({ status: 400, body: { code: "invalid" } });
    expect(await approval()).toBe("pending");
    expect((await one.answer(question, "allow_once")).status).toBe(202);
    await turn;
    await expect.poll(() => streams[0]?.said).toEqual(["yes"]);
  });

  test.each(NOT_OFFERED)("denies for a client that gets no response: %s", async (_, result) => {
    const { address, access } = await serveAgents(home());
    const socket = new WebSocket(`${address.replace("http", "ws")}/acp?agent=stub`, {
      headers: { authorization: `Bearer ${access.token}` },
    });
    const got: Record<string, unknown>[] = [];
    socket.on("message", (data) => {
      const message = Object(JSON.parse(String(data)));
      got.push(message);
      if (message.method === "session/request_permission")
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    });
    await new Promise((resolve) => socket.once("open", resolve));
    const ask = async (id: number, method: string, params: object) => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      const answer = () => got.find((message) => message.id === id && message.method === undefined);
      await expect.poll(answer).toBeDefined();
      return Object(answer()).result;
    };
    await ask(1, "initialize", { protocolVersion: 1 });
    const { sessionId } = await ask(2, "session/new", { cwd: home().workspace, mcpServers: [] });
    const prompt = [{ type: "text", text: "run npm test" }];
    expect(await ask(3, "session/prompt", { sessionId, prompt })).toMatchObject({ stopReason: "end_turn" });
    expect(JSON.stringify(got)).toContain('"text":"no"');
    socket.close();
  });
});
