import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Principal } from "@reins/supervisor";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FolderServers } from "./folder-servers.ts";

const entry = { type: "local", command: ["run", "first"], args: ["then"], env: { A: "1" } };
const SERVER = { name: "tools", command: "run", args: ["first", "then"], env: [{ name: "A", value: "1" }] };
let base: string;
let folder: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "folder-servers-"));
  folder = join(base, "project");
  await mkdir(dirname(FolderServers.file(folder)), { recursive: true });
});
afterEach(() => rm(base, { recursive: true, force: true }));

function principal(user = "ann", tenant = "default"): Principal {
  const rights = { roles: [], scopes: ["*"], agents: ["*"] };
  return { id: "token", kind: "user", user, tenant, ...rights, started: "interactive" };
}

const store = (value: unknown) => writeFile(FolderServers.file(folder), JSON.stringify(value));

test("a stored server counts for its user, also after a restart and by another name of the folder", async () => {
  const servers = await FolderServers.open(base);
  await store({ tools: entry });
  expect(await servers.serversFor(principal(), folder)).toEqual([]);
  await servers.note(principal(), folder, "tools", entry);
  await symlink(folder, join(base, "link"));
  const again = await FolderServers.open(base);
  expect(await again.serversFor(principal(), join(base, "link"))).toEqual([SERVER]);
  expect(await again.serversFor(principal("bob"), folder)).toEqual([]);
  expect(await again.serversFor(principal("ann", "acme"), folder)).toEqual([]);
  expect(await again.serversFor(principal(), undefined)).toEqual([]);
  await again.note(principal("bob"), folder, "tools");
  expect(await again.serversFor(principal(), folder)).toEqual([SERVER]);
  await again.note(principal(), folder, "tools");
  expect(await again.serversFor(principal(), folder)).toEqual([]);
});

test("a file that is none, is changed, large or malformed gives no server, and keeps no session waiting", async () => {
  const servers = await FolderServers.open(base);
  await servers.note(principal(), folder, "tools", entry);
  const file = FolderServers.file(folder);
  for (const text of ["", "{", "[]", "null", '{"tools":null}', '{"tools":{"type":"local","command":"sh"}}'])
    await writeFile(file, text).then(async () =>
      expect([text, await servers.serversFor(principal(), folder)]).toEqual([text, []]),
    );
  await writeFile(file, `${JSON.stringify({ tools: entry })}${" ".repeat(4 * 1024 * 1024)}`);
  expect(await servers.serversFor(principal(), folder)).toEqual([]);
  await rm(file);
  execFileSync("mkfifo", [file]);
  expect(await servers.serversFor(principal(), folder)).toEqual([]);
  await rm(file);
  await writeFile(join(base, "elsewhere"), JSON.stringify({ tools: entry }));
  await symlink(join(base, "elsewhere"), file);
  expect(await servers.serversFor(principal(), folder)).toEqual([]);
  await writeFile(join(base, "folder-servers.json"), "damaged");
  expect(await (await FolderServers.open(base)).serversFor(principal(), folder)).toEqual([]);
});

test("a remote server has its transport and headers, and one that is off is not given", async () => {
  const servers = await FolderServers.open(base);
  const far = { type: "remote", url: "https://x.example/mcp", transport: "sse", headers: { b: "2" } };
  const off = { ...far, enabled: false };
  await store({ far, off });
  for (const [name, value] of Object.entries({ far, off }))
    await servers.note(principal(), folder, name, value);
  expect(await servers.serversFor(principal(), folder)).toEqual([
    { type: "sse", name: "far", url: far.url, headers: [{ name: "b", value: "2" }] },
  ]);
});

test("what cannot be applied is refused", async () => {
  const servers = await FolderServers.open(base);
  servers.expect("tools", entry);
  for (const wrong of [
    {},
    { type: "local" },
    { type: "local", command: [] },
    { type: "local", command: "x", env: { A: 1 } },
    { type: "local", command: "x", cwd: "/" },
    { type: "remote", url: 1 },
    { type: "remote", url: "https://x.example", bearerTokenEnvVar: "TOKEN" },
  ])
    expect(() => servers.expect("tools", wrong)).toThrow("tools");
});
