import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./root.ts";

it("docs/dependencies.md has every dependency with its version, and versions are exact", async () => {
  const declared: Record<string, string> = {};
  for await (const path of glob(["package.json", "packages/*/package.json"], { cwd: root })) {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, path), "utf8"));
    Object.assign(declared, dependencies, devDependencies);
  }
  const foreign = Object.entries(declared).filter(([name]) => !name.startsWith("@reins/"));
  const document = readFileSync(join(root, "docs", "dependencies.md"), "utf8");
  const documented = [...document.matchAll(/^\| `(\S+)` \| (\S+) \|/gm)].map(([, name, version]) => [
    name,
    version,
  ]);
  expect(documented).toEqual(expect.arrayContaining(foreign));
  expect(foreign.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
});
