import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { requirement } from "../../../../scripts/test/requirement.ts";
import { memoryOf, systemTable } from "./process-table.ts";

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

requirement(
  "Linux",
  process.platform === "linux",
  "processes are read from /proc",
)("scans of the machine's processes", () => {
  const scan = () => Array.fromAsync(systemTable.scan());

  it("read each process once for all that run side by side", async () => {
    const [one = [], ...others] = await Promise.all([scan(), scan(), scan()]);
    expect(one.map(({ pid }) => pid)).toContain(process.pid);
    for (const other of others)
      expect(other.find(({ pid }) => pid === process.pid)).toBe(one.find(({ pid }) => pid === process.pid));
  });

  it("go by nothing that one before them has read", async () => {
    const before = new Set(await scan());
    expect((await scan()).filter((entry) => before.has(entry))).toEqual([]);
  });

  it("see a process that begins while others scan", async () => {
    const scans = Array.from({ length: 5 }, scan);
    const child = spawn("/bin/sh", ["-c", "echo up; sleep 30"], { detached: true, stdio: "pipe" });
    try {
      await once(child.stdout, "data");
      expect((await scan()).map(({ pid }) => pid)).toContain(child.pid);
      await Promise.all(scans);
    } finally {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    }
  });
});
