import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { runReins } from "./support/reins.ts";

const KEY = "sk-ant-api03-of-this-test-and-no-other";

it("reins keys keeps a key from stdin, shows none, and removes it", async () => {
  const home = new OperatedHome();
  const pipe = (text: string, ...args: string[]) => runReins(args, home.environment, text);
  const set = await pipe(`${KEY}\n`, "keys", "set", "anthropic");
  expect(set).toMatchObject({ code: 0, stdout: "set  anthropic\n" });
  const file = join(home.path, "keys", "providers.json");
  expect([statSync(file).mode & 0o777, readFileSync(file, "utf8").includes(KEY)]).toEqual([0o600, true]);
  const listed = await home.done("keys", "list");
  expect(listed).toContain("anthropic");
  expect(listed).not.toContain(KEY);
  expect(await home.json("keys", "list")).toMatchObject({ keys: [{ provider: "anthropic" }] });
  const refused = await pipe("two words\n", "keys", "set", "openai");
  expect([refused.code, refused.stderr]).toEqual([1, expect.not.stringContaining("two words")]);
  expect((await pipe(KEY, "keys", "set", "unheard-of")).code).not.toBe(0);
  expect(await home.done("keys", "remove", "anthropic")).toBe("removed  anthropic\n");
  expect(readFileSync(file, "utf8")).not.toContain(KEY);
  expect(existsSync(file)).toBe(true);
});
