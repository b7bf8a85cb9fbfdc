import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { call, hold, reply, type Script, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { ofType, saidIn, serveHaak } from "./fixtures/haak.ts";

/** `/ws` with the native agent, which thinks with a model that says what the test wrote. */
async function serve(script: Script, more: Parameters<typeof serveHaak>[0] = {}) {
  const model = await ScriptedModel.listen({ script });
  onTestFinished(() => model.close());
  const environment = { ANTHROPIC_API_KEY: model.endpoint.key, ANTHROPIC_BASE_URL: model.endpoint.url };
  const served = await serveHaak({ environment, runner: { backend: "native" }, ...more });
  return { ...served, model };
}

const bash = {
  name: "bash",
  description: "Runs a command",
  input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};

describe("HAAK's integration tests", () => {
  test("happy path", async () => {
    const { connect, served } = await serve(scenes(scene("greet", reply(say("Hello ", "there.")))));
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    const turn = await client.ask("turn.run", { session_key, message: "greet me" });
    expect(ofType(turn, "text_delta").length).toBeGreaterThan(0);
    expect(saidIn(turn)).toBe("Hello there.");
    expect(turn.events.at(-1)).toMatchObject({
      type: "done",
      stop_reason: "end_turn",
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    });
    const numbers = turn.events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((left, right) => left - right));
    expect(turn.result).toEqual({ status: "complete" });
    const path = `/v1/haak/sessions/${result?.session_id}`;
    expect((await served.ask("GET", path)).body).toMatchObject({ session_key, state: "idle" });
    const { turns } = Object((await served.ask("GET", `${path}/turns`)).body);
    expect(turns).toMatchObject([{ seq: 0, prev_cid: null, stop_reason: "end_turn" }]);
  });

  test("constitutional bind", async () => {
    const script = scenes(scene("list", reply(say("I cannot run anything here."))));
    const { connect, model, ledger } = await serve(script);
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "stranger" });
    const session_key = String(result?.session_key);
    const turn = await client.ask("turn.run", { session_key, message: "list the files", tools: [bash] });
    expect(ofType(turn, "policy_gate")).toEqual([
      expect.objectContaining({ tool: "bash", verdict: "blocked", rule: "no_shell" }),
    ]);
    expect(ofType(turn, "tool_call")).toEqual([]);
    expect(saidIn(turn)).toBe("I cannot run anything here.");
    expect(model.requests.flatMap(({ conversation }) => conversation.tools)).toEqual([]);
    const gates = await ledger.read({ entity_id: session_key, quality: "policy_verdict", tag: "tool_offer" });
    expect(gates).toMatchObject([
      { entry: { payload: { verdict: "blocked", withheld: [{ tool: "bash" }] } } },
    ]);
  });

  test("mandate injection", async () => {
    const said: Script = ({ items, system }) => {
      const told = [system, ...items.map(({ text }) => text)].join("\n");
      return reply(say(told.includes("keeper of the reeds") ? "I keep the reeds." : "I am unknown."));
    };
    const { connect } = await serve(said);
    const client = await connect();
    const words = async (agent_id: string) => {
      const { result } = await client.ask("session.init", { agent_id });
      return saidIn(
        await client.ask("turn.run", { session_key: result?.session_key, message: "who are you?" }),
      );
    };
    expect(await words("reed")).toBe("I keep the reeds.");
    expect(await words("stranger")).toBe("I am unknown.");
  });

  test("ledger hash chain", async () => {
    const { connect, served, ledger } = await serve(scenes());
    const client = await connect();
    const session_key = "coder:test:chain";
    await client.ask("session.init", { agent_id: "coder", session_key, mode: "persistent" });
    await client.ask("turn.run", { session_key, message: "one" });
    await client.ask("turn.run", { session_key, message: "two" });
    const { turns } = Object((await served.ask("GET", `/v1/haak/sessions/${session_key}/turns`)).body);
    expect(turns.map(({ prev_cid }: { prev_cid: string }) => prev_cid)).toEqual([null, turns[0].id]);
    const placed = await ledger.get(turns[1].id);
    expect(placed?.entry.parents).toEqual([turns[0].id]);
  });

  test("tool execution", async () => {
    const script = scenes(
      scene(
        "constitution",
        reply(call("read_file", { path: "constitution.md" })),
        reply(say("It says: be kind.")),
      ),
    );
    const { connect, workspace, model } = await serve(script);
    await writeFile(join(workspace, "constitution.md"), "Be kind.\n");
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "stranger" });
    const session_key = String(result?.session_key);
    const turn = await client.ask("turn.run", { session_key, message: "what does the constitution say?" });
    const [used] = ofType(turn, "tool_call");
    expect(used).toMatchObject({ name: "read_file", input: { path: "constitution.md" } });
    expect(ofType(turn, "tool_result")).toEqual([
      expect.objectContaining({
        id: used?.id,
        content: expect.stringContaining("Be kind."),
        is_error: false,
      }),
    ]);
    expect(saidIn(turn)).toBe("It says: be kind.");
    const offered = new Set(model.requests[0]?.conversation.tools.map(({ name }) => name));
    expect(offered).toEqual(
      new Set(["read_file", "list_files", "search", "send_message", "read_mailbox", "read_board"]),
    );
    const blocked = ofType(turn, "policy_gate").filter(({ verdict }) => verdict === "blocked");
    expect(blocked.map(({ tool }) => tool)).toContain("run_command");
  });

  test("OpenClaw compatibility", async () => {
    const { connect, served } = await serve(scenes(scene("hi", reply(say("Hi!")))));
    const client = await connect(`/?token=${served.access.token}`, {});
    const session_key = "agent:telegram:@zach";
    const { result } = await client.ask("session.init", { agent_id: "agent", session_key });
    expect(result?.session_key).toBe(session_key);
    const turn = await client.ask("turn.run", { session_key, message: "hi" });
    expect(saidIn(turn)).toBe("Hi!");
    expect(turn.events.at(-1)).toMatchObject({ type: "done" });
    const row = (await served.ask("GET", `/v1/haak/sessions/${encodeURIComponent(session_key)}`)).body;
    expect(row).toMatchObject({ session_key, agent_id: "agent", id: result?.session_id });
  });

  test("cancellation", async () => {
    const heard = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const forever = new Promise(() => undefined);
    const words = heard.flatMap(({ promise }, n) => [say(`word ${n} `), hold(promise)]);
    const script = scenes(
      scene("long", reply(...words, say("word 2 "), hold(forever), say(..."never said".split("")))),
    );
    const { connect } = await serve(script);
    const [client, other] = [await connect(), await connect()];
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    const running = client.ask("turn.run", { session_key, message: "a long story" }, "long");
    const deltas = () => client.frames.filter(({ event }) => event?.type === "text_delta").length;
    for (const [n, { resolve }] of heard.entries()) {
      await client.until(() => deltas() > n);
      resolve();
    }
    await client.until(() => deltas() >= 3);
    expect((await other.ask("session.cancel", { session_key })).result).toEqual({ ok: true });
    const turn = await running;
    expect(turn.events.at(-1)).toMatchObject({ type: "done", stop_reason: "cancelled" });
    expect(ofType(turn, "text_delta").length).toBeLessThan(30);
    expect(["cancelled", "idle", "closed"]).toContain(
      (await other.ask("session.status", { session_key })).result?.state,
    );
  });
});

describe("a turn with the native agent", () => {
  test("sends its policy gates and mail before any text", async () => {
    const { connect, harness } = await serve(scenes());
    const letter = { id: "m1", from: "coder", to: "reed", subject: "rain", body: "tonight" };
    await appendFile(join(harness.home, "agent-mailbox.jsonl"), `${JSON.stringify(letter)}\n`);
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "reed" });
    const { events } = await client.ask("turn.run", { session_key: result?.session_key, message: "hello" });
    const first = (type: string) => events.findIndex((event) => event.type === type);
    const text = first("text_delta");
    expect(first("policy_gate")).toBeGreaterThanOrEqual(0);
    expect(first("policy_gate")).toBeLessThan(first("mailbox_injected"));
    expect(first("mailbox_injected")).toBeLessThan(text);
    expect(events.slice(text).some(({ type }) => type === "mailbox_injected")).toBe(false);
  });

  test("uses mail and board in the name of the agent it acts as", async () => {
    const script = scenes(
      scene(
        "write",
        reply(call("send_message", { to: "coder", subject: "s", body: "from whom?" })),
        reply(say("sent")),
      ),
      scene("post", reply(call("post_board", { content: "we are live" })), reply(say("posted"))),
    );
    const { connect, harness } = await serve(script);
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "reed" });
    const session_key = String(result?.session_key);
    await client.ask("turn.run", { session_key, message: "write a letter" });
    await client.ask("turn.run", { session_key, message: "post a note" });
    expect(await readFile(join(harness.home, "agent-mailbox.jsonl"), "utf8")).toContain('"from":"reed"');
    expect(await readFile(join(harness.home, "board.md"), "utf8")).toMatch(/^\[reed\] we are live/m);
  });

  test("works without an API key", async () => {
    const { connect, workspace } = await serveHaak({ runner: { backend: "native" } });
    await writeFile(join(workspace, "notes.txt"), "x");
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    expect(result).toMatchObject({ backend: "native", model: "demo" });
    const asked = { session_key: result?.session_key, message: "what is in this folder" };
    const turn = await client.ask("turn.run", asked);
    expect(ofType(turn, "tool_call")).toMatchObject([{ name: "list_files" }]);
    expect(saidIn(turn)).toContain("notes.txt");
  });

  test("whose model is unavailable reports it once, and the session continues with another", async () => {
    const { connect } = await serveHaak({ runner: { backend: "native" } });
    const client = await connect();
    const asked = { agent_id: "coder", session_key: "coder:x:1", model: "claude-nonesuch" };
    expect((await client.ask("session.init", asked)).result).toMatchObject({
      model: "anthropic:claude-nonesuch",
    });
    const turn = await client.ask("turn.run", { session_key: "coder:x:1", message: "hello" });
    expect(ofType(turn, "error")).toMatchObject([{ message: expect.stringContaining("needs a key") }]);
    expect(turn.result).toEqual({ status: "complete" });
    await client.ask("session.init", { ...asked, model: "demo" });
    expect(saidIn(await client.ask("turn.run", { session_key: "coder:x:1", message: "hello" }))).toContain(
      "demo",
    );
  });
});

describe("a tool that the client brings along", () => {
  const script = scenes(
    scene(
      "inventory",
      reply(say("Let me see."), call("bash", { command: "ls" })),
      reply(say("There is a file.")),
    ),
    scene("never mind", reply(say("Fine."))),
  );

  test("runs in the client: the turn waits for its result", async () => {
    const { connect, model, ledger } = await serve(script);
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    const first = await client.ask("turn.run", { session_key, message: "make an inventory", tools: [bash] });
    const [used] = ofType(first, "tool_call");
    expect(used).toMatchObject({ name: "bash", input: { command: "ls" } });
    expect(first.events.at(-1)).toMatchObject({ type: "done", stop_reason: "tool_use" });
    expect(first.result).toEqual({ status: "complete" });
    const content = [{ type: "tool_result", tool_use_id: used?.id, content: "a.txt" }];
    const second = await client.ask("turn.run", { session_key, messages: [{ role: "user", content }] });
    expect(saidIn(second)).toBe("There is a file.");
    expect(ofType(second, "tool_result")).toMatchObject([
      { id: used?.id, content: "a.txt", is_error: false },
    ]);
    expect(second.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    expect(model.requests[0]?.conversation.tools.map(({ name }) => name)).toEqual(["bash"]);
    expect(model.requests[1]?.conversation.items.at(-1)).toMatchObject({ role: "tool", text: "a.txt" });
    const qualities = (await ledger.read({ entity_id: session_key })).map(({ entry }) => entry.quality);
    expect(qualities.filter((quality) => quality === "tool_call" || quality === "turn")).toEqual([
      "tool_call",
      "turn",
    ]);
  });

  test("can fail, and the model gets the error", async () => {
    const { connect, model } = await serve(script);
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    const first = await client.ask("turn.run", { session_key, message: "make an inventory", tools: [bash] });
    const [used] = ofType(first, "tool_call");
    const content = [{ type: "tool_result", tool_use_id: used?.id, content: "no shell", is_error: true }];
    const second = await client.ask("turn.run", { session_key, messages: [{ role: "user", content }] });
    expect(ofType(second, "tool_result")).toMatchObject([{ content: "no shell", is_error: true }]);
    expect(model.requests[1]?.conversation.items.at(-1)).toMatchObject({ role: "tool", text: "no shell" });
  });

  test("is abandoned when the client prompts again", async () => {
    const { connect } = await serve(script);
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const session_key = String(result?.session_key);
    await client.ask("turn.run", { session_key, message: "make an inventory", tools: [bash] });
    const next = await client.ask("turn.run", { session_key, message: "never mind" });
    expect(saidIn(next)).toBe("Fine.");
    expect(next.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    expect((await client.ask("session.status", { session_key })).result).toEqual({ state: "idle" });
  });

  test("with the name of the agent's own tool runs in the agent", async () => {
    const own = { ...bash, name: "list_files", input_schema: { type: "object" } };
    const { connect, workspace, model } = await serve(
      scenes(scene("list", reply(call("list_files", {})), reply(say("done")))),
    );
    await writeFile(join(workspace, "a.txt"), "x");
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    const asked = { session_key: result?.session_key, message: "list the files", tools: [own] };
    const turn = await client.ask("turn.run", asked);
    expect(ofType(turn, "tool_result")).toMatchObject([{ content: expect.stringContaining("a.txt") }]);
    expect(turn.events.at(-1)).toMatchObject({ stop_reason: "end_turn" });
    expect(model.requests[0]?.conversation.tools.map(({ name }) => name)).toEqual(["list_files"]);
  });
});
