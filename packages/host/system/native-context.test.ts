import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  call,
  hold,
  refuse,
  reply,
  type Script,
  ScriptedModel,
  say,
  scene,
  scenes,
} from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { type NativeTest, openNative } from "./fixtures/native.ts";

async function openScripted(script: Script, options: NativeTest = {}) {
  const model = await ScriptedModel.listen({ script });
  onTestFinished(() => model[Symbol.asyncDispose]());
  const { url, key } = model.endpoint;
  const agent = await openNative({
    ...options,
    environment: { ...options.environment, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
  });
  return { ...agent, model };
}

const HASH = /\n\[constitution: [0-9a-f]{64}\]$/;

describe("the constitution of the native agent", () => {
  test("is in the system prompt of every request, and in no message", async () => {
    const { client, id, model } = await openScripted(
      scenes(scene("LOOK", reply(call("list_files", { path: "." })), reply(say("Done.")))),
    );
    await client.prompt(id, "LOOK around");
    await client.prompt(id, "and again");
    expect(model.requests.length).toBeGreaterThanOrEqual(3);
    for (const { conversation } of model.requests) {
      expect(conversation.system).toContain("# Constitution");
      expect(conversation.system).toMatch(HASH);
      expect(JSON.stringify({ ...conversation, system: "" })).not.toContain("# Constitution");
    }
  });

  test("is there after a first prompt that failed", async () => {
    const failing = refuse(401, "no such key");
    const { client, id, model } = await openScripted(() => failing);
    await expect(client.prompt(id, "hello")).rejects.toThrow();
    model.play(() => reply(say("Good morning.")));
    await client.prompt(id, "hello again");
    expect(model.requests.at(-1)?.conversation.system).toMatch(HASH);
  });
});

describe("instructions to the native agent", () => {
  const FILES = {
    "AGENTS.md": "Use tabs.",
    "packages/AGENTS.md": "Say please.",
    "packages/a/AGENTS.md": "Test first.",
    "packages/a/one.ts": "1",
  };
  const work = () =>
    scenes(scene("GO", reply(call("read_file", { path: "packages/a/one.ts" })), reply(say("Done."))));

  async function prompted(rules?: string, isUser = false) {
    const agent = await openScripted(work(), { ...(rules !== undefined && { rules }), isUser });
    const own = join(dirname(agent.home), ".config", "reins", "AGENTS.md");
    for (const [path, text] of Object.entries({ ...FILES, [own]: "Answer in Latin." })) {
      await mkdir(dirname(resolve(agent.workspace, path)), { recursive: true });
      await writeFile(resolve(agent.workspace, path), text);
    }
    await agent.client.prompt(agent.id, "GO through the packages");
    const [first, second] = agent.model.requests.map(({ conversation }) => JSON.stringify(conversation));
    const read = (await agent.entries("policy_verdict"))
      .filter(({ target }) => target === "read_file")
      .map(({ payload }) => JSON.stringify(payload));
    return { own, read, first, second };
  }

  test("are those of the person, of the workspace and of the folders that it works in, each read after a verdict", async () => {
    const { own, read, first, second } = await prompted();
    for (const words of ["Answer in Latin.", "Use tabs."]) expect(first).toContain(words);
    expect(first).not.toContain("Test first.");
    for (const words of ["> Test first.", "> Say please."]) expect(second).toContain(words);
    for (const path of [own, "AGENTS.md", "packages/AGENTS.md", "packages/a/AGENTS.md"])
      expect(read.filter((payload) => payload.includes(`"${path}"`)).length).toBeGreaterThan(0);
  });

  test("are not read where a rule blocks it or would ask, nor those of who runs Reins for other users", async () => {
    const { first, second } = await prompted(`
tool_rules:
  - { name: no, condition: { reads: { any: { match: packages/a/AGENTS.md } } }, verdict: blocked }
  - { name: ask, condition: { reads: { any: { match: packages/AGENTS.md } } }, verdict: ask }
  - { name: all, condition: {}, verdict: allowed }
`);
    expect(first).toContain("Use tabs.");
    expect(second).not.toMatch(/Test first|Say please/);
    const { first: others } = await prompted(undefined, true);
    expect(others).toContain("Use tabs.");
    expect(others).not.toContain("Latin");
  });
});

describe("a question of the native agent", () => {
  const asks = call("ask_person", { question: "Tabs or spaces?", choices: ["tabs", "spaces"] });
  const script = () => scenes(scene("GO", reply(asks), reply(say("Done."))));
  const canAsk = { elicitation: { form: {} } };

  test("reaches a client that shows forms after a verdict, and its answer the model and the record", async () => {
    const asked: unknown[] = [];
    const { client, id, model, entries } = await openScripted(script(), {
      capabilities: canAsk,
      host: (method, params) => {
        asked.push([method, params]);
        return { action: "accept", content: { answer: "spaces" } };
      },
    });
    await client.prompt(id, "GO on");
    expect(asked).toMatchObject([
      ["elicitation/create", { sessionId: id, mode: "form", message: "Tabs or spaces?" }],
    ]);
    expect(JSON.stringify(model.requests.at(-1)?.conversation)).toContain("The person answers: spaces");
    const verdicts = (await entries("policy_verdict")).map(({ target }) => target);
    expect(verdicts.filter((target) => target === "ask_person" || target === "elicitation/create")).toEqual([
      "ask_person",
      "elicitation/create",
    ]);
    const shown = client.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call_update");
    expect(JSON.stringify(shown.at(-1))).toContain("The person answers: spaces");
  });

  test("is withdrawn when the turn is cancelled", async () => {
    const put = Promise.withResolvers<void>();
    const { client, id } = await openScripted(script(), {
      capabilities: canAsk,
      host: () => {
        put.resolve();
        return new Promise(() => undefined);
      },
    });
    const turn = client.prompt(id, "GO on");
    await put.promise;
    await client.connection.notification("session/cancel", { sessionId: id });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
  });

  test("is refused by a rule, and fails at once where no client shows forms", async () => {
    const rules = `
tool_rules:
  - { name: no, condition: { tool_name_matches: [elicitation/create] }, verdict: blocked, reason: do not disturb }
  - { name: all, condition: {}, verdict: allowed }
`;
    const asked: unknown[] = [];
    const host = (method: string) => void asked.push(method);
    const refused = await openScripted(script(), { rules, capabilities: canAsk, host });
    await refused.client.prompt(refused.id, "GO on");
    expect(JSON.stringify(refused.model.requests.at(-1)?.conversation)).toContain("do not disturb");
    const plain = await openScripted(script());
    await plain.client.prompt(plain.id, "GO on");
    expect(JSON.stringify(plain.model.requests.at(-1)?.conversation)).toContain(
      "no program of the person can show",
    );
    expect(asked).toEqual([]);
  });
});

describe("a prompt that steers the native agent", () => {
  const steering = { _meta: { reins: { steer: true } } };
  const promptOf = (sessionId: string, text: string) => ({ sessionId, prompt: [{ type: "text", text }] });

  /** A turn whose model is held in its answer until it is released. */
  async function heldTurn(rules?: string, person?: NativeTest["person"]) {
    const over = Promise.withResolvers<void>();
    const script = scenes(
      scene("GREET", reply(say("Good "), hold(over.promise), say("morning.")), reply(say("Bye."))),
    );
    const agent = await openScripted(script, {
      ...(rules !== undefined && { rules }),
      ...(person && { person }),
    });
    const turn = agent.client.prompt(agent.id, "GREET me");
    await expect.poll(() => agent.client.said.join("")).toBe("Good ");
    const steer = (text: string, signal?: AbortSignal) =>
      agent.client.request("session/prompt", { ...promptOf(agent.id, text), ...steering }, signal);
    const prompts = async () =>
      (await agent.entries("policy_verdict")).filter(({ payload }) =>
        JSON.stringify(payload).includes('"pre_prompt"'),
      );
    return { ...agent, turn, steer, over, prompts };
  }

  test("reaches the model in the turn under way, after a verdict of its own", async () => {
    const { client, model, turn, steer, over, prompts, entries } = await heldTurn();
    const steered = steer("and say goodbye");
    await expect.poll(async () => (await prompts()).length).toBe(2);
    expect(model.requests).toHaveLength(1);
    over.resolve();
    expect([await turn, await steered]).toMatchObject([
      { stopReason: "end_turn" },
      { stopReason: "end_turn" },
    ]);
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests[1]?.conversation)).toContain("and say goodbye");
    // The request of the model that has it was decided, too.
    expect(await prompts()).toHaveLength(3);
    expect(await entries("turn")).toHaveLength(1);
    const shown = client.updates.filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
    expect(shown).toMatchObject([
      { content: { text: "and say goodbye" }, _meta: { reins: { steer: true } } },
    ]);
  });

  test("is refused by itself where a rule blocks it, and the turn goes on without it", async () => {
    const { model, turn, steer, over } = await heldTurn(`
tool_rules:
  - { name: no, condition: { event: pre_prompt, origin: client }, verdict: blocked, reason: not now }
  - { name: all, condition: {}, verdict: allowed }
`);
    expect(await steer("and say goodbye")).toMatchObject({ stopReason: "refusal" });
    over.resolve();
    expect(await turn).toMatchObject({ stopReason: "end_turn" });
    expect(model.requests).toHaveLength(1);
  });

  test("is withdrawn with its request, and then neither read nor shown", async () => {
    const { client, model, turn, steer, over, prompts } = await heldTurn();
    const withdrawing = new AbortController();
    const steered = steer("and say goodbye", withdrawing.signal);
    await expect.poll(async () => (await prompts()).length).toBe(2);
    withdrawing.abort();
    expect(await steered).toMatchObject({ stopReason: "cancelled" });
    over.resolve();
    expect(await turn).toMatchObject({ stopReason: "end_turn" });
    expect(model.requests).toHaveLength(1);
    expect(client.updates.map(({ sessionUpdate }) => sessionUpdate)).not.toContain("user_message_chunk");
  });

  test("has a turn of its own where that under way ends before a person has decided about it", async () => {
    const asked: unknown[] = [];
    const { client, model, turn, steer, over, entries } = await heldTurn(
      `
tool_rules:
  - { name: asked, condition: { event: pre_prompt, origin: client }, verdict: ask, reason: who is it }
  - { name: all, condition: {}, verdict: allowed }
`,
      (params) => void asked.push(params),
    );
    const steered = steer("and say goodbye");
    await expect.poll(() => asked.length).toBe(1);
    over.resolve();
    expect(await turn).toMatchObject({ stopReason: "end_turn" });
    expect(await steered).toMatchObject({ stopReason: "end_turn" });
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests[1]?.conversation)).toContain("and say goodbye");
    await expect.poll(async () => (await entries("turn")).length).toBe(2);
    const shown = client.updates.filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
    expect(shown).toEqual([]);
  });

  test("has a turn of its own where none is under way", async () => {
    const { client, id, model, entries } = await openScripted(() => reply(say("Hello.")));
    const answer = await client.request("session/prompt", { ...promptOf(id, "hello"), ...steering });
    expect([answer, model.requests.length]).toMatchObject([{ stopReason: "end_turn" }, 1]);
    await expect.poll(async () => (await entries("turn")).length).toBe(1);
  });
});

describe("mail of the native agent", () => {
  test("waits for the next turn when the model fails, and is read when a turn has it", async () => {
    const { client, id, model, messaging } = await openScripted(() => refuse(400, "out of order"));
    const { mailbox } = messaging;
    await mailbox.send({ from: "ada", to: "native", subject: "", body: "the build is red" });
    await expect(client.prompt(id, "hello")).rejects.toThrow();
    expect(await mailbox.unreadFor("native")).toHaveLength(1);
    model.play(() => reply(say("I see.")));
    await client.prompt(id, "hello again");
    expect(JSON.stringify(model.requests.at(-1)?.conversation)).toContain("the build is red");
    expect(await mailbox.unreadFor("native")).toEqual([]);
  });
});

describe("limits of the native agent", () => {
  const limited = (limit: string) => `
limits: [{ name: budget, per: user, within: 1d, ${limit} }]
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
`;

  test("in tokens count every request to a model", async () => {
    const { client, id } = await openScripted(() => reply(say("Hello.")), {
      rules: limited("tokens: 40"),
    });
    const turns: unknown[] = [];
    for (let turn = 0; turn < 12; turn += 1)
      turns.push(Object(await client.prompt(id, `prompt ${turn}`)).stopReason);
    expect(turns[0]).toBe("end_turn");
    expect(turns.at(-1)).toBe("refusal");
  });

  test("in money count by the price that the operator has set", async () => {
    const prices = { "claude-sonnet-5-5": { input: 1_000_000, output: 1_000_000 } };
    const script = () => reply(say("Hello."));
    const { client, id } = await openScripted(script, { rules: limited("cost: 40"), native: { prices } });
    const cheap = await openScripted(script, { rules: limited("cost: 40") });
    const ends = async (agent: Pick<typeof cheap, "client" | "id">) => {
      const stops: unknown[] = [];
      for (let turn = 0; turn < 8; turn += 1)
        stops.push(Object(await agent.client.prompt(agent.id, `prompt ${turn}`)).stopReason);
      return stops.at(-1);
    };
    expect(await ends({ client, id })).toBe("refusal");
    expect(await ends(cheap)).toBe("end_turn");
    const told = JSON.stringify(client.got.map(({ message }) => message));
    expect(told).toContain('"currency":"USD"');
  });

  test("in money refuse a model without a price, by name and with what to do, unless one is stated for such", async () => {
    const environment = { REINS_MODEL: "anthropic:claude-unheard-of" };
    const rules = limited("cost: 40");
    const { client, id, model } = await openScripted(() => reply(say("Hello.")), { rules, environment });
    expect(await client.prompt(id, "hello")).toMatchObject({ stopReason: "refusal" });
    expect(client.said.join("")).toMatch(/"budget".*claude-unheard-of.*gateway\.unknown_price/);
    expect(model.requests).toEqual([]);
    const native = { unknownPrice: { input: 1_000_000, output: 1_000_000 } };
    const stated = await openScripted(() => reply(say("Hello.")), { rules, environment, native });
    const stops: unknown[] = [];
    for (let turn = 0; turn < 4; turn += 1)
      stops.push(Object(await stated.client.prompt(stated.id, `prompt ${turn}`)).stopReason);
    expect([stops[0], stops.at(-1)]).toEqual(["end_turn", "refusal"]);
  });

  test("count by the table of list prices where the operator has set none", async () => {
    const environment = { REINS_MODEL: "anthropic:claude-haiku-4-5-20251001" };
    const { client, id } = await openScripted(() => reply(say("Hello.")), { environment });
    await client.prompt(id, "hello");
    const [usage] = client.updates.filter(({ sessionUpdate }) => sessionUpdate === "usage_update");
    expect(usage?.cost).toEqual({ amount: (10 * 1 + 5 * 5) / 1_000_000, currency: "USD" });
  });
});
