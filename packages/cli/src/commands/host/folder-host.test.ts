import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderHost } from "./host.ts";

const { signal } = new AbortController();

async function hostOf(file?: unknown) {
  const folder = await mkdtemp(join(tmpdir(), "host-"));
  if (file !== undefined) await writeFile(join(folder, "host.json"), JSON.stringify(file));
  const offer = async () => {
    const offered = await folderHost(folder);
    return async (method: string, params = {}) => offered[method]?.(params, signal);
  };
  return { folder, offer };
}

const echo = {
  name: "echo",
  description: "Says it again",
  command: [process.execPath, "-e", "process.stdin.pipe(process.stdout)"],
};

test("lends the tools of its file without their programs, and runs them with the payload", async () => {
  const ask = await (await hostOf({ tools: [echo] })).offer();
  expect(await ask("host/tools/list")).toEqual({ tools: [{ name: "echo", description: "Says it again" }] });
  expect(await ask("builtin_call", { name: "echo", args: [{ a: 1 }] })).toEqual({ a: 1 });
  await expect(async () => ask("builtin_call", { name: "other", args: [] })).rejects.toMatchObject({
    code: -32001,
  });
});

test("finds tools and matches skills for an agent", async () => {
  const ask = await (await hostOf({ tools: [echo] })).offer();
  const query = { strategy: "host", query: "say it again", candidates: ["echo", "other"] };
  expect(await ask("tool_search/query", query)).toEqual({ tool_names: ["echo"] });
  const candidates = [{ name: "ship", description: "Ships releases" }, { name: "review" }];
  expect(
    await ask("skill/match", { strategy: "host", prompt: "ship the releases", candidates }),
  ).toMatchObject({
    matches: [{ name: "ship" }],
  });
});

test("shows why a tool failed", async () => {
  const broken = { name: "broken", command: [process.execPath, "-e", "process.exit(3)"] };
  const ask = await (await hostOf({ tools: [broken] })).offer();
  await expect(ask("builtin_call", { name: "broken", args: [{}] })).rejects.toMatchObject({ code: -32603 });
});

test("lends the skills of its folder, and no file beside them", async () => {
  const { folder, offer } = await hostOf();
  await mkdir(join(folder, "skills", "greet"), { recursive: true });
  await writeFile(join(folder, "skills", "greet", "SKILL.md"), "Say hello.");
  const ask = await offer();
  expect(await ask("skills/list")).toEqual([{ id: "greet", name: "greet", source: "host" }]);
  expect(await ask("skills/fetch", { id: "greet" })).toEqual({ name: "greet", body: "Say hello." });
  await expect(ask("skills/fetch", { id: "../greet" })).rejects.toMatchObject({ code: -32002 });
});

test("denies permissions unless its file grants them", async () => {
  const denies = await (await hostOf()).offer();
  expect(await denies("session/request_permission")).toMatchObject({ granted: false });
  const allows = await (await hostOf({ permission: "allow" })).offer();
  expect(await allows("session/request_permission")).toEqual({ granted: true });
});

test("says what is wrong with its file", async () => {
  const { offer } = await hostOf({ tools: [{ name: "x" }] });
  await expect(offer()).rejects.toThrow("host.json cannot be used");
});
