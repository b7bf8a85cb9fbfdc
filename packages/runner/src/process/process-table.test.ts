import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { requirement } from "../../../../scripts/test/requirement.ts";
import { memoryOf } from "./process-table.ts";

requirement(
  "Linux",
  process.platform === "linux",
  "memory is read from /proc",
)("the memory of a family", () => {
  it("counts its group and their children, and no other process", async () => {
    const child = spawn("/bin/sh", ["-c", "sleep 30 & echo up; wait"], { detached: true, stdio: "pipe" });
    try {
      await once(child.stdout, "data");
      const [use, none] = memoryOf([[child.pid ?? 0], [2 ** 30]]) ?? [];
      expect(use?.processes).toBe(2);
      expect(use?.bytes).toBeGreaterThan(0);
      expect(none).toEqual({ processes: 0, bytes: 0 });
    } finally {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    }
  });
});
