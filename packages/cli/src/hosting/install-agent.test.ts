import type { InstallProgress } from "@reins/agents";
import { describe, expect, it } from "vitest";
import { InstallDisplay } from "./install-agent.ts";

function shown(isTTY: boolean, ...steps: InstallProgress[]): string {
  const written: string[] = [];
  const display = new InstallDisplay({ isTTY, write: (text) => written.push(text) }, "Tiny");
  for (const step of steps) display.update(step);
  display.clear();
  return written.join("");
}

const installing = (done: number, total = 8): InstallProgress => ({ phase: "installing", done, total });

describe("an install", () => {
  it("prints a few lines without a terminal", () => {
    const steps = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((done) => installing(done));
    expect(
      shown(false, ...steps, { phase: "verifying" }, { phase: "installed", version: "1.0.0" }),
    ).toBe(`Tiny: 0 of 8 packages
Tiny: 2 of 8 packages
Tiny: 4 of 8 packages
Tiny: 6 of 8 packages
Tiny: 8 of 8 packages
Tiny: packages are installed; starting it once
Tiny 1.0.0 is installed
`);
  });

  it("shows a bar on a terminal and removes it", () => {
    expect(shown(true, installing(2))).toBe(
      `\r\u001b[KTiny [######${"-".repeat(18)}] 2 of 8 packages\r\u001b[K`,
    );
  });

  it("reports that it waits for another process", () => {
    expect(shown(false, { phase: "waiting", holder: 42 })).toContain(
      "another process (42) is installing Tiny",
    );
  });
});
