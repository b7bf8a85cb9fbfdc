import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { Reins, reinsCommand } from "./support/reins.ts";

/** A program that runs another on a terminal of its own. */
const TERMINAL = "script";
const hasScript = spawnSync(TERMINAL, ["--version"]).stdout?.includes("util-linux") ?? false;

requirement(
  "script",
  hasScript,
  "it makes a terminal",
)("reins up on a terminal", () => {
  it("greets with an address that lets a browser in, once, and with what to try", async () => {
    const home = new OperatedHome();
    const command = [...reinsCommand, "up", "--port", "0"].map((word) => `'${word}'`).join(" ");
    const reins = new Reins(["-qec", command, "/dev/null"], home.environment, TERMINAL);
    await reins.until(() => reins.stdout.includes("ledger log -f"));
    const [, origin, code] = /(http:\S+)\/ui\/#([\w-]+)/.exec(reins.stdout) ?? [];
    const login = () =>
      fetch(`${origin}/v1/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      });
    const first = await login();
    expect(first.status).toBe(200);
    expect(first.headers.get("set-cookie")).toMatch(/HttpOnly.*SameSite=Strict/i);
    expect((await login()).status).toBe(401);
    expect(reins.stdout).toContain("Reins 0.1.0 is up.");
    expect(reins.stdout).not.toContain("opening in your browser");
  });
});
