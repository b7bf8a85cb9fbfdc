import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { folder } from "./support/reins.ts";

const run = ([command = "", ...args]: readonly string[]) => spawnSync(command, args);

const canMount = (() => {
  const place = join(folder, "try");
  mkdirSync(place);
  const mounted = run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place]).status === 0;
  if (mounted) run(["umount", place]);
  return mounted;
})();

requirement(
  "a small file system",
  canMount,
  "this user cannot mount one",
)("reins up on a disk that is full", () => {
  it("refuses with the reason, goes on when there is room, and has lost nothing", {
    timeout: 180_000,
  }, async () => {
    const home = new OperatedHome();
    mkdirSync(home.path, { mode: 0o700 });
    expect(run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "none", home.path]).status).toBe(0);
    onTestFinished(() => void run(["umount", "-l", home.path]));
    const reins = await home.up();
    const kept = [await home.ask({ command: "make first" })];
    const ballast = join(home.path, "ballast");
    for (let round = 0; round < 2; round += 1) {
      fill(ballast);
      const reasons: string[] = [];
      for (let n = 0; n < 40 && reasons.length < 3; n += 1)
        await home.ask({ command: `make full-${round}-${n} ${"x".repeat(4_000)}`, session: `s${n}` }).then(
          (id) => kept.push(id),
          (error: unknown) => reasons.push(String(error)),
        );
      expect(reasons.length).toBeGreaterThan(0);
      expect(reasons.join()).toMatch(/full|room|space/i);
      rmSync(ballast);
      await expect
        .poll(() =>
          home.ask({ command: `make again-${round}` }).then(
            (id) => kept.push(id) > 0,
            () => false,
          ),
        )
        .toBe(true);
    }
    await home.stop(reins);
    const again = await home.up();
    for (const id of kept)
      expect(await home.done("approvals", "show", id)).toContain(`approvals approve ${id}`);
    expect((await home.run("ledger", "verify")).code).toBe(0);
    await home.stop(again);
  });
});

/** Writes until nothing more fits. */
function fill(path: string): void {
  writeFileSync(path, "");
  for (const size of [1 << 20, 1 << 16, 1 << 12]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch {
      // Smaller pieces may still fit.
    }
  }
}
