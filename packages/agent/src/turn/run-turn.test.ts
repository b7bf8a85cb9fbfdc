import { describe, expect, test } from "vitest";
import { ScriptedControl } from "../../test/scripted-control.ts";
import { calling, ScriptedModel, type ScriptedReply } from "../../test/scripted-model.ts";
import { TestClient } from "../../test/test-client.ts";
import { hastyClock } from "../../test/tool-context.ts";
import { testWorkspace } from "../../test/workspace.ts";
import type { NativeAgentOptions } from "../agent-dependencies.ts";
import { VolatileSessionStore } from "../history/session-store.ts";
import { ModelError } from "../models/model.ts";

async function run({
  replies = ["Done."],
  control = new ScriptedControl(),
  files = {},
  ...options
}: NativeAgentOptions & {
  readonly replies?: readonly ScriptedReply[];
  readonly control?: ScriptedControl;
  readonly files?: Readonly<Record<string, string>>;
} = {}) {
  const model = new ScriptedModel(replies);
  const workspace = await testWorkspace(files);
  const store = new VolatileSessionStore();
  const client = await TestClient.open(workspace.cwd, { models: model.models, store, control, ...options });
  const prompt = (text: string) => client.prompt(client.sessionId, text);
  const requestText = (index: number) => JSON.stringify(model.asked[index]?.messages);
  return { model, client, control, store, prompt, requestText, ...workspace };
}

describe("before the first request, the supervisor", () => {
  test("is asked for intent, context, memory, plan and hints", async () => {
    const { prompt, control } = await run({ files: { "README.md": "# Tea" } });
    await prompt("fix the bug in src/a.ts");
    expect(control.asked.map(({ type }) => type)).toEqual([
      "intent_detection",
      "context_perception",
      "memory_recall",
      "planning",
      "reasoning",
      "pre_prompt",
    ]);
    expect(control.payloads("context_perception")[0]).toMatchObject({
      intent: "reason",
      target: { location: { path: "src/a.ts", location_type: "file" } },
      domain: "coding",
    });
    expect(control.payloads("pre_prompt")[0]).toMatchObject({
      prompt: "fix the bug in src/a.ts",
      model: "scripted",
      request: 1,
      purpose: "turn",
      message_count: 1,
    });
  });

  test("is asked for the intent alone for a greeting", async () => {
    const { prompt, control } = await run();
    await prompt("hello");
    expect(control.asked.map(({ type }) => type)).toEqual(["intent_detection", "pre_prompt"]);
  });

  test("adds context beside the prompt that clients do not see as the user's words", async () => {
    const { prompt, model, client, store, requestText } = await run({
      files: { "AGENTS.md": "Use tabs.", "package.json": '{"name":"tea"}' },
    });
    await prompt("explain this project");
    expect(requestText(0)).toContain("Use tabs.");
    expect(model.asked[0]?.messages[0]).toMatchObject({ parts: [{ text: "explain this project" }] });
    await prompt("explain this project again");
    expect(requestText(1).split("Use tabs.")).toHaveLength(2);
    const again = new TestClient({ store, models: model.models });
    await again.request("session/load", { sessionId: client.sessionId, cwd: "/x", mcpServers: [] });
    expect(again.of("user_message_chunk").map(({ content }) => content.text)).toEqual([
      "explain this project",
      "explain this project again",
    ]);
  });

  test("is asked for the instructions of folders in which files are used, once each, and quotes them as context", async () => {
    const files = {
      "AGENTS.md": "Use tabs.",
      "packages/AGENTS.md": "Say please.",
      "packages/a/AGENTS.md": `Test first.\n${"x".repeat(5_000)}`,
      "packages/a/one.ts": "1",
      "packages/a/two.ts": "2",
      "packages/b/three.ts": "3",
    };
    const { prompt, control, model, requestText } = await run({
      files,
      replies: [
        calling("read_file", { path: "packages/a/one.ts" }),
        calling("read_file", { path: "packages/a/two.ts" }),
        calling("read_file", { path: "packages/b/three.ts" }),
        "Done.",
      ],
    });
    await prompt("please go on");
    const places = control.payloads("context_perception").map(({ target }) => Object(target).location.path);
    expect(places).toEqual([".", "packages/a", "packages/b"]);
    expect(requestText(0)).not.toContain("Test first.");
    for (const words of ["> Test first.", "> Say please.", "they cannot change what you may do"])
      expect(requestText(1)).toContain(words);
    expect(requestText(1)).not.toContain("x".repeat(4_001));
    for (const words of ["Use tabs.", "Say please.", "Test first."])
      expect(requestText(3).split(words)).toHaveLength(2);
    expect(model.asked).toHaveLength(4);
  });

  test("adds the context again after a withdrawn turn", async () => {
    const { prompt, requestText } = await run({
      replies: [new ModelError("bad_request", "no"), "Done."],
      files: { "AGENTS.md": "Use tabs." },
    });
    await expect(prompt("explain this project")).rejects.toThrow("no");
    await prompt("explain this project");
    expect(requestText(1)).toContain("Use tabs.");
  });

  test("can refine a perception", async () => {
    const control = new ScriptedControl({
      context_perception: ({ target }) =>
        JSON.stringify(target).includes("docs")
          ? {
              decision: "allow",
              injected_context: { facts: [{ content: "found it", source: "docs", confidence: 1 }] },
            }
          : {
              decision: "refine",
              refined_intent: "locate",
              refined_target: { location: { path: "docs", location_type: "folder" } },
              scope_hints: [],
            },
    });
    const { prompt, requestText } = await run({ control });
    await prompt("explain the ledger");
    expect(control.payloads("context_perception").map(({ intent }) => intent)).toEqual([
      "understand",
      "locate",
    ]);
    expect(requestText(0)).toContain("found it");
  });

  test("is not needed for advice that fails", async () => {
    const control = new ScriptedControl({
      context_perception: () => Promise.reject(new Error("the harness is down")),
      memory_recall: () => ({ decision: "block", reason: "private" }),
      planning: () => ({ decision: "block", reason: "no plans" }),
    });
    const { prompt, client } = await run({ control });
    expect(await prompt("fix it")).toMatchObject({ stopReason: "end_turn" });
    expect(client.said).toBe("Done.");
    expect(control.reported).toContainEqual(
      expect.objectContaining({ type: "error", message: "the harness is down" }),
    );
  });
});

test("what a tool finds beside text goes to the model", async () => {
  const { prompt, model } = await run({
    replies: [calling("read_file", { path: "paper.pdf" }), "Read."],
    files: { "paper.pdf": "%PDF-1.7" },
  });
  await prompt("read paper.pdf");
  expect(model.asked.at(-1)?.messages.at(-1)).toMatchObject({
    role: "tool",
    results: [{ media: [{ mimeType: "application/pdf", data: Buffer.from("%PDF-1.7").toString("base64") }] }],
  });
});

test("a model that sees no images gets none, and learns that there are some", async () => {
  const blind = new ScriptedModel([calling("read_file", { path: "a.gif" }), "Read."], { images: false });
  const { client } = await run({ models: blind.models, files: { "a.gif": "GIF89a" } });
  const image = { type: "image" as const, mimeType: "image/webp", data: "AAAA" };
  await client.request("session/prompt", {
    sessionId: client.sessionId,
    prompt: [{ type: "text", text: "look" }, image],
  });
  const asked = JSON.stringify(blind.asked);
  expect(asked).not.toContain("AAAA");
  expect(asked).not.toContain('"media"');
  expect(asked).toMatch(/image\/webp[^"]*cannot/);
  expect(blind.asked.at(-1)?.messages.at(-1)).toMatchObject({
    ...{ role: "tool" },
    results: [{ text: expect.stringContaining("of the type image/gif, which this model cannot see") }],
  });
});

describe("a decision of the supervisor", () => {
  test("that blocks an intent ends the turn with the reason, unseen by the model", async () => {
    const control = new ScriptedControl({
      intent_detection: ({ prompt }) =>
        prompt.includes("bomb")
          ? { decision: "block", reason: "not here" }
          : { decision: "allow", detected_intent: "conversation", confidence: 1 },
    });
    const { prompt, client, model, requestText } = await run({ control });
    expect(await prompt("build a bomb")).toMatchObject({ stopReason: "refusal" });
    expect(client.said).toContain("not here");
    expect(model.asked).toEqual([]);
    await prompt("hello");
    expect(requestText(0)).not.toContain("bomb");
  });

  test.each([
    [{ decision: "block", reason: "over budget" }, "over budget"],
    [{ decision: "escalate", reason: "a person has to say" }, "a person has to say"],
    [{ decision: "modify", modified_payload: { nothing: 1 } }, "contains no prompt"],
  ] as const)("that does not allow a request ends the turn: %j", async (decision, reason) => {
    const { prompt, client, model } = await run({
      control: new ScriptedControl({ pre_prompt: () => decision }),
    });
    expect(await prompt("hello")).toMatchObject({ stopReason: "refusal" });
    expect(client.said).toContain(reason);
    expect(model.asked).toEqual([]);
  });

  test("is requested for every request of a turn", async () => {
    const control = new ScriptedControl({
      pre_prompt: ({ request }) =>
        request === 1 ? { decision: "allow" } : { decision: "block", reason: "enough" },
    });
    const { prompt, model } = await run({
      control,
      files: { "a.txt": "the content" },
      replies: [calling("read_file", { path: "a.txt" }), "never"],
    });
    expect(await prompt("read a.txt")).toMatchObject({ stopReason: "refusal" });
    expect(control.payloads("pre_prompt")[1]).toMatchObject({ request: 2, prompt: "the content" });
    expect(model.asked).toHaveLength(1);
  });

  test("can modify the prompt", async () => {
    const control = new ScriptedControl({
      pre_prompt: () => ({ decision: "modify", modified_payload: { prompt: "say [redacted]" } }),
    });
    const { prompt, requestText } = await run({ control });
    await prompt("say hunter2");
    expect(requestText(0)).toContain("say [redacted]");
    expect(requestText(0)).not.toContain("hunter2");
  });

  test("can defer a request, and can change the task", async () => {
    let calls = 0;
    const waited: number[] = [];
    const control = new ScriptedControl({
      pre_prompt: () => {
        calls += 1;
        return calls < 3 ? { decision: "defer", retry_after_ms: calls * 100 } : { decision: "allow" };
      },
      planning: () => ({ decision: "modify", modified_task: "do half of it", hints: ["the easy half"] }),
    });
    const { prompt, requestText } = await run({
      control,
      clock: hastyClock(waited),
    });
    await prompt("fix all of it");
    expect(waited).toEqual([100, 200]);
    expect(requestText(0)).toContain("do half of it");
    expect(requestText(0)).toContain("the easy half");
    expect(requestText(0)).not.toContain("fix all of it");
  });

  test("that blocks reasoning turns thinking off", async () => {
    const control = new ScriptedControl({ reasoning: () => ({ decision: "block", reason: "be quick" }) });
    const { prompt, client, model } = await run({ control });
    const set = { sessionId: client.sessionId, configId: "thought_level", value: "high" };
    await client.request("session/set_config_option", set);
    await prompt("fix it");
    await prompt("hello");
    expect(model.asked.map(({ thoughtLevel }) => thoughtLevel)).toEqual(["off", "high"]);
  });
});

describe("a plan", () => {
  test("is shown to clients and reported as the tasks of the run", async () => {
    const entries = [
      { content: "look", status: "completed", priority: "high" },
      { content: "act", status: "in_progress", priority: "medium" },
    ];
    const { prompt, client, control } = await run({
      replies: [calling("update_plan", { entries }), "Done."],
    });
    await prompt("fix it");
    expect(client.of("plan")).toEqual([{ sessionUpdate: "plan", entries }]);
    expect(control.reported).toContainEqual(
      expect.objectContaining({
        type: "task_list",
        tasks: [
          { id: "1", title: "look", status: "completed" },
          { id: "2", title: "act", status: "in_progress" },
        ],
      }),
    );
    expect(client.asked).toEqual([]);
    expect(client.of("tool_call")).toEqual([]);
  });

  test("starts with the list of the prompt", async () => {
    const { prompt, client } = await run();
    await prompt("do this:\n- write the parser\n- write its tests");
    expect(client.of("plan")[0].entries.map(({ content }: { content: string }) => content)).toEqual([
      "write the parser",
      "write its tests",
    ]);
  });
});

describe("a run", () => {
  test("is reported from its start to its end", async () => {
    const { prompt, control } = await run();
    await prompt("fix it");
    const statuses = control.reported
      .filter(({ type }) => type === "run_lifecycle")
      .map(({ status }) => status);
    expect(statuses).toEqual(["created", "planning", "executing", "completed"]);
    expect(
      new Set(control.reported.filter(({ type }) => type === "run_lifecycle").map(({ run_id }) => run_id))
        .size,
    ).toBe(1);
    expect(control.reported).toContainEqual(
      expect.objectContaining({ type: "success", action_type: "turn", action_summary: "Done." }),
    );
  });

  test("reports the result of its checks", async () => {
    const commands = {
      run: async () => ({ output: "1 failed", exitCode: 1, signal: null, timedOut: false }),
    };
    const { prompt, control } = await run({
      replies: [calling("run_command", { command: "npm test" }), "Hm."],
      commands,
    });
    await prompt("run the tests");
    expect(control.reported).toContainEqual(
      expect.objectContaining({
        type: "verification",
        status: "failed",
        checks: [expect.objectContaining({ subject: "tests", command: "npm test", message: "exit code 1" })],
      }),
    );
    expect(control.reported.map(({ status }) => status)).toContain("verifying");
  });
});

describe("a long turn", () => {
  const endless = [calling("read_file", { path: "a.txt" })];
  const limits = { requests: 9, confirmEvery: 3 };
  const files = { "a.txt": "a" };

  test("continues up to its limit when that is approved", async () => {
    const control = new ScriptedControl({ confirmation: () => ({ decision: "approve" }) });
    const { prompt, model } = await run({ control, replies: endless, limits, files });
    expect(await prompt("read")).toMatchObject({ stopReason: "max_turn_requests" });
    expect(model.asked).toHaveLength(9);
    expect(control.payloads("confirmation")).toHaveLength(2);
    expect(control.payloads("confirmation")[0]).toMatchObject({ confirmation_type: "cost_confirm" });
  });

  test("ends with the reason when that is rejected", async () => {
    const control = new ScriptedControl({ confirmation: () => ({ decision: "reject", reason: "too dear" }) });
    const { prompt, model, client } = await run({ control, replies: endless, limits, files });
    expect(await prompt("read")).toMatchObject({ stopReason: "max_turn_requests" });
    expect(model.asked).toHaveLength(3);
    expect(client.thought).toContain("too dear");
  });

  test("is continued or ended by a person's answer", async () => {
    const control = new ScriptedControl({ confirmation: () => ({ decision: "escalate" }) });
    const { prompt, model, client } = await run({ control, replies: endless, limits, files });
    let asked = 0;
    client.answer = ({ name }) => {
      if (name !== "continue_turn") return "allow_once";
      asked += 1;
      return asked === 1 ? "allow_once" : "reject_once";
    };
    expect(await prompt("read")).toMatchObject({ stopReason: "max_turn_requests" });
    expect(model.asked).toHaveLength(6);
    const [question] = client.asked.filter(({ name }) => name === "continue_turn");
    expect(question).toMatchObject({ title: expect.stringContaining("made 3 requests"), kind: "other" });
  });
});

describe("an answer that reached its length limit", () => {
  const cutShort = (text: string) =>
    [
      { type: "text", text },
      { type: "end", stop: "max_tokens" },
    ] as const;

  test("is gone on with, up to three times", async () => {
    const { prompt, client, model, requestText } = await run({
      replies: [cutShort("one "), cutShort("two "), "three"],
    });
    expect(await prompt("count")).toMatchObject({ stopReason: "end_turn" });
    expect(client.said).toBe("one two three");
    expect(requestText(1)).toContain("reached its length limit");
    model.play(cutShort("on and on "));
    const before = model.asked.length;
    expect(await prompt("count again")).toMatchObject({ stopReason: "max_tokens" });
    expect(model.asked.length - before).toBe(4);
  });

  test("makes none of its calls, and says so to the model", async () => {
    const half = [
      calling("delete_file", { path: "a.txt" })[0]!,
      { type: "end", stop: "max_tokens" },
    ] as const;
    const { prompt, client, requestText } = await run({ files: { "a.txt": "a" }, replies: [half, "Done."] });
    await prompt("delete it");
    expect(client.of("tool_call")).toEqual([]);
    expect(requestText(1)).toContain("a call that it was making was not made");
  });
});

describe("a model that cannot be used now", () => {
  const away = new ModelError("overloaded", "first answered 529");
  const limits = { retries: 0 };

  test("is replaced by the next for the rest of the turn, which is decided again", async () => {
    const [first, second] = [
      new ScriptedModel([away], { id: "first" }),
      new ScriptedModel(["Here."], { id: "second" }),
    ];
    const all = [first, second];
    const models = {
      defaultId: "first",
      choices: ["first", "second"],
      fallbacks: ["first", "second"],
      open: (id: string) => all.find(({ info }) => info.id === id) ?? first,
    };
    const { prompt, client, control } = await run({ models, limits });
    expect(await prompt("hello")).toMatchObject({ stopReason: "end_turn" });
    expect(client.said).toBe("Here.");
    expect(client.thought).toContain("second is asked instead");
    expect(control.payloads("pre_prompt").map(({ model }) => model)).toEqual(["first", "second"]);
    expect(JSON.stringify(second.asked[0]?.messages)).toContain("hello");
    await prompt("and again");
    expect(first.asked).toHaveLength(2);
  });

  test("leaves a conversation that every provider accepts, also with what the model made up", async () => {
    const made = [
      { type: "call", id: "functions.read_file:0", name: "read_file", arguments: '{"path":"a.txt"}' },
      { type: "call", id: "", name: "functions.no such", arguments: "{}" },
      { type: "end", stop: "tool_use" },
    ] as const;
    const [first, second] = [
      new ScriptedModel([made, "Read.", away], { id: "first" }),
      new ScriptedModel(["Here."], { id: "second" }),
    ];
    const models = {
      ...{ defaultId: "first", choices: ["first", "second"], fallbacks: ["first", "second"] },
      open: (id: string) => (id === "second" ? second : first),
    };
    const { prompt } = await run({ models, limits, files: { "a.txt": "a" } });
    await prompt("read");
    await prompt("and again");
    const seen = ({ asked }: ScriptedModel) => {
      const messages = asked.at(-1)?.messages ?? [];
      const parts = messages.flatMap((message) => (message.role === "assistant" ? message.parts : []));
      const calls = parts.flatMap((part) => (part.type === "call" ? [part] : []));
      const answered = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
      expect(answered.map(({ call }) => call)).toEqual(calls.map(({ id }) => id));
      for (const { name } of [...calls, ...answered]) expect(name).toMatch(/^[\w-]{1,64}$/);
      return calls.map(({ id }) => id);
    };
    // A model is shown its own ids as it gave them: some are trained on their form.
    expect(seen(first)[0]).toBe("functions.read_file:0");
    for (const id of seen(second)) expect(id).toMatch(/^[a-z0-9]{9}$/);
  });

  test("is not replaced for a fault of the request, and fails where no other is left", async () => {
    const models = (error: ModelError) => {
      const one = new ScriptedModel([error], { id: "first" });
      return { defaultId: "first", choices: ["first"], fallbacks: ["other"], open: () => one };
    };
    const wrong = await run({ models: models(new ModelError("bad_request", "what is this")), limits });
    await expect(wrong.prompt("hello")).rejects.toThrow("what is this");
    const alone = await run({ models: models(away), limits });
    await expect(alone.prompt("hello")).rejects.toThrow("529");
  });
});

describe("calls that a model makes at once", () => {
  const texts = { "a.txt": "a", "b.txt": "b", "c.txt": "c" };
  const reading = (path: string) => calling("read_file", { path }, path)[0]!;

  test("run at the same time where they only look, each with a permission of its own, and keep their order", async () => {
    const replies = [
      [reading("c.txt"), reading("a.txt"), reading("b.txt"), { type: "end", stop: "tool_use" }] as const,
      "Done.",
    ];
    const { prompt, client, model } = await run({ files: texts, replies });
    const all = Promise.withResolvers<void>();
    client.answer = async () => {
      if (client.asked.length === 3) all.resolve();
      await all.promise;
      return "allow_once";
    };
    await prompt("read all");
    const results = model.asked[1]?.messages.at(-1);
    expect(results).toMatchObject({
      results: [
        { call: "c.txt", text: "c" },
        { call: "a.txt", text: "a" },
        { call: "b.txt", text: "b" },
      ],
    });
  });

  test("wait for one that changes something, and it for them", async () => {
    const order: string[] = [];
    const written = calling("write_file", { path: "a.txt", content: "new" }, "w")[0]!;
    const replies = [
      [
        reading("a.txt"),
        written,
        { ...reading("a.txt"), id: "again" },
        { type: "end", stop: "tool_use" },
      ] as const,
      "Done.",
    ];
    const { prompt, client, model } = await run({ files: texts, replies });
    client.onUpdate = ({ sessionUpdate, name, status }) => {
      if (sessionUpdate === "tool_call") order.push(name);
      if (status === "completed") order.push("completed");
    };
    await prompt("read and write");
    expect(order).toEqual(["read_file", "completed", "write_file", "completed", "read_file", "completed"]);
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ results: [{ text: "a" }, {}, { text: "new" }] });
  });

  test("have ids of their own where the model gives one twice, also over several requests", async () => {
    const twice = [reading("a.txt"), reading("a.txt"), { type: "end", stop: "tool_use" }] as const;
    const { prompt, model } = await run({ files: texts, replies: [twice, twice, "Done."] });
    await prompt("read twice");
    const ids = model.asked[2]?.messages.flatMap((message) =>
      message.role === "assistant"
        ? message.parts.flatMap((part) => (part.type === "call" ? [part.id] : []))
        : [],
    );
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
    const answered = model.asked[2]?.messages.flatMap((message) =>
      message.role === "tool" ? message.results.map(({ call }) => call) : [],
    );
    expect(answered).toEqual(ids);
  });
});

describe("a turn that is cancelled", () => {
  test("makes none of its remaining calls while one awaits permission", async () => {
    const both = [
      calling("delete_file", { path: "a.txt" }, "c1")[0]!,
      ...calling("delete_file", { path: "b.txt" }, "c2"),
    ];
    const { prompt, client, store } = await run({ replies: [both], files: { "a.txt": "a", "b.txt": "b" } });
    client.answer = () => {
      client.notify("session/cancel", { sessionId: client.sessionId });
      return "allow_once";
    };
    expect(await prompt("delete both")).toMatchObject({ stopReason: "cancelled" });
    expect(client.of("tool_call")).toHaveLength(1);
    const results = (await store.read(client.sessionId))?.entries.find(({ kind }) => kind === "results");
    expect(results).toMatchObject({
      results: [
        { call: "c1", isError: true, text: "Not done: the turn was cancelled." },
        { call: "c2", isError: true, text: "Not done: the turn was cancelled." },
      ],
    });
  });
});

describe("a turn that is cancelled in the middle of a call", () => {
  test("reports the outcome of that call as unknown", async () => {
    const commands = {
      run: async (_: unknown, signal: AbortSignal) => {
        client.notify("session/cancel", { sessionId: client.sessionId });
        signal.throwIfAborted();
        throw new Error("never");
      },
    };
    const { prompt, client, store } = await run({
      replies: [calling("run_command", { command: "ls" })],
      commands,
    });
    expect(await prompt("go")).toMatchObject({ stopReason: "cancelled" });
    const results = (await store.read(client.sessionId))?.entries.find(({ kind }) => kind === "results");
    expect(results).toMatchObject({ results: [{ text: expect.stringContaining("unknown") }] });
  });

  test("ends before its closed session does, and leaves nothing behind", async () => {
    const { prompt, client } = await run({ replies: [calling("read_file", { path: "a.txt" })] });
    client.answer = () => new Promise(() => {});
    const turn = prompt("read it");
    await expect.poll(() => client.asked.length).toBe(1);
    await client.request("session/delete", { sessionId: client.sessionId });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    expect(await client.request("session/list")).toEqual({ sessions: [] });
  });
});

describe("the usage of a turn", () => {
  const spoken = { type: "text", text: "x".repeat(4_000) } as const;

  test("is estimated where the model does not report it", async () => {
    const { prompt, control, client } = await run({
      replies: [[spoken, ...calling("read_file", { path: "a.txt" })], "Done."],
      files: { "a.txt": "a" },
    });
    const { usage } = await prompt("go");
    expect(usage.outputTokens).toBeGreaterThan(1_000);
    expect(usage.inputTokens).toBeGreaterThan(100);
    expect(control.payloads("pre_prompt")[1].tokens_used).toBeGreaterThan(1_000);
    expect(client.of("usage_update").at(-1).used).toBeGreaterThan(1_000);
  });

  test("includes answers that were cut off, cut short or cancelled", async () => {
    const broken = await run({ replies: [[spoken], "Done."], limits: { backoffMs: 1 } });
    expect((await broken.prompt("go")).usage.outputTokens).toBeGreaterThanOrEqual(1_000);
    const endless = await run({ replies: [[spoken, spoken]], limits: { answerCharacters: 5_000 } });
    expect((await endless.prompt("go")).usage.outputTokens).toBeGreaterThanOrEqual(2_000);
    const cancelled = await run({ replies: [[spoken, spoken, { type: "end", stop: "end" }]] });
    cancelled.client.onUpdate = ({ sessionUpdate }) => {
      if (sessionUpdate === "agent_message_chunk")
        cancelled.client.notify("session/cancel", { sessionId: cancelled.client.sessionId });
    };
    const { stopReason, usage } = await cancelled.prompt("go");
    expect(stopReason).toBe("cancelled");
    expect(usage.outputTokens).toBeGreaterThanOrEqual(1_000);
  });

  test("is as reported by the model", async () => {
    const usage = { inputTokens: 5, outputTokens: 7 };
    const { prompt } = await run({
      replies: [
        [
          { type: "usage", usage },
          { type: "end", stop: "end" },
        ],
      ],
    });
    expect((await prompt("go")).usage).toMatchObject({ ...usage, totalTokens: 12 });
  });
});

describe("a model that stops for calls and makes none", () => {
  test("ends the turn", async () => {
    const { prompt, model, client } = await run({
      replies: [
        [
          { type: "text", text: "Hm." },
          { type: "end", stop: "tool_use" },
        ],
      ],
    });
    expect(await prompt("go")).toMatchObject({ stopReason: "end_turn" });
    expect(model.asked).toHaveLength(1);
    expect(client.said).toBe("Hm.");
  });
});

describe("a failure of a tool", () => {
  test("is returned to the model", async () => {
    const { prompt, client, requestText } = await run({
      replies: [calling("read_file", { path: "none.txt" }), "It is not there."],
    });
    expect(await prompt("read it")).toMatchObject({ stopReason: "end_turn" });
    expect(requestText(1)).toContain("there is no file none.txt");
    expect(client.of("tool_call_update").at(-1)).toMatchObject({ status: "failed" });
  });

  test("is returned to the model even when it is a bug of the agent", async () => {
    const faults: unknown[] = [];
    const commands = { run: () => Promise.reject(new TypeError("a bug")) };
    const { prompt, requestText } = await run({
      replies: [calling("run_command", { command: "ls" }), "Hm."],
      commands,
      onFault: (fault) => void faults.push(fault),
    });
    expect(await prompt("go")).toMatchObject({ stopReason: "end_turn" });
    expect(requestText(1)).toContain("It failed: a bug");
    expect(faults).toHaveLength(1);
  });

  test("does not fill the conversation", async () => {
    const commands = {
      run: async () => ({ output: "x".repeat(500_000), exitCode: 0, signal: null, timedOut: false }),
    };
    const { prompt, requestText, client } = await run({
      replies: [calling("run_command", { command: "ls" }), "Hm."],
      commands,
    });
    await prompt("go");
    expect(JSON.stringify(client.of("tool_call_update").at(-1)).length).toBeLessThan(200_000);
    expect(requestText(1).length).toBeLessThan(80_000);
    expect(requestText(1)).toContain("more characters]");
  });
});

describe("a prompt that is sent into a turn", () => {
  const steer = (client: TestClient & { sessionId: string }, text: string) =>
    client.request("_reins/steer", {
      sessionId: client.sessionId,
      prompt: [{ type: "text", text }],
    });

  test("reaches the model with the next request, after a decision that has it beside the results", async () => {
    const { client, control, prompt, model } = await run({
      files: { "a.txt": "alpha" },
      replies: [calling("read_file", { path: "a.txt" }), "Done."],
    });
    const steered: unknown[] = [];
    client.answer = () => {
      steered.push(steer(client, "in capitals"), steer(client, "and short"));
      return "allow_once";
    };
    expect(await prompt("read a.txt")).toMatchObject({ stopReason: "end_turn" });
    expect(await Promise.all(steered)).toEqual([{ taken: true }, { taken: true }]);
    expect(model.asked).toHaveLength(2);
    const texts = model.asked[1]?.messages.map((message) =>
      message.role === "user" ? message.parts.map((part) => part.type === "text" && part.text) : message.role,
    );
    expect(texts?.slice(-3)).toEqual(["tool", ["in capitals"], ["and short"]]);
    expect(control.payloads("pre_prompt")[1]).toMatchObject({ prompt: "alpha\nin capitals\nand short" });
  });

  test("during its last answer is answered in the same turn, and shown when the session is loaded", async () => {
    const { client, prompt, model, store } = await run({ replies: ["One.", "Two."] });
    let steered: Promise<unknown> | undefined;
    client.onUpdate = ({ sessionUpdate }) => {
      if (sessionUpdate === "agent_message_chunk") steered ??= steer(client, "and then?");
    };
    expect(await prompt("hello")).toMatchObject({ stopReason: "end_turn" });
    expect([await steered, client.said, model.asked.length]).toEqual([{ taken: true }, "One.Two.", 2]);
    const again = new TestClient({ store, models: model.models });
    await again.request("session/load", { sessionId: client.sessionId, cwd: "/x", mcpServers: [] });
    expect(again.of("user_message_chunk").map(({ content }) => content.text)).toEqual(["hello", "and then?"]);
  });

  test("is withdrawn with its request while the turn has not read it, and what is sent beside it stays", async () => {
    const { client, prompt, model, requestText, store } = await run({
      replies: [calling("run_command", { command: "true" }), "Done."],
    });
    const { sessionId } = client;
    const steered: Promise<unknown>[] = [];
    client.answer = async () => {
      const withdrawn = client.requestWithId("_reins/steer", {
        sessionId,
        prompt: [{ type: "text", text: "in capitals" }],
      });
      steered.push(withdrawn.answer, steer(client, "and short"));
      client.notify("$/cancel_request", { requestId: withdrawn.id });
      expect(await withdrawn.answer).toEqual({ taken: false });
      return "allow_once";
    };
    expect(await prompt("run it")).toMatchObject({ stopReason: "end_turn" });
    expect(await Promise.all(steered)).toEqual([{ taken: false }, { taken: true }]);
    expect(model.asked).toHaveLength(2);
    expect(requestText(1)).toContain("and short");
    expect(requestText(1)).not.toContain("in capitals");
    expect(JSON.stringify(await store.read(sessionId))).not.toContain("in capitals");
  });

  test("during the last answer that the turn may ask for is left to a turn of its own", async () => {
    const { client, prompt, model } = await run({ replies: ["One.", "Two."], limits: { requests: 1 } });
    let steered: Promise<unknown> | undefined;
    client.onUpdate = ({ sessionUpdate }) => {
      if (sessionUpdate === "agent_message_chunk") steered ??= steer(client, "and then?");
    };
    expect(await prompt("hello")).toMatchObject({ stopReason: "end_turn" });
    expect([await steered, model.asked.length]).toEqual([{ taken: false }, 1]);
  });

  test("is left where there is no turn, where it is cancelled, and where it fails", async () => {
    const { client, prompt, model } = await run({ replies: [new ModelError("bad_request", "no")] });
    expect(await steer(client, "hello?")).toEqual({ taken: false });
    const failing = prompt("hello");
    const steered = steer(client, "and?");
    await expect(failing).rejects.toThrow();
    expect(await steered).toEqual({ taken: false });
    model.play(calling("run_command", { command: "true" }), "Done.");
    let left: Promise<unknown> | undefined;
    client.answer = () => {
      left = steer(client, "wait");
      client.notify("session/cancel", { sessionId: client.sessionId });
      return "reject_once";
    };
    expect(await prompt("run it")).toMatchObject({ stopReason: "cancelled" });
    expect(await left).toEqual({ taken: false });
  });
});
