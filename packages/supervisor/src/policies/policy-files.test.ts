import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constitutionSchema, loadPolicy } from "@reins/policy";
import { expect, onTestFinished, test } from "vitest";
import { writeFirstFiles } from "./policy-files.ts";

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "first-files-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

test("a new home gets a constitution that is fine, a roster, and the schema that the constitution names", async () => {
  const home = await newHome();
  const written = await writeFirstFiles(home);
  expect(written).toEqual(
    ["constitution.yaml", "constitution.md", "agent-roster.jsonl"].map((name) => join(home, name)),
  );
  const rules = await readFile(join(home, "constitution.yaml"), "utf8");
  expect(loadPolicy({ file: "constitution.yaml", rules, prose: new Uint8Array() }).rules).not.toEqual([]);
  const [, schema = ""] = /\$schema=\.\/(\S+)/.exec(rules) ?? [];
  expect(await readFile(join(home, schema), "utf8")).toBe(constitutionSchema());
});

test("what a user wrote stays, and a schema of another version does not", async () => {
  const home = await newHome();
  await writeFile(join(home, "constitution.yaml"), "tool_rules: []\n");
  await writeFile(join(home, "constitution.schema.json"), "{}");
  await writeFirstFiles(home);
  expect(await readFile(join(home, "constitution.yaml"), "utf8")).toBe("tool_rules: []\n");
  expect(await readFile(join(home, "constitution.schema.json"), "utf8")).toBe(constitutionSchema());
  expect(await writeFirstFiles(home)).toEqual([]);
  expect((await readdir(home)).toSorted()).toEqual(
    ["agent-roster.jsonl", "constitution.md", "constitution.schema.json", "constitution.yaml"].toSorted(),
  );
});
