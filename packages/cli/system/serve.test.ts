import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AhpClient, type Transport } from "@reins/ahp";
import { describe, expect, it } from "vitest";
import { folder, listening, Reins, reinsCommand, runReins } from "./support/reins.ts";

const HANDLERS = fileURLToPath(new URL("../../../examples/handlers.ts", import.meta.url));
const CHATTY = moduleOf(
  "chatty.ts",
  `console.log("loading");
export default {
  event() {
    console.log("deciding");
    process.stdout.write("raw\\n");
    return { decision: "allow" };
  },
};`,
);
const HANGING = moduleOf(
  "hanging.ts",
  `setInterval(() => {}, 1000);
export const handlers = {
  event() {
    console.log(JSON.stringify({ msg: "deciding" }));
    return new Promise(() => {});
  },
};`,
);
const FAILING = moduleOf("failing.ts", "export default { event() { throw new Error('no database'); } };");

function moduleOf(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

async function ask(transport: Transport, ...tools: string[]): Promise<string[]> {
  const client = await AhpClient.connect(transport, { reconnect: false });
  try {
    await client.handshake(["pre_action"]);
    const decisions = tools.map((tool_name) => client.sendEvent("pre_action", { tool_name }));
    return (await Promise.all(decisions)).map(({ decision }) => decision);
  } finally {
    await client.close();
  }
}

const message = (id: string) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "ahp/event",
    params: {
      event_type: "pre_action",
      session_id: "s",
      agent_id: "a",
      timestamp: "t",
      depth: 0,
      payload: {},
    },
  });

describe("reins ahp serve", () => {
  it("serves over stdio", async () => {
    const [program = "", ...args] = [...reinsCommand, "ahp", "serve", "--stdio", "--handlers", HANDLERS];
    const said: Buffer[] = [];
    const target = {
      type: "stdio",
      program,
      args,
      onStderr: (chunk: Buffer) => void said.push(chunk),
    } as const;
    expect(await ask(target, "read_file", "rm", "bash")).toEqual(["allow", "block", "escalate"]);
    await expect.poll(() => Buffer.concat(said).toString()).toContain('"transport":"stdio"');
  });

  it("keeps stdout for the protocol, whatever the handlers print", async () => {
    const { code, stdout, stderr } = await runReins(
      ["ahp", "serve", "--stdio", "--handlers", CHATTY],
      {},
      `${message("1")}\n`,
    );
    expect(code).toBe(0);
    expect(stdout).toBe('{"jsonrpc":"2.0","id":"1","result":{"decision":"allow"}}\n');
    for (const text of ["loading", "deciding", "raw"]) expect(stderr).toContain(text);
  });

  it("serves HTTP, WebSocket and a Unix socket together", async () => {
    const path = join(folder, "serve.sock");
    const flags = ["--http", "--ws", "--port", "0", "--path", "/harness", "--unix", path, "--name", "mine"];
    const reins = await listening(["ahp", "serve", ...flags, "--handlers", HANDLERS]);
    await reins.printed('"websocket"');
    const [http, websocket] = [reins.addressOf("http"), reins.addressOf("websocket")];
    expect(http).toMatch(/\/harness$/);
    expect(websocket).toBe(http.replace("http", "ws"));
    expect(await ask({ type: "http", url: http }, "rm")).toEqual(["block"]);
    expect(await ask({ type: "websocket", url: websocket }, "read_file")).toEqual(["allow"]);
    expect(await ask({ type: "unix", path }, "bash")).toEqual(["escalate"]);
    const second = await runReins(["ahp", "serve", "--unix", path, "--handlers", HANDLERS]);
    expect(second.code).toBe(4);
    expect(second.stderr).toContain(`Another server listens on ${path}`);
    reins.signal("SIGINT");
    expect((await reins.ended).code).toBe(0);
  });

  it("decides against what takes too long", async () => {
    const reins = await listening([
      "ahp",
      "serve",
      "--http",
      "--port",
      "0",
      "--deadline-ms",
      "50",
      "--handlers",
      HANGING,
    ]);
    expect(await ask({ type: "http", url: reins.addressOf("http") }, "bash")).toEqual(["block"]);
    reins.signal("SIGTERM");
    expect((await reins.ended).code).toBe(0);
  });

  it("ends at once at the second signal, though something is under way", async () => {
    const reins = await listening(["ahp", "serve", "--ws", "--port", "0", "--handlers", HANGING]);
    const client = await AhpClient.connect(
      { type: "websocket", url: reins.addressOf("websocket") },
      { reconnect: false },
    );
    await client.handshake([]);
    const waiting = client.sendEvent("pre_action", {});
    await reins.printed("deciding");
    reins.signal("SIGINT");
    await reins.printed("stopping");
    reins.signal("SIGINT");
    expect((await reins.ended).code).toBe(130);
    expect((await waiting).decision).toBe("block");
    await client.close();
  });

  it("logs a handler that fails", async () => {
    const reins = await listening(["ahp", "serve", "--http", "--port", "0", "--handlers", FAILING]);
    expect(await ask({ type: "http", url: reins.addressOf("http") }, "bash")).toEqual(["block"]);
    await reins.printed("a handler failed");
    expect(reins.log.at(-1)).toMatchObject({ level: "error", handler: "event", error: "no database" });
  });

  it("wants a handshake first when told so", async () => {
    const flags = ["--stdio", "--require-handshake", "--handlers", HANDLERS];
    const { stdout } = await runReins(["ahp", "serve", ...flags], {}, `${message("1")}\n`);
    expect(JSON.parse(stdout)).toMatchObject({ id: "1", error: { data: { reason: "handshake_required" } } });
  });

  it("stops when its input ends, though the handlers left a timer running", async () => {
    const reins = new Reins(["ahp", "serve", "--stdio", "--handlers", HANGING]);
    reins.stdin.end();
    expect((await reins.ended).code).toBe(0);
  });

  it("says what is wrong with the module, and where only with --verbose", async () => {
    const args = ["ahp", "serve", "--stdio", "--handlers", join(folder, "missing.ts")];
    const quiet = await runReins(args);
    expect(quiet).toMatchObject({ code: 2, stdout: "" });
    expect(quiet.stderr).toContain("There is no handler module");
    expect(quiet.stderr).not.toContain("    at ");
    expect((await runReins([...args, "--verbose"])).stderr).toContain("    at ");
  });
});
