import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { FileSessionStore } from "../src/history/file-store.ts";
import { TestClient } from "../test/test-client.ts";
import { testWorkspace } from "../test/workspace.ts";

/** The native agent in a separate process. */
function agentProcess(folder: string) {
  const script = join(import.meta.dirname, "fixtures/agent-process.ts");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  const messages: any[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => messages.push(JSON.parse(line)));
  let next = 1;
  const send = (message: object) =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = async (method: string, params: object) => {
    const id = next++;
    send({ id, method, params });
    await expect.poll(() => messages.some((message) => message.id === id && !message.method)).toBe(true);
    return messages.find((message) => message.id === id && !message.method).result;
  };
  return { child, messages, send, request };
}

describe("a process that is killed during a turn", () => {
  test("loses nothing that clients saw; the next one loads it, reports the interruption and repeats nothing", async () => {
    const { base, cwd, text } = await testWorkspace();
    const folder = join(base, "sessions");
    const { child, messages, send, request } = agentProcess(folder);
    await request("initialize", { protocolVersion: 1 });
    const { sessionId } = await request("session/new", { cwd, mcpServers: [] });
    const asked = () => messages.filter(({ method }) => method === "session/request_permission");
    const prompt = [{ type: "text", text: "write a file notes.txt that says hello" }];
    send({ id: 99, method: "session/prompt", params: { sessionId, prompt } });
    await expect.poll(() => asked().length).toBe(1);
    child.kill("SIGKILL");
    await once(child, "exit");

    const after = new TestClient({ store: new FileSessionStore(folder) });
    await after.request("session/load", { sessionId, cwd, mcpServers: [] });
    expect(after.of("user_message_chunk")).toMatchObject([
      { content: { text: "write a file notes.txt that says hello" } },
    ]);
    expect(after.said).toContain("I will write notes.txt.");
    expect(after.of("tool_call")).toMatchObject([
      {
        name: "write_file",
        status: "failed",
        content: [{ content: { text: expect.stringContaining("unknown") } }],
      },
    ]);
    expect(after.thought).toContain("The last turn was interrupted");
    expect(after.asked).toEqual([]);
    expect(await text("notes.txt")).toBeUndefined();
    expect(await after.prompt(sessionId, "what is in this folder")).toMatchObject({ stopReason: "end_turn" });
    expect((await readdir(folder)).length).toBe(2);
  });
});
