import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { requirement } from "../../../../scripts/test/requirement.ts";
import { JoinedScans, memoryOf, type ProcessEntry, systemTable, type Visit } from "./process-table.ts";

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
  const scan = async () => {
    const seen: ProcessEntry[] = [];
    await systemTable.scan((entry) => void seen.push(entry));
    return seen;
  };

  it("read each process once for all that are asked for while one is under way", async () => {
    const [, one = [], ...others] = await Promise.all([scan(), scan(), scan(), scan()]);
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

describe("scans that are joined", () => {
  /** Scans of which each sees its own number as a pid, once it is let go on. */
  function counted() {
    let scans = 0;
    const gates: (() => void)[] = [];
    const joined = new JoinedScans(async (visit: Visit) => {
      scans += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      const pid = scans;
      gates.push(resolve);
      await promise;
      await visit({ pid } as ProcessEntry);
    });
    const pids = async () => {
      const seen: number[] = [];
      await joined.join(({ pid }) => void seen.push(pid));
      return seen;
    };
    const next = async () => {
      while (gates.length === 0) await new Promise(setImmediate);
      gates.shift()?.();
    };
    return { joined, pids, next, count: () => scans };
  }

  it("are one, which begins after the last of them was asked for", async () => {
    const { pids, next, count } = counted();
    const first = pids();
    const others = [pids(), pids(), pids()];
    await next();
    expect(await first).toEqual([1]);
    others.push(pids());
    await next();
    expect(await Promise.all(others.slice(0, 3))).toEqual([[2], [2], [2]]);
    await next();
    expect(await others[3]).toEqual([3]);
    expect(count()).toBe(3);
    const later = pids();
    await next();
    expect(await later).toEqual([4]);
  });

  it("fail for the one whose visit fails, alone", async () => {
    const { joined, pids, next } = counted();
    const started = pids();
    const thrown = joined.join(() => {
      throw new Error("thrown");
    });
    const rejected = joined.join(async () => {
      throw new Error("rejected");
    });
    const whole = pids();
    const failures = [expect(thrown).rejects.toThrow("thrown"), expect(rejected).rejects.toThrow("rejected")];
    await next();
    await next();
    await Promise.all(failures);
    expect([await started, await whole]).toEqual([[1], [2]]);
  });
});
