import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ProviderKeys } from "./provider-keys.ts";

const NOW = new Date("2026-11-18T10:00:00Z");
let home = "";

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "provider-keys-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

test("keeps, lists and removes keys, in a file for this user alone", async () => {
  const keys = new ProviderKeys(home, { OPENAI_API_KEY: "sk-of-the-environment" });
  await keys.set("anthropic", "sk-ant-first", NOW);
  await keys.set("anthropic", "sk-ant-second", NOW);
  await keys.set("gemini", "AIza-something", NOW);
  expect(await keys.get("anthropic")).toBe("sk-ant-second");
  expect(await keys.get("openai")).toBe("sk-of-the-environment");
  expect(await keys.list()).toEqual([
    { provider: "anthropic", set: NOW.toISOString() },
    { provider: "gemini", set: NOW.toISOString() },
  ]);
  expect(await keys.secrets()).toEqual(["sk-ant-second", "AIza-something"]);
  expect((await stat(keys.path)).mode & 0o777).toBe(0o600);
  expect([await keys.remove("gemini"), await keys.remove("gemini")]).toEqual([true, false]);
  expect(await keys.get("gemini")).toBeUndefined();
});

test.each([
  "",
  "short",
  "two lines\nof it that are long",
  "with a space in it",
  "x".repeat(4_097),
  "schlüssel-lang",
])("refuses what is no key without repeating it: %j", async (key) => {
  const keys = new ProviderKeys(home);
  const refusal = await keys.set("openai", key, NOW).catch(String);
  expect(refusal).toContain("is no key");
  if (key.length > 5) expect(refusal).not.toContain(key);
  expect(await keys.list()).toEqual([]);
});

test("refuses a file that others can read, and one that is damaged, without showing it", async () => {
  const keys = new ProviderKeys(home, { ANTHROPIC_API_KEY: "sk-of-the-environment" });
  await keys.set("anthropic", "sk-ant-secret", NOW);
  await chmod(keys.path, 0o644);
  await expect(keys.get("anthropic")).rejects.toThrow("can be read by others");
  await chmod(keys.path, 0o600);
  await writeFile(keys.path, (await readFile(keys.path, "utf8")).replace("}", ""));
  const refusal = await keys.get("anthropic").catch(String);
  expect(refusal).toContain("is damaged");
  expect(refusal).not.toContain("sk-ant-secret");
});
