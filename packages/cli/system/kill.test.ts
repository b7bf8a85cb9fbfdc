import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { killLocal } from "../src/commands/kill.ts";
import { OperatedHome } from "./support/operated-home.ts";

describe("reins kill", () => {
  it("tells of a running Reins what the system says, and where the ledger has it", async () => {
    const home = new OperatedHome();
    await home.up();
    const report = JSON.parse(await home.done("kill", "--all", "--reason", "a drill", "--json"));
    expect(report).toMatchObject({ target: { kind: "all" }, gone: [], left: [], reason: "a drill" });
    expect(await home.done("ledger", "get", report.entry)).toContain("a drill");
    const missing = await home.run("kill", "claude");
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining("Nothing runs of the agent claude"),
    ]);
  });

  it("is kept for the ledger where no Reins runs", async () => {
    const home = await OperatedHome.begun();
    const said = await home.done("kill", "--all");
    expect(said).toContain("0 processes gone");
    expect((await home.run("kill", "claude")).code).toBe(3);
    const reins = await home.up();
    const log = await home.done("ledger", "log", "--quality", "kill", "--json");
    expect(
      log
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).entry.payload),
    ).toMatchObject([{ late: true }]);
    await home.stop(reins);
  });

  it("ends everything itself where a Reins hangs as a whole, and says so of anything less", async () => {
    const { path } = new OperatedHome();
    mkdirSync(path);
    const still = createServer().listen(join(path, "kill.sock"));
    onTestFinished(() => void still.close());
    const [asked] = await Promise.all([
      new Promise<string>((resolve) =>
        still.once("connection", (socket) =>
          socket.once("data", (order) => resolve(JSON.parse(`${order}`).id)),
        ),
      ),
      once(still, "listening").then(async () =>
        expect(await killLocal(path, { all: true }, 50)).toMatchObject({ gone: [], left: [], entry: null }),
      ),
    ]);
    // The server may yet carry out the request and record it; the local kill has another id.
    const journal = await readFile(join(path, "kills.jsonl"), "utf8");
    expect(journal).toContain('"kind":"all"');
    expect(journal).not.toContain(asked);
    await expect(killLocal(path, { agent: "claude" }, 50)).rejects.toThrow("hangs");
  });

  it("wants to know what", async () => {
    const home = new OperatedHome();
    expect(await home.run("kill")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Nothing to end is named"),
    });
    expect((await home.run("kill", "claude", "--all")).code).toBe(2);
    expect(await home.run("kill", "--all")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("is not the home of a Reins"),
    });
  });
});
