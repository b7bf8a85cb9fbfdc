import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { McpSettings, mcpServersFor } from "./mcp-servers.ts";

async function read(servers: unknown) {
  const home = await mkdtemp(join(tmpdir(), "mcp-servers-"));
  onTestFinished(() => rm(home, { recursive: true }));
  await writeFile(join(home, "token"), "Bearer s3cret\n");
  return mcpServersFor(home, McpSettings.parse({ servers }));
}

test("servers are declared as clients declare them, with secrets from files", async () => {
  const serversFor = await read({
    notes: { url: "https://notes.example.com/mcp", headers: { Authorization: "@token" } },
    files: { command: "npx", args: ["files"], env: { ROOT: "/data" } },
  });
  expect(serversFor("claude", "default")).toEqual([
    {
      ...{ name: "notes", type: "http", url: "https://notes.example.com/mcp" },
      headers: [{ name: "Authorization", value: "Bearer s3cret" }],
    },
    { name: "files", command: "npx", args: ["files"], env: [{ name: "ROOT", value: "/data" }] },
  ]);
});

test("a server is for the agents and tenants that it names, and without any for the first tenant alone", async () => {
  const command = { command: "serve" };
  const serversFor = await read({
    all: command,
    some: { ...command, agents: ["claude"], tenants: ["default", "other"] },
  });
  const names = (agent: string, tenant: string) => serversFor(agent, tenant).map((one) => Object(one).name);
  expect(names("claude", "default")).toEqual(["all", "some"]);
  expect(names("codex", "default")).toEqual(["all"]);
  expect(names("claude", "other")).toEqual(["some"]);
  expect(names("codex", "__proto__")).toEqual([]);
});

test("a server with a login names it with a random value that stays", async () => {
  const home = await mkdtemp(join(tmpdir(), "mcp-servers-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const notes = { url: "https://notes.example.com/mcp", login: true };
  const settings = McpSettings.parse({
    servers: { notes, other: { ...notes, url: "https://other.example" } },
  });
  const headers = async () => {
    const declared = (await mcpServersFor(home, settings))("claude", "default");
    return declared.map((server) => Object(server).headers[0]);
  };
  const [first, other] = await headers();
  expect(first).toEqual({ name: "Authorization", value: expect.stringMatching(/^Reins-Login [\w-]{43}$/) });
  expect(other.value).not.toBe(first.value);
  expect(await headers()).toEqual([first, other]);
});

test("a secret that cannot be read, or a server that is none, is an error", async () => {
  await expect(read({ notes: { command: "serve", env: { KEY: "@missing" } } })).rejects.toThrow(
    'holds KEY of the MCP server "notes" and cannot be read',
  );
  for (const server of [{}, { command: "" }, { url: "ftp://example.com" }, { command: "x", url: "http://x" }])
    await expect(read({ bad: server })).rejects.toThrow();
  await expect(read({ "a b": { command: "x" } })).rejects.toThrow();
});
