import { describe, expect, it } from "vitest";
import { Launchd } from "./launchd.ts";
import type { RunProgram } from "./service.ts";

const plan = {
  name: "reins",
  command: ["/usr/bin/node", "/opt/it's/main.js", "up", "--home", "/Users/ann/reins & co"],
  home: "/Users/ann/reins & co",
  folder: "/Users/ann",
  environmentFile: "/Users/ann/reins & co/environment",
  path: "/usr/bin:/bin",
};

/** A launchd that remembers what was loaded. */
function launchd(loaded = false) {
  const calls: string[] = [];
  const state = { loaded };
  const run: RunProgram = async (program, args) => {
    calls.push([program, ...args].join(" "));
    if (args[0] === "bootstrap") state.loaded = true;
    if (args[0] === "bootout") state.loaded = false;
    if (args[0] !== "print" || args[1] === "gui/501" || state.loaded)
      return { code: 0, stdout: "\tstate = running\n\tpid = 77\n", stderr: "" };
    return { code: 113, stdout: "", stderr: "Could not find service" };
  };
  return { manager: new Launchd(plan, 501, run), calls };
}

const changes = (calls: readonly string[]) => calls.filter((call) => !call.includes(" print "));

describe("a launchd service", () => {
  it("starts at login, is kept alive, logs to files and takes its keys from a file", () => {
    const { manager } = launchd();
    expect(manager.file).toBe("/Users/ann/Library/LaunchAgents/reins.reins.plist");
    expect(manager.text).toMatch(/<key>RunAtLoad<\/key>\s*<true\/>/);
    expect(manager.text).toMatch(/<key>KeepAlive<\/key>\s*<true\/>/);
    expect(manager.text).toContain("<string>/Users/ann/Library/Logs/reins.err.log</string>");
    expect(manager.text).toContain("'/Users/ann/reins &amp; co/environment'");
    expect(manager.text).toContain("'/opt/it'\\''s/main.js'");
    expect(manager.logs).toContain("/Users/ann/Library/Logs/reins.log");
  });

  it("is loaded, reloaded after a change, and unloaded", async () => {
    const fresh = launchd();
    await fresh.manager.require();
    await fresh.manager.start();
    expect(changes(fresh.calls)).toEqual([`launchctl bootstrap gui/501 ${fresh.manager.file}`]);
    expect(await fresh.manager.state()).toEqual({ enabled: true, running: true, pid: 77 });
    const known = launchd(true);
    await known.manager.start();
    expect(changes(known.calls)).toEqual([
      "launchctl bootout gui/501/reins.reins",
      `launchctl bootstrap gui/501 ${known.manager.file}`,
    ]);
    await known.manager.stop();
    expect(await known.manager.state()).toEqual({ enabled: false, running: false, pid: undefined });
  });

  it("requires a logged-in user", async () => {
    const manager = new Launchd(plan, 501, async () => ({ code: 113, stdout: "", stderr: "no such domain" }));
    await expect(manager.require()).rejects.toThrow("launchd has no session of this user: no such domain");
  });
});
