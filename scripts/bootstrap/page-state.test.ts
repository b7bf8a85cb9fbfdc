import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isPageBuilt } from "./page-state.mjs";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "page-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, seconds: number): void {
  const file = join(root, "packages", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  for (const one of [file, dirname(file)]) utimesSync(one, seconds, seconds);
}

describe("the page", () => {
  it("is not built when there is none", () => {
    put("inspector/src/main.tsx", 100);
    expect(isPageBuilt(root)).toBe(false);
  });

  it("is built when nothing that goes into it is newer", () => {
    put("inspector/src/main.tsx", 100);
    put("api/src/index.ts", 100);
    put("inspector/dist/index.html", 200);
    expect(isPageBuilt(root)).toBe(true);
  });

  it.each(["inspector/src/main.tsx", "api/src/deep/schema.ts", "verify/src/index.ts"])(
    "is built anew after a change in %s",
    (path) => {
      put("inspector/dist/index.html", 200);
      put(path, 300);
      expect(isPageBuilt(root)).toBe(false);
    },
  );

  it("is built anew after a file was taken away", () => {
    put("inspector/src/old.ts", 100);
    put("inspector/dist/index.html", 200);
    expect(isPageBuilt(root)).toBe(true);
    rmSync(join(root, "packages/inspector/src/old.ts"));
    expect(isPageBuilt(root)).toBe(false);
  });
});
