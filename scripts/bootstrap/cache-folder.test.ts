import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { boundCompileCache, compileCacheFolder } from "./cache-folder.mjs";

describe("compileCacheFolder", () => {
  it("is in the user's cache folder", () => {
    expect(compileCacheFolder("linux", {})).toBe(join(homedir(), ".cache", "reins", "compile"));
    expect(compileCacheFolder("linux", { XDG_CACHE_HOME: "/var/cache/me" })).toBe(
      "/var/cache/me/reins/compile",
    );
    expect(compileCacheFolder("win32", {})).toBe(join(homedir(), "AppData", "Local", "reins", "compile"));
  });

  it("ignores a relative XDG_CACHE_HOME", () => {
    expect(compileCacheFolder("linux", { XDG_CACHE_HOME: "cache" })).toBe(
      join(homedir(), ".cache", "reins", "compile"),
    );
  });
});

describe("boundCompileCache", () => {
  it("leaves what is within bounds, and empties what is beyond", () => {
    const folder = join(mkdtempSync(join(tmpdir(), "compile-cache-")), "compile");
    onTestFinished(() => rmSync(join(folder, ".."), { recursive: true, force: true }));
    expect(() => boundCompileCache(folder, 3)).not.toThrow();
    for (const version of ["v22", "v24"]) {
      mkdirSync(join(folder, version), { recursive: true });
      for (const name of ["one", "other"]) writeFileSync(join(folder, version, name), "");
    }
    boundCompileCache(folder, 4);
    expect(existsSync(join(folder, "v24", "other"))).toBe(true);
    boundCompileCache(folder, 3);
    expect(existsSync(folder)).toBe(false);
  });
});
