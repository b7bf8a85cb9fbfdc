import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Action } from "@reins/policy";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { targetState } from "./harness.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "target-state-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "db/migrations"), { recursive: true });
  await writeFile(join(folder, "db/migrations/1.sql"), "one");
  await writeFile(join(folder, "a.txt"), "a");
});

async function stateOf(path: string, deep = false): Promise<string | undefined> {
  const target = join(folder, path);
  const reach = deep ? { deep: true as const } : {};
  const action: Action = {
    tool: "Bash",
    effects: [{ kind: "write", path: target, place: "workspace", destroys: true, ...reach }],
    opaque: false,
    doubts: [],
    claims: {},
    arguments: {},
  };
  return (await targetState(action))[target];
}

describe("what an action would change", () => {
  test("is a file with this content, or nothing yet", async () => {
    const before = await stateOf("a.txt");
    expect(before).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await stateOf("a.txt")).toBe(before);
    await writeFile(join(folder, "a.txt"), "b");
    expect(await stateOf("a.txt")).not.toBe(before);
    expect(await stateOf("new.txt")).toBe("absent");
  });

  test.each<[string, () => Promise<unknown>]>([
    ["a file more", () => writeFile(join(folder, "db/new.sql"), "")],
    ["another content", () => writeFile(join(folder, "db/migrations/1.sql"), "other")],
    ["a file less", () => rm(join(folder, "db/migrations/1.sql"))],
    ["a folder more", () => mkdir(join(folder, "db/migrations/old"))],
    ["a link more", () => symlink("/etc", join(folder, "db/link"))],
  ])("is, where it reaches below a folder, everything there: %s makes it another", async (_, change) => {
    const [deep, flat] = [await stateOf("db", true), await stateOf("db")];
    expect(await stateOf("db", true)).toBe(deep);
    await change();
    expect(await stateOf("db", true)).not.toBe(deep);
    expect(await stateOf("db")).toBe(flat);
  });

  test("covers the first entries of a folder that is very large", async () => {
    const names = Array.from({ length: 2_100 }, (_, n) => join(folder, "db", `f${n}`));
    await Promise.all(names.map((name) => writeFile(name, "")));
    expect(await stateOf("db", true)).toMatch(/of the first 2000 entries$/);
  });
});
