import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stateFolder } from "./state-folder.ts";

it("remembers in the user's own state folder", () => {
  expect(stateFolder("linux", { XDG_STATE_HOME: "/state" })).toBe("/state/reins");
  for (const environment of [{}, { XDG_STATE_HOME: "relative" }]) {
    expect(stateFolder("darwin", environment)).toBe(join(homedir(), ".local", "state", "reins"));
  }
});
