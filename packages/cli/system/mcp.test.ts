import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { stdioServer } from "../../mcp/system/fixtures/home.ts";
import { homeWith, stub } from "./support/added-agents.ts";
import { Editor } from "./support/editor.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, reinsCommand } from "./support/reins.ts";

const LAB = stdioServer("lab-stdio.ts") as { command: string; args: string[] };

/** An MCP client that knows nothing of Reins, and was configured to start `reins mcp` in place of its server. */
function desktop(home: OperatedHome, args: readonly string[], options: ClientOptions = {}) {
  const [command = "", ...own] = reinsCommand;
  const { PATH = "" } = process.env;
  const env = { PATH, HOME: folder, REINS_HOME: home.path };
  const transport = new StdioClientTransport({
    ...{ command, env, stderr: "pipe" },
    args: [...own, "mcp", "--cwd", home.workspace, ...args],
  });
  const told: string[] = [];
  transport.stderr?.on("data", (text: Buffer) => told.push(String(text)));
  const client = new Client({ name: "desktop", version: "1.0.0" }, options);
  onTestFinished(() => client.close());
  return { client, transport, told };
}

/** The approval that waits for a tool, once there is one. */
async function pending(home: OperatedHome, tool: string): Promise<string> {
  const found: string[] = [];
  await expect
    .poll(
      async () => {
        const { approvals } = await home.json("approvals", "list").catch(() => ({ approvals: [] }));
        for (const { id, facts } of approvals) if (facts.tool === tool) found.push(id);
        return found.length;
      },
      { timeout: 120_000, interval: 250 },
    )
    .toBeGreaterThan(0);
  return found[0] ?? "";
}

const said = (result: unknown) => String(Object(Object(result).content?.[0]).text);

describe.each(["alone", "through the Reins that runs"])("reins mcp, %s", (how) => {
  const begin = async (more: readonly string[] = []) => {
    const home = new OperatedHome();
    if (how !== "alone") await home.up();
    const { client, transport, told } = desktop(home, [
      ...more,
      "--name",
      "lab",
      "--",
      LAB.command,
      ...LAB.args,
    ]);
    const connected = client.connect(transport, { timeout: 120_000 });
    connected.catch(() => undefined);
    await home.done("approvals", "approve", await pending(home, "mcp/start"));
    await connected;
    return { home, client, told };
  };

  it("has a call performed that a person allows while the client waits, and no other, of tools that are pinned", async () => {
    const { home, client, told } = await begin();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("write");
    const [allowed, denied] = [join(home.workspace, "allowed"), join(home.workspace, "denied")];
    const write = (path: string) =>
      client.callTool({ name: "write", arguments: { path, text: "x" } }, { timeout: 120_000 });
    const first = write(allowed);
    await home.done("approvals", "approve", await pending(home, "mcp:lab/write"));
    expect(said(await first)).toBe(`wrote ${allowed}`);
    expect(await readFile(allowed, "utf8")).toBe("x");
    const second = write(denied);
    await home.done("approvals", "deny", await pending(home, "mcp:lab/write"), "--note", "not there");
    expect(await second).toMatchObject({ isError: true });
    expect(existsSync(denied)).toBe(false);
    expect(told.join("")).toContain("waits for an approval");
    const log = (await home.done("ledger", "log", "--json")).trim().split("\n");
    const calls = log.filter(
      (line) => /"quality":"tool_call"/.test(line) && /"target":"mcp:lab\/write"/.test(line),
    );
    expect(calls).toHaveLength(1);
    expect((await home.run("ledger", "verify")).code).toBe(0);
    const { pins } = await home.json("mcp", "pins", "list");
    const [{ server, origin }] = pins;
    expect(pins.map(({ tool }: { tool: string }) => tool)).toEqual(tools.map(({ name }) => name).toSorted());
    expect(origin).toContain("lab-stdio.ts");
    expect(await home.json("mcp", "pins", "reset", server.slice(0, 8), "echo")).toEqual({ removed: 1 });
    expect(await home.json("mcp", "pins", "reset", server)).toEqual({ removed: pins.length - 1 });
    expect(await home.done("mcp", "pins", "list")).toBe("No tools are pinned.\n");
  });

  it("starts no server that a person does not allow", async () => {
    const home = new OperatedHome();
    if (how !== "alone") await home.up();
    const marker = join(home.workspace, "started");
    const { client, transport, told } = desktop(home, [
      ...["--", process.execPath, "-e", `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "x")`],
    ]);
    const connected = client.connect(transport, { timeout: 120_000 });
    connected.catch(() => undefined);
    await home.done("approvals", "deny", await pending(home, "mcp/start"));
    await expect(connected).rejects.toThrow();
    await expect.poll(() => told.join("")).toContain("The MCP server may not be used");
    expect(existsSync(marker)).toBe(false);
  });
});

it("ends with the Reins behind it, and what waited for a person then is not done, however it is answered", async () => {
  const home = new OperatedHome();
  const up = await home.up();
  const { client, transport, told } = desktop(home, ["--name", "lab", "--", LAB.command, ...LAB.args]);
  const connected = client.connect(transport, { timeout: 120_000 });
  connected.catch(() => undefined);
  await home.done("approvals", "approve", await pending(home, "mcp/start"));
  await connected;
  const late = join(home.workspace, "late");
  const call = client.callTool({ name: "write", arguments: { path: late, text: "x" } }, { timeout: 120_000 });
  call.catch(() => undefined);
  const id = await pending(home, "mcp:lab/write");
  up.signal("SIGKILL");
  await expect(call).rejects.toThrow();
  await expect.poll(() => told.join(""), { timeout: 30_000 }).toContain("went away");
  await home.run("approvals", "approve", id);
  expect(existsSync(late)).toBe(false);
});

it("serves two clients at once where no Reins runs, and neither gets at what only the other may", async () => {
  const home = new OperatedHome();
  const open = async (name: string) => {
    const { client, transport } = desktop(home, ["--name", name, "--", LAB.command, ...LAB.args]);
    const connected = client.connect(transport, { timeout: 120_000 });
    connected.catch(() => undefined);
    await home.done("approvals", "approve", await pending(home, "mcp/start"));
    await connected;
    return client;
  };
  const [one, other] = [await open("one"), await open("other")];
  const call = one.callTool({ name: "echo", arguments: { text: "hi" } }, { timeout: 120_000 });
  await home.done("approvals", "approve", await pending(home, "mcp:one/echo"));
  expect(said(await call)).toBe("hi");
  const asked = other.callTool({ name: "echo", arguments: { text: "hi" } }, { timeout: 120_000 });
  await home.done("approvals", "deny", await pending(home, "mcp:other/echo"));
  expect(await asked).toMatchObject({ isError: true });
});

it("asks about the MCP servers of reins.yaml in the sessions of agents, by what they start", async () => {
  const home = homeWith([stub]);
  await writeFile(
    join(home.path, "reins.yaml"),
    JSON.stringify({ mcp: { servers: { lab: { command: LAB.command, args: LAB.args } } } }),
  );
  const editor = new Editor(home.start("acp", "--agent", "stub"));
  await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const began = editor.ask("session/new", { cwd: home.workspace, mcpServers: [] });
  await home.done("approvals", "deny", await pending(home, "mcp/start"));
  expect(await began).toMatchObject({
    result: { _meta: { reins: { refused_servers: [{ server: "lab" }] } } },
  });
});
