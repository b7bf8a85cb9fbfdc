import { existsSync } from "node:fs";
import { glob, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { root } from "../root.ts";
import { MAY_IMPORT } from "./rows.ts";
import { violations } from "./rules.ts";
import { readTree } from "./tree.ts";

describe("the repository", () => {
  it("keeps the rules of ARCHITECTURE.md", async () => {
    const tree = await readTree(root);
    expect(tree.files.map((file) => file.path)).toContain("scripts/architecture/rules.ts");
    expect([...tree.manifests.keys()]).toContain("ahp");
    expect(violations(tree)).toEqual([]);
  });

  it("has the same rows in ARCHITECTURE.md as in rows.ts", async () => {
    const text = await readFile(join(root, "ARCHITECTURE.md"), "utf8");
    const rows = [...text.matchAll(/^\| `([\w-]+)` \|[^|]*\| ([^|]*) \|$/gm)].map(
      ([, name = "", imports = ""]) => [name, imports === "–" ? [] : imports.split(", ")],
    );
    expect(rows).toEqual([...MAY_IMPORT]);
  });

  it("has each test that the documentation names", async () => {
    const named = new Set<string>();
    for await (const page of glob("docs/**/*.md", { cwd: root })) {
      const text = await readFile(join(root, page), "utf8");
      for (const [path] of text.matchAll(/packages\/[\w/.-]+\.test\.ts/g)) named.add(path);
    }
    expect(named.size).toBeGreaterThan(50);
    expect([...named].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe("a tree that breaks a rule", () => {
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

  async function violationsIn(files: Record<string, string>): Promise<string[]> {
    const folder = await mkdtemp(join(tmpdir(), "reins-architecture-"));
    folders.push(folder);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return violations(await readTree(folder));
  }

  const manifest = (name: string, dependencies: Record<string, string> = {}) =>
    JSON.stringify({ name: `@reins/${name}`, version: "1.0.0", dependencies });

  it.each([
    ["an import", 'import { entry } from "@reins/ledger";'],
    ["a type-only import", 'import type { Entry } from "@reins/ledger";'],
    ["an import in a type", 'type Entry = import("@reins/ledger/entry").Entry;'],
    ["a dynamic import", 'await import("@reins/ledger");'],
    ["a re-export", 'export { entry } from "@reins/ledger";'],
  ])("is caught by %s that its row does not name", async (_, text) => {
    const [problem, ...others] = await violationsIn({ "packages/verify/src/index.ts": text });
    expect(problem).toMatch(/^packages\/verify\/src\/index.ts: imports @reins\/ledger.*row of verify/);
    expect(others).toEqual([]);
  });

  it("is caught by a dependency that its row does not name, or of another version", async () => {
    const found = await violationsIn({
      "packages/store/package.json": manifest("store"),
      "packages/verify/package.json": manifest("verify", { "@reins/store": "1.0.0" }),
      "packages/ledger/package.json": manifest("ledger", { "@reins/store": "0.9.0", zod: "4.0.0" }),
    });
    expect(found.toSorted()).toEqual([
      "packages/ledger/package.json: depends on @reins/store 0.9.0, but that is at 1.0.0",
      "packages/verify/package.json: depends on @reins/store, which its row does not name",
    ]);
  });

  it("is caught by a package without a row, or under another name", async () => {
    const found = await violationsIn({
      "packages/utils/package.json": manifest("utils"),
      "packages/ahp/package.json": manifest("protocol"),
    });
    expect(found.toSorted()).toEqual([
      "packages/ahp/package.json: is named @reins/protocol, not @reins/ahp",
      "packages/utils/package.json: has no row in scripts/architecture/rows.ts",
    ]);
  });

  it("is caught by a relative import that leaves the package", async () => {
    const found = await violationsIn({
      "packages/cli/src/up.ts": 'import { serve } from "../../ahp/src/index.ts";',
      "packages/cli/src/random.ts": 'import { seededRandom } from "../../../scripts/torture/random.ts";',
      "packages/cli/system/up.test.ts": 'import { table } from "../../../scripts/table.ts";',
      "examples/stdio/harness.ts": 'import { serve } from "../../packages/ahp/src/index.ts";',
      "scripts/test.ts": 'import { serve } from "../packages/ahp/src/index.ts";',
    });
    expect(found).toHaveLength(5);
    for (const problem of found)
      expect(problem).toMatch(/which is outside (packages\/cli|examples|scripts)$/);
  });

  it("is caught by `export *`, a builtin without its prefix, an over-long file, an installed bootstrap", async () => {
    const found = await violationsIn({
      "packages/ahp/src/index.ts": 'export * from "./message.ts";',
      "packages/ahp/src/message.ts": 'import { readFile } from "fs/promises";',
      "packages/ahp/src/long.ts": "\n".repeat(401),
      "packages/ahp/src/short.ts": "\n".repeat(400),
      "packages/ahp/src/long.test.ts": "\n".repeat(1_001),
      "packages/ahp/system/short.test.ts": "\n".repeat(1_000),
      "scripts/bootstrap.mjs": 'import { z } from "zod";',
    });
    expect(found.toSorted()).toEqual([
      "packages/ahp/src/index.ts: uses `export *`; name what is exported",
      "packages/ahp/src/long.test.ts: has 1001 lines, more than 1000",
      "packages/ahp/src/long.ts: has 401 lines, more than 400",
      "packages/ahp/src/message.ts: imports fs/promises, a builtin, without `node:`",
      "scripts/bootstrap.mjs: imports zod, but runs before anything is installed",
    ]);
  });

  it("is not confused by strings, comments, allowed imports and test code", async () => {
    const found = await violationsIn({
      "packages/ledger/package.json": manifest("ledger", { "@reins/store": "1.0.0" }),
      "packages/store/package.json": manifest("store"),
      "packages/ledger/src/index.ts": [
        'import { open } from "@reins/store";',
        'import { join } from "node:path";',
        '// import { decide } from "@reins/policy";',
        'export const text = `import { decide } from "@reins/policy"`;',
      ].join("\n"),
      "packages/ledger/torture/chain.torture.ts":
        'import { seededRandom } from "../../../scripts/torture/random.ts"; import { open } from "../src/index.ts";',
      "packages/ledger/dist/index.js": 'export * from "@reins/policy";',
      "examples/ledger/main.ts":
        'import { open } from "@reins/ledger"; import { helper } from "../shared.ts";',
    });
    expect(found).toEqual([]);
  });
});
