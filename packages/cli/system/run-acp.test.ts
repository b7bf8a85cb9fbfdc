import { readFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { homeWith, stub, toy } from "./support/added-agents.ts";
import { Editor } from "./support/editor.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { Reins, reinsCommand } from "./support/reins.ts";

const acp = (home: OperatedHome, agent = "stub") => home.start("acp", "--agent", agent);

describe("reins acp", () => {
  it.each(["alone", "through the Reins that runs"])("speaks ACP as the agent would (%s)", async (how) => {
    const home = homeWith([stub]);
    if (how !== "alone") await home.up();
    const reins = acp(home);
    const editor = new Editor(reins);
    const hello = await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    expect(hello).toMatchObject({ result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
    const sessionId = await editor.begin(home);

    const turn = editor.prompt(sessionId, "say hello", "run cat ~/.ssh/id_rsa", "run make all");
    const question = await editor.until(({ method }) => method === "session/request_permission");
    expect(question).toMatchObject({
      params: {
        sessionId,
        toolCall: { rawInput: { command: "make all" } },
        _meta: { reins: { reason: expect.any(String), approval: expect.any(String) } },
      },
    });
    editor.send({ id: question.id, result: { outcome: { outcome: "selected", optionId: "allow_once" } } });
    expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
    const updates = JSON.stringify(editor.got.filter(({ method }) => method === "session/update"));
    expect(updates).toContain("hello");
    expect(updates).toContain("keys, tokens and passwords are not for agents");

    const waiting = editor.prompt(sessionId, "say still here", "wait");
    await editor.until((message) => JSON.stringify(message).includes("still here"));
    editor.send({ method: "session/cancel", params: { sessionId } });
    expect(await waiting).toMatchObject({ result: { stopReason: "cancelled" } });

    expect(await editor.ask("session/set_mode", { sessionId, modeId: "yolo" })).toMatchObject({
      error: { code: -32010, message: expect.stringContaining("it would keep the agent from asking") },
    });
    reins.stdin.end();
    expect(await reins.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("is started by the line that the docs give an editor, on any Node, and prints nothing but messages", async () => {
    const { path } = new OperatedHome();
    const guide = await readFile(new URL("../../../docs/agents.md", import.meta.url), "utf8");
    const [, command = ""] = /"command": "(\w+)",\s+"args": \["acp"/.exec(guide) ?? [];
    // What `npm link` puts on the PATH.
    const { bin } = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8"));
    expect(Object.keys(bin)).toEqual([command]);
    const script = fileURLToPath(new URL(`../../../${bin[command]}`, import.meta.url));
    const reins = new Reins([script, "acp", "--home", path], {}, process.execPath);
    const editor = new Editor(reins);
    expect(await editor.ask("initialize", { protocolVersion: 1 })).toMatchObject({
      result: { protocolVersion: 1 },
    });
    expect(reins.stdout.startsWith("{")).toBe(true);
    editor.end();
    expect(await editor.ended).toMatchObject({ code: 0 });
  });

  it("ends with a file that it was given in place of an editor", async () => {
    const { path } = new OperatedHome();
    const command = [...reinsCommand, "acp", "--home", path].map((word) => `'${word}'`).join(" ");
    const alone = new Reins(["-c", `exec ${command} </dev/null`], {}, "/bin/sh");
    expect(await alone.ended).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("accepts the first answer to its questions, also from another terminal", async () => {
    const home = homeWith([stub]);
    const editor = new Editor(acp(home));
    await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const turn = editor.prompt(await editor.begin(home), "run make all");
    const question = await editor.until(({ method }) => method === "session/request_permission");
    const { _meta } = question.params as { _meta: { reins: { approval: string } } };
    await home.done("approvals", "approve", _meta.reins.approval);
    expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
    expect(editor.got).toContainEqual(
      expect.objectContaining({ method: "$/cancel_request", params: { requestId: question.id } }),
    );
  });

  it("passes an agent's wish for a login on to the editor", async () => {
    const home = homeWith([toy("stranger")]);
    const editor = new Editor(acp(home, "stranger"));
    await editor.ask("initialize", { protocolVersion: 1 });
    const answer = await editor.ask("session/new", { cwd: home.workspace, mcpServers: [] });
    expect(answer).toMatchObject({ error: { code: -32000 } });
  });

  it.each(["alone", "through the Reins that runs"])(
    "answers what is too large, or no message, and goes on (%s)",
    async (how) => {
      const home = homeWith([stub]);
      if (how !== "alone") await home.up();
      const reins = acp(home);
      const editor = new Editor(reins);
      await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      const sessionId = await editor.begin(home);
      const prompt = [{ type: "text", text: "x".repeat((how === "alone" ? 34 : 20) << 20) }];
      const params = { sessionId, prompt };
      const isAnswer = (id: unknown) => (message: { id?: unknown; method?: unknown }) =>
        message.id === id && message.method === undefined;
      editor.send({ id: "large", method: "session/prompt", params });
      expect(await editor.until(isAnswer("large"))).toMatchObject({ error: { code: -32600 } });
      // The id may stand behind what is too large.
      reins.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "session/prompt", params, id: 77 })}\n`);
      expect(await editor.until(isAnswer(77))).toMatchObject({ error: { code: -32600 } });
      for (const [line, code] of [
        ["{", -32700],
        ["no JSON", -32700],
        ["[]", -32600],
        ['"text"', -32600],
        ["7", -32600],
        ["{}", -32600],
        ['{"jsonrpc":"1.0","id":1,"method":"x"}', -32600],
      ] as const) {
        const before = editor.got.length;
        reins.stdin.write(`${line}\n`);
        const answer = () => editor.got.slice(before).find(({ error }) => error !== undefined);
        await reins.until(() => answer() !== undefined);
        expect([line, answer()]).toMatchObject([line, { error: { code } }]);
      }
      expect(await editor.prompt(sessionId, "say fine")).toMatchObject({
        result: { stopReason: "end_turn" },
      });
      reins.stdin.end();
      expect(await reins.ended).toMatchObject({ code: 0 });
    },
  );

  it("outlives the Reins that it goes through, and takes its sessions up in the next", async () => {
    const home = homeWith([stub]);
    const first = await home.up();
    const reins = acp(home);
    const editor = new Editor(reins);
    await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const sessionId = await editor.begin(home);
    await editor.prompt(sessionId, "say before");
    const cut = editor.prompt(sessionId, "say begun", "wait");
    await editor.until((message) => JSON.stringify(message).includes("begun"));
    first.signal("SIGKILL");
    await first.ended;
    expect(await cut).toMatchObject({ error: { data: { interrupted: true } } });
    const early = editor.prompt(sessionId, "say early");
    await home.up();
    expect(await early).toMatchObject({ result: { stopReason: "end_turn" } });
    expect(await editor.prompt(sessionId, "say after")).toMatchObject({ result: { stopReason: "end_turn" } });
    const said = JSON.stringify(editor.got.filter(({ method }) => method === "session/update"));
    for (const text of ["before", "early", "after"]) expect(said).toContain(`"text":"${text}"`);
    reins.stdin.end();
    expect(await reins.ended).toMatchObject({ code: 0 });
  });

  it("shares a home with another editor, and goes on when that one is closed", async () => {
    const home = homeWith([stub]);
    const [first, second] = [acp(home), acp(home)];
    const editors = [new Editor(first), new Editor(second)];
    const ids: string[] = [];
    for (const editor of editors) {
      await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      ids.push(await editor.begin(home));
    }
    for (const [index, editor] of editors.entries())
      expect(await editor.prompt(ids[index] ?? "", "say hello")).toMatchObject({
        result: { stopReason: "end_turn" },
      });
    first.stdin.end();
    expect(await first.ended).toMatchObject({ code: 0 });
    const again = async () => Object(await editors[1]?.prompt(ids[1] ?? "", "say still here")).result;
    await expect.poll(again).toMatchObject({ stopReason: "end_turn" });
    second.stdin.end();
    expect(await second.ended).toMatchObject({ code: 0 });
  });

  it("works with the official client", async () => {
    const home = homeWith([stub]);
    const reins = acp(home);
    const output = new ReadableStream<Uint8Array>({
      start: (controller) => {
        let sent = 0;
        const pump = async () => {
          for (;;) {
            await reins.until(() => reins.stdout.length > sent);
            controller.enqueue(Buffer.from(reins.stdout.slice(sent)));
            sent = reins.stdout.length;
          }
        };
        pump().catch(() => controller.close());
      },
    });
    const said: string[] = [];
    const connection = client({ name: "test" })
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
          said.push(update.content.text);
      })
      .onRequest(methods.client.session.requestPermission, async ({ params: { options } }) => {
        const { optionId = "" } = options.find(({ kind }) => kind === "allow_once") ?? {};
        return { outcome: { outcome: "selected", optionId } };
      })
      .connect(ndJsonStream(Writable.toWeb(reins.stdin), output));
    onTestFinished(() => connection.close());
    const { agent } = connection;
    await agent.request(methods.agent.initialize, { protocolVersion: 1 });
    const { sessionId } = await agent.request(methods.agent.session.new, {
      cwd: home.workspace,
      mcpServers: [],
    });
    const prompt = [{ type: "text" as const, text: "say hello\nrun make all" }];
    expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt })).toEqual({
      stopReason: "end_turn",
    });
    await expect.poll(() => said).toEqual(["hello", "yes"]);
  });
});
