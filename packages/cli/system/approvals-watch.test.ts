import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { Reins, reinsCommand } from "./support/reins.ts";

describe("reins approvals watch", () => {
  it("prints what waits and every change as it comes, a line or a document each", async () => {
    const home = new OperatedHome();
    await home.up();
    const before = await home.ask({ command: "make before" });
    const [lines, documents] = [home.start("approvals", "watch"), home.start("approvals", "watch", "--json")];
    await Promise.all([lines.printed(before.slice(0, 12)), documents.printed(before)]);
    const id = await home.ask({ command: "make after" });
    await lines.printed(`${id.slice(0, 12)}  pending `);
    await home.done("approvals", "deny", id);
    await lines.printed(`${id.slice(0, 12)}  denied `);
    await documents.until(() => documents.lines.length === 3);
    expect(documents.log.map(({ approval }) => approval)).toMatchObject([
      { id: before, state: "pending" },
      { id, state: "pending" },
      { id, state: "denied" },
    ]);
    for (const watching of [lines, documents]) watching.signal("SIGINT");
    expect(await lines.ended).toMatchObject({ code: 0, stderr: "" });
    expect(await documents.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("goes on when Reins is started anew, and leaves nothing out", async () => {
    const home = new OperatedHome();
    const first = await home.up();
    const watching = home.start("approvals", "watch");
    const before = await home.ask({ command: "make before" });
    await watching.printed(before.slice(0, 12));
    await first.kill();
    await home.done("approvals", "deny", before);
    await home.up();
    await watching.printed(`${before.slice(0, 12)}  denied `);
    const id = await home.ask({ command: "make after" });
    await watching.printed(`${id.slice(0, 12)}  pending `);
    expect(watching.lines).toHaveLength(3);
    expect(watching.stderr).toContain("The connection was lost; retrying for a minute.");
  });
});

/** A program that runs another on a terminal of its own. */
const TERMINAL = "script";
const hasScript = spawnSync(TERMINAL, ["--version"]).stdout?.includes("util-linux") ?? false;

requirement(
  "script",
  hasScript,
  "it makes a terminal",
)("reins approvals watch on a terminal", () => {
  /** `reins` on a terminal of its own; what is written to stdin is typed. */
  function onTerminal(home: OperatedHome, ...args: string[]): Reins {
    const command = [...reinsCommand, ...args].map((word) => `'${word}'`).join(" ");
    return new Reins(["-qec", command, "/dev/null"], home.environment, TERMINAL);
  }

  it("shows each request whole and takes a key as the answer", async () => {
    const home = new OperatedHome();
    await home.up();
    const watching = onTerminal(home, "approvals", "watch");
    await watching.printed("Waiting for approvals");
    const id = await home.ask();
    await watching.printed("[a] allow once  [A] allow always  [d] deny  [s] later  [q] quit");
    expect(watching.stdout).toContain('given      command: "make all"');
    // Keys that come with the question are not taken for answers, so the person presses it until it counts.
    const pressing = setInterval(() => watching.stdin.write("a"), 100);
    try {
      await watching.printed(`allowed once  ${id}`);
    } finally {
      clearInterval(pressing);
    }
    expect(await home.decide()).toMatchObject({ decision: "allow" });
    watching.stdin.write("q");
    expect((await watching.ended).code).toBe(0);
  });
});
