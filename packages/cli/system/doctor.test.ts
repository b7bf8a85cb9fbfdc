import { chmod } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

interface Found {
  readonly check: string;
  readonly state: string;
  readonly found: string;
  readonly mend?: string;
}

async function examined(home: OperatedHome) {
  const { code, stdout } = await home.run("doctor", "--json");
  const { well, findings }: { well: boolean; findings: Found[] } = JSON.parse(stdout);
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { code, well, of, findings };
}

describe("reins doctor", () => {
  it("finds a Reins that runs to be well, and looks at everything it needs", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    const { code, well, of, findings } = await examined(home);
    expect([code, well]).toEqual([0, true]);
    expect(of("server")).toMatchObject({
      state: "fine",
      found: expect.stringContaining("runs on this home"),
    });
    expect(of("keys")?.state).toBe("fine");
    expect(of("constitution")).toMatchObject({ state: "fine", found: expect.stringContaining("rules") });
    expect(new Set(findings.map(({ check }) => check)).size).toBe(11);
    for (const { state, mend } of findings) if (state !== "fine") expect(mend).toMatch(/\w/);
    await home.stop(reins);
    await chmod(home.path, 0o755);
    const open = await examined(home);
    expect(open.code).toBe(1);
    expect(open.of("home")).toMatchObject({ state: "wrong", mend: expect.stringContaining("chmod 700") });
  });
});
