import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileCacheFolder } from "./cache-folder.mjs";

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
