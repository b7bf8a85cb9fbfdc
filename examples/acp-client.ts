// A client of an agent under Reins, over HTTP with nothing but fetch: a session, a prompt, a question and its answer.
//
//   node examples/acp-client.ts                                       starts its own Reins
//   node examples/acp-client.ts http://127.0.0.1:18789 <token> [cwd]  uses a running one; the token is in start-token
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

const own = process.argv[2] === undefined ? await startReins() : undefined;
const [address = own?.address, token = own?.token, cwd = own?.workspace ?? process.cwd()] =
  process.argv.slice(2);
let connection: string | undefined;
let next = 1;

/** Sends one message. Returns the response to a request; everything else comes on the stream. */
async function post(message: Message): Promise<Message> {
  const response = await fetch(`${address}/v1/rpc`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(connection !== undefined && { "x-acp-connection-id": connection }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
  connection ??= response.headers.get("x-acp-connection-id") ?? undefined;
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

async function request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { result, error } = await post({ id: next++, method, params });
  if (error) throw new Error(`${method}: ${error.message}`);
  return result ?? {};
}

/** Reads the stream of the connection: the agent's text and its questions. */
async function listen(signal: AbortSignal): Promise<void> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "text/event-stream",
    "x-acp-connection-id": String(connection),
  };
  const { body } = await fetch(`${address}/v1/rpc`, { headers, signal });
  let held = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = `${held}${piece}`.split("\n\n");
    held = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) await take(JSON.parse(data.slice("data: ".length)));
    }
  }
}

let said = "";
let asked = 0;

async function take({ id, method, params }: Message): Promise<void> {
  const { update } = Object(params);
  if (update?.sessionUpdate === "agent_message_chunk") said += update.content.text ?? "";
  if (method !== "session/request_permission" || id === undefined) return;
  asked += 1;
  const { toolCall, options } = Object(params);
  const no = options.find(({ kind }: { kind: string }) => kind === "reject_once");
  console.log(`asked: ${toolCall.title}; answered: ${no.name}`);
  await post({ id, result: { outcome: { outcome: "selected", optionId: no.optionId } } });
}

try {
  const agent = "native";
  await request("initialize", { protocolVersion: 1, _meta: { "sandboxagent.dev": { agent } } });
  const hangUp = new AbortController();
  const listening = listen(hangUp.signal).catch(() => undefined);
  const { sessionId } = await request("session/new", { cwd, mcpServers: [] });
  const prompt = (text: string) => request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });

  const { stopReason } = await prompt("what is in this folder");
  console.log(`the agent answered: ${stopReason}`);
  // The response and the stream are two connections: what was said may arrive after the response.
  for (let waits = 0; waits < 200 && !said.includes("package.json"); waits += 1) await setTimeout(50);
  assert.match(said, /package\.json/);
  await prompt("run the tests");
  assert.equal(asked, 1);

  // Closes the session; it stays listed, and session/load resumes it. session/delete would end it permanently.
  await request("session/close", { sessionId });
  const { sessions } = await request("session/list", {});
  console.log(`still listed: ${JSON.stringify(sessions).includes(String(sessionId))}`);
  hangUp.abort();
  await listening;
} finally {
  await own?.stop();
}

/** Starts a Reins in a new folder, with the demo model and a package that has a test script. */
async function startReins() {
  const folder = await mkdtemp(join(tmpdir(), "acp-client-"));
  const [home, workspace] = [join(folder, "home"), await mkdtemp(join(folder, "workspace-"))];
  await writeFile(join(workspace, "package.json"), '{ "scripts": { "test": "echo fine" } }\n');
  const main = fileURLToPath(new URL("../scripts/reins.mjs", import.meta.url));
  const args = [main, "up", "--port", "0", "--no-open", "--home", home, "--workspace", workspace];
  const reins = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  reins.stdout.setEncoding("utf8");
  const found = () => /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0];
  while (found() === undefined) printed += (await once(reins.stdout, "data"))[0];
  const stop = async () => {
    const ended = once(reins, "exit");
    reins.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const start = (await readFile(join(home, "start-token"), "utf8")).trim();
  return { address: found(), token: start, workspace, stop };
}
