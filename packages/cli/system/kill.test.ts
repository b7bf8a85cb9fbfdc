import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

describe("reins kill", () => {
  it("tells of a running Reins what the system says, and where the ledger has it", async () => {
    const home = new OperatedHome();
    await home.up();
    const report = JSON.parse(await home.done("kill", "--all", "--reason", "a drill", "--json"));
    expect(report).toMatchObject({ target: { kind: "all" }, gone: [], left: [], reason: "a drill" });
    expect(await home.done("ledger", "get", report.entry)).toContain("a drill");
    const nobody = await home.run("kill", "claude");
    expect([nobody.code, nobody.stderr]).toEqual([
      1,
      expect.stringContaining("nothing runs of the agent claude"),
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

  it("wants to know what", async () => {
    const home = new OperatedHome();
    expect(await home.run("kill")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("not said what to end"),
    });
    expect((await home.run("kill", "claude", "--all")).code).toBe(2);
  });
});
