import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { type Messages, RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();
const META = { "sandboxagent.dev": { agent: "stub" } };

/** A client that says what it can do, as an editor does. */
async function editor(served: Awaited<ReturnType<typeof serveAgents>>, clientCapabilities: object) {
  const client = new RpcClient(served);
  const { headers } = await client.request("initialize", {
    protocolVersion: 1,
    clientCapabilities,
    _meta: META,
  });
  client.connection = String(headers["x-acp-connection-id"]);
  return client;
}

/** Answers the questions of a stream as they come, by their methods. */
function answering(client: RpcClient, stream: Messages, answers: Record<string, (params: object) => object>) {
  const answered = new Set<unknown>();
  return setInterval(() => {
    for (const { id, method, params } of stream.asked) {
      const answer = answers[String(method)];
      if (answered.has(id) || !answer) continue;
      answered.add(id);
      void client.post({ jsonrpc: "2.0", id, ...answer(Object(params)) });
    }
  }, 10);
}

describe("a notification of an agent", () => {
  test("other than an update, or outside of a session, is forwarded, except for Reins' own methods", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    await client.prompt(id, "aside one");
    await expect.poll(() => stream.said).toEqual(["one"]);
    const told = stream.messages.find(({ method }) => method === "session/update");
    expect(told?.params).toMatchObject({ sessionId: id, own: "one", _meta: { stub: "one" } });
    expect(JSON.stringify(told)).not.toContain("reins");
    await expect
      .poll(() => stream.messages)
      .toContainEqual({ jsonrpc: "2.0", method: "_stub/told", params: { text: "one" } });
    expect(stream.messages.map(({ method }) => method)).not.toContain("_reins/gap");
  });
});

describe("a request of an agent by a method of its own", () => {
  test.each(["yes", "no"])("reaches a client only after the approval: %s", async (decision) => {
    const served = await serveAgents(home());
    const client = await editor(served, { _meta: { stub: {} } });
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const timer = answering(client, stream, {
      "session/request_permission": () => {
        const optionId = decision === "yes" ? "allow_once" : "reject_once";
        return { result: { outcome: { outcome: "selected", optionId } } };
      },
      "_stub/ask": (params) => ({
        result: { text: `heard ${Object(params).text} ${JSON.stringify(Object(params).own)}` },
      }),
    });
    await client.prompt(id, "custom hello");
    clearInterval(timer);
    const said = decision === "yes" ? 'heard hello {"kept":true}' : "error -32010";
    await expect.poll(() => stream.said).toEqual([said]);
  });
});

describe("a file that an agent reads or writes", () => {
  const FS = { fs: { readTextFile: true, writeTextFile: true } };
  const approving = { result: { outcome: { outcome: "selected", optionId: "allow_once" } } };

  test("is requested from the client that offers it, after the verdict", async () => {
    const served = await serveAgents(home());
    const [client, onlooker] = [await editor(served, FS), await RpcClient.open(served)];
    const path = join(home().workspace, "buffer.txt");
    await writeFile(path, "on the disk");
    const id = await client.begin(home().workspace);
    await onlooker.result("session/resume", { sessionId: id });
    const [stream, other] = [await client.stream(), await onlooker.stream()];
    let saved: object = {};
    const timer = answering(client, stream, {
      "session/request_permission": () => approving,
      "fs/read_text_file": () => ({ result: { content: "not saved yet" } }),
      "fs/write_text_file": (params) => {
        saved = params;
        return { result: {} };
      },
    });
    await client.prompt(id, `read ${path}`, `save ${path}`);
    clearInterval(timer);
    await expect.poll(() => stream.said).toEqual(["not saved yet", "saved"]);
    expect(saved).toMatchObject({ path, content: "by the agent", sessionId: id });
    expect(await readFile(path, "utf8")).toBe("on the disk");
    expect(other.asked.filter(({ method }) => String(method).startsWith("fs/"))).toEqual([]);
    const { log } = home().hosting.hub;
    expect(JSON.stringify(await log.page("default", [id], 0))).not.toContain('fs/read_text_file","params');
  });

  test.each([
    ["does not offer it", {}, {}],
    ["cannot", FS, { error: { code: -32601, message: "not known" } }],
    ["fails to read it", FS, { error: { code: -32603, message: "no buffer" } }],
    ["answers nonsense", FS, { result: 7 }],
  ])("is read from disk where the client %s", async (_, capabilities, answer) => {
    const client = await editor(await serveAgents(home()), capabilities);
    const path = join(home().workspace, "disk.txt");
    await writeFile(path, "on the disk");
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const timer = answering(client, stream, {
      "session/request_permission": () => approving,
      "fs/read_text_file": () => answer,
    });
    await client.prompt(id, `read ${path}`);
    clearInterval(timer);
    await expect.poll(() => stream.said).toEqual(["on the disk"]);
  });
});
