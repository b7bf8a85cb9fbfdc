import { describe, expect, test } from "vitest";
import { ScriptedControl } from "../../test/scripted-control.ts";
import { ScriptedModel, type ScriptedReply } from "../../test/scripted-model.ts";
import { TestClient } from "../../test/test-client.ts";
import { testWorkspace } from "../../test/workspace.ts";
import { type HistoryEntry, transcriptOf } from "../history/entry.ts";
import { VolatileSessionStore } from "../history/session-store.ts";
import { ModelError, type ModelEvent } from "../models/model.ts";
import { coveredCount, digestOf } from "./compact.ts";

const at = "2026-01-01T00:00:00Z";
const user = (text: string, turn = "1"): HistoryEntry => ({
  kind: "user",
  turn,
  at,
  parts: [{ type: "text", text }],
});
const said = (text: string, turn = "1"): HistoryEntry => ({
  kind: "assistant",
  turn,
  at,
  id: "i",
  model: "m",
  parts: [{ type: "text", text }],
});
const called = (id: string, name: string, given: unknown): HistoryEntry => ({
  kind: "assistant",
  turn: "1",
  at,
  id: "i",
  model: "m",
  parts: [{ type: "call", id, name, arguments: JSON.stringify(given), toolCallId: id }],
});
const result = (call: string, text: string, isError = false): HistoryEntry => ({
  kind: "results",
  turn: "1",
  at,
  results: [{ call, name: "t", text, isError }],
});

describe("the cut of a conversation", () => {
  test("keeps what fits, and never separates a call from its result", () => {
    const entries = [
      user("a".repeat(400)),
      called("c", "read_file", {}),
      result("c", "b".repeat(400)),
      said("end"),
    ];
    expect(coveredCount(entries, 1_000)).toBeUndefined();
    expect(coveredCount(entries, 50)).toBe(3);
    expect(coveredCount(entries, 125)).toBe(3);
    expect(coveredCount(entries, 150)).toBe(1);
  });

  test("covers everything when not even the last message fits", () => {
    expect(coveredCount([user("a"), said("b".repeat(10_000))], 10)).toBe(2);
  });

  test("is never before the last cut", () => {
    const entries: HistoryEntry[] = [
      user("a".repeat(400)),
      { kind: "compaction", turn: "1", at, summary: "s", covers: 1 },
      said("b"),
    ];
    expect(coveredCount(entries, 50)).toBeUndefined();
  });
});

describe("the digest of a history", () => {
  const digest = digestOf([
    user("first make a parser"),
    called("c1", "write_file", { path: "src/parser.ts", content: "x" }),
    result("c1", "Wrote 1 bytes"),
    called("c2", "run_command", { command: "curl evil.example" }),
    result("c2", "Not allowed: no network", true),
    called("c3", "update_plan", { entries: [{ content: "test it", status: "pending" }] }),
    result("c3", "Shown."),
    said("The parser is written."),
    user("secret plans", "2"),
    { kind: "withdrawn", turn: "2", at },
    user("now test it thoroughly", "3"),
  ]);

  test.each([
    "first make a parser",
    "last: now test it thoroughly",
    "write_file src/parser.ts: Wrote 1 bytes",
    "run_command curl evil.example: failed, Not allowed: no network",
    "## Files changed\n- src/parser.ts",
    "test it (pending)",
    "The parser is written.",
  ])("contains %s", (words) => {
    expect(digest).toContain(words);
  });

  test("leaves out withdrawn turns and keeps earlier summaries", () => {
    expect(digest).not.toContain("secret plans");
    const earlier: HistoryEntry = { kind: "compaction", turn: "1", at, summary: "they met", covers: 0 };
    expect(digestOf([earlier, user("go on")])).toContain("## Earlier\n- they met");
  });
});

describe("a conversation that exceeds the context", () => {
  async function long(
    replies: readonly ScriptedReply[],
    summarises = false,
    control = new ScriptedControl(),
  ) {
    const model = new ScriptedModel(replies, { contextTokens: 9_000, maxOutputTokens: 1_000, summarises });
    const { cwd } = await testWorkspace();
    const store = new VolatileSessionStore();
    const client = new TestClient({ models: model.models, store, control });
    await client.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: { session: { compaction: {}, notices: {} } },
    });
    const { sessionId } = await client.request("session/new", { cwd, mcpServers: [] });
    for (let turn = 1; turn <= 4; turn += 1)
      await client.prompt(sessionId, `number ${turn} is my favourite ${"filler ".repeat(1_000)}`);
    return { model, client, store, sessionId };
  }

  test("is compacted with a notice, and the turn continues", async () => {
    const { model, client, store, sessionId } = await long(["Noted."]);
    const updates = client.of("compaction_update");
    expect(updates.map(({ status }) => status).slice(0, 2)).toEqual(["in_progress", "completed"]);
    expect(updates[0].compactionId).toBe(updates[1].compactionId);
    expect(updates[1].summary[0].text).toContain("number 1 is my favourite");
    const last = model.asked.at(-1)?.messages ?? [];
    expect(JSON.stringify(last[0])).toContain("What happened before, in short");
    expect(JSON.stringify(last)).toContain("number 4 is my favourite");
    const entries = (await store.read(sessionId))?.entries ?? [];
    expect(entries.filter(({ kind }) => kind === "user").length).toBeGreaterThanOrEqual(4);
    expect(transcriptOf(entries).length).toBeLessThan(entries.length);
  });

  test("gets its context again after compaction", async () => {
    const model = new ScriptedModel(["Noted."], { contextTokens: 9_000, maxOutputTokens: 1_000 });
    const { cwd } = await testWorkspace({ "AGENTS.md": "Use tabs." });
    const client = await TestClient.open(cwd, { models: model.models });
    for (let turn = 1; turn <= 4; turn += 1)
      await client.prompt(client.sessionId, `explain number ${turn} ${"filler ".repeat(1_000)}`);
    await client.prompt(client.sessionId, "explain the rest");
    expect(client.thought).toContain("was compacted");
    expect(JSON.stringify(model.asked.at(-1)?.messages)).toContain("Use tabs.");
  });

  test("is summarised by the model, together with the digest", async () => {
    const { model, client } = await long(["Noted."], true);
    const [summarising] = model.asked.filter(({ system }) => system.includes("summary"));
    expect(summarising?.tools).toEqual([]);
    const [, completed] = client.of("compaction_update");
    expect(completed.summary[0].text).toMatch(/^Noted\./);
    expect(completed.summary[0].text).toContain("## Asked by the person");
  });

  test("is summarised without the model when that fails or is blocked", async () => {
    const failing = await long(["Noted.", "Noted.", new ModelError("unavailable", "down"), "Noted."], true);
    expect(failing.client.of("compaction_update")[1]).toMatchObject({ status: "completed" });
    const control = new ScriptedControl({
      pre_prompt: ({ purpose }) =>
        purpose === "compaction" ? { decision: "block", reason: "no" } : { decision: "allow" },
    });
    const blocked = await long(["Noted."], true, control);
    expect(blocked.client.of("compaction_update")[1].summary[0].text).toMatch(/^## /);
    expect(blocked.model.asked.every(({ system }) => !system.includes("summary that"))).toBe(true);
  });
});

describe("a model that stalls during compaction", () => {
  test("times out, and the turn continues", async () => {
    const model = new ScriptedModel(["Noted."], {
      contextTokens: 9_000,
      maxOutputTokens: 1_000,
      summarises: true,
    });
    const stream = model.stream.bind(model);
    model.stream = (request, signal) =>
      request.tools.length === 0 ? silent(signal) : stream(request, signal);
    const { cwd } = await testWorkspace();
    const client = await TestClient.open(cwd, { models: model.models, limits: { quietMs: 50 } });
    for (let turn = 1; turn <= 4; turn += 1)
      expect(
        await client.prompt(client.sessionId, `number ${turn} ${"filler ".repeat(1_000)}`),
      ).toMatchObject({ stopReason: "end_turn" });
    expect(client.thought).toContain("was compacted");
  });

  async function* silent(signal: AbortSignal): AsyncIterable<ModelEvent> {
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  }
});

describe("a conversation that fills half of the context", () => {
  async function idle(decision: Promise<{ decision: "allow" }> | { decision: "allow" | "defer" }) {
    const control = new ScriptedControl({ idle: () => decision });
    const model = new ScriptedModel(["Noted."], { contextTokens: 9_000, maxOutputTokens: 1_000 });
    const { cwd } = await testWorkspace();
    const store = new VolatileSessionStore();
    const client = await TestClient.open(cwd, {
      models: model.models,
      store,
      control,
      limits: { idleMs: 5 },
    });
    await client.prompt(client.sessionId, `hello ${"filler ".repeat(1_500)}`);
    await client.prompt(client.sessionId, `hello ${"filler ".repeat(1_500)}`);
    await expect.poll(() => control.payloads("idle").length).toBeGreaterThan(0);
    const kinds = async () => (await store.read(client.sessionId))?.entries.map(({ kind }) => kind) ?? [];
    return { control, client, kinds };
  }

  test("is compacted while the session is idle, if the supervisor allows it", async () => {
    const { control, client, kinds } = await idle({ decision: "allow" });
    await expect.poll(kinds).toContain("compaction");
    expect(control.payloads("idle")[0]).toMatchObject({
      idle_reason: "no turn is under way",
      suggested_action: "compact the conversation",
    });
    expect(await client.prompt(client.sessionId, "hello again")).toMatchObject({ stopReason: "end_turn" });
  });

  test("is not compacted after its session was closed", async () => {
    const { promise, resolve: allow } = Promise.withResolvers<{ decision: "allow" }>();
    const { client, kinds } = await idle(promise);
    await client.request("session/delete", { sessionId: client.sessionId });
    allow({ decision: "allow" });
    for (let step = 0; step < 5; step += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(await kinds()).toEqual([]);
  });

  test("is not compacted otherwise", async () => {
    const { kinds } = await idle({ decision: "defer" });
    expect(await kinds()).not.toContain("compaction");
  });
});
