import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { compileCacheFolder, stateFolder } from "./installation.ts";

it("puts compiled code into the user's cache folder", () => {
  expect(compileCacheFolder("linux", { XDG_CACHE_HOME: "/cache" })).toBe("/cache/reins/compile");
  for (const environment of [{}, { XDG_CACHE_HOME: "relative" }]) {
    expect(compileCacheFolder("darwin", environment)).toBe(join(homedir(), ".cache", "reins", "compile"));
  }
});

it("puts state into the user's state folder", () => {
  expect(stateFolder("linux", { XDG_STATE_HOME: "/state" })).toBe("/state/reins");
  for (const environment of [{}, { XDG_STATE_HOME: "relative" }]) {
    expect(stateFolder("darwin", environment)).toBe(join(homedir(), ".local", "state", "reins"));
  }
});
