import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BUNDLE_RECORD, BUNDLES, freshBundle, stateOf } from "./bundle-state.mjs";

let root = "";
const SOURCE = "packages/cli/src/main.ts";
const bundle = () => join(root, BUNDLES, "one");
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bundle-"));
  put(SOURCE, "first");
  put(join(BUNDLES, "one", "main.mjs"), "");
  put(
    BUNDLE_RECORD,
    JSON.stringify({ folder: "one", fingerprint: "f", sources: { [SOURCE]: stateOf(join(root, SOURCE)) } }),
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

describe("a bundle", () => {
  it("is fresh while nothing that went into it changes", () => {
    put("packages/cli/src/other.ts", "not in the bundle");
    expect(freshBundle(root, "f")).toBe(bundle());
  });

  it("is stale after other packages were installed", () => {
    expect(freshBundle(root, "g")).toBeUndefined();
    expect(freshBundle(root, undefined)).toBeUndefined();
  });

  it("is stale after a source was changed, even to something older of the same length", () => {
    put(SOURCE, "older");
    utimesSync(join(root, SOURCE), 1_000, 1_000);
    expect(freshBundle(root, "f")).toBeUndefined();
  });

  it("is stale after a source was changed with its time put back", () => {
    const { atime, mtime } = statSync(join(root, SOURCE));
    put(SOURCE, "longer than it was");
    utimesSync(join(root, SOURCE), atime, mtime);
    expect(freshBundle(root, "f")).toBeUndefined();
  });

  it("is stale after a source was taken away", () => {
    rmSync(join(root, SOURCE));
    expect(freshBundle(root, "f")).toBeUndefined();
  });

  it("is not there without its files, or without a record that can be read", () => {
    rmSync(join(bundle(), "main.mjs"));
    expect(freshBundle(root, "f")).toBeUndefined();
    put(join(BUNDLES, "one", "main.mjs"), "");
    expect(freshBundle(root, "f")).toBe(bundle());
    put(BUNDLE_RECORD, '{"folder":');
    expect(freshBundle(root, "f")).toBeUndefined();
  });
});
