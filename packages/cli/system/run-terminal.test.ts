import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { homeWith, stub } from "./support/added-agents.ts";
import type { OperatedHome } from "./support/operated-home.ts";
import { Reins, reinsCommand } from "./support/reins.ts";

/** A program that runs another on a terminal of its own. */
const TERMINAL = "script";
const hasScript = spawnSync(TERMINAL, ["--version"]).stdout?.includes("util-linux") ?? false;

requirement(
  "script",
  hasScript,
  "it makes a terminal",
)("reins run on a terminal", () => {
  /** `reins run` on a terminal of its own; what is written to stdin is typed. */
  function onTerminal(home: OperatedHome, ...steps: string[]): Reins {
    const args = ["run", steps.join("\n"), "--agent", "stub", "--cwd", home.workspace];
    const command = [...reinsCommand, ...args].map((word) => `'${word}'`).join(" ");
    return new Reins(["-qec", command, "/dev/null"], home.environment, TERMINAL);
  }

  const asked = (reins: Reins, times = 1) =>
    reins.until(() => reins.stdout.split("> ").length > times && reins.stdout.includes("why you are asked"));

  it("asks there, one question after the other, and takes a key as the answer", async () => {
    const home = homeWith([stub]);
    const reins = onTerminal(home, "run make all", "run make more", "say That was it.");
    await asked(reins);
    expect(reins.stdout).toContain("? Bash: make all");
    expect(reins.stdout).toContain('{"command":"make all"}');
    expect(reins.stdout).toContain("a = allow once, A = always allow this, d = reject");
    reins.stdin.write("x\n");
    await asked(reins, 2);
    reins.stdin.write("a\n");
    await reins.until(() => reins.stdout.includes("? Bash: make more"));
    await asked(reins, 3);
    reins.stdin.write("d\n");
    const { code, stdout } = await reins.ended;
    expect(code).toBe(0);
    expect(stdout).toContain("not allowed: ");
    expect(stdout).toMatch(/That was it\.\r?\n$/);
    const log = await home.done("ledger", "log", "--quality", "approval", "--json");
    expect(log).toContain("user:default/operator");
  });

  it("ends the turn on Ctrl-C while it asks", async () => {
    const home = homeWith([stub]);
    const reins = onTerminal(home, "run make all");
    await asked(reins);
    reins.stdin.write("\u0003");
    const { code, stdout } = await reins.ended;
    expect(code).toBe(1);
    expect(stdout).toContain("The turn ended with: cancelled");
  });
});
