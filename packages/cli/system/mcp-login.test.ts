import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it, onTestFinished } from "vitest";
import { loginLab } from "../../mcp/system/fixtures/login-lab.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, reinsCommand } from "./support/reins.ts";

it("logs in to a server, keeps the tokens sealed, reaches the server with them, and logs out", async () => {
  const web = await loginLab();
  const url = `${web.url}/mcp`;
  const home = new OperatedHome();
  const login = home.start("mcp", "login", url);
  await expect.poll(() => login.stderr, { timeout: 60_000 }).toMatch(/Log in here.*\n/);
  const page = await fetch(/https?:\S+/.exec(login.stderr)?.[0] ?? "");
  expect(page.status).toBe(200);
  const { code, stdout, stderr } = await login.ended;
  expect([code, stdout]).toEqual([0, `logged in to ${url} (notes)\n`]);
  const kept = join(home.path, "mcp-logins");
  const [name = ""] = await readdir(kept);
  expect((await stat(join(kept, name))).mode & 0o777).toBe(0o600);
  const sealed = await readFile(join(kept, name), "utf8");
  expect(web.issued).toHaveLength(2);
  for (const token of web.issued) expect(`${stdout}${stderr}${sealed}`).not.toContain(token);

  await home.up();
  const { PATH = "" } = process.env;
  const [command = "", ...own] = reinsCommand;
  const transport = new StdioClientTransport({
    ...{ command, env: { PATH, HOME: folder, REINS_HOME: home.path }, stderr: "pipe" },
    args: [...own, "mcp", "--cwd", home.workspace, "--name", "lab", url],
  });
  const client = new Client({ name: "desktop", version: "1.0.0" });
  onTestFinished(() => client.close());
  const connected = client.connect(transport, { timeout: 120_000 });
  connected.catch(() => undefined);
  const asked = async () => (await home.json("approvals", "list")).approvals;
  await expect.poll(asked, { timeout: 60_000, interval: 250 }).toHaveLength(1);
  const [{ id }] = await asked();
  await home.done("approvals", "approve", id);
  await connected;
  expect((await client.listTools()).tools.map(({ name: tool }) => tool)).toContain("echo");
  expect(web.requests.at(-1)?.headers.get("authorization")).toBe(`Bearer ${web.issued[0]}`);
  const recorded = await home.done("ledger", "log", "--json");
  for (const token of web.issued) expect(recorded).not.toContain(token);

  expect(await home.done("mcp", "logout", url)).toBe(`logged out of ${url}\n`);
  expect(await home.done("mcp", "logout", url)).toBe(`there was no login to ${url}\n`);
  await expect(client.listTools()).rejects.toThrow(`reins mcp login ${url}`);
});
