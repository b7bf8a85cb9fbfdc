import { describe, expect, test } from "vitest";
import { Advisor } from "../src/advisor/advisor.ts";
import type { NativeAgentOptions } from "../src/agent-dependencies.ts";
import { VolatileSessionStore } from "../src/history/session-store.ts";
import { TestClient } from "../test/test-client.ts";
import { hastyClock } from "../test/tool-context.ts";
import { testWorkspace } from "../test/workspace.ts";
import { DIALECTS, type DialectName, modelAt, only } from "./fixtures/dialect-names.ts";
import { modelServer, type Reply } from "./fixtures/model-server.ts";

/** A client of an agent with a scripted model; waits are recorded and take no time. */
async function agentWith(dialect: DialectName, replies: readonly Reply[], options: NativeAgentOptions = {}) {
  const server = await modelServer(...replies);
  const workspace = await testWorkspace({ "a.txt": "alpha" });
  const waited: number[] = [];
  const events: { type: string; code?: string }[] = [];
  const clock = hastyClock(waited);
  const client = await TestClient.open(workspace.cwd, {
    models: only(modelAt(dialect, server.url)),
    control: new Advisor({ onEvent: (type, payload) => void events.push({ type, ...payload }) }),
    random: () => 0,
    clock,
    ...options,
  });
  const isUsable = async () => {
    server.play({ say: [{ text: "Still here." }] });
    expect(await client.prompt(client.sessionId, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect(client.said).toContain("Still here.");
  };
  return { server, client, waited, events, isUsable, ...workspace, id: client.sessionId };
}

const hello: Reply = { say: [{ text: "Hello there." }] };
const reading = { call: "read_file", given: { path: "a.txt" } };

describe.each(DIALECTS)("when a model spoken to by %s", (dialect) => {
  test("calls tools, they are decided and performed", async () => {
    const { client, server, id } = await agentWith(dialect, [
      { say: [{ text: "Reading. " }, { ...reading, id: "c1" }] },
      { say: [{ text: "It says alpha." }] },
    ]);
    expect(await client.prompt(id, "read a.txt")).toMatchObject({
      stopReason: "end_turn",
      usage: { totalTokens: expect.any(Number), outputTokens: 14, cachedReadTokens: 10 },
    });
    expect(client.said).toBe("Reading. It says alpha.");
    expect(client.asked).toMatchObject([{ name: "read_file", rawInput: { path: "a.txt" } }]);
    expect(JSON.stringify(server.asked[1]?.body)).toContain("alpha");
  });

  test("rejects the key (401), the prompt fails at once with the reason", async () => {
    const { client, server, events, isUsable, id } = await agentWith(dialect, [
      { status: 401, message: "invalid key" },
    ]);
    await expect(client.prompt(id, "open sesame")).rejects.toMatchObject({
      code: -32000,
      message: expect.stringMatching(/answered 401: .*invalid key.*check the API key/),
      data: { reins: { code: "unauthorized", retryable: false, status: 401 } },
    });
    expect(server.asked).toHaveLength(1);
    expect(events).toContainEqual(expect.objectContaining({ type: "error", code: "unauthorized" }));
    expect(events).toContainEqual(expect.objectContaining({ type: "run_lifecycle", status: "failed" }));
    await isUsable();
    expect(JSON.stringify(server.asked[1]?.body)).not.toContain("open sesame");
  });

  test("is rate limited (429), the request is retried after the time it asks for", async () => {
    const { client, waited, server, id } = await agentWith(dialect, [
      { status: 429, message: "too many requests", headers: { "retry-after": "7" } },
      hello,
    ]);
    expect(await client.prompt(id, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect(waited).toEqual([7_000]);
    expect(server.asked).toHaveLength(2);
    expect(client.thought).toContain("The model did not answer");
  });

  test("asks for too long a wait (429), the prompt fails with the duration", async () => {
    const { client, waited, isUsable, id } = await agentWith(dialect, [
      { status: 429, message: "too many requests", headers: { "retry-after": "600" } },
    ]);
    await expect(client.prompt(id, "hello")).rejects.toMatchObject({
      message: expect.stringContaining("600 seconds"),
      data: { reins: { code: "rate_limited", retryable: true } },
    });
    expect(waited).toEqual([]);
    await isUsable();
  });

  test("fails (500), the request is retried with a growing backoff, and finally fails", async () => {
    const { client, waited, server, isUsable, id } = await agentWith(dialect, [
      { status: 500, message: "boom" },
    ]);
    await expect(client.prompt(id, "hello")).rejects.toMatchObject({
      message: expect.stringContaining("answered 500"),
    });
    expect(waited).toEqual([500, 1_000, 2_000, 4_000]);
    expect(server.asked).toHaveLength(5);
    await isUsable();
  });

  test("is overloaded and asks for an hour (503), the prompt fails at once", async () => {
    const { client, waited, server, isUsable, id } = await agentWith(dialect, [
      { status: 503, message: "overloaded", headers: { "retry-after": "3600" } },
    ]);
    await expect(client.prompt(id, "hello")).rejects.toMatchObject({
      data: { reins: { code: "overloaded" } },
    });
    expect([waited, server.asked.length]).toEqual([[], 1]);
    await isUsable();
  });

  test("breaks off within a text, the answer continues there without repetition", async () => {
    const { client, server, id } = await agentWith(dialect, [
      { say: [{ text: "One two " }], stop: "cut" },
      { say: [{ text: "three." }] },
    ]);
    expect(await client.prompt(id, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect(client.said).toBe("One two three.");
    const again = JSON.stringify(server.asked[1]?.body);
    expect(again).toContain("One two ");
    expect(again).toContain("Go on exactly where your last message ends");
    expect(new Set(client.of("agent_message_chunk").map(({ messageId }) => messageId)).size).toBe(1);
  });

  test("breaks off within a call, the call is not made and the request is retried", async () => {
    const { client, server, id, text } = await agentWith(dialect, [
      { say: [{ call: "write_file", given: { path: "half.txt", content: "h".repeat(200) } }], stop: "cut" },
      { say: [{ text: "Never mind." }] },
    ]);
    expect(await client.prompt(id, "write half.txt")).toMatchObject({ stopReason: "end_turn" });
    expect(client.asked).toEqual([]);
    expect(await text("half.txt")).toBeUndefined();
    expect(JSON.stringify(server.asked[1]?.body.messages ?? server.asked[1]?.body.input)).not.toContain(
      "half.txt\\\\",
    );
  });

  test("breaks off after a complete call, that call is not made; only the final answer counts", async () => {
    const write = (path: string, id: string) => ({
      call: "write_file",
      given: { path, content: "x".repeat(50) },
      id,
    });
    const { client, id, text } = await agentWith(dialect, [
      { say: [write("first.txt", "c1"), write("second.txt", "c2")], stop: "cut" },
      { say: [write("third.txt", "c3")] },
      hello,
    ]);
    expect(await client.prompt(id, "write some files")).toMatchObject({ stopReason: "end_turn" });
    expect(client.asked.map(({ rawInput }) => rawInput.path)).toEqual(["third.txt"]);
    expect(await text("first.txt")).toBeUndefined();
  });

  test("runs out of tokens beside a call, the turn goes on, and the call is neither made nor kept", async () => {
    const { client, server, id } = await agentWith(dialect, [
      {
        say: [{ text: "I will." }, { call: "write_file", given: { path: "x.txt", content: "x" } }],
        stop: "max_tokens",
      },
      hello,
    ]);
    expect(await client.prompt(id, "write it")).toMatchObject({ stopReason: "end_turn" });
    expect(client.asked).toEqual([]);
    const { messages, input } = server.asked[1]?.body ?? {};
    expect(JSON.stringify(messages ?? input)).not.toContain("x.txt");
  });

  test("breaks off every time, the prompt fails, and what was seen stays", async () => {
    const store = new VolatileSessionStore();
    const { client, isUsable, id } = await agentWith(dialect, [{ say: [{ text: "Again. " }], stop: "cut" }], {
      store,
    });
    await expect(client.prompt(id, "hello")).rejects.toMatchObject({ data: { reins: { retryable: true } } });
    const kept = (await store.read(id))?.entries ?? [];
    expect(kept.find(({ kind }) => kind === "assistant")).toMatchObject({ parts: [{ text: client.said }] });
    await isUsable();
  });

  test("stalls, the request times out", async () => {
    const { client, server, isUsable, id } = await agentWith(dialect, [{ silent: true }], {
      limits: { quietMs: 1_000, retries: 0 },
    });
    await expect(client.prompt(id, "hello")).rejects.toMatchObject({
      message: expect.stringContaining("sent nothing for too long"),
    });
    expect(server.asked).toHaveLength(1);
    await isUsable();
  });

  test("calls a tool that is not offered, nothing is done, and the model gets the list of tools", async () => {
    const { client, server, id } = await agentWith(
      dialect,
      [{ say: [{ call: "run_command", given: { command: "touch x" } }] }, { say: [{ text: "I see." }] }],
      { mayUse: (tool) => tool !== "run_command" },
    );
    expect(await client.prompt(id, "do it")).toMatchObject({ stopReason: "end_turn" });
    expect(client.asked).toEqual([]);
    expect(client.of("tool_call")).toEqual([]);
    const events = JSON.stringify(server.asked[1]?.body);
    expect(events).toContain("there is no tool run_command here");
    expect(events).toContain("read_file");
    expect(JSON.stringify(server.asked[0]?.body.tools)).not.toContain("run_command");
    expect(client.thought).toContain("call of run_command was not made");
  });

  test.each([
    ["no JSON", '{"path": "a.t'],
    ["JSON of another kind", '["a.txt"]'],
    ["arguments that are not there", '{"file":"a.txt"}'],
    ["arguments of another type", '{"path":7}'],
  ])("sends %s as arguments, nothing is done, and the model gets the reason", async (_, raw) => {
    const { client, server, id } = await agentWith(dialect, [
      { say: [{ call: "read_file", raw }] },
      { say: [{ text: "Sorry." }] },
    ]);
    expect(await client.prompt(id, "read it")).toMatchObject({ stopReason: "end_turn" });
    expect(client.asked).toEqual([]);
    expect(JSON.stringify(server.asked[1]?.body)).toMatch(/Not done: the arguments of read_file/);
    expect(client.said).toBe("Sorry.");
  });

  test("never stops calling tools, the turn ends at its limit", async () => {
    const { client, server, isUsable, id } = await agentWith(dialect, [{ say: [reading] }], {
      limits: { requests: 6 },
    });
    expect(await client.prompt(id, "read it")).toMatchObject({ stopReason: "max_turn_requests" });
    expect(server.asked).toHaveLength(6);
    expect(client.asked).toHaveLength(6);
    await isUsable();
  });

  test("calls a hundred tools at once, the calls beyond the limit are not made", async () => {
    const { client, server, id } = await agentWith(
      dialect,
      [{ say: Array.from({ length: 100 }, (_, index) => ({ ...reading, id: `c${index}` })) }, hello],
      { limits: { callsAtOnce: 5 } },
    );
    await client.prompt(id, "read it");
    expect(client.asked).toHaveLength(5);
    expect(JSON.stringify(server.asked[1]?.body)).toContain("at most 5 calls are made at once");
  });

  test("sends ten megabytes, the answer is cut short with a notice", async () => {
    const { client, isUsable, id } = await agentWith(dialect, [{ say: [{ text: "x".repeat(10 << 20) }] }]);
    expect(await client.prompt(id, "hello")).toMatchObject({ stopReason: "max_tokens" });
    expect(client.said.length).toBeLessThan(2 << 20);
    expect(client.thought).toContain("The answer was cut short");
    await isUsable();
  });

  test("rejects the length of the conversation, it is compacted and the request is retried", async () => {
    const { client, server, id } = await agentWith(dialect, [hello]);
    await client.prompt(id, "remember the number 42 for me");
    server.play(
      { status: 400, message: "prompt is too long; context_length_exceeded" },
      { say: [{ text: "The number is 42." }] },
      { say: [{ text: "It was 42." }] },
    );
    expect(await client.prompt(id, "which number?")).toMatchObject({ stopReason: "end_turn" });
    expect(client.said).toContain("It was 42.");
    const last = JSON.stringify(server.asked.at(-1)?.body);
    expect(last).toContain("What happened before, in short");
    expect(last).toContain("which number?");
    expect(client.thought).toContain("was compacted");
  });

  test("refuses, the turn ends as a refusal and is withdrawn", async () => {
    const { client, server, id } = await agentWith(dialect, [{ say: [{ text: "I" }], stop: "refusal" }]);
    expect(await client.prompt(id, "something bad")).toMatchObject({ stopReason: "refusal" });
    server.play(hello);
    await client.prompt(id, "something good");
    expect(JSON.stringify(server.asked[1]?.body)).not.toContain("something bad");
  });
});

describe("when several sessions hit a token limit at once", () => {
  test("their requests are queued", async () => {
    let open = 0;
    let most = 0;
    const busy: Reply = { status: 429, message: "token limit reached", headers: { "retry-after": "1" } };
    const { server, client, cwd } = await agentWith("anthropic", [busy]);
    const ids = await Promise.all(
      [1, 2, 3, 4].map(async () => (await client.request("session/new", { cwd, mcpServers: [] })).sessionId),
    );
    const replies = [busy, busy, busy, busy].map((reply) => () => reply);
    server.play(...replies, () => {
      open += 1;
      most = Math.max(most, open);
      setImmediate(() => {
        open -= 1;
      });
      return hello;
    });
    const ends = await Promise.all(ids.map((id) => client.prompt(id, "hello")));
    expect(ends.map(({ stopReason }) => stopReason)).toEqual([
      "end_turn",
      "end_turn",
      "end_turn",
      "end_turn",
    ]);
    expect(server.asked).toHaveLength(8);
    expect(most).toBe(1);
  });
});
