import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The guide to the bridge names tests that exist. */
const ROOT = new URL("../../../", import.meta.url);
const guide = readFileSync(new URL("docs/bridge.md", ROOT), "utf8");
const rows = [...guide.matchAll(/^\| (.+?) \| (`[^|]+\.test\.ts`) \|$/gm)].map(
  ([, statement = "", files = ""]) => ({
    statement,
    files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file),
  }),
);

test.each(rows)("docs/bridge.md names tests that exist: $statement", ({ files }) => {
  const missing = files.filter(
    (file) => !existsSync(new URL(file, file.startsWith("packages/") ? ROOT : import.meta.url)),
  );
  expect(missing).toEqual([]);
});

test("docs/bridge.md has a row for each statement, once", () => {
  expect(rows.length).toBeGreaterThan(25);
  expect(new Set(rows.map(({ statement }) => statement)).size).toBe(rows.length);
});
